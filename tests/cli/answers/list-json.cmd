"$STEPSIM" list schedules --json
