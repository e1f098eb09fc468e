"$STEPSIM" list platforms; "$STEPSIM" list stacks; "$STEPSIM" list schedules
