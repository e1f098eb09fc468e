# The network of a page: names in the boxes, bars as long as the mean load says, peaks no lower; one node is no "nodes".
job="--model llama3.1-8b --bf16 --tp 8 --seq 4096 --mbs 1 --gbs 8 --engine native"; "$STEPSIM" run --platform h100 --nodes 1 $job --report one.html > answer.txt && "$STEPSIM" run --platform h100 --nodes 2 $job --pp 2 --report two.html > answer.txt && python3 -c '
import re
one, two = open("one.html").read(), open("two.html").read()
print(re.findall(r"1 nodes?\b", one)[:1], re.findall(r"2 nodes?\b", two)[:1])
drawn = two[two.index("id=\"network\""):]
drawn = drawn[:drawn.index("</svg>")]
print(re.findall("nodename\">([^<]*)<", drawn), re.findall("linkname\">([^<]*)<", drawn))
bars = re.findall("mean load ([0-9.]+) %, peak ([0-9.]+) %.*?<rect x=[^>]* width=\"([0-9.]+)\"", drawn)
print([0 < float(mean) <= float(peak) <= 100 and abs(0.26 * float(mean) - float(width)) < 0.07 for mean, peak, width in bars])
'
