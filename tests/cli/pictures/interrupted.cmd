# Ctrl-C leaves neither a file nor half of one; so does a kill.
awk 'BEGIN {
    print "program long"
    print "link l bandwidth 100GBps\npath p l\nchannel f from a to b path p tag 0"
    print "template A {\ncompute 5ms\nsend f 1MB\n}\ntemplate B {\nrecv f\nwait-recv f\ncompute 5ms\n}"
    for (c = 0; c < 2; c++) {
        print "class " (c ? "b" : "a") " {"
        for (i = 0; i < 200000; i++) print "slot " (c ? "B" : "A") " F 0 " i
        print "}"
    }
}' > long.prog
for signal in INT TERM; do
    # A shell without job control starts what is behind & with SIGINT ignored.
    env --default-signal=INT "$STEPSIM" program read long.prog --trace t.json.gz --report r.html --gantt g.svg &
    while kill -0 $! && [ -z "$(ls | grep tmp)" ]; do
        :
    done
    kill -s $signal $!
    wait $! 2> shell; status=$?; rm shell
    echo "exit $status"
    ls
done
