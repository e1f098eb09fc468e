/* SPDX-License-Identifier: Apache-2.0 */
/* Calls of the kernel that a launch script is refused: they would lead round its mounts, its rights or its limits. */
#include <errno.h>
#include <fcntl.h>
#include <linux/audit.h>
#include <linux/filter.h>
#include <linux/seccomp.h>
#include <sched.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/syscall.h>

#include "base/base.h"
#include "import/sandbox.h"

/* Machines whose arguments have the low half first: what a filter for one of them looks at is elsewhere on others. */
#if defined __x86_64__
#define MACHINE AUDIT_ARCH_X86_64
#elif defined __aarch64__ && defined __AARCH64EL__
#define MACHINE AUDIT_ARCH_AARCH64
#elif defined __riscv && __riscv_xlen == 64
#define MACHINE AUDIT_ARCH_RISCV64
#elif defined __powerpc64__ && defined __LITTLE_ENDIAN__
#define MACHINE AUDIT_ARCH_PPC64LE
#endif

#ifdef MACHINE
/* Calls from this number on are those of x32, a second table of x86. */
#define SECOND_TABLE 0x40000000u

#define LOAD(field) BPF_STMT(BPF_LD | BPF_W | BPF_ABS, offsetof(struct seccomp_data, field))
#define END(what) BPF_STMT(BPF_RET | BPF_K, what)
#define ANSWER(why) END(SECCOMP_RET_ERRNO | (why))
/* Where it is the value (at least the value; has a bit of it): skips `yes` rows, else `no`. */
#define IS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JEQ | BPF_K, value, yes, no)
#define IS_FROM(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JGE | BPF_K, value, yes, no)
#define HAS(value, yes, no) BPF_JUMP(BPF_JMP | BPF_JSET | BPF_K, value, yes, no)
/* clang-format off */
/* Refuses a call with this argument alone. */
#define REFUSE_WITH(call, argument, value) IS(call, 0, 4), LOAD(args[argument]), IS(value, 0, 1), ANSWER(EPERM), END(SECCOMP_RET_ALLOW)

static const struct sock_filter some[] = {
    LOAD(arch), IS(MACHINE, 1, 0), END(SECCOMP_RET_KILL_PROCESS),
    LOAD(nr), IS_FROM(SECOND_TABLE, 0, 1), ANSWER(EPERM),
    /* A UNIX socket leads to whoever listens at its path, a VSOCK to the host of a virtual machine: a network of one's own keeps neither
     * apart. Sockets of the Internet, by which scripts look for a free port, lead nowhere. */
    IS(SYS_socket, 0, 5), LOAD(args[0]), IS(AF_INET, 1, 0), IS(AF_INET6, 0, 1), END(SECCOMP_RET_ALLOW), ANSWER(EAFNOSUPPORT),
    /* In a namespace of users it would have rights again. clone3 has its flags in memory: libraries then call clone. */
    IS(SYS_clone3, 0, 1), ANSWER(ENOSYS),
    IS(SYS_clone, 0, 4), LOAD(args[0]), HAS(CLONE_NEWUSER, 0, 1), ANSWER(EPERM), END(SECCOMP_RET_ALLOW),
    /* A lock or lease of a file of the machine keeps its other users waiting. */
    IS(SYS_fcntl, 0, 8), LOAD(args[1]), IS(F_SETLK, 5, 0), IS(F_SETLKW, 4, 0), IS(F_OFD_SETLK, 3, 0), IS(F_OFD_SETLKW, 2, 0),
    IS(F_SETLEASE, 1, 0), END(SECCOMP_RET_ALLOW), ANSWER(EPERM),
    /* The limit that keeps what has crashed from a program of the machine. */
    REFUSE_WITH(SYS_prlimit64, 1, RLIMIT_CORE),
#ifdef SYS_setrlimit
    REFUSE_WITH(SYS_setrlimit, 0, RLIMIT_CORE),
#endif
};
/* clang-format on */

static const int all[] = {
    /* in another namespace it would have rights again */
    SYS_unshare,
    SYS_setns,
    /* a lock of a file of the machine, as by fcntl */
    SYS_flock,
    /* half of a pair can be sent to a path */
    SYS_socketpair,
    /* makes sockets that no filter sees */
    SYS_io_uring_setup,
    /* keys of the user's session */
    SYS_keyctl,
    SYS_add_key,
    SYS_request_key,
    /* memory that no limit counts */
    SYS_memfd_create,
    SYS_shmget,
    /* other processes, and what no script needs and faults of kernels were found in */
    SYS_ptrace,
    SYS_process_vm_readv,
    SYS_process_vm_writev,
    SYS_pidfd_getfd,
    SYS_kcmp,
    SYS_bpf,
    SYS_perf_event_open,
    SYS_userfaultfd,
};
#endif

int ss_sandbox_filter(void)
{
#ifdef MACHINE
    struct sock_filter rows[SS_ARRAY_LEN(some) + 2 * SS_ARRAY_LEN(all) + 1];
    size_t n = SS_ARRAY_LEN(some);

    memcpy(rows, some, sizeof some);
    for (size_t i = 0; i < SS_ARRAY_LEN(all); i++) {
        rows[n++] = (struct sock_filter)IS((unsigned)all[i], 0, 1);
        rows[n++] = (struct sock_filter)ANSWER(EPERM);
    }
    rows[n++] = (struct sock_filter)END(SECCOMP_RET_ALLOW);
    const struct sock_fprog program = {(unsigned short)n, rows};
    return prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, &program, 0, 0) ? errno : 0;
#else
    return ENOSYS;
#endif
}
