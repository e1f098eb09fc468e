# A card that was read, by a platform or a variant, is overwritten by no output
zone() { printf '<platform version="4.1"><zone id="z" routing="Full"><prop id="ss.card.base" value="./card.xml"/>%s</zone></platform>' "$2" > "$1"; }
printf '<card><prop id="ss.card.base" value="h100"/></card>' > card.xml; cp card.xml kept
zone variant.xml '<prop id="ss.base" value="h800"/>'
zone own.xml '<prop id="ss.gpus_per_node" value="1"/><host id="g" speed="1f"/>'
for platform in variant own; do "$STEPSIM" run --platform $platform.xml --nodes 1 --gpus-per-node 1 --model qwen2.5-0.5b --bf16 --seq 1024 --mbs 1 --gbs 1 --report card.xml; echo $?; done; cmp card.xml kept
