"$STEPSIM" list schedules > /dev/full
