"$STEPSIM" platform show h100 | grep "ss.price "; "$STEPSIM" platform show h100 --set ss.price=2USD/h | grep "ss.price "
