# a name that ends in .png or .pdf gets that, or is refused where no program makes it; other kinds are refused, and names of pictures for what is none
for kind in png pdf; do
    if command -v rsvg-convert > where.txt; then
        "$STEPSIM" platform draw h800 --nodes 2 -o x.$kind && head -c 4 x.$kind | tr -d '\211%'; echo
    else
        echo $kind | tr pngdf PNGDF
    fi
done
PATH=/nowhere "$STEPSIM" platform draw h800 --nodes 2 -o y.png; echo $?
"$STEPSIM" platform draw h800 --nodes 2 -o y.jpg; echo $?
"$STEPSIM" run --verbose --platform h800 --nodes 1 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 64 -o y.png; echo $?
"$STEPSIM" run --verbose --platform h800 --nodes 1 --model llama3.1-8b --bf16 --seq 4096 --mbs 1 --gbs 64 --gantt y.pdf --report y.pdf; echo $?
"$STEPSIM" platform draw h800 --nodes 2 -o words.png > words.png 2>&1; echo text > t.png; "$STEPSIM" platform draw h800 --nodes 2 -o t.png; echo $?; ls
