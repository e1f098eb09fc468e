mkdir -p bin lib/stepsim; cp "$(dirname "$STEPSIM")/installed/stepsim" bin; STEPSIM_DATA=$SRC bin/stepsim serve --port 0 2>&1 | sed "s|$(pwd -P)|PWD|"
