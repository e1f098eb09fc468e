/* SPDX-License-Identifier: Apache-2.0 */
/* The file system that a launch script sees: text tools, launchers that are recorded, devices. */
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "import/sandbox.h"

/* Programs of this machine that read and write text, and files of the sandbox. One that the machine lacks does nothing. */
static const char tools[] =
    "[ awk basename bc cat cmp comm cut date diff dirname echo egrep env expand expr false fgrep file find "
    "fmt "
    "fold gawk getconf "
    "grep head id jq join ls mawk md5sum mkdir mktemp nl numfmt od paste perl pr printenv printf pwd "
    "readlink "
    "realpath rev "
    "sed seq sha256sum shuf sort stat sum tac tail test tr true tsort uname uniq wc xargs";
/* They change files, and do nothing where the script sees those of the machine. */
static const char changers[] = "chmod cp ln mv rm rmdir split touch";
/* Recorded with their words, they do nothing. */
static const char launchers[] =
    "torchrun dlrover-run msrun deepspeed accelerate colossalai python python2 python3 python3.8 "
    "python3.9 python3.10 python3.11 python3.12 python3.13 "
    "llamafactory-cli axolotl swift megatron nemo nemorun trl tune litgpt xtuner";
/* They run the first of their words that is a program of the sandbox or a script. */
static const char runners[] =
    "srun mpirun mpiexec mpiexec.hydra orterun prun aprun jsrun flux horovodrun bsub kubectl numactl nsys "
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

static const char launcher_text[] =
    HEAD "case \"${0##*/} ${1-}\" in python*' -c'|python*' -'|python*' -V'|python*' --version'|python*' ')\n"
         "  export PYTHONPATH=@R" SS_SANDBOX_MODULES "${PYTHONPATH:+:$PYTHONPATH}\n"
         "  [ -x @R" SS_SANDBOX_REAL "/python3 ] && exec @R" SS_SANDBOX_REAL "/python3 \"$@\";; esac\n"
         /* variables that count: as a runner of its own */
         "own=(env); for name in CUDA_VISIBLE_DEVICES HIP_VISIBLE_DEVICES ROCR_VISIBLE_DEVICES PET_NNODES "
         "PET_NPROC_PER_NODE NNODES NPROC_PER_NODE; do\n"
         "  [ -z \"${!name-}\" ] || own+=(\"$name=${!name}\"); done\n"
         "if ((${#own[@]} > 1)); then\n" RECORD "printf '%s' \"${STEPSIM_RUNNER-}\" > $at/by\n"
         "printf '%s\\0' \"${own[@]}\" > $at/runner; STEPSIM_RUNNER=$n; fi\n" RECORD
         "printf '%s' \"${STEPSIM_RUNNER-}\" > $at/by\n"
         "printf '%s\\0' \"${0##*/}\" \"$@\" > $at/launcher\n"
         /* files, and those that configurations among them name */
         "look() {\n"
         "  local file=$1 text= word\n"
         "  case $file in ''|*.py|*.sh) return;; esac; [ -f \"$file\" ] || return\n"
         "  case $seen in *\":$file:\"*) return;; esac; seen=$seen:$file:\n"
         "  IFS= read -r -d '' -n 65536 text < \"$file\" && ((${#text} < 65536)) && return\n" RECORD
         "  case $file in /*) set -- \"$file\";; *) set -- \"$PWD/$file\";; esac\n"
         "  printf '%s\\0%s\\0%s\\0' \"$file\" \"$text\" \"$1\" > $at/file\n"
         "  case $file in *.json|*.yaml|*.yml|*.toml) set -f; for word in ${text//[\\\"\\',:]/ }; do\n"
         "    case $word in *.json|*.yaml|*.yml) look \"$word\";; esac; done; set +f;; esac\n"
         "}\n"
         "seen=; for word in \"$@\" \"${STEPSIM_HOSTS-}\"; do look \"${word#*=}\"; done; exit 0\n";

static const char runner_text[] = HEAD
    /* not the image of a container, nor another file that is a value */
    "is_script() { local head=; [ -f \"$1\" ] && [ -s \"$1\" ] || return 1\n"
    "case $1 in *.sh|*.bash|*.slurm|*.sbatch) return 0;; esac; [ -x \"$1\" ] && return 0\n"
    "IFS= read -r -n 2 head < \"$1\"; [ \"$head\" = '#!' ]; }\n" RECORD
    "printf '%s' \"${STEPSIM_RUNNER-}\" > $at/by\n"
    "own=(\"${0##*/}\")\n"
    "while (($#)); do\n"
    /* values that may be called as a program is, the environment "env", the partition "test", or are files */
    "  case \"$own $1\" in *'conda -'[np]|*'mamba -'[np]|'srun -'[pJAqwxCD]|*' --name'|*' --prefix'|"
    "*' --hostfile'|*' -hostfile'|*' --machinefile'|*' -machinefile'|'mpiexec -f'|'mpirun -f'|"
    "*' --partition'|*' --job-name'|*' --account'|*' --qos'|'kubectl -'[nc])\n"
    "  case $1 in *hostfile|*machinefile|-f) export STEPSIM_HOSTS=${2-};; esac; own+=(\"$1\"); shift; "
    "own+=(\"${1-}\"); shift; "
    "continue;; esac\n"
    "  case $1 in --hostfile=*) export STEPSIM_HOSTS=${1#*=};; -*) ;; *) [ -f @R" SS_SANDBOX_PROGRAMS
    "/\"${1##*/}\" ] && break; is_script \"$1\" && break;; esac\n"
    "  own+=(\"$1\"); shift\n"
    "done\n"
    "printf '%s\\0' \"${own[@]}\" > $at/runner\n"
    "export STEPSIM_RUNNER=$n\n"
    "(($#)) || [ \"$own\" = bsub ] || exit 0\n" /* whose script is on stdin */
    "(($#)) || set -- bash\n"
    "name=${1##*/}; [ -x @R" SS_SANDBOX_PROGRAMS "/\"$name\" ] && { shift; exec @R" SS_SANDBOX_PROGRAMS
    "/\"$name\" \"$@\"; }\n"
    "exec @R" SS_SANDBOX_PROGRAMS "/bash \"$@\"\n";

/* "ssh [options] HOST words", "pdsh -w HOSTS words"; without words what stdin says. */
static const char remote_text[] = HEAD RECORD "name=${0##*/}\n"
                                              "while (($#)); do\n"
                                              "  case \"$name $1\" in 'ssh -'[pliOoFJLRDbcemQSWwEIB]|'pdsh "
                                              "-'[wgxXltufR]|'clush -'[wgxXltufRo]) shift; shift;;\n"
                                              "  \"$name -\"*) shift;; *) break;; esac\n"
                                              "done\n"
                                              "[ \"$name\" != ssh ] || shift\n"
                                              "printf '%s' \"${STEPSIM_RUNNER-}\" > $at/by\n"
                                              "printf '%s\\0' \"$name\" > $at/runner\n"
                                              "export STEPSIM_RUNNER=$n\n"
                                              "(($#)) && set -- -c \"$*\"\n"
                                              "exec @R" SS_SANDBOX_PROGRAMS "/bash \"$@\"\n";

/* sbatch: the batch script is a file or comes on stdin; its #SBATCH lines are words of the command, too. */
static const char sbatch_text[] =
    HEAD RECORD "own=(sbatch); wrap=\n"
                "while (($#)); do\n"
                "  case $1 in --wrap) wrap=$2; shift;; --wrap=*) wrap=${1#--wrap=};; -*) own+=(\"$1\");; *) "
                "[ -f \"$1\" ] && break; own+=(\"$1\");; esac\n"
                "  shift\n"
                "done\n"
                "if [ -n \"$wrap\" ]; then printf '%s\\n' \"$wrap\" > $at/batch; set -- $at/batch\n"
                "elif ! (($#)); then @R" SS_SANDBOX_REAL "/cat > $at/batch; set -- $at/batch; fi\n"
                "while read -r mark rest; do case $mark in '#SBATCH') own+=($rest);; esac; done < \"$1\"\n"
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
static const char git_text[] = HEAD
    "while (($#)); do case $1 in -C) cd -- \"$2\" || exit 128; shift;; -c) shift;; -*) ;; *) break;; esac; "
    "shift; done\n"
    "[ \"${1-}\" = rev-parse ] || set --\n"
    "roots='\n@T'; top=${PWD#@R" SS_SANDBOX_VIEW "}; above=${PWD%\"$top\"}\n"
    "until [ -z \"$top\" ] || [[ $roots = *$'\\n'\"$top\"$'\\n'* ]]; do top=${top%/*}; done\n"
    "for word; do case $word in --show-toplevel|--is-inside-work-tree)\n"
    "  [ -n \"$top\" ] || { echo 'fatal: not a git repository' >&2; exit 128; }\n"
    "  [ $word = --show-toplevel ] || { top=true; above=; }\n"
    "  printf '%s\\n' \"$above$top\"; exit;; esac; done\n" RECORD "printf '%s\\0' git > $at/nothing\n";
static const char hostname_text[] = HEAD "echo node0\n";
static const char user_text[] = HEAD "echo user\n";
static const char cores_text[] = HEAD "echo 64\n";
static const char gpus_text[] = HEAD "for ((i = 0; i < @G; i++)); do echo \"GPU $i: GPU\"; done\n";
static const char hosts_text[] =
    HEAD "[ \"${2-}\" = hostnames ] && for ((i = 0; i < @N; i++)); do echo node$i; done\nexit 0\n";

/* What scripts ask PyTorch before they launch: how many GPUs the node has. */
static const char torch_text[] = "__version__ = '2.8.0'\n"
                                 "class cuda:\n"
                                 "    device_count = staticmethod(lambda: @G)\n"
                                 "    is_available = staticmethod(lambda: True)\n";

/* What bash reads before each script: names that are nobody's do nothing, folders that are missing are made. Files of the real
 * machine are missing, so what fails is no reason to stop, whatever the script sets. */
static const char start_text[] =
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
    /* its output is used: a command around it captures it, or it goes to a configuration */
    "local kind=nothing name\n"
    "((BASH_SUBSHELL > ${STEPSIM_LEVEL-99})) && for name in \"$1\" \"${FUNCNAME[@]:1}\"; do\n"
    "case $STEPSIM_OUTER in *\"$name\"*) kind=used;; esac; done\n"
    "name=$BASHPID; case $(@R" SS_SANDBOX_PROGRAMS "/readlink /proc/$name/fd/1 2>/dev/null) in\n"
    "*.json|*.y*ml|*.toml|*.env|*.sh|*.args) kind=used;; esac\n"
    "stepsim_call $kind \"$@\"; return 0; }\n"
    /* the last command that captures what programs write, and the shell in which it does */
    "stepsim_outer() { case $1 in *'$('*|*'`'*|*'<('*) STEPSIM_OUTER=$1 STEPSIM_LEVEL=$BASH_SUBSHELL;; *)\n"
    "((BASH_SUBSHELL > ${STEPSIM_LEVEL-99})) || unset STEPSIM_LEVEL;; esac; return 0; }\n"
    "cd() { if ! builtin cd \"$@\" 2>/dev/null; then eval \"local to=\\${$#-}\"\n"
    "case $to in ''|-) return 0;; esac\n"
    "@R" SS_SANDBOX_REAL
    "/mkdir -p -- \"$to\" 2>/dev/null; builtin cd -- \"$to\" 2>/dev/null || return 0; fi\n"
    "stepsim_call folder \"$PWD\"; }\n"
    /* before "source": what is not there is told and left out, as if it were empty */
    "stepsim_source() { [ \"${1-}\" != -- ] || shift; if [ -z \"${1-}\" ] || [ -r \"$1\" ]; then return 0; "
    "fi\n"
    "case $1 in /*) set -- \"$1\" \"$1\";; */*) set -- \"$1\" \"$PWD/$1\";; *) type -P -- \"$1\" >/dev/null "
    "&& return 0\n"
    "set -- \"$1\" \"$PWD/$1\";; esac; stepsim_call missing \"$1\" \"$2\" \"${BASH_SOURCE[1]-}\" "
    "\"${BASH_LINENO[0]-}\"\n"
    "return 1; }\n"
    /* With extdebug a command before which the trap fails is left out, and counts as one that succeeded; set before the script begins, it
     * would start a debugger. The arguments of "source" mean what they mean to it, hence in the trap itself; in a function it would have
     * other arguments, and what is declared would be lost. */
    "trap 'stepsim_call set $(compgen -v)' EXIT; set -TE\n"
    /* a value that could not be made, where "set -e" would stop the script: ERR does not know of errors in arithmetic */
    "stepsim_failed() { local name=${1%%=*}; case ${STEPSIM_STOPS-}${name%+} in 1*[!A-Za-z0-9_]*|1) return "
    "0;; 1*) ;; *) "
    "return 0;; esac\n"
    "case $1 in *'$('*|*'`'*) stepsim_call failed \"$1\" \"$2\";; esac; return 0; }\n"
    "stepsim_last() { case $- in *e*) STEPSIM_STOPS=1;; esac\n"
    "case $2 in 'set +e'*|'set +'[!o]*e*|'set +o errexit'*) STEPSIM_STOPS=;; esac\n"
    "case $1${STEPSIM_LAST-} in [1-9]*=*'$(('*) stepsim_failed \"$STEPSIM_LAST\" \"$STEPSIM_LINE\";; esac\n"
    "STEPSIM_LAST=$2 STEPSIM_LINE=$3; return 0; }\n"
    "trap 'stepsim_failed \"$BASH_COMMAND\" $LINENO' ERR\n"
    "trap 'stepsim_last $? \"$BASH_COMMAND\" $LINENO; builtin set +eu +o pipefail; shopt -s extdebug; "
    "stepsim_outer \"$BASH_COMMAND\"; case "
    "$BASH_COMMAND in "
    "\"source \"*\"<\"*|\". \"*\"<\"*) :;; \"source \"*|\". \"*) eval \"stepsim_source ${BASH_COMMAND#* "
    "}\";; "
    "*\">\"*) stepsim_folder \"$BASH_COMMAND\";; *) :;; esac' DEBUG\n"; /* last, and one line, which is that of the command */

static const struct {
    const char *names, *text;
} scripts[] = {
    {launchers, launcher_text},
    {runners, runner_text},
    {remotes, remote_text},
    {"sbatch salloc", sbatch_text},
    {"sh dash", sh_text},
    {"sleep sync wait clear", nothing_text},
    {"hostname", hostname_text},
    {"whoami", user_text},
    {"nproc", cores_text},
    {"tee", tee_text},
    {"which", which_text},
    {"git", git_text},
    {"nvidia-smi rocm-smi", gpus_text},
    {"scontrol", hosts_text},
};

struct tree {
    const struct ss_sandbox *box;
    const char *base, *inside;
    char *what; /* [4096]: path at which it failed */
};

static const char *at(struct tree *t, const char *below, const char *name)
{
    snprintf(t->what, 4096, "%s%s%s%s", t->base, below, name[0] ? "/" : "", name);
    return t->what;
}

static int make_folders(struct tree *t)
{
    static const char *const folders[] = {"/.stepsim",      SS_SANDBOX_PROGRAMS, SS_SANDBOX_REAL,
                                          SS_SANDBOX_CALLS, SS_SANDBOX_MODULES,  "/tmp",
                                          "/home",          SS_SANDBOX_HOME};
    size_t n = SS_ARRAY_LEN(folders) - (t->inside[0] ? 0 : 2); /* in a root of its own there is the user's */

    for (size_t i = 0; i < n; i++)
        if (mkdir(at(t, folders[i], ""), 0777))
            return errno;
    return 0;
}

/* Text with the path of the tree for @R, GPUs of a node for @G, nodes for @N, repositories for @T. */
static int write_text(struct tree *t, FILE *f, const char *text)
{
    for (const char *p = text; *p; p++)
        if (p[0] == '@' && p[1] && strchr("RGNT", p[1]))
            switch (*++p) {
            case 'R': fputs(t->inside, f); break;
            case 'T':
                for (unsigned long i = 0; i < t->box->view->repositories.n; i++)
                    fprintf(f, "%s\n", t->box->view->repositories.text[i]);
                break;
            case 'G': fprintf(f, "%d", t->box->gpus_per_node); break;
            default: fprintf(f, "%d", t->box->nodes); break;
            }
        else
            fputc(*p, f);
    return ferror(f);
}

/* A script that everybody may run. */
static int write_script(struct tree *t, const char *below, const char *name, const char *text)
{
    FILE *f = fopen(at(t, below, name), "w");

    if (!f)
        return errno;
    int bad = write_text(t, f, text);
    if (fclose(f) || bad)
        return EIO;
    return chmod(t->what, 0755) ? errno : 0;
}

/* The program of that name of this machine, as a path without links. */
static int find_program(const char *name, size_t len, char path[4096])
{
    static const char *const folders[] = {"/usr/bin", "/bin", "/usr/local/bin"};
    char link[4096];

    for (size_t i = 0; i < SS_ARRAY_LEN(folders); i++) {
        snprintf(link, sizeof link, "%s/%.*s", folders[i], (int)len, name);
        if (access(link, X_OK) == 0 && realpath(link, path))
            return 1;
    }
    return 0;
}

int ss_sandbox_is_tool(const char *name, size_t n)
{
    char word[32];

    snprintf(word, sizeof word, "%.*s", (int)n, name);
    return n < sizeof word &&
           (ss_has_word(tools, word) || ss_has_word(changers, word) || ss_has_word("bash tee", word));
}

int ss_sandbox_copy(int from, int folder, const char *name, size_t most, mode_t mode)
{
    char block[65536];
    int out = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode), bad = out < 0;
    ssize_t got = 0;

    for (; !bad && most > 0; most -= (size_t)got) {
        got = read(from, block, most < sizeof block ? most : sizeof block);
        if (got <= 0)
            break;
        ssize_t put = write(out, block, (size_t)got);
        bad = put != got;
        errno = put >= 0 ? ENOSPC : errno;
    }
    int why = bad || got < 0 ? errno : 0;
    if (out >= 0)
        close(out);
    return why;
}

static int add_program(struct tree *t, const char *name, size_t len, const char *below)
{
    char path[4096], own[64];

    snprintf(own, sizeof own, "%.*s", (int)len, name);
    if (!find_program(name, len, path))
        return 0;
    if (t->inside[0]) /* the machine's own file system is seen */
        return symlink(path, at(t, below, own)) ? errno : 0;
    int in = open(path, O_RDONLY | O_CLOEXEC);
    if (in < 0) /* that may not be read */
        return 0;
    int rc = ss_sandbox_copy(in, AT_FDCWD, at(t, below, own), SIZE_MAX, 0755);
    close(in);
    return rc;
}

static int add_tools(struct tree *t)
{
    int rc = add_program(t, "bash", 4, SS_SANDBOX_REAL);

    for (const char *p = "mkdir cat python3 tee"; !rc && *p; p += strcspn(p, " "), p += strspn(p, " "))
        rc = add_program(t, p, strcspn(p, " "), SS_SANDBOX_REAL);
    rc = rc ? rc : add_program(t, "bash", 4, SS_SANDBOX_PROGRAMS);
    for (const char *p = tools; !rc && *p; p += strcspn(p, " "), p += strspn(p, " "))
        rc = add_program(t, p, strcspn(p, " "), SS_SANDBOX_PROGRAMS);
    for (const char *p = t->inside[0] ? "" : changers; !rc && *p; p += strcspn(p, " "), p += strspn(p, " "))
        rc = add_program(t, p, strcspn(p, " "), SS_SANDBOX_PROGRAMS);
    return rc;
}

static int add_scripts(struct tree *t)
{
    int rc = 0;

    for (size_t i = 0; i < SS_ARRAY_LEN(scripts) && !rc; i++)
        for (const char *p = scripts[i].names; !rc && *p; p += strcspn(p, " "), p += strspn(p, " ")) {
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
            rc = write_script(t, SS_SANDBOX_PROGRAMS, name, scripts[i].text);
        }
    rc = rc ? rc : write_script(t, SS_SANDBOX_MODULES, "torch.py", torch_text);
    return rc ? rc : write_script(t, "/.stepsim", "start", start_text);
}

/* The hosts as PBS lists them. */
static int add_hosts(struct tree *t)
{
    FILE *f = fopen(at(t, SS_SANDBOX_HOSTS, ""), "w");
    int bad = 0;

    if (!f)
        return errno;
    for (int node = 0; node < t->box->nodes && !bad; node++)
        for (int i = 0; i < t->box->host_lines && !bad; i++)
            bad = fprintf(f, "node%d\n", node) < 0;
    if (fclose(f) || bad)
        return EIO;
    return chmod(t->what, 0644) ? errno : 0;
}

int ss_sandbox_tree(const struct ss_sandbox *box, const char *base, const char *inside, char what[4096])
{
    struct tree t = {box, base, inside, what};
    int rc = make_folders(&t);

    rc = rc ? rc : add_tools(&t);
    rc = rc || !box->host_lines ? rc : add_hosts(&t);
    return rc ? rc : add_scripts(&t);
}
