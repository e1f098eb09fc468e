# A value of MODEL_ARGS is words of a shell, which takes its quotes away; a virtual size that the zoo's scripts leave out is "false".
cat > job.yaml <<'YAML'
MODEL_ARGS:
  --num-layers: 4
  --moe-layer-freq: "'([0]*1+[1]*3)'"
  --num-layers-per-virtual-pipeline-stage: ${LAYERS_PER_VP}
YAML
"$STEPSIM" import --job job.yaml LAYERS_PER_VP=false
