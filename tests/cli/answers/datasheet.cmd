# A card that is known by its data sheet alone has no error band of the time, and the answer says why; one whose kernels were measured has it
for platform in vr200 gb300; do
    "$STEPSIM" run --platform $platform --nodes 2 --model llama3.1-8b --stack megatron-bridge-26.08 --bf16 --mbs 1 --gbs 16 --seq 4096 --use-distributed-optimizer | grep -E 'error band|90 % of such jobs are'
done
