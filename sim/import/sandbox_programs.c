/* SPDX-License-Identifier: Apache-2.0 */
/* The programs that a launch script finds: text tools, launchers that are recorded, what answers for devices, and what bash reads first. */
#include "base/base.h"
#include "import/sandbox.h"

/* Programs of this machine that read and write text, and files of the sandbox. One that the machine lacks does nothing. */
const char ss_sandbox_tools[] =
    "[ awk base64 basename bc cat cmp comm cut date diff dirname echo egrep env expand expr false fgrep file "
    "find "
    "fmt "
    "fold gawk getconf getopt envsubst "
    "grep head id jq join ls mawk md5sum mkdir mktemp nl numfmt od paste perl pr printenv printf pwd "
    "readlink "
    "realpath rev "
    "sed seq sha256sum shuf sort stat sum tac tail test tr true tsort uname uniq wc xargs";
/* They change files, and do nothing where the script sees those of the machine. */
const char ss_sandbox_changers[] = "chmod cp ln mv rm rmdir split touch";
/* Recorded with their words, they do nothing. */
static const char launchers[] =
    "torchrun dlrover-run msrun deepspeed accelerate colossalai python python2 python3 python3.8 "
    "python3.9 python3.10 python3.11 python3.12 python3.13 "
    "llamafactory-cli axolotl swift megatron nemo nemorun trl composer tune litgpt xtuner";
/* They run the first of their words that is a program of the sandbox or a script. */
static const char runners[] =
    "srun mpirun mpiexec mpiexec.hydra orterun prun aprun jsrun flux horovodrun bsub blaunch pbsdsh salloc "
    "screen kubectl numactl "
    "nsys "
    "ncu timeout "
    "nohup sudo stdbuf taskset nice ionice time "
    "setsid singularity apptainer docker podman enroot pyxis conda mamba micromamba poetry uv pixi ray";
/* They run their last words on other machines, as one text of a shell. */
static const char remotes[] = "ssh pdsh clush ds_ssh";

/* First line of every program that is a script: bash, which reads no file of the user's. */
#define HEAD "#!@R" SS_SANDBOX_REAL "/bash -p\n"
#define RECORD                                                                                               \
    "n=0; until @R" SS_SANDBOX_REAL "/mkdir @R" SS_SANDBOX_CALLS                                             \
    "/$n 2>/dev/null || ((n > 9999)); do n=$((n+1)); done\n"                                                 \
    "at=@R" SS_SANDBOX_CALLS "/$n\n"

/* Files that a program reads, as what a program writes goes to one. */
#define CONFIGURATIONS "*.json|*.y*ml|*.toml|*.env|*.sh|*.args"
/* What the script uses is not known: it captures it, or it goes into a configuration or a pipe. It is told, and is the guess where the run asks for
 * one. */
#define SEEN(pid)                                                                                            \
    "used=${STEPSIM_USED-}; [ -n \"$used\" ] || { out=$(@R" SS_SANDBOX_PROGRAMS "/readlink /proc/" pid       \
    "/fd/1 2>/dev/null)\n"                                                                                   \
    "case $out in \"${STEPSIM_STDOUT-}\") ;; " CONFIGURATIONS                                                \
    ") used=\"> ${out##*/}\";; pipe:*) used='a pipe';; esac; }\n"
#define GUESS "case $'\\n'\"${STEPSIM_GUESS-}\"$'\\n' in *$'\\n'\"$STEPSIM_PLACE\"$'\\n'*) echo 3;; esac"
#define TOLD                                                                                                 \
    "if [ -n \"$used\" ]; then " RECORD "printf '%s\\0' \"${0##*/}\" \"$used\" \"${STEPSIM_PLACE%:*}\" "     \
    "\"${STEPSIM_PLACE##*:}\" > $at/used\n" GUESS "; fi\n"
#define USED SEEN("$$") TOLD
/* What decides nothing is known of is asked for its status, or for an answer that is the sandbox's own. */
#define ASKED(what, command)                                                                                 \
    RECORD "printf '%s\\0' '' " command " \"${STEPSIM_PLACE%:*}\" \"${STEPSIM_PLACE##*:}\" '" what           \
           "' > $at/tested\n"

static const char launcher_text[] = HEAD SEEN(
    "$$") "own= rc=; case \"${0##*/} ${1-}\" in python*' -c'|python*' -'|python*' -V'|python*' --version'|"
          "python*' ') own=1;; esac\n"
          "if [ -n \"$own\" ] || { [ -n \"$used\" ] && [ \"$used\" != 'a pipe' ]; }; then case ${0##*/} in "
          "python*)\n"
          "if [ -x @R" SS_SANDBOX_REAL "/python3 ]; then PYTHONPATH=@R" SS_SANDBOX_MODULES
          "${PYTHONPATH:+:$PYTHONPATH} @R" SS_SANDBOX_REAL "/python3 \"$@\"; rc=$?\n"
          "((rc)) || exit 0; [ -n \"$used\" ] || {\n" ASKED(
              "status 1",
              "\"${0##*/} $*\"") "exit $rc; }; fi;; esac; fi\n" TOLD
                                 "[ -z \"$own\" ] || [ -z \"$rc\" ] || exit $rc\n"
                                 /* variables that count: as a runner of its own */
                                 "own=(env); for name in CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES "
                                 "ROCR_VISIBLE_DEVICES PET_NNODES "
                                 "PET_NPROC_PER_NODE NNODES NPROC_PER_NODE WORLD_SIZE ${!NCCL_@} ${!RCCL_@} "
                                 "CUDA_DEVICE_MAX_CONNECTIONS "
                                 "NVTE_FLASH_ATTN NVTE_FUSED_ATTN NVTE_ALLOW_NONDETERMINISTIC_ALGO "
                                 "TORCH_DISTRIBUTED_DEBUG; do\n"
                                 "  [ -z \"${!name-}\" ] || own+=(\"$name=${!name}\"); done\n"
                                 "[ \"${0##*/}\" != deepspeed ] || [ ! -r .deepspeed_env ] || while IFS= "
                                 "read -r name; do case $name in [A-Z]*=*) own+=(\"$name\");; esac; "
                                 "done < .deepspeed_env\n"
                                 "if ((${#own[@]} > 1)); then\n" RECORD
                                 "printf '%s' \"${STEPSIM_RUNNER-}\" > $at/by\n"
                                 "printf '%s\\0' \"${own[@]}\" > $at/runner; STEPSIM_RUNNER=$n; fi\n" RECORD
                                 "printf '%s' \"${STEPSIM_RUNNER-}\" > $at/by\n"
                                 "printf '%s\\0' \"${0##*/}\" \"$@\" > $at/launcher\n"
                                 /* files, and those that configurations among them name */
                                 "look() {\n"
                                 "  local file=$1 text= word\n"
                                 "  case $file in ''|*.py|*.sh) return;; esac; [ -f \"$file\" ] || return\n"
                                 "  case $seen in *\":$file:\"*) return;; esac; seen=$seen:$file:\n"
                                 "  IFS= read -r -d '' -n 65536 text < \"$file\" && ((${#text} < 65536)) && "
                                 "return\n" RECORD
                                 "  case $file in /*) set -- \"$file\";; *) set -- \"$PWD/$file\";; esac\n"
                                 "  printf '%s\\0%s\\0%s\\0' \"$file\" \"$text\" \"$1\" > $at/file\n"
                                 "  case $file in *.json|*.yaml|*.yml|*.toml) set -f; for word in "
                                 "${text//[\\\"\\',:]/ }; do\n"
                                 "    case $word in *.json|*.yaml|*.yml) look \"$word\";; esac; done; set "
                                 "+f;; esac\n"
                                 "}\n"
                                 "seen=; for word in \"$@\" \"${STEPSIM_HOSTS-}\"; do look \"${word#*=}\"; "
                                 "done; exit 0\n";

/* A function that adds the words of $rest, a line for a scheduler, to lines: without quotes, in which blanks do not part words, and comment. */
#define SPLIT                                                                                                \
    "split() { local q=$'[\"\\']' "                                                                          \
    "re=$'^[[:space:]]*(([^[:space:]\"\\']|\"[^\"]*(\"|$)|\\'[^\\']*(\\'|$))+)(.*)'\n"                       \
    "while [[ $rest =~ $re && ${BASH_REMATCH[1]} != '#'* ]]; do rest=${BASH_REMATCH[5]}; "                   \
    "lines+=(\"${BASH_REMATCH[1]//$q/}\"); done; }\n"
static const char runner_text[] = HEAD SPLIT
    /* what a window is told to type */
    "case \"${0##*/} $*\" in 'screen '*' stuff '*) printf -v text %b \"${!#}\"; text=${text//$'\\r'/$'\\n'}\n"
    "  exec @R" SS_SANDBOX_PROGRAMS "/tmux send-keys -t \"${*:1:$#-1}\" \"${text//^M/$'\\n'}\";; esac\n"
    /* not the image of a container, nor another file that is a value */
    "is_script() { local head=; [ -f \"$1\" ] && [ -s \"$1\" ] || return 1\n"
    "case $1 in *.sh|*.bash|*.slurm|*.sbatch) return 0;; esac; [ -x \"$1\" ] && return 0\n"
    "IFS= read -r -n 2 head < \"$1\"; [ \"$head\" = '#!' ]; }\n"
    /* what these start stands behind a word of theirs; what has a program's name before another is an environment or a container */
    "starts() { local behind= to=@R" SS_SANDBOX_PROGRAMS "; [ -f \"$to/${1##*/}\" ] || return 1\n"
    "case $own in conda|*mamba|poetry|uv|pixi) behind=run;; docker|podman) behind='run exec';; "
    "kubectl) behind=--;; ray) behind=submit;; esac\n"
    "for word in $behind; do case \" ${own[*]} \" in *\" $word \"*) behind=; break;; esac; done\n"
    "[ -z \"$behind\" ] || return 1\n"
    "case ${1##*/} in megatron|axolotl|swift|nemo|deepspeed|accelerate|colossalai|trl|tune|xtuner|litgpt) "
    "[ -z \"${2-}\" ] || [ ! -f \"$to/${2##*/}\" ];; esac; }\n" RECORD
    "printf '%s' \"${STEPSIM_RUNNER-}\" > $at/by\n"
    "own=(\"${0##*/}\") lines=()\n"
    "while (($#)); do\n"
    /* values that may be called as a program is, the environment "env", the partition "test", or are files */
    "  case \"$own $1\" in *'conda -'[np]|*'mamba -'[np]|'srun -'[pJAqwxCD]|*' --name'|*' --prefix'|"
    "*' --hostfile'|*' -hostfile'|*' --machinefile'|*' -machinefile'|'mpiexec -f'|'mpirun -f'|"
    "*' --partition'|*' --job-name'|*' --account'|*' --qos'|*' --comment'|*' --reservation'|*' --hostname'|"
    "*' --container-name'|*' --network'|*' --submission-id'|'uv --with'|'uv --extra'|'uv --group'|'sudo "
    "-'[ugh]|'docker -h'|"
    "'kubectl -'[nc])\n"
    "  case $1 in *hostfile|*machinefile|-f) export STEPSIM_HOSTS=${2-};; esac; own+=(\"$1\"); shift; "
    "own+=(\"${1-}\"); shift; "
    "continue;; esac\n"
    "  case $1 in --hostfile=*) export STEPSIM_HOSTS=${1#*=};; -*) ;; pip|pip3|apt|apt-get|pkill|killall) "
    "own+=(\"$@\"); set --; break;; *) starts \"$@\" && break; is_script \"$1\" && break;; esac\n"
    "  own+=(\"$1\"); shift\n"
    "done\n"
    /* whose script is on stdin */
    "if ! (($#)) && [ \"$own\" = bsub ]; then @R" SS_SANDBOX_REAL "/cat > $at/batch; set -- bash $at/batch\n"
    "while read -r mark rest; do case $mark in '#BSUB') split;; esac; done < $at/batch; fi\n"
    "own=(\"$own\" \"${lines[@]}\" \"${own[@]:1}\")\n" /* whose words beat the lines */
    "printf '%s\\0' \"${own[@]}\" > $at/runner\n"
    "export STEPSIM_RUNNER=$n\n"
    /* a script that is not here, for it may be what starts the job */
    "(($#)) || for word in \"${own[@]:1}\"; do case $word in -*) ;; ./*|*.sh) [ -e \"$word\" ] || "
    "echo \"bash: $word: No such file or directory\" >&2;; esac; done\n"
    "(($#)) || { " USED "exit 0; }\n"
    "name=${1##*/}; [ -x @R" SS_SANDBOX_PROGRAMS "/\"$name\" ] && { shift; exec @R" SS_SANDBOX_PROGRAMS
    "/\"$name\" \"$@\"; }\n"
    "exec @R" SS_SANDBOX_PROGRAMS "/bash \"$@\"\n";

/* "ssh [options] HOST words", "pdsh -w HOSTS words"; without words what stdin says. */
static const char remote_text[] =
    HEAD RECORD "name=${0##*/}\n"
                "while (($#)); do\n"
                "  case \"$name $1\" in 'ssh -'[pliOoFJLRDbcemQSWwEIB]|'pdsh -'[wgxXltufR]|'clush "
                "-'[wgxXltufRo]) shift; shift;; \"$name -\"*) shift;; *) break;; esac\n"
                "done\n"
                "[ \"$name\" != ssh ] || shift\n"
                "printf '%s' \"${STEPSIM_RUNNER-}\" > $at/by\n"
                "printf '%s\\0' \"$name\" > $at/runner\n"
                "export STEPSIM_RUNNER=$n\n"
                "(($#)) && set -- -c \"$*\"\n"
                "exec @R" SS_SANDBOX_PROGRAMS "/bash \"$@\"\n";

/* "tmux new-session -d words \\; send-keys -t PANE text Enter": what a pane is sent goes on with what it was sent before. */
static const char tmux_text[] =
    HEAD RECORD "printf '%s' \"${STEPSIM_RUNNER-}\" > $at/by\n"
                "printf '%s\\0' tmux > $at/runner\n"
                "export STEPSIM_RUNNER=$n\n"
                "verb= skip= pane= words=()\n"
                "for word in \"$@\" \\;; do case \"$skip$verb $word\" in\n"
                "  -e*) export \"$word\"; skip=;; -[st]*) pane=${word//[!A-Za-z0-9]/_} skip=;; -*) skip=;;\n"
                "  \"$verb ;\") case $verb in has*) exit 1;;\n"
                "    send*) (IFS=; printf %s \"${words[*]}\" >> @R" SS_SANDBOX_CALLS "/pane-$pane)\n"
                "      @R" SS_SANDBOX_PROGRAMS "/bash @R" SS_SANDBOX_CALLS "/pane-$pane < /dev/null;;\n"
                "    new*|split*|respawn*) ((${#words[@]} != 1)) || words=(bash -c \"$words\")\n"
                "      @R" SS_SANDBOX_PROGRAMS "/bash -c '\"$@\"' - \"${words[@]}\" < /dev/null;;\n"
                "    esac; verb= words=();;\n"
                "  \"$verb -\"*[stnxyFecNpLSf]|split*' -l') ((${#words[@]})) && words+=(\"$word\") || "
                "skip=-${word: -1};;\n"
                "  \"$verb -\"*) ((${#words[@]})) && words+=(\"$word\");; ' '*) verb=$word;;\n"
                "  \"$verb \"[CK]-[mMjJ]|\"$verb \"Enter|\"$verb \"ENTER) words+=($'\\n');; \"$verb \"Space) "
                "words+=(' ');;\n"
                "  \"$verb \"[CM]-?|\"$verb \"Escape) words=();; *) words+=(\"$word\");; esac\n"
                "done; exit 0\n";

/* sbatch, qsub, pjsub: the batch script is a file or comes on stdin; its lines #SBATCH, #PBS, #PJM are words of the command, too. What Slurm sets by them is set
 * where nobody did. */
static const char sbatch_text[] = HEAD SPLIT RECORD
    "put() { [ -n \"${!1-}\" ] || export \"$1=$2\"; }\nlast= own=(\"${0##*/}\") lines=() wrap=; "
    "sign=#PBS; case $own in sbatch) sign=#SBATCH;; pjsub) sign=#PJM;; esac\n"
    "while (($#)); do\n"
    "  case $1 in --wrap) wrap=$2; shift;; --wrap=*) wrap=${1#--wrap=};; -*) own+=(\"$1\");; *) "
    "[ -f \"$1\" ] && break; own+=(\"$1\");; esac\n"
    "  shift\n"
    "done\n"
    "if [ -n \"$wrap\" ]; then printf '%s\\n' \"$wrap\" > $at/batch; set -- $at/batch\n"
    "elif ! (($#)); then @R" SS_SANDBOX_REAL "/cat > $at/batch; set -- $at/batch; fi\n"
    "while read -r mark rest; do case $mark in \"$sign\") split;; ''|'#'*) ;; *) break;; esac; done < "
    "\"$1\"\n"
    "[ $own != sbatch ] || for word in \"${own[@]:1}\" \"${lines[@]}\"; do one=$last$word last=; "
    "v=${one#*=}\n"
    "  case $word in -N|--nodes|--gres|--gpus-per-node|--ntasks-per-node) last=$word=; continue;; esac\n"
    "  case $one in -N[0-9]*) v=${one#-N};; --g*) v=${v##*gpu:}; v=${v%%[,(]*}; v=${v##*:};; esac\n"
    "  v=${v%%[!0-9]*}; [ -n \"$v\" ] || continue; case $one in\n"
    "  -N*|--nodes=*) put SLURM_NNODES $v; put SLURM_JOB_NUM_NODES $v; put SLURM_JOB_NODELIST \"node[0-$((v "
    "- 1))]\";;\n"
    "  --gres=*|--gpus-per-node=*) put SLURM_GPUS_ON_NODE $v; put SLURM_GPUS_PER_NODE $v;;\n"
    "  --ntasks-per-node=*) put SLURM_NTASKS_PER_NODE $v;; esac; done\n"
    "own=(\"$own\" \"${lines[@]}\" \"${own[@]:1}\")\n"
    "printf '%s' \"${STEPSIM_RUNNER-}\" > $at/by\n"
    "printf '%s\\0' \"${own[@]}\" > $at/runner\n"
    "export STEPSIM_RUNNER=$n\n"
    "echo Submitted batch job 1\n"
    "exec @R" SS_SANDBOX_PROGRAMS "/bash \"$@\"\n";

/* Posix mode would stop a script at the first missing file, and reads no BASH_ENV. */
static const char sh_text[] = HEAD "exec @R" SS_SANDBOX_PROGRAMS "/bash \"$@\"\n";
static const char nothing_text[] = HEAD "exit 0\n";
/* Folders of logs are missing here. */
static const char tee_text[] =
    HEAD "[ -n \"@R\" ] || for to; do case $to in -*) ;; */*) @R" SS_SANDBOX_REAL
         "/mkdir -p -- \"${to%/*}\" 2>/dev/null;; esac; done\nexec @R" SS_SANDBOX_REAL "/tee \"$@\"\n";
static const char which_text[] =
    HEAD "rc=0; for name; do case $name in -*) ;; *) type -P -- \"$name\" || rc=1;; esac; done; exit $rc\n";
/* Where a repository begins is known, no more of it. */
static const char git_text[] =
    HEAD "all=\"git $*\"; while (($#)); do case $1 in -C) cd -- \"$2\" || exit 128; shift;; -c) shift;; -*) "
         ";; *) break;; esac; "
         "shift; done\n"
         "[ \"${1-}\" = rev-parse ] || set --\n"
         "roots='\n@T'; top=${PWD#@R" SS_SANDBOX_VIEW "}; above=${PWD%\"$top\"}\n"
         "until [ -z \"$top\" ] || [[ $roots = *$'\\n'\"$top\"$'\\n'* ]]; do top=${top%/*}; done\n"
         "for word; do case $word in --show-toplevel|--is-inside-work-tree)\n"
         "  [ -n \"$top\" ] || { echo 'fatal: not a git repository' >&2; exit 128; }\n"
         "  [ $word = --show-toplevel ] || { top=true; above=; }\n"
         "  printf '%s\\n' \"$above$top\"; exit;; esac; done\n" USED ASKED("status 0", "\"$all\"") RECORD
    "printf '%s\\0' git > $at/nothing\n";
static const char hostname_text[] =
    HEAD "echo node0\n" ASKED("answer node0", "\"${STEPSIM_USED:-hostname $*}\"");
static const char user_text[] = HEAD "echo user\n";
static const char cores_text[] = HEAD "echo 64\n" ASKED("answer 64", "\"${STEPSIM_USED:-nproc}\"");
/* nvidia-smi: -L, --query-gpu=FIELD,... --format=csv[,noheader][,nounits], -i N, else the names and memory of its table. */
static const char gpus_text[] =
    HEAD "name='@C' mib='@M' query= format= from=0 to=@G list=\n"
         "while (($#)); do case $1 in -L|--list-gpus) list=1;; --query-gpu=*) query=${1#*=};; --format=*) "
         "format=${1#*=};;\n"
         "-i|--id) from=${2-0} to=$((${2-0} + 1)); shift;; -i=*|--id=*) from=${1#*=}; to=$((from + 1));;\n"
         "--query-gpu|--format) case $1 in *y-gpu) query=${2-};; *) format=${2-};; esac; shift;;\n"
         "-q|-d|--query|topo|nvlink|--query-*|mig|-x) query=${query:-other};; esac; shift; done\n"
         "unit=' MiB'; case $format in *nounits*) unit=;; esac\n"
         "if [ -z \"$name\" ] && [ -z \"$list\" ] && [[ $query != @(index|count|uuid|*no) ]] || [ \"$query\" "
         "= other ]; then\n" USED "fi\n"
         "[ \"$query\" != other ] || exit 0\n"
         "[ -z \"$query\" ] || case $format in *noheader*) ;; *) echo \"${query//,/, }\";; esac\n"
         "for ((i = from; i < to; i++)); do\n"
         "if [ -n \"$query\" ]; then line=; for field in ${query//,/ }; do case $field in\n"
         "index) v=$i;; name|gpu_name) v=${name:-GPU};; memory.total|memory.free) v=$mib$unit;; memory.used) "
         "v=0$unit;; count) v=@G;;\n"
         "compute_cap) v=@K;; uuid|gpu_uuid) v=GPU-$i;; *) v='[N/A]';" USED "esac\n"
         "line=$line${line:+, }$v; done; echo \"$line\"\n"
         "elif [ -n \"$list\" ]; then echo \"GPU $i: ${name:-GPU} (UUID: GPU-$i)\"\n"
         "else echo \"|   $i  ${name:-GPU}          On  |\"; echo \"|      0MiB / ${mib}MiB |      0%      "
         "Default |\"; fi; done\n";
/* rocm-smi */
static const char cards_text[] = HEAD "for ((i = 0; i < @G; i++)); do echo \"GPU[$i] : @C\"; done\n";
static const char hosts_text[] =
    HEAD "[ \"${2-}\" = hostnames ] && for ((i = 0; i < ${SLURM_NNODES:-@N}; i++)); do echo node$i; done\n"
         "[ \"${2-}\" = hostnames ] || {\n" USED "}\nexit 0\n";

/* What scripts ask PyTorch before they launch: which GPUs the node has, and how many. */
const char ss_sandbox_torch[] =
    "__version__ = '2.8.0'\n"
    "class _GPU:\n"
    "    name, total_memory, multi_processor_count = '@C', int('@M' or 0) << 20, int('@S' or 0)\n"
    "    major, minor = (int(n) for n in ('@K' or '0.0').split('.'))\n"
    "def _known(value):\n"
    "    if not _GPU.name:\n"
    "        raise RuntimeError('no GPU is known')\n"
    "    return value\n"
    "class cuda:\n"
    "    device_count = staticmethod(lambda: @G)\n"
    "    is_available = staticmethod(lambda: True)\n"
    "    get_device_name = staticmethod(lambda gpu=0: _known(_GPU.name))\n"
    "    get_device_properties = staticmethod(lambda gpu=0: _known(_GPU))\n"
    "    get_device_capability = staticmethod(lambda gpu=0: _known((_GPU.major, _GPU.minor)))\n";

/* What bash reads before each script: names that are nobody's do nothing, folders that are missing are made. Files of the real
 * machine are missing, so what fails is no reason to stop, whatever the script sets. */
const char ss_sandbox_start[] =
    /* \"> folder/file\" of a folder that is not there; in a root of the script's own alone */
    "stepsim_folder() { local to=${1#*>}; [ -z \"@R\" ] && [ \"$to\" != \"$1\" ] || return 0\n"
    "to=${to#>}; to=${to#\"${to%%[! ]*}\"}; to=${to%%[ ;|\\&<>\\)]*}\n"
    "case $to in ''|*'$('*|*'`'*) return 0;; esac; eval \"to=$to\" 2>/dev/null\n"
    "case $to in /dev/*) ;; */*) @R" SS_SANDBOX_REAL
    "/mkdir -p -- \"${to%/*}\" 2>/dev/null;; esac; return 0; }\n"
    "stepsim_call() { local n=0 kind=$1; shift; until @R" SS_SANDBOX_REAL "/mkdir @R" SS_SANDBOX_CALLS
    "/$n 2>/dev/null || ((n > 9999)); do n=$((n+1)); done\n"
    "printf '%s\\0' \"$@\" > @R" SS_SANDBOX_CALLS "/$n/$kind; }\n"
    "command_not_found_handle() {\n"
    "local out used name=$BASHPID\n" SEEN(
        "$name") "if [ -z \"$used\" ]; then stepsim_call nothing \"$@\"\n"
                 "stepsim_call tested '' \"$*\" \"${STEPSIM_PLACE%:*}\" \"${STEPSIM_PLACE##*:}\" 'status 0'; "
                 "return 0; fi\n"
                 "stepsim_call used \"$1\" \"$used\" \"${STEPSIM_PLACE%:*}\" \"${STEPSIM_PLACE##*:}\"\n" GUESS
                 "; return 0; }\n"
                 "[ -n \"${STEPSIM_STDOUT-}\" ] || export STEPSIM_STDOUT=$(@R" SS_SANDBOX_PROGRAMS
                 "/readlink /proc/$$/fd/1)\n"
                 /* The last command that captures what programs write, its place, and the shell in which it does. What runs below that shell, and is
     * named in the command or by a function that is, is used. */
                 "stepsim_outer() { local name two=${1#* }; case ${FUNCNAME[1]-} in "
                 "command_not_found_handle|stepsim_*|cd) return 0;; esac\n"
                 "STEPSIM_USED=$STEPSIM_ABOVE; [ -z \"$STEPSIM_ABOVE\" ] || "
                 "return 0\n"
                 "case $1 in *' '*) two=\"${1%% *} ${two%% *}\";; esac\n"
                 "if ((BASH_SUBSHELL > ${STEPSIM_LEVEL-99})); then for name in \"$two\" "
                 "\"${FUNCNAME[@]:1}\"; do\n"
                 "case $STEPSIM_OUTER in *\"$name\"*) STEPSIM_USED=$STEPSIM_OUTER; return 0;; esac; done; "
                 "fi\n"
                 "case $1 in *'$('*|*'`'*|*'<('*) STEPSIM_LEVEL=$BASH_SUBSHELL "
                 "STEPSIM_OUTER=${1//[\\\\[:space:]]/ }\n"
                 "while case $STEPSIM_OUTER in *'  '*) ;; *) false;; esac; do "
                 "STEPSIM_OUTER=${STEPSIM_OUTER//  / }; "
                 "done;;\n"
                 "*) ((BASH_SUBSHELL > ${STEPSIM_LEVEL-99})) && return 0; unset STEPSIM_LEVEL;; esac\n"
                 "name=${BASH_SOURCE[1]-}; STEPSIM_PLACE=${name#@R" SS_SANDBOX_VIEW "}:$2; return 0; }\n"
                 "export STEPSIM_USED STEPSIM_PLACE; STEPSIM_ABOVE=${STEPSIM_USED-}\n"
                 /* where the run guesses what such a command captures, the variable that gets it, whatever became of the guess on its way */
                 "stepsim_guess() { local file=${BASH_SOURCE[2]-} name=${1#export }; "
                 "file=${file#@R" SS_SANDBOX_VIEW "}; name=${name#local }; name=${name#declare }\n"
                 "case $name in [A-Za-z_]*=*'$('*')'|[A-Za-z_]*=*'$('*')\"'|[A-Za-z_]*=*'`');; *) return 0;; "
                 "esac\n"
                 "case ${name#*=} in '$('*|'\"$('*|'`'*|'\"`'*) ;; *) return 0;; esac\n"
                 "case $'\\n'$STEPSIM_GUESS$'\\n' in *$'\\n'\"$file:$2\"$'\\n'*) "
                 "name=${name%%=*}\n"
                 "case $name in *[!A-Za-z0-9_]*) ;; *) printf -v \"$name\" 3;; esac;; esac; return 0; }\n"
                 "cd() { if ! builtin cd \"$@\" 2>/dev/null; then eval \"local to=\\${$#-}\"\n"
                 "case $to in ''|-) return 0;; esac\n"
                 "@R" SS_SANDBOX_REAL "/mkdir -p -- \"$to\" 2>/dev/null; builtin cd -- \"$to\" 2>/dev/null "
                 "|| return 0; STEPSIM_AWAY=1; fi\n"
                 "stepsim_call folder \"$PWD\"; }\n"
                 /* before "source": what is not there is told and left out, as if it were empty */
                 "stepsim_source() { [ \"${1-}\" != -- ] || shift; if [ -z \"${1-}\" ] || [ -r \"$1\" ]; "
                 "then return 0; "
                 "fi\n"
                 "case $1 in /*) set -- \"$1\" \"$1\";; */*) set -- \"$1\" \"$PWD/$1\";; *) type -P -- "
                 "\"$1\" >/dev/null "
                 "&& return 0\n"
                 "set -- \"$1\" \"$PWD/$1\";; esac; stepsim_call missing \"$1\" \"$2\" "
                 "\"${BASH_SOURCE[1]-}\" "
                 "\"${BASH_LINENO[0]-}\"\n"
                 "[ \"${STEPSIM_STOPS-}\" = 1 ]; }\n"
                 /* With extdebug a command before which the trap fails is left out, and counts as one that succeeded; set before the script begins, it
     * would start a debugger. The arguments of "source" mean what they mean to it, hence in the trap itself; in a function it would have
     * other arguments, and what is declared would be lost. */
                 "trap 'stepsim_call set $(compgen -v)' EXIT; set -TE\n"
                 /* a value that could not be made, where "set -e" would stop the script: ERR does not know of errors in arithmetic */
                 "stepsim_failed() { [ -z \"${STEPSIM_AWAY-}\" ] || stepsim_call folder \"$PWD\" \"$1\"\n"
                 "local name=${1%%=*}; case ${STEPSIM_STOPS:-0}$1 in 1'source '*|1'. "
                 "'*|1'read "
                 "'*|1'mapfile '*|1'readarray '*|1'(('*) ;; *)\n"
                 "case ${name%+} in *[!A-Za-z0-9_]*) return 0;; esac; case $1 in *'$('*|*'`'*) ;; *) return "
                 "0;; esac;; "
                 "esac\n"
                 /* a program by a path that is not here */
                 "case ${STEPSIM_STOPS:-0}${4-} in 0127|0126) name=${1#*[(\\`]}; stepsim_call used "
                 "\"${name%%[ )\\`]*}\" \"$1\" \"$3\" \"$2\"; return 0;; esac\n"
                 "stepsim_call failed \"$1\" \"$2\" \"$3\" \"${STEPSIM_STOPS:-0}\"; return 0; }\n"
                 /* "command -v NAME" of what is not here */
                 "stepsim_ask() { local name=${1%% [0-9]>*}; name=${name%% >*}; name=${name%% &>*}\n"
                 "type -P -- \"${name##* }\" >/dev/null 2>&1 || stepsim_call tested '' \"$1\" "
                 "\"${BASH_SOURCE[1]-}\" "
                 "\"$2\" 'status 1'\n"
                 "return 0; }\n"
                 /* "#!/bin/bash -e" */
                 "stepsim_first() { local line= word; case $0 in */*) [ -r \"$0\" ] && IFS= read -r line < "
                 "\"$0\";; esac\n"
                 "case $line in '#!'*) for word in $line; do case $word in -[!-]*e*|-e*) STEPSIM_STOPS=1;; "
                 "esac; done;; "
                 "esac; }\n"
                 "stepsim_first 2>/dev/null\n"
                 /* what "[ -f FILE ]" looks for and does not find, once each */
                 "stepsim_test() { local rest=$1 to\n"
                 "while case $rest in *' -'[fedrsxL]' '*) ;; *) false;; esac; do rest=${rest#* -[fedrsxL] }; "
                 "to=${rest%%[ "
                 "\\)]*}\n"
                 "case $to in ''|*'$('*|*'`'*|'&&'|'||') continue;; esac; eval \"to=$to\" 2>/dev/null\n"
                 "case $to in ''|/dev/*) continue;; esac; [ ! -e \"$to\" ] || continue\n"
                 "case ${STEPSIM_TESTED-} in *\"|$2:$to|\"*) ;; *) "
                 "STEPSIM_TESTED=${STEPSIM_TESTED-}\"|$2:$to|\"\n"
                 "stepsim_call tested \"$to\" \"$1\" \"${BASH_SOURCE[1]-}\" \"$2\" file;; esac; done; return "
                 "0; }\n"
                 "stepsim_last() { [ -z \"${STEPSIM_GUESS-}\" ] || stepsim_guess \"${STEPSIM_LAST-}\" "
                 "\"${STEPSIM_LINE-}\"\n"
                 "case $- in *e*) STEPSIM_STOPS=1;; esac\n"
                 "case $2 in 'set +e'*|'set +'[!o]*e*|'set +o errexit'*) STEPSIM_STOPS=;; esac\n"
                 "case $1${STEPSIM_LAST-} in [1-9]*=*'$(('*) stepsim_failed \"$STEPSIM_LAST\" "
                 "\"$STEPSIM_LINE\" "
                 "\"${BASH_SOURCE[1]-}\";; esac\n"
                 "STEPSIM_LAST=$2 STEPSIM_LINE=$3; return 0; }\n"
                 "trap 'stepsim_failed \"$BASH_COMMAND\" $LINENO \"${BASH_SOURCE[0]-}\" $?' ERR\n"
                 "trap 'case ${FUNCNAME-} in stepsim_*|command_not_found_handle) :;; *) stepsim_last $? "
                 "\"$BASH_COMMAND\" "
                 "$LINENO; builtin set +eu; shopt -s extdebug; "
                 "stepsim_outer \"$BASH_COMMAND\" $LINENO; case "
                 "$BASH_COMMAND in "
                 "\"source \"*\"<\"*|\". \"*\"<\"*) :;; \"source \"*|\". \"*) eval \"stepsim_source "
                 "${BASH_COMMAND#* "
                 "}\";; "
                 "\"[ \"*|\"[[ \"*|\"test \"*) stepsim_test \"$BASH_COMMAND\" $LINENO;; \"command -v "
                 "\"*|\"which "
                 "\"*|\"type \"*|\"hash \"*) stepsim_ask \"$BASH_COMMAND\" $LINENO;; *\">\"*) stepsim_folder "
                 "\"$BASH_COMMAND\";; *) :;; esac;; esac' DEBUG\n"; /* last, and one line, which is that of the command */

const struct ss_sandbox_program ss_sandbox_programs[] = {
    {launchers, launcher_text},
    {runners, runner_text},
    {remotes, remote_text},
    {"tmux", tmux_text},
    {"sbatch qsub pjsub", sbatch_text},
    {"sh dash", sh_text},
    {"sleep sync wait clear", nothing_text},
    {"hostname", hostname_text},
    {"whoami", user_text},
    {"nproc", cores_text},
    {"tee", tee_text},
    {"which", which_text},
    {"git", git_text},
    {"nvidia-smi", gpus_text},
    {"rocm-smi", cards_text},
    {"scontrol", hosts_text},
};
const size_t ss_sandbox_program_count = SS_ARRAY_LEN(ss_sandbox_programs);

int ss_sandbox_answers(const char *name)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(ss_sandbox_programs); i++)
        if (ss_has_word(ss_sandbox_programs[i].names, name))
            return 1;
    return 0;
}

int ss_sandbox_is_tool(const char *name, size_t n)
{
    char word[32];

    snprintf(word, sizeof word, "%.*s", (int)n, name);
    return n < sizeof word && (ss_has_word(ss_sandbox_tools, word) ||
                               ss_has_word(ss_sandbox_changers, word) || ss_has_word("bash tee", word));
}
