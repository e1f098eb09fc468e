/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch script left to say: errors of the shell, and programs whose output it missed. */
#include <ctype.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/import.h"
#include "import/sandbox.h"
#include "stepsim/flags.h"

/* Lines that are shown. */
#define MOST 3

/* Whether a line is an error: "job.sh: line 3: ...", "cat: /x: No such file or directory". */
static int is_error(const char *line, size_t n)
{
    const char *at = memmem(line, n, ": line ", 7), *colon = memchr(line, ':', n);

    if (at && at + 7 < line + n && isdigit((unsigned char)at[7]))
        return 1;
    return colon && colon + 1 < line + n && colon[1] == ' ' &&
           ss_sandbox_is_tool(line, (size_t)(colon - line));
}

/* Whether an option of a launcher counts nodes or processes: "--nproc_per_node", not "--rdzv_endpoint". */
static int counts(const char *name)
{
    static const char *const parts[] = {"nodes", "nproc", "num_", "num-", "ntasks", "gpus"};

    for (size_t i = 0; i < SS_ARRAY_LEN(parts); i++)
        if (strstr(name, parts[i]))
            return 1;
    return ss_has_word("-n -np -N -ppn", name);
}

/* Whether the word around `at` is the value of a flag that decides something: "--tp $TP", "--tp=$TP". */
static int decides(const char *line, const char *at)
{
    const char *flag = at, *begin;
    char name[96];

    while (flag > line && !isspace((unsigned char)flag[-1]))
        flag--;
    for (begin = flag; *flag != '-' && begin > line && isspace((unsigned char)begin[-1]);)
        begin--;
    while (*flag != '-' && begin > line && !isspace((unsigned char)begin[-1]))
        begin--;
    begin = *flag == '-' ? flag : begin;
    begin += strspn(begin, "(\"'");
    snprintf(name, sizeof name, "%.*s", (int)strcspn(begin, "= \t\n\"'$"), begin);
    enum ss_flag_effect effect = ss_flag_effect(name, NULL);
    return name[0] == '-' &&
           (effect == SS_FLAG_IS_UNKNOWN ? counts(name) : effect != SS_FLAG_IS_WITHOUT_EFFECT);
}

/* Whether a flag of the script that decides something has the variable, or one that is made of it. */
static int matters(const char *text, const char *name, size_t n, int depth)
{
    const char *line = text;

    for (const char *p = text; *p; p++) {
        line = p > text && p[-1] == '\n' ? p : line;
        if (*p != '$' || strncmp(p + 1 + (p[1] == '{'), name, n) != 0)
            continue;
        const char *behind = p + 1 + (p[1] == '{') + n;
        if (isalnum((unsigned char)*behind) || *behind == '_')
            continue;
        const char *made = line + strspn(line, " \t");
        size_t m = strspn(made, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
        if (decides(line, p) ||
            (depth > 0 && m && made[m] == '=' && (m != n || strncmp(made, name, n) != 0) &&
             matters(text, made, m, depth - 1)))
            return 1;
    }
    return 0;
}

const struct ss_call *ss_launch_failed(const struct ss_calls *calls, const char *text)
{
    for (size_t i = 0; i < calls->n; i++) {
        const struct ss_call *c = &calls->call[i];
        if (c->kind == SS_CALL_FAILED && c->n > 1 && matters(text, c->word[0], strcspn(c->word[0], "+="), 3))
            return c;
    }
    return NULL;
}

int ss_launch_errors(const struct ss_calls *calls, char *out, size_t size)
{
    struct ss_notes lines = {0};

    out[0] = '\0';
    for (const char *p = calls->output; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (is_error(p, strcspn(p, "\n")))
            ss_note(&lines, "%.*s", (int)strcspn(p, "\n"), p);
    for (unsigned long i = lines.n > MOST ? lines.n - MOST : 0; i < lines.n; i++) {
        const char *text = lines.text[i], *name = strstr(text, ": line ");
        while (name && name > text && name[-1] != '/') /* a script's name without folders */
            name--;
        ss_append(out, size, "%s%.160s", out[0] ? " | " : "", name ? name : text);
    }
    int n = (int)lines.n;
    ss_notes_free(&lines);
    return n;
}

/* Programs that say where a job runs, not which job it is. */
static const char elsewhere[] =
    "git which whereis type ip ifconfig hostnamectl host dig nslookup getent ping netstat lsof ss nc route "
    "arp uuidgen pip pip3 "
    "module ml spack free df du uptime lscpu lspci lsb_release dmesg nvcc ibstat ibdev2netdev ibv_devinfo "
    "rocminfo tput stty "
    "squeue sacct sinfo scancel sbcast aws gsutil gcloud az curl wget openssl tmux screen logname ulimit ps "
    "pgrep kill pkill "
    "file ldconfig ldd gcc cmake make lsmod modinfo sysctl sw_vers vmstat qstat bjobs wandb";

const char *ss_launch_used(const struct ss_calls *calls)
{
    for (size_t i = 0; i < calls->n; i++) {
        const struct ss_call *c = &calls->call[i];
        const char *slash = c->n ? strrchr(c->word[0], '/') : NULL;
        if (c->kind == SS_CALL_USED && c->n && !ss_has_word(elsewhere, slash ? slash + 1 : c->word[0]))
            return c->word[0];
    }
    return NULL;
}
