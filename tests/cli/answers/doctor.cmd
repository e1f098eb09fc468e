export STEPSIM_COLUMNS=1000 # whole lines
"$STEPSIM" doctor | sed -e 's/[0-9][0-9.]*/N/g' -e 's|/.*: |DIR: |' -e 's|/.*/|DIR/|' | grep -v -e ' serve ' -e ' mpi ' -e ' launch '
