# Under --jitter the text says what the JSON does, and the spread lies in order.
job="--platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 8 --seq 4096 --mbs 1 --gbs 8 --engine native --jitter 0.05 --replicas 5"; "$STEPSIM" run $job --json > j.json && "$STEPSIM" run $job > j.txt && python3 -c '
import json
j, text = json.load(open("j.json"))["jitter"], open("j.txt").read()
ms, within = j["iteration_ms"], j["confidence_95_ms"]
print("Jitter of 0.05, 5 iterations, ms: mean %.1f, p5 %.1f, p50 %.1f, p95 %.1f\n" % (ms["mean"], ms["p5"], ms["p50"], ms["p95"]) in text)
print("confidence: mean %.1f .. %.1f," % (within["mean"]["low"], within["mean"]["high"]) in text)
print(ms["min"] < ms["p5"] < ms["p25"] < ms["p50"] < ms["p75"] < ms["p95"] < ms["max"])
'
