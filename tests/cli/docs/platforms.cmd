# The platform files that docs/reference/formats-platform.md shows are what the program reads
export STEPSIM_COLUMNS=1000 # whole lines
awk '/^```xml$/ { on = 1; n++; next } /^```$/ { on = 0 } on { print > ("shown-" n ".xml") }' "$SRC/docs/reference/formats-platform.md"
sed 's/"h100"/".\/shown-2.xml"/' shown-1.xml > with-own-card.xml
for file in shown-1.xml with-own-card.xml shown-3.xml; do "$STEPSIM" platform show "$file" | sed -n '1s/, hash.*//; 1,3p; /ss.power /p'; done
"$STEPSIM" run --platform shown-1.xml --model llama3.1-8b --bf16 --tp 2 --seq 4096 --mbs 1 --gbs 4 --engine simgrid --json | grep '"world_size"'
sed /ss.card.base/d shown-1.xml > no-card.xml; "$STEPSIM" platform check no-card.xml
