printf '#!/bin/bash\nmodule load cuda\ncat > ds.json <<E\n{}\nE\n' > run.sh
"$STEPSIM" run --platform h100 --job run.sh
