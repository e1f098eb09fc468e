/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The program, of which driver.py and client.c run many commands in one process. As any command "stepsim-driver WORD..." is
 * "stepsim WORD..."; "stepsim-driver --in-process REQUESTS ANSWERS CLIENTS" reads requests from descriptor REQUESTS and answers on ANSWERS, to
 * their end, with files in memory as stdin, stdout and stderr, which the other side reads and writes; and takes a request from each who
 * connects to the socket CLIENTS.
 *
 * A request is its length in bytes (decimal, a line), then texts that end with a zero byte: FOLDER, SECONDS of processor time (0: no
 * limit), FORK ("" in this process, else the number of the allocation that fails in a child, 0 none), FILES (of a client: which of stdin,
 * stdout and stderr come with the first byte of the request, "02"), the number of NAME=VALUE of the environment that follow, they, and
 * the words of the command. An answer is a line: exit status (128 + signal of a child), bytes on stdout in memory, bytes on stderr before what the
 * leak check told, 1 if it leaked, 1 if a descriptor stays open, allocations of a child. To a client the bytes follow.
 */
#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <sys/socket.h>
#include <unistd.h>

#include "cli/cli.h"
#include "driver.h"

#define MOST_TEXTS 4096

struct request {
    const char *folder;
    struct driver_how how;
    int nwords;
    char *environment[MOST_TEXTS + 1], *word[MOST_TEXTS + 1];
};

static void stop(const char *what)
{
    dprintf(STDERR_FILENO, "driver: %s\n", what);
    exit(125);
}

static char *read_bytes(int fd, size_t n)
{
    char *text = malloc(n + 1);

    for (size_t have = 0; text && have < n;) {
        ssize_t got = read(fd, text + have, n - have);
        if (got <= 0)
            stop("half a request");
        have += (size_t)got;
    }
    if (!text)
        stop("no memory");
    text[n] = '\0';
    return text;
}

/* The length of the next request; -1: there is none. */
static long read_length(int fd)
{
    char line[32], c;
    size_t n = 0;

    while (read(fd, &c, 1) == 1 && c != '\n')
        if (n < sizeof line - 1)
            line[n++] = c;
    line[n] = '\0';
    return n ? strtol(line, NULL, 10) : -1;
}

/* The next text of a request. */
static char *take(char **at, const char *end)
{
    char *text = *at;

    if (text >= end)
        stop("a request lacks a text");
    *at += strlen(text) + 1;
    return text;
}

static int take_texts(char **into, int most, char **at, const char *end)
{
    int n = 0;

    for (; n < most && *at < end; n++)
        into[n] = take(at, end);
    into[n] = NULL;
    return n;
}

/* files: descriptors that came with it, in the order of FILES. */
static void split(struct request *r, char *text, size_t n, const int *files)
{
    char *at = text, *end = text + n;

    memset(&r->how, 0, sizeof r->how);
    r->folder = take(&at, end);
    r->how.seconds = strtod(take(&at, end), NULL);
    const char *fork_at = take(&at, end);
    r->how.forked = *fork_at != '\0';
    r->how.fail_at = strtol(fork_at, NULL, 10);
    for (const char *which = take(&at, end); *which; which++)
        r->how.file[*which - '0'] = *files++;
    int most = (int)strtol(take(&at, end), NULL, 10);
    if (most > MOST_TEXTS)
        stop("too long an environment");
    take_texts(r->environment, most, &at, end);
    r->how.environment = r->environment;
    r->nwords = take_texts(r->word, MOST_TEXTS, &at, end);
    if (at < end)
        stop("too many words");
}

static struct driver_answer answer(int fd, long length, const int *files)
{
    static struct request r;
    char *text = read_bytes(fd, (size_t)length);

    split(&r, text, (size_t)length, files);
    if (chdir(r.folder))
        stop("no such folder");
    struct driver_answer a = driver_run(r.nwords, r.word, &r.how);
    free(text);
    return a;
}

/* The line of an answer. */
static int line_of(const struct driver_answer *a, char *line, size_t size)
{
    return snprintf(line, size, "%d %zu %zu %d %d %ld\n", a->status, a->nout, a->nerr, a->leaked, a->open,
                    a->allocations);
}

static void send_all(int fd, const char *text, size_t n)
{
    while (n) {
        ssize_t sent = send(fd, text, n, MSG_NOSIGNAL);
        if (sent < 0)
            return; /* a client that was ended wants no answer */
        text += sent;
        n -= (size_t)sent;
    }
}

/* The first byte of a client's request, a '+', with its files; how many. */
static int receive_files(int fd, int files[3])
{
    union {
        struct cmsghdr head;
        char room[CMSG_SPACE(3 * sizeof(int))];
    } control;
    char first;
    struct iovec text = {&first, 1};
    struct msghdr message = {
        .msg_iov = &text, .msg_iovlen = 1, .msg_control = &control, .msg_controllen = sizeof control};

    if (recvmsg(fd, &message, MSG_CMSG_CLOEXEC) != 1)
        return -1;
    const struct cmsghdr *head = CMSG_FIRSTHDR(&message);
    size_t n = head ? (head->cmsg_len - CMSG_LEN(0)) / sizeof(int) : 0;
    if (n)
        memcpy(files, CMSG_DATA(head), n * sizeof(int));
    return (int)n;
}

static void serve_client(int clients)
{
    int fd = accept4(clients, NULL, NULL, SOCK_CLOEXEC), files[3], n = fd < 0 ? -1 : receive_files(fd, files);
    long length = n < 0 ? -1 : read_length(fd);
    char line[128];

    if (length > 0) {
        struct driver_answer a = answer(fd, length, files);
        if (a.open)
            a.status = 24; /* as driver.py */
        if (a.leaked) {
            a.status = 23;
            a.nerr = (size_t)lseek(STDERR_FILENO, 0, SEEK_END);
        }
        send_all(fd, line, (size_t)line_of(&a, line, sizeof line));
        send_all(fd, driver_text(1, a.nout), a.nout);
        send_all(fd, driver_text(2, a.nerr), a.nerr);
    }
    for (int i = 0; i < n; i++)
        close(files[i]);
    if (fd >= 0)
        close(fd);
}

static int serve(int requests, int answers, int clients)
{
    struct pollfd from[2] = {{.fd = requests, .events = POLLIN}, {.fd = clients, .events = POLLIN}};
    char line[128];
    long length;

    for (int i = 0; i < 3; i++)
        fcntl((int[3]){requests, answers, clients}[i], F_SETFD, FD_CLOEXEC);
    driver_begin_as_is();
    while (poll(from, 2, -1) > 0 || errno == EINTR) {
        if (from[1].revents & POLLIN)
            serve_client(clients);
        if (!(from[0].revents & (POLLIN | POLLHUP)))
            continue;
        if ((length = read_length(requests)) <= 0)
            return 0;
        struct driver_answer a = answer(requests, length, NULL);
        if (write(answers, line, (size_t)line_of(&a, line, sizeof line)) < 0)
            return 125;
    }
    return 125;
}

int main(int argc, char **argv)
{
    if (argc == 5 && !strcmp(argv[1], "--in-process"))
        return serve(atoi(argv[2]), atoi(argv[3]), atoi(argv[4]));
    return cli_main(argc, argv);
}
