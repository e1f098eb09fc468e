/* SPDX-License-Identifier: Apache-2.0 */
/* Namespaces, a root in memory and no rights: what keeps a launch script from the machine. */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <grp.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mount.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "base/leave.h"
#include "import/sandbox.h"

#define NOBODY 65534
/* Root becomes this user and the process's number, whom nobody else is: processes are counted by user, and those of another script are
 * not those of this one. Above what systemd gives to anybody. */
#define FIRST_USER 0x70000000
#define PROCESSES 512
#define MAX_NEIGHBOURS 2000
#define MAX_COPY (1 << 20)
#define SIZE "size=128m,nr_inodes=20000,mode=755"

/* What the kernel's mount_setattr(2) takes, Linux 5.12 and later. */
struct attributes {
    uint64_t set, clear, propagation, user;
};
#define READ_ONLY_NO_SUID_NO_DEVICES 7u

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
    if (*as_root)
        return unshare(all) ? errno : 0;
    if (unshare(all | CLONE_NEWUSER))
        return errno;
    int rc = write_file("/proc/self/setgroups", "deny");
    snprintf(map, sizeof map, "%d %u 1", NOBODY, group); /* not 0: what is run then has no rights */
    rc = rc ? rc : write_file("/proc/self/gid_map", map);
    snprintf(map, sizeof map, "%d %u 1", NOBODY, user);
    return rc ? rc : write_file("/proc/self/uid_map", map);
}

/* Makes every folder of the path that is missing below base. */
static int make_path(const char *base, const char *path, char what[4096])
{
    size_t begin = strlen(base);

    snprintf(what, 4096, "%s%s", base, path);
    for (char *p = what + begin + 1; *p; p++)
        if (*p == '/') {
            *p = 0;
            if (mkdir(what, 0755) && errno != EEXIST)
                return errno;
            *p = '/';
        }
    return mkdir(what, 0755) && errno != EEXIST ? errno : 0;
}

/* Shows a folder at another path, read-only. As a mount it cannot be removed there. */
static int bind_folder(const char *from, const char *to)
{
    struct attributes attributes = {.set = READ_ONLY_NO_SUID_NO_DEVICES};

    if (mount(from, to, NULL, MS_BIND | MS_REC, NULL))
        return errno;
    return syscall(SYS_mount_setattr, -1, to, 0x8000 /* AT_RECURSIVE */, &attributes, sizeof attributes)
               ? errno
               : 0;
}

/* Shows a folder of the machine at the same path. One that is not there is not shown. */
static int show_folder(const char *base, const char *path, char what[4096])
{
    if (!ss_is_folder(path))
        return 0;
    int rc = make_path(base, path, what);
    return rc ? rc : bind_folder(path, what);
}

static int show_device(const char *base, const char *name, char what[4096])
{
    char path[64];

    snprintf(path, sizeof path, "/dev/%s", name);
    snprintf(what, 4096, "%s%s", base, path);
    int fd = open(what, O_WRONLY | O_CREAT | O_CLOEXEC, 0644);
    if (fd < 0)
        return errno;
    close(fd);
    return mount(path, what, NULL, MS_BIND, NULL) ? errno : 0;
}

static int add_devices(const char *base, char what[4096])
{
    static const char *const devices[] = {"null", "zero", "urandom", "random"};
    static const char *const links[][2] = {{"/proc/self/fd", "fd"},
                                           {"/proc/self/fd/0", "stdin"},
                                           {"/proc/self/fd/1", "stdout"},
                                           {"/proc/self/fd/2", "stderr"}};
    int rc = make_path(base, "/dev/shm", what);

    for (size_t i = 0; i < SS_ARRAY_LEN(devices) && !rc; i++)
        rc = show_device(base, devices[i], what);
    for (size_t i = 0; i < SS_ARRAY_LEN(links) && !rc; i++) {
        snprintf(what, 4096, "%s/dev/%s", base, links[i][1]);
        rc = symlink(links[i][0], what) ? errno : 0;
    }
    return rc ? rc : make_path(base, "/proc", what);
}

/* The names under which scripts call programs, all of them the sandbox's. */
static int add_names(const char *base, char what[4096])
{
    static const char *const names[] = {"/bin", "/sbin", "/usr/bin", "/usr/sbin", "/usr/local/bin"};
    char programs[4096];
    int rc = 0;

    if (snprintf(programs, sizeof programs, "%s" SS_SANDBOX_PROGRAMS, base) >= (int)sizeof programs)
        return ENAMETOOLONG;
    for (size_t i = 0; i < SS_ARRAY_LEN(names) && !rc; i++) {
        rc = make_path(base, names[i], what);
        rc = rc ? rc : bind_folder(programs, what);
    }
    return rc;
}

/* The sandbox's own programs cannot be changed by the script; the folder of calls, which is memory of its own, cannot be moved. */
static int protect(const char *base, char what[4096])
{
    struct attributes attributes = {.set = READ_ONLY_NO_SUID_NO_DEVICES};

    snprintf(what, 4096, "%s/.stepsim", base);
    if (mount(what, what, NULL, MS_BIND, NULL) ||
        syscall(SYS_mount_setattr, -1, what, 0, &attributes, sizeof attributes))
        return errno;
    snprintf(what, 4096, "%s" SS_SANDBOX_CALLS, base);
    return mount("tmpfs", what, "tmpfs", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                 "size=64m,nr_inodes=40000,mode=777")
               ? errno
               : 0;
}

/* Makes a folder of the machine one that paths can be added to: `what`, which could not be made below it, ends as the folder's own
 * path. Memory of its own is mounted there, with links to all that the folder has, which is shown at another path. */
static int open_folder(const char *base, unsigned long number, char what[4096])
{
    char shown[64], there[4096], link[4096];
    int rc;

    *strrchr(what, '/') = 0;
    snprintf(shown, sizeof shown, "/.machine/%lu", number);
    if ((rc = make_path(base, shown, there)) != 0 || (rc = bind_folder(what, there)) != 0)
        return rc;
    DIR *dir = opendir(there);
    if (!dir || mount("tmpfs", what, "tmpfs", MS_NOSUID | MS_NODEV, SIZE))
        rc = errno;
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

/* Programs that the script calls by paths: those of the sandbox by their last part. Paths that are of the machine stay so. */
static int add_paths(const struct ss_sandbox *box, const char *base, char what[4096])
{
    for (unsigned long i = 0; i < box->paths->n; i++) {
        const char *path = box->paths->text[i], *name = strrchr(path, '/') + 1;
        char folder[1024], program[1100];
        struct stat st;
        snprintf(program, sizeof program, SS_SANDBOX_PROGRAMS "/%s", name);
        snprintf(what, 4096, "%s%s", base, program);
        if (!name[0] || stat(what, &st) || strstr(path, "/.."))
            continue;
        snprintf(folder, sizeof folder, "%.*s", (int)(name - path - 1), path);
        int rc = folder[0] ? make_path(base, folder, what) : 0;
        if (rc == EROFS && (rc = open_folder(base, i, what)) == 0)
            rc = make_path(base, folder, what);
        if (rc)
            continue;
        snprintf(what, 4096, "%s%s", base, path);
        if (symlink(program, what) && errno != EEXIST && errno != EROFS)
            return errno;
    }
    return 0;
}

/* Empty files and folders that the script tests for; what is there, or cannot be, stays as it is. */
static int add_files(const struct ss_sandbox *box, const char *base, char what[4096])
{
    for (unsigned long i = 0; i < box->files->n; i++) {
        const char *path = box->files->text[i], *slash = strrchr(path, '/');
        char folder[1024];
        snprintf(folder, sizeof folder, "%.*s", (int)(slash - path), path);
        if (strstr(path, "/..") || (folder[0] && make_path(base, folder, what)) || !slash[1])
            continue;
        snprintf(what, 4096, "%s%s", base, path);
        int fd = open(what, O_WRONLY | O_CREAT | O_EXCL | O_NOFOLLOW | O_CLOEXEC, 0644);
        if (fd >= 0)
            close(fd);
    }
    return 0;
}

/* Links in the folder where the script begins to what lies beside it, which it may name by relative paths. */
static int link_neighbours(const char *base, const char *folder, char what[4096])
{
    DIR *dir = opendir(folder);
    char to[4096];
    int left = MAX_NEIGHBOURS, rc = 0;

    for (struct dirent *e; dir && !rc && left > 0 && (e = readdir(dir)) != NULL; left--) {
        if (!strcmp(e->d_name, ".") || !strcmp(e->d_name, ".."))
            continue;
        int n = snprintf(to, sizeof to, "%s/%s", folder, e->d_name);
        if (n >= (int)sizeof to)
            continue;
        snprintf(what, 4096, "%s" SS_SANDBOX_WORK "/%s", base, e->d_name);
        rc = symlink(to, what) ? errno : 0;
    }
    if (dir)
        closedir(dir);
    return rc;
}

/* Whether who has no rights may read the folder and the script. */
static int is_open(const char *folder, const char *script)
{
    struct stat st, file;

    return !stat(folder, &st) && !stat(script, &file) &&
           (st.st_mode & (S_IROTH | S_IXOTH)) == (S_IROTH | S_IXOTH) && (file.st_mode & S_IROTH);
}

/* Copies of the files in a folder that root alone may read; what is large is no script. */
static int copy_folder(const char *base, const char *folder, char what[4096])
{
    int left = MAX_NEIGHBOURS, rc = make_path(base, folder, what);
    DIR *dir = rc ? NULL : opendir(folder);
    char from[4096];

    for (struct dirent *e; dir && !rc && left > 0 && (e = readdir(dir)) != NULL; left--) {
        struct stat st;
        if (snprintf(from, sizeof from, "%s/%s", folder, e->d_name) >= (int)sizeof from || stat(from, &st) ||
            !S_ISREG(st.st_mode) || st.st_size > MAX_COPY)
            continue;
        snprintf(what, 4096, "%s%s", base, from);
        rc = ss_sandbox_copy(from, what);
    }
    if (dir)
        closedir(dir);
    return rc;
}

/* The script's folder, unless all of the machine were below it. */
static int show_script(const struct ss_sandbox *box, const char *base, int as_root, char what[4096])
{
    const char *slash = strrchr(box->script, '/');
    char folder[4096];

    snprintf(folder, sizeof folder, "%.*s", (int)(slash - box->script), box->script);
    if (!folder[0])
        return 0;
    int rc = as_root && !is_open(folder, box->script) ? copy_folder(base, folder, what)
                                                      : show_folder(base, folder, what);
    return rc ? rc : link_neighbours(base, folder, what);
}

static int limit(int what, rlim_t most)
{
    struct rlimit limit = {most, most};

    return setrlimit((__rlimit_resource_t)what, &limit) ? errno : 0;
}

/* A container may not have the user. */
static int become(uid_t user)
{
    return setgroups(0, NULL) || setresgid(NOBODY, NOBODY, NOBODY) ||
           (setresuid(user, user, user) && setresuid(NOBODY, NOBODY, NOBODY));
}

static int give_up_rights(int as_root)
{
    if (as_root && become((uid_t)as_root))
        return errno;
    if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) || prctl(PR_SET_DUMPABLE, 0, 0, 0, 0) ||
        prctl(PR_SET_PDEATHSIG, SIGKILL)) /* new rights have cleared it */
        return errno;
    return 0;
}

int ss_sandbox_limit(int trust)
{
    int rc = trust ? 0 : limit(RLIMIT_NPROC, PROCESSES); /* of its user, or in its namespace */

    rc = rc ? rc : limit(RLIMIT_FSIZE, 64 << 20);
    rc = rc ? rc : limit(RLIMIT_AS, (rlim_t)2 << 30);
    rc = rc ? rc : limit(RLIMIT_NOFILE, 256);
    return rc ? rc : limit(RLIMIT_CORE, 0);
}

int ss_sandbox_enter(const struct ss_sandbox *box, const char *base, int as_root, char what[4096])
{
    static const char *const folders[] = {"/usr",       "/usr/lib",     "/usr/lib32",
                                          "/usr/lib64", "/usr/libexec", "/usr/share",
                                          "/lib",       "/lib32",       "/lib64"};

    snprintf(what, 4096, "%s", base);
    if (mount(NULL, "/", NULL, MS_REC | MS_PRIVATE, NULL) ||
        mount("tmpfs", base, "tmpfs", MS_NOSUID | MS_NODEV, SIZE))
        return errno;
    int rc = ss_sandbox_tree(box, base, "", what);
    rc = rc ? rc : make_path(base, "/usr", what);
    for (size_t i = 1; i < SS_ARRAY_LEN(folders) && !rc; i++)
        rc = show_folder(base, folders[i], what);
    rc = rc ? rc : add_names(base, what);
    rc = rc ? rc : add_devices(base, what);
    rc = rc ? rc : show_script(box, base, as_root, what);
    rc = rc ? rc : add_paths(box, base, what);
    rc = rc ? rc : add_files(box, base, what);
    rc = rc ? rc : protect(base, what);
    if (rc)
        return rc;
    snprintf(what, 4096, "%s", base);
    ss_keep_counts(); /* there is no build folder inside */
    if (chmod(base, 0777) || chdir(base) || syscall(SYS_pivot_root, ".", ".") || umount2(".", MNT_DETACH) ||
        chdir("/"))
        return errno;
    (void)mount("proc", "/proc", "proc", MS_NOSUID | MS_NODEV | MS_NOEXEC,
                NULL); /* a container may hide it: for process substitution alone */
    return give_up_rights(as_root);
}
