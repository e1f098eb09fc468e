/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Namespaces, a root in memory and no rights: what keeps a launch script from the machine.
 *
 * The root is made in two steps. While the machine's root is still there, nothing but folders of names that stand in the code is made
 * in the new one, so that no link can lead out of it; folders of the machine are read-only before they are shown. Paths that a script
 * has a say in, and links that it brought, are followed only when the new root is the only one.
 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <linux/capability.h>
#include <linux/mount.h> /* not sys/mount.h, which some C libraries cannot have beside it */
#include <sched.h>
#include <signal.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>

#include "base/base.h"
#include "base/leave.h"
#include "import/sandbox.h"

#define NOBODY 65534
/* Root becomes this user and the process's number, whom nobody else is: processes are counted by user, and those of another script are
 * not those of this one. Above what systemd gives to anybody. */
#define FIRST_USER 0x70000000
#define PROCESSES 512

static int write_file(const char *path, const char *text)
{
    int fd = open(path, O_WRONLY | O_CLOEXEC), n = (int)strlen(text);
    int bad = fd < 0 || write(fd, text, (size_t)n) != n;

    if (fd >= 0)
        close(fd);
    return bad ? errno : 0;
}

int ss_sandbox_unshare(int *as_root)
{
    const int all = CLONE_NEWNS | CLONE_NEWPID | CLONE_NEWNET | CLONE_NEWIPC | CLONE_NEWUTS;
    char map[64];
    unsigned user = (unsigned)geteuid(), group = (unsigned)getegid();

    *as_root = user == 0 ? FIRST_USER + getpid() : 0;
    if (unshare(*as_root ? all : all | CLONE_NEWUSER))
        return errno;
    int rc = *as_root ? 0 : write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%d %u 1", NOBODY, group); /* not 0: what is run then has no rights */
    rc = rc || *as_root ? rc : write_file("/proc/self/gid_map", map);
    snprintf(map, sizeof map, "%d %u 1", NOBODY, user);
    rc = rc || *as_root ? rc : write_file("/proc/self/uid_map", map);
    return rc ? rc : ss_sandbox_own_mounts();
}

int ss_sandbox_make_path(const char *path, char what[4096])
{
    ss_copy(what, 4096, path);
    for (char *p = what + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            if (mkdir(what, 0777) && errno != EEXIST)
                return errno;
            *p = '/';
        }
    return mkdir(what, 0777) && errno != EEXIST ? errno : 0;
}

/* ---- while the machine's root is there: the working folder is the new one ---- */

/* Libraries. A folder that is not there is not shown. */
static int add_libraries(char what[4096])
{
    static const char *const folders[] = {"./usr/lib",   "./usr/lib32", "./usr/lib64", "./usr/libexec",
                                          "./usr/share", "./lib",       "./lib32",     "./lib64"};
    int rc = 0;

    for (size_t i = 0; i < SS_ARRAY_LEN(folders) && !rc; i++)
        if (ss_is_folder(folders[i] + 1)) {
            rc = ss_sandbox_make_path(folders[i], what);
            rc = rc ? rc : ss_sandbox_show(folders[i] + 1, what, SS_SANDBOX_READ_ONLY);
        }
    return rc;
}

static int add_devices(int gpus, char what[4096])
{
    static const char *const devices[] = {"./dev/null", "./dev/zero", "./dev/urandom", "./dev/random"};
    static const char *const links[][2] = {{"/proc/self/fd", "./dev/fd"},
                                           {"/proc/self/fd/0", "./dev/stdin"},
                                           {"/proc/self/fd/1", "./dev/stdout"},
                                           {"/proc/self/fd/2", "./dev/stderr"}};
    int rc = ss_sandbox_make_path("./dev/shm", what);

    for (size_t i = 0; i < SS_ARRAY_LEN(devices) && !rc; i++) {
        ss_copy(what, 4096, devices[i]);
        int fd = open(what, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
        if (fd >= 0)
            close(fd);
        rc = fd < 0 ? errno : ss_sandbox_show(devices[i] + 1, what, MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID);
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(links) && !rc; i++) {
        ss_copy(what, 4096, links[i][1]);
        rc = symlink(links[i][0], what) ? errno : 0;
    }
    for (int i = 0; i < gpus && i < 64 && !rc; i++) { /* which scripts count */
        snprintf(what, 4096, "./dev/nvidia%d", i);
        rc = mknod(what, S_IFREG | 0444, 0) ? errno : 0;
    }
    return rc;
}

/* Processes of the namespace, for process substitution. The kernel gives them to who sees those of the machine; a container may hide
 * these. */
static int add_processes(char what[4096])
{
    int rc = ss_sandbox_make_path("./proc", what);

    if (!rc)
        (void)syscall(SYS_mount, "proc", what, "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC, NULL);
    return rc;
}

/* Makes the working folder the only root. */
static int become_root(void)
{
    ss_keep_counts(); /* there is no build folder inside */
    return syscall(SYS_pivot_root, ".", ".") || syscall(SYS_umount2, ".", 2 /* MNT_DETACH */) || chdir("/")
               ? errno
               : 0;
}

/* ---- inside: every path ends in memory, or where nothing can be written ---- */

/* The names under which scripts call programs, all of them the sandbox's. */
static int add_names(char what[4096])
{
    static const char *const names[] = {"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"};
    int rc = 0;

    for (size_t i = 0; i < SS_ARRAY_LEN(names) && !rc; i++) {
        rc = ss_sandbox_make_path(names[i], what);
        rc = rc ? rc : ss_sandbox_show(SS_SANDBOX_PROGRAMS, what, SS_SANDBOX_READ_ONLY);
    }
    return rc;
}

/* The files of a folder, each at its path: the folder may have others of the sandbox. */
static int place_files(const char *copy, const char *folder, char what[4096])
{
    char from[4096];
    int rc = folder[1] ? ss_sandbox_make_path(folder, what) : 0;
    DIR *dir = rc ? NULL : opendir(copy);

    for (struct dirent *e; dir && !rc && (e = readdir(dir)) != NULL;) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, "..") ||
            snprintf(what, 4096, "%s/%s", folder[1] ? folder : "", e->d_name) >= 4096 ||
            snprintf(from, sizeof from, "%s/%s", copy, e->d_name) >= (int)sizeof from)
            continue;
        if (rename(from, what)) /* a folder of the machine has it already */
            (void)!symlink(from, what);
    }
    if (dir)
        closedir(dir);
    return rc;
}

/* What is seen, at the paths of the machine: the near ones of roots inside one another lie below the others. */
static int place_view(const struct ss_view *v, char what[4096])
{
    char copy[4096], above[4096];
    int rc = 0;

    for (int i = 0; i < v->n && !rc; i++) {
        const char *path = v->root[i].path;
        if (snprintf(copy, sizeof copy, SS_SANDBOX_VIEW "%s", path) >= (int)sizeof copy ||
            !ss_is_folder(copy))
            continue;
        snprintf(above, sizeof above, "%.*s", (int)(strrchr(path, '/') - path), path);
        if (v->root[i].kind != SS_VIEW_WHOLE) {
            rc = place_files(copy, path, what);
        } else {
            rc = above[0] ? ss_sandbox_make_path(above, what) : 0;
            ss_copy(what, 4096, path);
            rc = rc ? rc : ss_sandbox_place(copy, path);
        }
    }
    return rc;
}

/* Folders of the user by their names alone: the working folder, the home. One that cannot be made stays missing. */
static void add_own(const struct ss_view *v, char what[4096])
{
    (void)ss_sandbox_make_path(v->work, what);
    (void)ss_sandbox_make_path(v->home ? v->home : SS_SANDBOX_HOME, what);
}

/* Makes a folder of the machine one that paths can be added to: `what`, which could not be made below it, ends as the folder's own
 * path. Memory of its own is mounted there, with links to all that the folder has, which is shown at another path. */
static int open_folder(unsigned long number, char what[4096])
{
    char shown[64], there[4096], link[4096];
    int rc;

    *strrchr(what, '/') = 0;
    snprintf(shown, sizeof shown, "/.machine/%lu", number);
    if ((rc = ss_sandbox_make_path(shown, there)) != 0 ||
        (rc = ss_sandbox_show(what, there, SS_SANDBOX_READ_ONLY)) != 0)
        return rc;
    DIR *dir = opendir(there);
    rc = dir ? ss_sandbox_memory(what, 0, "size=1m,mode=777") : errno;
    for (struct dirent *e; !rc && (e = readdir(dir)) != NULL;) {
        char to[400];
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        snprintf(to, sizeof to, "%s/%s", shown, e->d_name);
        if (snprintf(link, sizeof link, "%s/%s", what, e->d_name) < (int)sizeof link)
            rc = symlink(to, link) ? errno : 0;
    }
    if (dir)
        closedir(dir);
    return rc;
}

/* Programs that the script calls by paths: those of the sandbox by their last part. Paths that are of the machine stay so, and those that
 * cannot be made stay missing. */
static void add_paths(const struct ss_sandbox *box, char what[4096])
{
    for (unsigned long i = 0; i < box->paths->n; i++) {
        const char *path = box->paths->text[i], *name = strrchr(path, '/') + 1;
        char folder[1024], program[1100];
        snprintf(program, sizeof program, SS_SANDBOX_PROGRAMS "/%s", name);
        if (!name[0] || access(program, F_OK) || strstr(path, "/.."))
            continue;
        snprintf(folder, sizeof folder, "%.*s", (int)(name - path - 1), path);
        int rc = folder[0] ? ss_sandbox_make_path(folder, what) : 0;
        if (rc == EROFS && open_folder(i, what) == 0)
            rc = ss_sandbox_make_path(folder, what);
        if (!rc)
            (void)!symlink(program, path);
    }
}

/* Empty files and folders that the script tests for; what is there, or cannot be, stays as it is. */
static void add_files(const struct ss_sandbox *box, char what[4096])
{
    for (unsigned long i = 0; i < box->files->n; i++) {
        const char *path = box->files->text[i], *slash = strrchr(path, '/');
        char folder[1024];
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (strstr(path, "/..") || (folder[0] && ss_sandbox_make_path(folder, what)) || !slash[1])
            continue;
        int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0666);
        if (fd >= 0)
            close(fd);
    }
}

/* The path that a folder has on the cluster alone leads to its copy; where that cannot be, it stays missing. */
static void add_away(const struct ss_view *v, char what[4096])
{
    char folder[1024];
    const int n = v->away ? (int)(strrchr(v->away, '/') - v->away) : -1;

    if (n < 0 || strstr(v->away, "/..") || n >= (int)sizeof folder)
        return;
    snprintf(folder, sizeof folder, "%.*s", n, v->away);
    if (!n || ss_sandbox_make_path(folder, what) == 0)
        (void)!symlink(v->here, v->away);
}

/* The sandbox's own programs cannot be changed by the script; the folder of calls, which is memory of its own, cannot be moved. */
static int protect(char what[4096])
{
    ss_copy(what, 4096, "/.stepsim");
    int rc = ss_sandbox_show(what, what, SS_SANDBOX_READ_ONLY);

    ss_copy(what, 4096, SS_SANDBOX_CALLS);
    return rc ? rc : ss_sandbox_memory(what, MS_NOEXEC, "size=64m,nr_inodes=40000,mode=777");
}

/* A container may not have the user. */
static int become(uid_t user)
{
    return setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
           (setresuid(user, user, user) && setresuid(NOBODY, NOBODY, NOBODY));
}

static int give_up_rights(int as_root, char what[4096])
{
    struct __user_cap_header_struct head = {_LINUX_CAPABILITY_VERSION_3, 0};
    struct __user_cap_data_struct none[2] = {{0}};

    ss_copy(what, 4096, "rights");
    if ((as_root && become((uid_t)as_root)) || syscall(SYS_capset, &head, none) ||
        prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
        prctl(PR_SET_PDEATHSIG, SIGKILL)) /* new rights have cleared it */
        return errno;
    ss_copy(what, 4096, "filter of calls");
    return ss_sandbox_filter();
}

static int limit(int what, rlim_t most)
{
    struct rlimit limit = {most, most};

    return setrlimit((__rlimit_resource_t)what, &limit) ? errno : 0;
}

int ss_sandbox_limit(int trust)
{
    int rc = trust ? 0 : limit(RLIMIT_NPROC, PROCESSES); /* of its user, or in its namespace */

    rc = rc ? rc : limit(RLIMIT_FSIZE, 64 << 20);
    rc = rc ? rc : limit(RLIMIT_AS, (rlim_t)2 << 30);
    return rc ? rc : limit(RLIMIT_NOFILE, 256);
}

int ss_sandbox_enter(const struct ss_sandbox *box, int as_root, char what[4096])
{
    static const char root[] = "/tmp"; /* any folder: memory covers it in this namespace */
    struct ss_view_fds fds;

    ss_sandbox_open_view(box->view, &fds);
    ss_copy(what, 4096, root);
    umask(0);
    int rc = ss_sandbox_memory(root, 0, "size=128m,nr_inodes=30000,mode=777");
    rc = rc || !chdir(root) ? rc : errno;
    rc = rc ? rc : ss_sandbox_tree(box, ".", "", what);
    rc = rc ? rc : add_libraries(what);
    rc = rc ? rc : add_devices(box->gpus_per_node, what);
    rc = rc ? rc : add_processes(what);
    rc = rc ? rc : ss_sandbox_make_path("." SS_SANDBOX_VIEW, what);
    rc = rc ? rc : ss_sandbox_copy_view(box->view, &fds, "." SS_SANDBOX_VIEW, 1, as_root, what);
    ss_sandbox_close_view(box->view, &fds);
    rc = rc ? rc : become_root();
    rc = rc ? rc : add_names(what);
    SS_TRY(rc ? rc : place_view(box->view, what));
    add_own(box->view, what);
    add_paths(box, what);
    add_files(box, what);
    add_away(box->view, what);
    rc = protect(what);
    umask(022);
    return rc ? rc : give_up_rights(as_root, what);
}
