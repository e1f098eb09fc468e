/* SPDX-License-Identifier: Apache-2.0 */
/* Mounts of a launch script's root. */
#include <errno.h>
#include <fcntl.h>
#include <linux/mount.h> /* not sys/mount.h, which some C libraries cannot have beside it */
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

#include "base/base.h"
#include "import/sandbox.h"

int ss_sandbox_own_mounts(void)
{
    struct mount_attr own = {.propagation = MS_PRIVATE};

    return syscall(SYS_mount_setattr, AT_FDCWD, "/", AT_RECURSIVE, &own, sizeof own) ? errno : 0;
}

int ss_sandbox_memory(const char *path, unsigned long flags, const char *options)
{
    return syscall(SYS_mount, "tmpfs", path, "tmpfs", MS_NOSUID | MS_NODEV | flags, options) ? errno : 0;
}

/* Shows what a mount that is attached nowhere yet has, with these attributes from its first moment on. Ends the mount's descriptor. */
static int attach(int mount, int folder, const char *to, uint64_t attributes)
{
    struct mount_attr set = {.attr_set = attributes};
    int bad = mount < 0 ||
              syscall(SYS_mount_setattr, mount, "", AT_EMPTY_PATH | AT_RECURSIVE, &set, sizeof set) ||
              syscall(SYS_move_mount, mount, "", folder, to, MOVE_MOUNT_F_EMPTY_PATH);
    int why = bad ? errno : 0;

    if (mount >= 0)
        close(mount);
    return why;
}

int ss_sandbox_show(const char *from, const char *to, uint64_t attributes)
{
    int mount =
        (int)syscall(SYS_open_tree, AT_FDCWD, from, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_RECURSIVE);

    return attach(mount, AT_FDCWD, to, attributes);
}

int ss_sandbox_place(const char *from, const char *to)
{
    int bad = rename(from, to); /* mounts below it go along */

    if (bad && mkdir(to, 0777) && errno != EEXIST)
        return errno;
    return bad ? ss_sandbox_show(from, to, MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV) : 0;
}

int ss_sandbox_show_file(int from, int to, const char *name)
{
    int mount =
        (int)syscall(SYS_open_tree, from, name, OPEN_TREE_CLONE | OPEN_TREE_CLOEXEC | AT_SYMLINK_NOFOLLOW);
    struct stat st;

    if (mount < 0 || fstat(mount, &st) || !S_ISREG(st.st_mode)) {
        if (mount >= 0)
            close(mount);
        return 0;
    }
    int fd = openat(to, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666), rc = fd < 0 ? errno : 0;
    if (fd >= 0)
        close(fd);
    return rc ? rc : attach(mount, to, name, SS_SANDBOX_READ_ONLY);
}
