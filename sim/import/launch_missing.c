/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a launch script asked for and did not get, although the machine has them. */
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "import/import.h"
#include "import/sandbox.h"

/* Folders of the system, whose files say what a machine is, not what a job is. */
static const char *const system_folders[] = {"/etc",  "/usr",     "/proc",    "/sys",   "/dev",
                                             "/run",  "/lib",     "/lib32",   "/lib64", "/bin",
                                             "/sbin", "/var/lib", "/var/run", "/snap",  "/nix"};
/* Files that set up a shell or software for it, wherever they are. */
static const char set_up[] =
    "activate bashrc profile conda.sh mamba.sh micromamba.sh setvars.sh compilervars.sh set_env.sh "
    "lmod.sh modules.sh init.sh";

struct missing {
    const struct ss_calls *calls;
    struct ss_view *view;
    struct ss_launch_made *made;
    int again; /* 1: something is wanted that was not */
    struct ss_error *err;
};

/* A path as the machine has it. */
static const char *plain(const struct ss_calls *calls, const char *path)
{
    const size_t n = calls->above ? strlen(calls->above) : 0;

    return path + (n && !strncmp(path, calls->above, n) ? n : 0);
}

static int is_of_system(const char *path)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(system_folders); i++)
        if (ss_view_within(path, system_folders[i]))
            return 1;
    return 0;
}

int ss_launch_sets_up(const char *path, size_t n)
{
    char own[PATH_MAX];

    snprintf(own, sizeof own, "%.*s", (int)n, path + strspn(path, "\"'"));
    own[strcspn(own, "\"'")] = '\0';
    const char *slash = strrchr(own, '/'), *name = slash ? slash + 1 : own;
    name += *name == '.';
    return is_of_system(own) || ss_has_word(set_up, name) || strstr(name, "bash_") == name;
}

/* Whether a file is a program, which launch scripts call by its path, and no script of a shell. */
static int is_program(const char *path, const struct stat *st)
{
    char head[64] = "";
    FILE *f = st->st_mode & 0111 ? fopen(path, "rb") : NULL;

    if (!f)
        return 0;
    size_t n = fread(head, 1, sizeof head - 1, f);
    fclose(f);
    head[n] = 0;
    head[strcspn(head, "\n")] = 0;
    size_t len = strlen(path);
    return (strncmp(head, "#!", 2) != 0 || !strstr(head, "sh")) &&
           (len < 3 || strcmp(path + len - 3, ".sh") != 0);
}

/* Whether the view has all that the path names, as far as its limits allow: real has no links. */
static int is_in_view(const struct ss_view *v, const char *real)
{
    char folder[PATH_MAX];
    int r = ss_view_root_of(v, real);

    if (r < 0 || v->root[r].kind == SS_VIEW_NAMED)
        return 0;
    for (const char *p = real + strlen(v->root[r].path); *p;) {
        char name[NAME_MAX + 1];
        size_t n = strcspn(p + 1, "/");
        snprintf(folder, sizeof folder, "%.*s", (int)(p - real), real);
        snprintf(name, sizeof name, "%.*s", (int)n, p + 1);
        if (!ss_view_shows(v, folder, name, p[1 + n] != 0) || (p[1 + n] && v->root[r].kind != SS_VIEW_WHOLE))
            return 0;
        p += 1 + n;
    }
    return 1;
}

/* Some of these are of the user, not of a job: settings and keys beside a home. */
static int is_own(const struct ss_view *v, const char *real)
{
    size_t n = v->home ? strlen(v->home) : 0;

    return n && ss_view_within(real, v->home) && real[n] && real[n + 1] == '.';
}

static int refuse(struct missing *m, const char *real, const char *file, int line)
{
    char folder[PATH_MAX];
    const char *slash = strrchr(real, '/');

    snprintf(folder, sizeof folder, "%.*s", slash > real ? (int)(slash - real) : 1, real);
    return ss_fail(m->err, SS_ERR_INPUT, file, line,
                   "the script reads %s, which this machine has and the script does not see" SS_HINT
                   "give --let-in %s; without it a script sees its folder, the working folder and what lies "
                   "around both",
                   real, slash > real ? folder : real);
}

/* A file that was not there, by a path that the machine may have. sourced: by "source". */
static int examine(struct missing *m, const char *path, int sourced, const char *file, int line)
{
    char real[PATH_MAX];
    struct stat st;

    path = plain(m->calls, path);
    if (path[0] != '/' || !realpath(path, real) || stat(real, &st) || !S_ISREG(st.st_mode) ||
        is_of_system(real) || is_program(real, &st))
        return SS_OK;
    if (is_in_view(m->view, real)) { /* but for the number of its entries */
        unsigned long before = m->view->wanted.n;
        int rc = ss_notes_add(&m->view->wanted, "%s", real);
        m->again |= m->view->wanted.n > before;
        return rc ? ss_nomem(m->err) : SS_OK;
    }
    if (ss_launch_sets_up(real, strlen(real)) || (!sourced && is_own(m->view, real)))
        return ss_notes_add(&m->made->hidden, "%s", real) ? ss_nomem(m->err) : SS_OK;
    return refuse(m, real, file, line);
}

/* A name in the working folder ("./x", "`pwd`/x") that the script's own folder has where the working folder has not: the script is run there, as its users do. */
static int try_own_folder(struct missing *m, const char *name)
{
    char path[PATH_MAX];
    const char *script = m->view->script;
    int n = (int)(strrchr(script, '/') - script);
    size_t work = strlen(m->view->work);
    struct stat st;

    name = plain(m->calls, name);
    name += !strncmp(name, m->view->work, work) && name[work] == '/' ? work + 1 : 0;
    if (name[0] == '/' || (!strncmp(m->view->work, script, (size_t)n) && !m->view->work[n]) ||
        snprintf(path, sizeof path, "%s/%s", m->view->work, name) >= (int)sizeof path || !stat(path, &st) ||
        snprintf(path, sizeof path, "%.*s/%s", n, script, name) >= (int)sizeof path || stat(path, &st) ||
        !S_ISREG(st.st_mode))
        return 0;
    char *folder = strndup(script, n ? (size_t)n : 1);
    if (!folder || ss_notes_add(&m->made->own, "%s", name)) {
        free(folder);
        return 0;
    }
    free(m->view->work);
    m->view->work = folder;
    return m->again = 1;
}

/* Takes `folder`, which the machine has not, for the name on the cluster of a folder that is seen, if that one has the file. */
static int stand_for(struct missing *m, const char *folder, int n, const char *file)
{
    struct ss_view *v = m->view;
    char path[PATH_MAX];
    struct stat st;

    for (int i = -1; i < v->n && n > 0 && folder[0] == '/'; i++) {
        const char *here = i < 0 ? v->work : v->root[i].path;
        snprintf(path, sizeof path, "%.*s", n, folder);
        if ((i >= 0 && v->root[i].kind != SS_VIEW_WHOLE) || ss_view_within(path, here) || !stat(path, &st) ||
            snprintf(path, sizeof path, "%s/%s", here, file) >= (int)sizeof path || stat(path, &st) ||
            !S_ISREG(st.st_mode))
            continue;
        v->away = strndup(folder, (size_t)n);
        v->here = strdup(here);
        if (!v->away || !v->here ||
            ss_notes_add(&m->made->tested, "%s: %s is not here: %s, which has %s, is taken for it",
                         strrchr(v->script, '/') + 1, v->away, here, file))
            return 0;
        return m->again = 1;
    }
    return 0;
}

/* A path below a folder of the cluster, "/home/me/Megatron-LM/examples/run.sh", that the user's copy has. The folder is the shortest one, of at most n bytes,
 * below which the copy has what the path names. */
static int try_path(struct missing *m, const char *path, size_t n)
{
    for (const char *at = path + 1; (at = strchr(at, '/')) && (size_t)(at - path) <= n; at++)
        if (stand_for(m, path, (int)(at - path), at + 1))
            return 1;
    return 0;
}

/* The same for a name: relative ones in the folder where a command with it failed, else where any failed, else where the script went last. */
static int try_copy(struct missing *m, const char *name)
{
    char path[PATH_MAX];

    if (m->view->away)
        return m->again;
    name = plain(m->calls, name);
    const char *slash = strrchr(name, '/');
    if (name[0] == '/')
        return slash > name && try_path(m, name, (size_t)(slash - name) - 1);
    for (int turn = 0; turn < 3; turn++)
        for (size_t i = m->calls->n; i-- > 0;) {
            const struct ss_call *c = &m->calls->call[i];
            if (c->kind != SS_CALL_FOLDER || c->n < (turn < 2 ? 2 : 1) ||
                (!turn && !strstr(c->word[1], name)))
                continue;
            const char *folder = plain(m->calls, c->word[0]);
            if (snprintf(path, sizeof path, "%s/%s", folder, name) < (int)sizeof path &&
                try_path(m, path, strlen(folder)))
                return 1;
        }
    return 0;
}

/* A name as a program told it: relative ones by every folder that the script was in. */
static int examine_name(struct missing *m, const char *name)
{
    char path[PATH_MAX];
    int rc = SS_OK;

    if (name[0] == '/')
        rc = examine(m, name, 0, m->view->script, 0);
    else if (snprintf(path, sizeof path, "%s/%s", m->view->work, name) < (int)sizeof path)
        rc = examine(m, path, 0, m->view->script, 0);
    if (!rc && !m->again && (try_own_folder(m, name) || try_copy(m, name)))
        return SS_OK;
    for (size_t i = 0; i < m->calls->n && !rc && name[0] != '/'; i++) {
        const struct ss_call *c = &m->calls->call[i];
        if (c->kind == SS_CALL_FOLDER && c->n > 0 &&
            snprintf(path, sizeof path, "%s/%s", c->word[0], name) < (int)sizeof path)
            rc = examine(m, path, 0, m->view->script, 0);
    }
    return rc;
}

/* Messages "cat: ../.env: No such file or directory", "cannot open '../.env' for reading: ...", "cannot open x (No such ...". */
static int examine_output(struct missing *m)
{
    static const char end[] = "No such file or directory", reading[] = " for reading";
    int rc = SS_OK;

    for (const char *p = m->calls->output; p && !rc && (p = strstr(p, end)) != NULL; p += sizeof end - 1) {
        const char *text = m->calls->output, *last = p, *begin;
        char name[PATH_MAX];
        while (last > text && strchr(" (:", last[-1]))
            last--;
        if (last - text > 9 &&
            !strncmp(last - 9, "[Errno 2]", 9)) /* python3: can't open file 'x': [Errno 2] No such ... */
            for (last -= 9; last > text && strchr(" :", last[-1]);)
                last--;
        if (last - text > (long)sizeof reading &&
            !strncmp(last - (sizeof reading - 1), reading, sizeof reading - 1))
            last -= sizeof reading - 1;
        if (p[sizeof end - 1] == ':' && p[sizeof end] == ' ') { /* as Python tells it */
            begin = p + sizeof end + 1;
            last = begin + strcspn(begin, "\n");
        } else {
            for (begin = last; begin > text && begin[-1] != '\n' && begin[-1] != ' ';)
                begin--;
        }
        while (begin < last && strchr("'\"`", *begin))
            begin++;
        while (last > begin && strchr("'\"`", last[-1]))
            last--;
        snprintf(name, sizeof name, "%.*s", (int)(last - begin), begin);
        rc = name[0] ? examine_name(m, name) : SS_OK;
    }
    return rc;
}

int ss_launch_missing(const struct ss_calls *calls, struct ss_view *view, struct ss_launch_made *made,
                      struct ss_error *err)
{
    struct missing m = {.calls = calls, .view = view, .made = made, .err = err};
    int rc = SS_OK;

    for (size_t i = 0; i < calls->n && !rc; i++) {
        const struct ss_call *c = &calls->call[i];
        int64_t line = 0;
        if (c->kind != SS_CALL_MISSING || c->n < 4)
            continue;
        if (ss_parse_i64(c->word[3], 0, 1 << 30, &line))
            line = 0;
        rc = examine(&m, c->word[1], 1, plain(calls, c->word[2]), (int)line);
        const char *name = c->word[0], *path = plain(calls, c->word[1]);
        if (!rc && !m.again &&
            (try_own_folder(&m, name) ||
             (name[0] == '/' || view->away ? try_copy(&m, name)
                                           : try_path(&m, path, strlen(path) - strlen(name) - 1))))
            return 1;
    }
    rc = rc ? rc : examine_output(&m);
    return rc ? rc : m.again;
}
