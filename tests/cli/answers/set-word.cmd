for stage in first last third; do "$STEPSIM" run --job 70b-14 --set ss.memory.logged=$stage --json | sed -n '/"memory_logged"/s/ *//p'; done
