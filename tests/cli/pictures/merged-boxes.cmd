# Two ranks in turn, 3,000 times each: boxes too short to tell apart are one. Five runs of 1 ms in 9 ms are as dark as 5 / 9, and messages, which take no time, as light as can be.
awk 'BEGIN {
    print "program turns"
    print "link l bandwidth 1000GBps\npath p l\nchannel f from a to b path p tag 0\nchannel g from b to a path p tag 1"
    print "template A {\ncompute 1ms\nsend f 1B\nrecv g\nwait-recv g\n}\ntemplate B {\nrecv f\nwait-recv f\ncompute 1ms\nsend g 1B\n}"
    for (c = 0; c < 2; c++) {
        print "class " (c ? "b" : "a") " {"
        for (i = 0; i < 3000; i++) print "slot " (c ? "B" : "A") " F 0 " i
        print "}"
    }
}' > turns.prog
"$STEPSIM" program read turns.prog --gantt g.svg --window all > answer.txt; grep -o 'fill-opacity="[0-9.]*"' g.svg | sort | uniq -c | awk '{ print ($1 > 20 ? "many" : "few"), $2 }'
