/* SPDX-License-Identifier: Apache-2.0 */
/* Folders of the machine as a script sees them: copies in memory of the files and links in them. A mount, also one that is read-only, would have
 * the sockets, FIFOs and devices that are in a folder, by which a script would reach whoever serves them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "import/sandbox.h"

#define MAX_ENTRIES 5000
#define MAX_COPY (1 << 20)
#define MAX_COPIED (32 << 20)

/* A folder that is to be copied: a root and a path below it. */
struct item {
    int root;
    char *below;
};
struct copy {
    const struct ss_view *view;
    const struct ss_view_fds *from;
    int to;                 /* folder of the sandbox that paths of the machine are below */
    int mounts;             /* 1: large files are shown */
    int all[SS_VIEW_ROOTS]; /* 0: only what everybody may read */
    int left;               /* entries that may still be taken */
    long bytes;             /* that were copied */
    struct item *item;      /* the near ones first */
    size_t n, cap;
    char *what; /* [4096]: name at which it failed */
};

/* Opens a folder below the given one, on a way without links. */
static int open_below(int folder, const char *path)
{
    const struct open_how how = {.flags = O_RDONLY | O_DIRECTORY | O_CLOEXEC,
                                 .resolve = RESOLVE_BENEATH | RESOLVE_NO_SYMLINKS};

    return (int)syscall(SYS_openat2, folder, path[0] ? path : ".", &how, sizeof how);
}

/* One that is no file any more is left out. */
static int copy_file(int from, int to, const char *name, size_t size)
{
    struct stat st;
    int in = openat(from, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY | O_CLOEXEC);

    if (in < 0)
        return 0;
    int rc = fstat(in, &st) || !S_ISREG(st.st_mode)
                 ? 0
                 : ss_sandbox_copy(in, to, name, size, st.st_mode & 0111 ? 0777 : 0666);
    (void)utimensat(to, name, (struct timespec[]){st.st_atim, st.st_mtim}, AT_SYMLINK_NOFOLLOW);
    close(in);
    return rc;
}

static int add_link(int from, int to, const char *name)
{
    char target[4096];
    ssize_t n = readlinkat(from, name, target, sizeof target - 1);

    if (n < 0)
        return 0;
    target[n] = 0;
    return symlinkat(target, to, name) ? errno : 0;
}

static int add_item(struct copy *c, int root, const char *folder, const char *name)
{
    char *path;

    if (ss_grow(&c->item, &c->cap, c->n + 1, sizeof *c->item) ||
        asprintf(&path, "%s%s%s", folder, folder[0] && name[0] ? "/" : "", name) < 0)
        return ENOMEM;
    c->item[c->n++] = (struct item){root, path};
    return 0;
}

/* A folder that is not there yet, or only as one of those above a file that was wanted. */
static int add_folder(struct copy *c, int to, const struct item *at, const char *path, const char *name)
{
    if (c->view->root[at->root].kind != SS_VIEW_WHOLE)
        return 0;
    for (unsigned long i = 0; i < c->view->near.n; i++)
        if (!strcmp(c->view->near.text[i], path))
            return 0;
    if (mkdirat(to, name, 0777) && errno != EEXIST)
        return errno;
    return add_item(c, at->root, at->below, name);
}

/* wanted: whatever its name is. */
static int add_entry(struct copy *c, int from, int to, const struct item *at, const char *name, int wanted)
{
    struct stat st;
    char folder[PATH_MAX], path[PATH_MAX + 300];

    snprintf(folder, sizeof folder, "%s%s%s", c->view->root[at->root].path, at->below[0] ? "/" : "",
             at->below);
    snprintf(path, sizeof path, "%s/%s", folder[1] ? folder : "", name);
    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW) ||
        (!wanted && !ss_view_shows(c->view, folder, name, S_ISDIR(st.st_mode))))
        return 0;
    mode_t need = S_ISDIR(st.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    if (!c->all[at->root] && (st.st_mode & need) != need)
        return 0;
    if (S_ISLNK(st.st_mode))
        return add_link(from, to, name);
    if (S_ISDIR(st.st_mode))
        return add_folder(c, to, at, path, name);
    if (!S_ISREG(st.st_mode))
        return 0;
    if (st.st_size > MAX_COPY || c->bytes + st.st_size > MAX_COPIED)
        return c->mounts ? ss_sandbox_show_file(from, to, name) : 0;
    c->bytes += st.st_size;
    return copy_file(from, to, name, (size_t)st.st_size);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

static int is_shown(const struct dirent *e)
{
    return !ss_has_word(". .. .git", e->d_name);
}

/* Opens the copy of a folder of a root, which is made with those above it where it is missing. */
static int open_copy(struct copy *c, const struct item *at)
{
    char path[PATH_MAX];

    snprintf(path, sizeof path, "%s/%s/", c->view->root[at->root].path + 1, at->below);
    for (char *p = path; *p; p++)
        if (*p == '/') {
            *p = 0;
            if (path[0] && mkdirat(c->to, path, 0777) && errno != EEXIST)
                return -1;
            *p = '/';
        }
    return open_below(c->to, path[0] == '/' ? "" : path);
}

/* The entries of a folder by their names, so that where there are too many it is always the same ones that are left out. */
static int add_entries(struct copy *c, struct item at)
{
    struct dirent **entry = NULL;
    struct stat st;
    int from = open_below(c->from->fd[at.root], at.below), to = open_copy(c, &at), rc = to < 0 ? errno : 0;
    int n = from < 0 || rc ? 0 : scandirat(from, ".", &entry, is_shown, by_name);

    for (int i = 0; i < n; i++) {
        if (!rc && c->left > 0) {
            ss_copy(c->what, 4096, entry[i]->d_name);
            rc = add_entry(c, from, to, &at, entry[i]->d_name, 0);
            c->left--;
            rc = rc == EEXIST ? 0 : rc; /* what was wanted */
        }
        free(entry[i]);
    }
    free(entry);
    if (!rc && from >= 0 && !fstat(from, &st)) /* scripts choose the newest */
        (void)futimens(to, (struct timespec[]){st.st_atim, st.st_mtim});
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    return rc;
}

/* What a path has below its root; NULL: it is in none. */
static const char *below_root(const struct ss_view *v, const char *path, int *root)
{
    *root = ss_view_root_of(v, path);
    if (*root < 0)
        return NULL;
    const char *below = path + strlen(v->root[*root].path);
    return below + (*below == '/');
}

/* A file before all others, with the folders that it is in. */
static int add_wanted(struct copy *c, const char *path)
{
    int root;
    const char *below = below_root(c->view, path, &root), *slash = below ? strrchr(below, '/') : NULL;

    if (!below || !below[0])
        return 0;
    struct item at = {root, strndup(below, slash ? (size_t)(slash - below) : 0)};
    if (!at.below)
        return ENOMEM;
    int from = open_below(c->from->fd[root], at.below), to = from < 0 ? -1 : open_copy(c, &at);
    ss_copy(c->what, 4096, path);
    int rc = from < 0 ? 0 : to < 0 ? errno : add_entry(c, from, to, &at, slash ? slash + 1 : below, 1);
    free(at.below);
    if (from >= 0)
        close(from);
    if (to >= 0)
        close(to);
    return rc == EEXIST ? 0 : rc;
}

/* Whether everybody may read what the path names in the root of that number; 1 where it is in another one. */
static int is_open(const struct copy *c, int root, const char *path, mode_t need)
{
    struct stat st;
    int r;
    const char *below = below_root(c->view, path, &r);

    return r != root || fstatat(c->from->fd[root], below[0] ? below : ".", &st, 0) ||
           (st.st_mode & need) == need;
}

/* Whether a root is the owner's alone, or a folder of the script or user, or the script in it: then all of it is meant. */
static int is_private(const struct copy *c, int root)
{
    const struct ss_view *v = c->view;
    int open =
        is_open(c, root, v->root[root].path, S_IROTH | S_IXOTH) && is_open(c, root, v->script, S_IROTH);

    for (unsigned long i = 0; i < v->seeds; i++)
        open = open && is_open(c, root, v->near.text[i], S_IROTH | S_IXOTH);
    return !open || v->root[root].kind == SS_VIEW_NAMED;
}

void ss_sandbox_open_view(const struct ss_view *v, struct ss_view_fds *fds)
{
    for (int i = 0; i < v->n; i++)
        fds->fd[i] = open(v->root[i].path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
}

void ss_sandbox_close_view(const struct ss_view *v, struct ss_view_fds *fds)
{
    for (int i = 0; i < v->n; i++)
        if (fds->fd[i] >= 0)
            close(fds->fd[i]);
}

int ss_sandbox_copy_view(const struct ss_view *v, const struct ss_view_fds *fds, const char *to, int mounts,
                         int as_root, char what[4096])
{
    struct copy c = {.view = v, .from = fds, .mounts = mounts, .left = MAX_ENTRIES, .what = what};
    int rc, root;

    c.to = open(to, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    rc = c.to < 0 ? errno : 0;
    for (int i = 0; i < v->n; i++)
        c.all[i] = !as_root || (fds->fd[i] >= 0 && is_private(&c, i));
    for (unsigned long i = 0; i < v->wanted.n && !rc; i++)
        rc = add_wanted(&c, v->wanted.text[i]);
    for (unsigned long i = 0; i < v->near.n && !rc; i++) {
        const char *below = below_root(v, v->near.text[i], &root);
        rc = below && v->root[root].kind > SS_VIEW_NAMED ? add_item(&c, root, below, "") : 0;
    }
    for (size_t i = 0; i < c.n && !rc && c.left > 0; i++)
        rc = fds->fd[c.item[i].root] >= 0 ? add_entries(&c, c.item[i]) : 0;
    for (size_t i = 0; i < c.n; i++)
        free(c.item[i].below);
    free(c.item);
    if (c.to >= 0)
        close(c.to);
    return rc;
}
