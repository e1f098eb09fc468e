/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What shell scripts of the tests start in place of the program: has its command run by the driver that listens at $STEPSIM_DRIVER
 * (serve.c), and writes and ends as that says. It starts the program itself, $STEPSIM_PROGRAM, where a stream is what the driver cannot stand in for: closed, or a device
 * but /dev/null. A stream that is a file is given to the driver. What goes into a pipe is written here, stderr first, as the program does
 * whose stdout is no terminal.
 */
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/socket.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <sys/un.h>
#include <unistd.h>

extern char **environ;

static int stop(const char *what)
{
    dprintf(STDERR_FILENO, "stepsim-client: %s\n", what);
    exit(125);
}

/* ---- texts of a request ---- */

static char *text;
static size_t ntext, size;

static void add(const char *word)
{
    size_t n = strlen(word) + 1;

    if (ntext + n > size) {
        size = 2 * (ntext + n);
        text = realloc(text, size);
        if (!text)
            stop("no memory");
    }
    memcpy(text + ntext, word, n);
    ntext += n;
}

static void add_number(long number)
{
    char word[32];

    snprintf(word, sizeof word, "%ld", number);
    add(word);
}

/* ---- streams ---- */

enum stream { AS_FILE, BY_PIPE, AS_IT_IS };

static enum stream kind_of(int fd)
{
    struct stat st;

    if (fstat(fd, &st))
        return AS_IT_IS;
    if (S_ISREG(st.st_mode) || (S_ISCHR(st.st_mode) && st.st_rdev == makedev(1, 3)))
        return AS_FILE;
    return S_ISFIFO(st.st_mode) || S_ISSOCK(st.st_mode) ? BY_PIPE : AS_IT_IS;
}

static int reads_stdin(int argc, char **argv)
{
    for (int i = 1; i < argc; i++)
        if (!strcmp(argv[i], "-") || !strcmp(argv[i], "/dev/stdin"))
            return 1;
    return 0;
}

static void copy(int from, int to)
{
    char room[1 << 16];
    ssize_t n;

    while ((n = read(from, room, sizeof room)) > 0)
        if (write(to, room, (size_t)n) != n)
            stop("cannot keep stdin");
}

/* What a pipe has as stdin, whole: the driver waits for nobody. Nothing of it where the words do not ask for it. */
static int whole_stdin(int wanted)
{
    int fd = wanted ? memfd_create("stdin", 0) : open("/dev/null", O_RDONLY);

    if (fd < 0)
        stop("no stdin");
    if (wanted) {
        copy(STDIN_FILENO, fd);
        lseek(fd, 0, SEEK_SET);
    }
    return fd;
}

/* ---- the driver ---- */

static int connected(const char *path)
{
    struct sockaddr_un at = {.sun_family = AF_UNIX};
    int fd = socket(AF_UNIX, SOCK_STREAM, 0);

    if (!path || strlen(path) >= sizeof at.sun_path)
        stop("no STEPSIM_DRIVER");
    strcpy(at.sun_path, path);
    if (fd < 0 || connect(fd, (const struct sockaddr *)&at, sizeof at))
        stop("no driver");
    return fd;
}

static void send_files(int fd, const int *files, int n)
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control = {0};
    char first = '+';
    struct iovec byte = {&first, 1};
    struct msghdr message = {.msg_iov = &byte, .msg_iovlen = 1};

    if (n) {
        message.msg_control = &control;
        message.msg_controllen = CMSG_SPACE((size_t)n * sizeof(int));
        control.head.cmsg_level = SOL_SOCKET;
        control.head.cmsg_type = SCM_RIGHTS;
        control.head.cmsg_len = CMSG_LEN((size_t)n * sizeof(int));
        memcpy(CMSG_DATA(&control.head), files, (size_t)n * sizeof(int));
    }
    if (sendmsg(fd, &message, MSG_NOSIGNAL) != 1)
        stop("the driver is gone");
}

static void write_all(int fd, const char *from, size_t n)
{
    while (n) {
        ssize_t done = write(fd, from, n);
        if (done < 0)
            stop("cannot write");
        from += done;
        n -= (size_t)done;
    }
}

static int take_answer(int fd)
{
    FILE *in = fdopen(fd, "r");
    size_t nout, nerr;
    int status, leaked, left_open;
    long allocations;

    if (!in ||
        fscanf(in, "%d %zu %zu %d %d %ld", &status, &nout, &nerr, &leaked, &left_open, &allocations) != 6 ||
        getc(in) != '\n')
        stop("the driver ended in this command");
    char *out = malloc(nout + nerr + 1);
    if (!out || fread(out, 1, nout + nerr, in) != nout + nerr)
        stop("half an answer");
    write_all(STDERR_FILENO, out + nout, nerr);
    write_all(STDOUT_FILENO, out, nout);
    return status;
}

int main(int argc, char **argv)
{
    int files[3], nfiles = 0, nsettings = 0;
    char folder[4096], which[4] = "", head[32];

    for (int fd = 0; fd < 3; fd++) {
        enum stream kind = kind_of(fd);
        if (kind == AS_IT_IS) {
            execv(getenv("STEPSIM_PROGRAM"), argv);
            stop("no STEPSIM_PROGRAM");
        }
        if (kind == BY_PIPE && fd)
            continue;
        which[nfiles] = (char)('0' + fd);
        files[nfiles++] = kind == AS_FILE ? fd : whole_stdin(reads_stdin(argc, argv));
    }
    add(getcwd(folder, sizeof folder) ? folder : "/");
    add("0"); /* seconds */
    add("");  /* no fork */
    add(which);
    while (environ[nsettings])
        nsettings++;
    add_number(nsettings);
    for (int i = 0; i < nsettings; i++)
        add(environ[i]);
    add("stepsim");
    for (int i = 1; i < argc; i++)
        add(argv[i]);
    int driver = connected(getenv("STEPSIM_DRIVER"));
    send_files(driver, files, nfiles);
    snprintf(head, sizeof head, "%zu\n", ntext);
    write_all(driver, head, strlen(head));
    write_all(driver, text, ntext);
    return take_answer(driver);
}
