"$STEPSIM" schedule write dualpipe --pp 4 -m 8 -o a.csv; echo $?; ls
