/* SPDX-License-Identifier: Apache-2.0 */
/* Which folders of the machine a launch script sees, and what of them. */
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "import/sandbox.h"

/* Levels above a folder that belong to its work where no Git repository says what does. */
#define LEVELS 2

/* Folders of all users, or of the system: what lies in one of them need not belong together. */
static const char shared_folders[] = "/ /bin /boot /dev /etc /home /lib /lib32 /lib64 /media /mnt /opt /proc "
                                     "/root /run /sbin /srv /sys /tmp /usr "
                                     "/usr/bin /usr/lib /usr/lib32 /usr/lib64 /usr/libexec /usr/local "
                                     "/usr/local/bin /usr/sbin /usr/share /var /var/lib "
                                     "/var/tmp /Users";
/* Below a folder that is seen nobody needs these for a job: histories, keys and passwords. */
static const char secrets[] =
    ".git .ssh .gnupg .aws .azure .gcloud .kube .docker .netrc .pgpass .git-credentials "
    ".bash_history .python_history";

int ss_view_within(const char *path, const char *folder)
{
    size_t n = strlen(folder);

    n -= n > 0 && folder[n - 1] == '/';
    return !strncmp(path, folder, n) && (path[n] == '/' || path[n] == 0);
}

static void parent(const char *path, char out[PATH_MAX])
{
    const char *slash = strrchr(path, '/');

    snprintf(out, PATH_MAX, "%.*s", slash > path ? (int)(slash - path) : 1, path);
}

static int has(const char *folder, const char *name, struct stat *st)
{
    char path[PATH_MAX + 16];

    snprintf(path, sizeof path, "%s/%s", folder, name);
    return !lstat(path, st);
}

/* Whether all that is in a folder may be seen, since it is a folder of somebody's work: not one of everybody, nor a home. */
static int is_work(const char *folder, const char *home)
{
    struct stat st;
    char above[PATH_MAX];

    parent(folder, above);
    return !ss_has_word(shared_folders, folder) && !ss_has_word("/home /Users", above) &&
           !(home && ss_view_within(home, folder)) && !stat(folder, &st) && !(st.st_mode & S_ISVTX) &&
           !has(folder, ".ssh", &st) && !has(folder, ".bashrc", &st) && !has(folder, ".profile", &st);
}

/* The outermost folder that a folder of work belongs to: its Git repository, or a few levels above it of the same owner. */
static void find_root(const char *folder, const char *home, char root[PATH_MAX])
{
    char at[PATH_MAX], above[PATH_MAX];
    struct stat of, st;

    ss_copy(root, PATH_MAX, folder);
    for (ss_copy(at, sizeof at, folder); at[1]; ss_copy(at, sizeof at, above)) {
        if (has(at, ".git", &st) && is_work(at, home)) {
            ss_copy(root, PATH_MAX, at);
            return;
        }
        parent(at, above);
    }
    for (int i = 0; i < LEVELS; i++) {
        parent(root, above);
        if (!strchr(above + 1, '/') || !is_work(above, home) || stat(folder, &of) || stat(above, &st) ||
            of.st_uid != st.st_uid)
            return;
        ss_copy(root, PATH_MAX, above);
    }
}

static int add_root(struct ss_view *v, const char *path, enum ss_view_kind kind)
{
    if (v->n == SS_VIEW_ROOTS)
        return SS_ERR_USAGE;
    char *copy = strdup(path);
    if (!copy)
        return SS_ERR_NOMEM;
    v->root[v->n++] = (struct ss_view_root){copy, kind};
    return SS_OK;
}

/* A folder whose own files are near, with all that belongs to it where it is one of work. */
static int add_folder(struct ss_view *v, const char *folder)
{
    char root[PATH_MAX];
    int work = is_work(folder, v->home);

    if (work)
        find_root(folder, v->home, root);
    int rc = ss_notes_add(&v->near, "%s", folder);
    return rc ? rc : add_root(v, work ? root : folder, work ? SS_VIEW_WHOLE : SS_VIEW_FILES);
}

/* Folders between those that are near and the outermost ones: what is in them is nearer than what is beside. */
static int add_between(struct ss_view *v)
{
    int rc = SS_OK;

    for (unsigned long i = 0, n = v->near.n; i < n && !rc; i++) {
        char at[PATH_MAX], above[PATH_MAX];
        ss_copy(at, sizeof at, v->near.text[i]);
        int r = ss_view_root_of(v, at);
        while (r >= 0 && !rc && strcmp(at, v->root[r].path) != 0) {
            parent(at, above);
            ss_copy(at, sizeof at, above);
            rc = ss_notes_add(&v->near, "%s", at);
        }
    }
    return rc;
}

/* Takes out each folder that another one has. */
static void merge(struct ss_view *v)
{
    int n = 0;

    for (int i = 0; i < v->n; i++) {
        int inside = 0;
        for (int k = 0; k < v->n; k++)
            inside |=
                k != i && v->root[k].path && ss_view_within(v->root[i].path, v->root[k].path) &&
                (v->root[k].kind == SS_VIEW_WHOLE || !strcmp(v->root[i].path, v->root[k].path)) &&
                (v->root[k].kind > v->root[i].kind || strcmp(v->root[i].path, v->root[k].path) || k < i);
        v->root[i].kind = inside ? SS_VIEW_GONE : v->root[i].kind;
    }
    for (int i = 0; i < v->n; i++) {
        if (v->root[i].kind == SS_VIEW_GONE)
            free(v->root[i].path);
        else
            v->root[n++] = v->root[i];
    }
    v->n = n;
}

/* What the user lets in: a folder with all that is in it, or a file. */
static int let_in(struct ss_view *v, const char *name, struct ss_error *err)
{
    char path[PATH_MAX], folder[PATH_MAX];
    struct stat st;

    if (!realpath(name, path) || stat(path, &st))
        return ss_fail(err, SS_ERR_IO, NULL, 0, "--let-in %.200s: %s", name, strerror(errno));
    if (!path[1] || (!S_ISDIR(st.st_mode) && !S_ISREG(st.st_mode)))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "--let-in %.200s: a file or folder below / is asked",
                       name);
    if (S_ISDIR(st.st_mode))
        ss_copy(folder, sizeof folder, path);
    else
        parent(path, folder);
    int rc = S_ISDIR(st.st_mode) ? ss_notes_add(&v->near, "%s", path) : ss_notes_add(&v->wanted, "%s", path);
    rc = rc ? rc : add_root(v, folder, S_ISDIR(st.st_mode) ? SS_VIEW_WHOLE : SS_VIEW_NAMED);
    if (rc == SS_ERR_USAGE)
        return ss_fail(err, rc, NULL, 0, "--let-in: at most %d may be given", SS_VIEW_ROOTS - 3);
    return rc ? ss_nomem(err) : SS_OK;
}

/* The script by the name that the user gave it, in the real folder of that name; *folder is that folder, *target what it is a link to. */
static char *find_script(const char *script, char folder[PATH_MAX], char target[PATH_MAX])
{
    char given[PATH_MAX], *path;
    const char *slash = strrchr(script, '/');

    snprintf(given, sizeof given, "%.*s", slash ? (int)(slash - script) + 1 : 1, slash ? script : ".");
    if (!realpath(script, target) || !realpath(given, folder))
        return NULL;
    if (asprintf(&path, "%s/%s", folder[1] ? folder : "", slash ? slash + 1 : script) < 0)
        return NULL;
    return path;
}

/* Notes the folders of the view where Git repositories begin. */
static int add_repositories(struct ss_view *v)
{
    struct stat st;
    int rc = SS_OK;

    for (unsigned long i = 0; i < v->near.n && !rc; i++)
        if (!strchr(v->near.text[i], '\'') && has(v->near.text[i], ".git", &st))
            rc = ss_notes_add(&v->repositories, "%s", v->near.text[i]);
    return rc;
}

int ss_view_make(struct ss_view *v, const char *script, const struct ss_notes *let, struct ss_error *err)
{
    char folder[PATH_MAX], target[PATH_MAX], work[PATH_MAX];
    const char *home = getenv("HOME");

    *v = (struct ss_view){0};
    v->script = find_script(script, folder, target);
    if (!v->script)
        return ss_fail(err, SS_ERR_IO, NULL, 0, "%s: %s", script, strerror(errno));
    v->work = strdup(getcwd(work, sizeof work) ? work : folder);
    v->home = home && home[0] == '/' && home[1] ? strdup(home) : NULL;
    int rc = v->work ? SS_OK : SS_ERR_NOMEM;
    rc = rc ? rc : ss_notes_add(&v->wanted, "%s", v->script);
    rc = rc ? rc : add_folder(v, folder);
    if (!rc && strcmp(target, v->script) != 0) {
        rc = ss_notes_add(&v->wanted, "%s", target);
        parent(target, folder);
        rc = rc ? rc : add_folder(v, folder);
    }
    rc = rc ? rc : add_folder(v, v->work);
    if (rc)
        return ss_nomem(err);
    for (unsigned long i = 0; let && i < let->n && !rc; i++)
        rc = let_in(v, let->text[i], err);
    if (rc)
        return rc;
    v->seeds = v->near.n;
    merge(v);
    return add_between(v) || add_repositories(v) ? ss_nomem(err) : SS_OK;
}

void ss_view_free(struct ss_view *v)
{
    for (int i = 0; i < v->n; i++)
        free(v->root[i].path);
    SS_FREE(v->script, v->work, v->home, v->away, v->here);
    ss_notes_free(&v->near);
    ss_notes_free(&v->wanted);
    ss_notes_free(&v->repositories);
    *v = (struct ss_view){0};
}

int ss_view_root_of(const struct ss_view *v, const char *path)
{
    int found = -1;

    for (int i = 0; i < v->n; i++)
        if (ss_view_within(path, v->root[i].path) &&
            (found < 0 || strlen(v->root[i].path) > strlen(v->root[found].path)))
            found = i;
    return found;
}

int ss_view_shows(const struct ss_view *v, const char *folder, const char *name, int is_folder)
{
    if (ss_has_word(secrets, name))
        return 0;
    if (name[0] != '.')
        return 1;
    int r = ss_view_root_of(v, folder);
    if (r < 0 || v->root[r].kind != SS_VIEW_WHOLE)
        return 0;
    for (unsigned long i = 0; i < v->seeds && is_folder; i++)
        if (ss_view_within(folder, v->near.text[i]))
            return 1;
    return !is_folder;
}
