/* SPDX-License-Identifier: Apache-2.0 */
/* Recorded calls: a folder each, numbered as they began, with one file named by the kind that holds the words, each with a 0. */
#include <fcntl.h>
#include <unistd.h>

#include "base/base.h"
#include "import/sandbox.h"

#define MAX_CALLS 10000
#define MAX_BYTES (1u << 20)

static const char *const kinds[] = {"launcher", "runner", "nothing", "folder", "file",
                                    "missing",  "used",   "set",     "failed", "tested"};

/* What stands before the words of a call on their way out of the sandbox. */
struct header {
    int kind, by;
    unsigned bytes;
};

static int write_all(int fd, const void *data, size_t n)
{
    for (const char *p = data; n > 0;) {
        ssize_t sent = write(fd, p, n);
        if (sent <= 0)
            return -1;
        p += sent;
        n -= (size_t)sent;
    }
    return 0;
}

/* Bytes of a file of call i, at most `size`; -1: there is none. A script may have put anything there. */
static long read_file(const char *folder, int i, const char *name, char *data, size_t size)
{
    char path[4200];
    long n = 0;

    snprintf(path, sizeof path, "%s/%d/%s", folder, i, name);
    int fd = open(path, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_CLOEXEC);
    if (fd < 0)
        return -1;
    for (ssize_t got; (size_t)n < size && (got = read(fd, data + n, size - (size_t)n)) > 0;)
        n += got;
    close(fd);
    return n;
}

static int runner_of(const char *folder, int i)
{
    char text[16];
    int64_t by;
    long n = read_file(folder, i, "by", text, sizeof text - 1);

    if (n <= 0)
        return -1;
    text[n] = 0;
    return ss_parse_i64(text, 0, i - 1, &by) ? -1 : (int)by;
}

int ss_calls_send(int fd, const char *folder)
{
    char *data = malloc(MAX_BYTES), path[4200];
    int rc = data ? 0 : -1;

    for (int i = 0; i < MAX_CALLS && !rc; i++) {
        struct header head = {.kind = SS_CALL_NOTHING, .by = -1};
        snprintf(path, sizeof path, "%s/%d", folder, i);
        if (access(path, F_OK))
            break;
        for (int kind = 0; kind < (int)SS_ARRAY_LEN(kinds); kind++) {
            long n = read_file(folder, i, kinds[kind], data, MAX_BYTES);
            if (n > 0) {
                head = (struct header){kind, runner_of(folder, i), (unsigned)n};
                break;
            }
        }
        rc = write_all(fd, &head, sizeof head) || write_all(fd, data, head.bytes);
    }
    free(data);
    return rc;
}

static int add_word(struct ss_call *call, size_t *cap, const char *text, size_t len)
{
    if (ss_grow(&call->word, cap, call->n + 1, sizeof *call->word))
        return SS_ERR_NOMEM;
    char *copy = malloc(len + 1);
    if (!copy)
        return SS_ERR_NOMEM;
    memcpy(copy, text, len);
    copy[len] = 0;
    call->word[call->n++] = copy;
    return SS_OK;
}

static int add_call(struct ss_calls *calls, const struct header *head, const char *data)
{
    size_t cap = 0;

    if (ss_grow(&calls->call, &calls->cap, calls->n + 1, sizeof *calls->call))
        return SS_ERR_NOMEM;
    struct ss_call *call = &calls->call[calls->n++];
    *call = (struct ss_call){.kind = (enum ss_call_kind)head->kind, .by = head->by};
    for (size_t at = 0; at < head->bytes;) {
        size_t len = strnlen(data + at, head->bytes - at);
        if (add_word(call, &cap, data + at, len))
            return SS_ERR_NOMEM;
        at += len + 1;
    }
    return SS_OK;
}

int ss_calls_take(struct ss_calls *calls, const char *data, size_t len, struct ss_error *err)
{
    struct header head;

    for (size_t at = 0; at < len; at += head.bytes) {
        if (len - at < sizeof head)
            return ss_fail(err, SS_ERR_IO, NULL, 0, "the sandbox of the launch script ended early");
        memcpy(&head, data + at, sizeof head);
        at += sizeof head;
        if (head.kind < 0 || head.kind >= (int)SS_ARRAY_LEN(kinds) || head.by >= (int)calls->n ||
            head.bytes > len - at)
            return ss_fail(err, SS_ERR_IO, NULL, 0, "the sandbox of the launch script ended early");
        SS_NEED(!add_call(calls, &head, data + at), err);
    }
    return SS_OK;
}

void ss_calls_free(struct ss_calls *calls)
{
    for (size_t i = 0; i < calls->n; i++) {
        for (size_t w = 0; w < calls->call[i].n; w++)
            free(calls->call[i].word[w]);
        free(calls->call[i].word);
    }
    SS_FREE(calls->call, calls->output, calls->above);
    memset(calls, 0, sizeof *calls);
}
