echo hello > x.log; echo '--nodes 1' > x.args; "$STEPSIM" calibrate --platform a100 --log x.log --job x.args
