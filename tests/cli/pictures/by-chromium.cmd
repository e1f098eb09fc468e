# where there is no rsvg-convert, Chromium makes PNG and PDF: of a page that runs nothing and fetches nothing, without its sandbox for root alone (here a stand-in writes its words and that page)
tools=$PATH; mkdir alone; printf '%s\n' '#!/bin/sh' "PATH='$tools'" 'sandbox=kept' \
    'for word; do case $word in --screenshot=*|--print-to-pdf=*) to=${word#*=} ;; file:*) page=${word#file://} ;; --no-sandbox) sandbox=none ;; --window-size=*) echo "$word" > words ;; esac; done' \
    'echo "sandbox $sandbox" >> words; head -c 170 "$page" > page; echo made > "$to"' > alone/chromium; chmod +x alone/chromium
for kind in png pdf; do PATH=$PWD/alone "$STEPSIM" platform draw h800 --nodes 2 -o x.$kind; echo $?; cat x.$kind; done
[ "$(id -u)" = 0 ] && sed -i 's/sandbox none/sandbox kept/' words; cat words page; echo; ls -d /tmp/stepsim-picture-* 2>/dev/null
printf '#!/bin/sh\nexit 1\n' > alone/chromium; PATH=$PWD/alone "$STEPSIM" platform draw h800 --nodes 2 -o y.png; echo $?; ls
