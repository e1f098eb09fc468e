/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch script left to say: errors of the shell, and programs whose output it missed. */
#include "base/base.h"
#include "import/import.h"
#include "import/sandbox.h"

/* Lines that are shown. */
#define MOST 3

/* Whether the error is of a file for "source", which is told by itself. */
static int is_of_source(const struct ss_calls *calls, const char *line, size_t n)
{
    for (size_t i = 0; i < calls->n; i++) {
        const struct ss_call *c = &calls->call[i];
        const char *at = c->kind == SS_CALL_MISSING ? memmem(line, n, c->word[0], strlen(c->word[0])) : NULL;
        if (at && !strncmp(at + strlen(c->word[0]), ": No such file", 14))
            return 1;
    }
    return 0;
}

/* Whether a line is an error: "job.sh: line 3: ...", "cat: /x: No such file or directory". */
static int is_error(const char *line, size_t n)
{
    const char *at = memmem(line, n, ": line ", 7), *colon = memchr(line, ':', n);

    if (at && at + 7 < line + n && isdigit((unsigned char)at[7]))
        return 1;
    return colon && colon + 1 < line + n && colon[1] == ' ' &&
           ss_sandbox_is_tool(line, (size_t)(colon - line));
}

int ss_launch_errors(const struct ss_calls *calls, char *out, size_t size)
{
    struct ss_notes lines = {0};

    out[0] = '\0';
    for (const char *p = calls->output; p && *p; p += strcspn(p, "\n"), p += *p == '\n')
        if (is_error(p, strcspn(p, "\n")) && !is_of_source(calls, p, strcspn(p, "\n")))
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
        const char *name = c->n ? c->word[0] : "", *outer = c->n > 1 ? c->word[1] : "",
                   *dot = strrchr(outer, '.');
        /* what it writes is run: no guess is a command */
        int runs = !strncmp(outer, "eval ", 5) || !strncmp(outer, "source <", 8) ||
                   !strncmp(outer, "export $", 8) || !strncmp(outer, "export `", 8) ||
                   (outer[0] == '>' && dot && ss_has_word(".sh .env", dot));
        if (c->kind == SS_CALL_USED && c->n && !ss_has_word(elsewhere, name) && !strchr(name, '/') &&
            strcmp(outer, "a pipe") != 0 &&
            (!ss_sandbox_answers(name) || (runs && !strncmp(name, "python", 6))))
            return c->word[0];
    }
    return NULL;
}
