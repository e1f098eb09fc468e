/* SPDX-License-Identifier: Apache-2.0 */
#include "driver.h"

#include <dirent.h>
#include <fcntl.h>
#include <malloc.h>
#include <signal.h>
#include <stdio_ext.h>
#include <sys/mman.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include "cli/cli.h"

#ifdef __SANITIZE_ADDRESS__
#include <sanitizer/common_interface_defs.h>
#include <sanitizer/lsan_interface.h>
size_t __sanitizer_get_current_allocated_bytes(void); /* of a header that GCC does not have */
#endif

static struct {
    int told; /* stderr of before; -1: deaths are the caller's to tell */
    int argc;
    char **argv;
    int files;     /* descriptors that are open between commands, but for those of what is kept on purpose */
    int memory[3]; /* the files in memory */
} driver = {.told = -1};

static void stop(const char *what)
{
    dprintf(driver.told >= 0 ? driver.told : STDERR_FILENO, "driver: %s\n", what);
    _exit(125);
}

/* Only what a handler of signals may call. */
static void tell_death(void)
{
    char text[4096];
    ssize_t n;

    if (driver.told < 0 || !driver.argc)
        return;
    dprintf(driver.told, "the driver ended in:");
    for (int i = 0; i < driver.argc; i++)
        dprintf(driver.told, " %s", driver.argv[i]);
    dprintf(driver.told, "\n");
    for (off_t at = 0; (n = pread(driver.memory[STDERR_FILENO], text, sizeof text, at)) > 0; at += n)
        if (write(driver.told, text, (size_t)n) < 0)
            return;
}

static void died(int number)
{
    tell_death();
    raise(number); /* with the default action: SA_RESETHAND */
}

static void watch_deaths(void)
{
    static const int numbers[] = {SIGABRT, SIGPROF, SIGALRM, SIGXCPU, SIGTERM,
                                  SIGSEGV, SIGBUS,  SIGFPE,  SIGILL};
    struct sigaction action = {.sa_handler = died, .sa_flags = (int)SA_RESETHAND | SA_NODEFER}, old;

    sigemptyset(&action.sa_mask);
    for (size_t i = 0; i < sizeof numbers / sizeof numbers[0]; i++)
        if (!sigaction(numbers[i], NULL, &old) && old.sa_handler == SIG_DFL)
            sigaction(numbers[i], &action, NULL);
#ifdef __SANITIZE_ADDRESS__
    __sanitizer_set_death_callback(tell_death);
#endif
}

/* Descriptors that are open. The socket and the log of SimGrid's program are kept from one command to the next (replay/client.c). */
static int open_files(void)
{
    char path[64], target[256];
    struct dirent *entry;
    DIR *folder = opendir("/proc/self/fd");
    int n = -1; /* the folder's own */

    if (!folder)
        stop("cannot read /proc/self/fd");
    while ((entry = readdir(folder)) != NULL) {
        snprintf(path, sizeof path, "/proc/self/fd/%.16s", entry->d_name);
        ssize_t length = readlink(path, target, sizeof target - 1);
        target[length > 0 ? length : 0] = '\0';
        n += length > 0 && strncmp(target, "socket:", 7) && !strstr(target, "stepsim-log");
    }
    closedir(folder);
    return n;
}

static int lowest(void)
{
    int fd = dup(STDIN_FILENO);

    close(fd);
    return fd;
}

static void in_memory(int fd)
{
    int made = memfd_create("driver", MFD_CLOEXEC);

    if (made < 0 || dup2(made, fd) < 0)
        stop("no file in memory");
    close(made);
}

void driver_begin_as_is(void)
{
    mallopt(M_MMAP_THRESHOLD, 32 << 20); /* as main.c */
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    signal(SIGXFSZ, SIG_IGN);
    setvbuf(stdout, NULL, _IOFBF, 1 << 16);
    for (int fd = 0; fd < 3; fd++)
        if ((driver.memory[fd] = fcntl(fd, F_DUPFD_CLOEXEC, 10)) < 0)
            stop("no stdin, stdout or stderr");
    driver.files = open_files();
}

FILE *driver_begin(void)
{
    driver.told = fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 10);
    if (driver.told < 0)
        stop("no stderr");
    for (int fd = 0; fd < 3; fd++)
        in_memory(fd);
    FILE *told = fdopen(driver.told, "w");
    if (!told)
        stop("no memory");
    setvbuf(told, NULL, _IOLBF, BUFSIZ);
    driver_begin_as_is();
    watch_deaths();
    return told;
}

/* The streams of the next command. */
static void begin_streams(const struct driver_how *how)
{
    __fpurge(stdin);
    for (int fd = 0; fd < 3; fd++) {
        if ((fd && ftruncate(driver.memory[fd], 0)) || lseek(driver.memory[fd], 0, SEEK_SET) < 0)
            stop("stdin, stdout and stderr are no files");
        if (how->file[fd] && dup2(how->file[fd], fd) < 0)
            stop("a stream that cannot be had");
    }
    clearerr(stdin);
    clearerr(stdout);
    clearerr(stderr);
}

static void end_streams(const struct driver_how *how)
{
    for (int fd = 0; fd < 3; fd++)
        if (how->file[fd])
            dup2(driver.memory[fd], fd);
}

static void limit(double seconds)
{
    struct itimerval timer = {
        .it_value = {(time_t)seconds, (suseconds_t)(1e6 * (seconds - (double)(time_t)seconds))}};

    setitimer(ITIMER_PROF, &timer, NULL);
}

/* Bytes that are allocated, where a sanitizer counts them. */
static size_t allocated(void)
{
#ifdef __SANITIZE_ADDRESS__
    return __sanitizer_get_current_allocated_bytes();
#else
    return 0;
#endif
}

/* Whether something is left that nothing points to, which takes as long as ten small commands: of a command that has left memory. */
static int look_for_leaks(size_t before)
{
#ifdef __SANITIZE_ADDRESS__
    return allocated() > before && __lsan_do_recoverable_leak_check();
#else
    (void)before;
    return 0;
#endif
}

/* What the tests of the driver itself (self.py) ask for. */
static int misbehave(const char *how)
{
    char *volatile lost;

    if (!strcmp(how, "abort"))
        abort();
    if (!strcmp(how, "leak")) {
        lost = malloc(100);
        lost = lost ? NULL : lost;
    }
    for (volatile int turn = 1; !strcmp(how, "hang") && turn;)
        ;
    return strcmp(how, "open") ? 0 : open("/dev/null", O_RDONLY) < 0;
}

static int command(int argc, char **argv)
{
    int status = argc == 3 && !strcmp(argv[1], "--misbehave") ? misbehave(argv[2]) : cli_main(argc, argv);

    if (fflush(NULL) && !status)
        status = 125; /* a file in memory takes all */
    return status;
}

static int run_forked(int argc, char **argv, const struct driver_how *how, long *allocations)
{
    long *count = mmap(NULL, sizeof *count, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    int state = 0;

    if (count == MAP_FAILED)
        stop("no shared memory");
    pid_t child = fork();
    if (child < 0)
        stop("cannot fork");
    if (!child) {
        limit(how->seconds); /* timers are not inherited */
        driver_fail_at(how->fail_at);
        int status = command(argc, argv);
        *count = driver_fail_end();
        exit(status);
    }
    while (waitpid(child, &state, 0) < 0)
        ;
    *allocations = *count;
    munmap(count, sizeof *count);
    return WIFSIGNALED(state) ? 128 + WTERMSIG(state) : WEXITSTATUS(state);
}

struct driver_answer driver_run(int argc, char **argv, const struct driver_how *how)
{
    static const struct driver_how plain;
    struct driver_answer answer = {0};
    int before = lowest();
    size_t memory = allocated();
    char **environment = environ;

    how = how ? how : &plain;
    begin_streams(how);
    environ = how->environment ? how->environment : environ;
    driver.argc = argc;
    driver.argv = argv;
    if (how->forked) {
        answer.status = run_forked(argc, argv, how, &answer.allocations);
    } else {
        limit(how->seconds);
        answer.status = command(argc, argv);
        limit(0);
    }
    environ = environment;
    end_streams(how);
    answer.nout = (size_t)lseek(STDOUT_FILENO, 0, SEEK_END);
    answer.nerr = (size_t)lseek(STDERR_FILENO, 0, SEEK_END);
    answer.leaked = look_for_leaks(memory);
    answer.open = lowest() != before && open_files() != driver.files;
    driver.argc = 0;
    return answer;
}

const char *driver_text(int stream, size_t n)
{
    static char *kept[3];
    char *text = realloc(kept[stream], n + 1);

    if (!text || pread(stream, text, n, 0) != (ssize_t)n)
        stop("cannot read what was written");
    text[n] = '\0';
    return kept[stream] = text;
}
