/* SPDX-License-Identifier: Apache-2.0 */
/* The script's folder as the script sees it: a copy in memory of the files and links in it. A mount, also one that is read-only, would have
 * the sockets, FIFOs and devices that are in the folder, by which a script would reach whoever serves them. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <linux/openat2.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "import/sandbox.h"

#define MAX_ENTRIES 5000
#define MAX_COPY (1 << 20)
#define MAX_COPIED (32 << 20)

struct copy {
    int from, to;  /* the folder of the machine, and of the sandbox */
    int all;       /* 0: only what everybody may read */
    int left;      /* entries that may still be taken */
    long bytes;    /* that were copied */
    char **folder; /* paths of the folders below them, the near ones first */
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

static int add_folder(struct copy *c, int to, const char *folder, const char *name)
{
    char *path;

    if (mkdirat(to, name, 0777))
        return errno;
    if (ss_grow(&c->folder, &c->cap, c->n + 1, sizeof *c->folder) ||
        asprintf(&path, "%s%s%s", folder, folder[0] ? "/" : "", name) < 0)
        return ENOMEM;
    c->folder[c->n++] = path;
    return 0;
}

static int add_entry(struct copy *c, int from, int to, const char *folder, const char *name)
{
    struct stat st;

    if (fstatat(from, name, &st, AT_SYMLINK_NOFOLLOW))
        return 0;
    mode_t need = S_ISDIR(st.st_mode) ? S_IROTH | S_IXOTH : S_IROTH;
    if (!c->all && (st.st_mode & need) != need)
        return 0;
    if (S_ISLNK(st.st_mode))
        return add_link(from, to, name);
    if (S_ISDIR(st.st_mode))
        return add_folder(c, to, folder, name);
    if (!S_ISREG(st.st_mode))
        return 0;
    if (st.st_size > MAX_COPY || c->bytes + st.st_size > MAX_COPIED)
        return ss_sandbox_show_file(from, to, name);
    c->bytes += st.st_size;
    return copy_file(from, to, name, (size_t)st.st_size);
}

static int by_name(const struct dirent **a, const struct dirent **b)
{
    return strcmp((*a)->d_name, (*b)->d_name);
}

/* Nothing of use to a script: Git is a program that it has not. */
static int is_shown(const struct dirent *e)
{
    return !ss_has_word(". .. .git", e->d_name);
}

/* The entries of a folder by their names, so that where there are too many it is always the same ones that are left out. */
static int add_entries(struct copy *c, const char *folder)
{
    struct dirent **entry = NULL;
    struct stat st;
    int from = open_below(c->from, folder), to = open_below(c->to, folder), rc = to < 0 ? errno : 0;
    int n = from < 0 || rc ? 0 : scandirat(from, ".", &entry, is_shown, by_name);

    for (int i = 0; i < n; i++) {
        if (!rc && c->left-- > 0) {
            ss_copy(c->what, 4096, entry[i]->d_name);
            rc = add_entry(c, from, to, folder, entry[i]->d_name);
            rc = rc == EEXIST ? 0 : rc; /* the script itself */
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

int ss_sandbox_copy_folder(int from, int to, const char *script, int only, int all, char what[4096])
{
    struct copy c = {.from = from, .to = to, .all = all, .left = only ? 0 : MAX_ENTRIES, .what = what};
    int rc = add_entry(&c, from, to, "", script);

    rc = rc || only ? rc : add_entries(&c, "");
    for (size_t i = 0; i < c.n && !rc && c.left > 0; i++)
        rc = add_entries(&c, c.folder[i]);
    for (size_t i = 0; i < c.n; i++)
        free(c.folder[i]);
    free(c.folder);
    return rc;
}
