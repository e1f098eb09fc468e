# every picture is as wide as --width says, and the option is refused by name where there is no picture, or none of such a width
J="--job 8b-16 --engine native"; wide() { for f in "$@"; do sed -n "1s/.*svg\" \(width=\"[0-9]*\"\).*/$f \1/p" $f; done; }
"$STEPSIM" run $J --gantt gantt.svg --memory memory.svg --card card.svg --report page.html --width 640 > out; wide gantt.svg memory.svg card.svg; grep -o '<svg[^>]* width="640"' page.html | wc -l; grep -o 'class="card" width="[0-9]*"' page.html
"$STEPSIM" compare $J --with "--mbs 2" --svg compare.svg --card two.svg --width 640 > out; wide compare.svg two.svg
"$STEPSIM" sweep $J --vary pp=1,2 --svg sweep.svg --report page.html --width 640 > out; wide sweep.svg; grep -o '<svg[^>]* width="640"' page.html | wc -l
"$STEPSIM" search --platform h800 --nodes 1 --model llama3.2-1b --bf16 --seq 2048 --gbs 8 --mbs 1 --vary tp=1 --unconfirmed --svg search.svg --width 640 > out; wide search.svg
"$STEPSIM" capacity --job 8b-16 --layout given --tokens 1T --nodes 4,8 --svg capacity.svg --report page.html --width 640 > out; wide capacity.svg; grep -o '<svg[^>]* width="640"' page.html | wc -l
"$STEPSIM" validate runs --svg validate.svg --width 640 > out; wide validate.svg
"$STEPSIM" platform draw h800 --nodes 70 --width 640 -o platform.svg; wide platform.svg
"$STEPSIM" schedule compare --schedules 1f1b,zb-h1 --pp 4 --microbatches 8 --gantt schedules.svg --width 640 > out; wide schedules.svg
"$STEPSIM" run $J --width 640; echo $?
"$STEPSIM" run $J --trace t.json --width 640; echo $?
"$STEPSIM" sweep $J --vary pp=1,2 --csv c.csv --width 640; echo $?
"$STEPSIM" schedule search --pp 2 --microbatches 4 --width 640; echo $?
"$STEPSIM" explain $J --width 640; echo $?
"$STEPSIM" platform draw h800 --width 100; echo $?
"$STEPSIM" compare $J --with "--mbs 2" --svg c.svg --width wide; echo $?
