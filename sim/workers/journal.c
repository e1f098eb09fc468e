/* SPDX-License-Identifier: Apache-2.0 */
#include "workers/journal.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/map.h"

#define FORMAT 1
/* Seconds after which written lines are synced to the disk. */
#define SYNC_S 5

struct place {
    off_t at;
    size_t length; /* line feed included */
};

struct ss_journal {
    char *path;
    int fd;
    size_t size;
    struct ss_map items; /* item -> place */
    size_t cap;
    struct place *place;
    off_t end;
    char *line; /* buffer for the longest line */
    size_t room;
    time_t synced;
};

/* ---- lines ---- */

/* Returns the length of the longest line of an answer, with item, checksum and final 0. */
static size_t most(size_t size)
{
    return 2 * size + 64;
}

static size_t put_bytes(char *to, const unsigned char *bytes, size_t n)
{
    static const char digit[] = "0123456789abcdef";
    char *at = to;
    for (size_t i = 0; i < n;) {
        size_t zeros = 0;
        while (i + zeros < n && !bytes[i + zeros])
            zeros++;
        if (zeros > 8) { /* "zN." is shorter than the digits of so many zeros, whatever N */
            at += sprintf(at, "z%zu.", zeros);
            i += zeros;
            continue;
        }
        *at++ = digit[bytes[i] >> 4];
        *at++ = digit[bytes[i] & 15];
        i++;
    }
    return (size_t)(at - to);
}

static int hex(char c)
{
    return c >= '0' && c <= '9' ? c - '0' : c >= 'a' && c <= 'f' ? c - 'a' + 10 : -1;
}

/* Reads n bytes from text[length]; returns 0 where the text is exactly that. */
static int take_bytes(const char *text, size_t length, unsigned char *bytes, size_t n)
{
    const char *at = text, *end = text + length;
    size_t i = 0;
    while (at < end) {
        if (*at == 'z') {
            char *dot;
            unsigned long zeros = strtoul(at + 1, &dot, 10);
            if (*dot != '.' || zeros > n - i)
                return -1;
            memset(bytes + i, 0, zeros);
            i += zeros;
            at = dot + 1;
            continue;
        }
        if (i == n || at + 1 == end || hex(at[0]) < 0 || hex(at[1]) < 0)
            return -1;
        bytes[i++] = (unsigned char)(hex(at[0]) << 4 | hex(at[1]));
        at += 2;
    }
    return i == n ? 0 : -1;
}

/* Adds a blank, the checksum and a line feed to text[n]; returns the new length. */
static size_t seal(char *text, size_t n)
{
    uint64_t sum = ss_hash(SS_HASH_INIT, text, n);
    return n + (size_t)sprintf(text + n, " %016llx\n", (unsigned long long)sum);
}

/* Returns the length of the line before its checksum; 0: the checksum does not fit. */
static size_t unseal(const char *line, size_t n)
{
    char sum[24];
    if (n < 19 || line[n - 1] != '\n' || line[n - 18] != ' ')
        return 0;
    sprintf(sum, "%016llx", (unsigned long long)ss_hash(SS_HASH_INIT, line, n - 18));
    return memcmp(sum, line + n - 17, 16) ? 0 : n - 18;
}

/* ---- the head ---- */

static int refuse(const struct ss_journal *j, int line, const char *what, const char *hint,
                  struct ss_error *err)
{
    return ss_fail(err, SS_ERR_INPUT, j->path, line, "%s" SS_HINT "%s", what, hint);
}

static size_t write_head(const struct ss_journal_head *h, char *text)
{
    char build[41];
    ss_build_id(build);
    return seal(text,
                (size_t)sprintf(text, "stepsim-journal %d %s %s %.40s %zu %d %016llx", FORMAT, SS_VERSION,
                                build, h->what, h->size, h->nitems, (unsigned long long)h->digest));
}

/* Returns where word n of a line begins. */
static const char *word_at(const char *line, int n)
{
    for (; n > 0 && line; n--) {
        line = strchr(line, ' ');
        line = line ? line + 1 : NULL;
    }
    return line;
}

static int check_head(const struct ss_journal *j, const char *line, size_t n,
                      const struct ss_journal_head *head, struct ss_error *err)
{
    static const char another[] = "give --journal another name, or remove this file to begin anew";
    char own[256];
    size_t length = write_head(head, own);
    if (n == length && !memcmp(line, own, n))
        return SS_OK;
    if (strncmp(line, own, strlen("stepsim-journal ")) != 0)
        return refuse(j, 1, "this is no journal", "give --journal another name", err);
    const char *theirs = word_at(line, 4),
               *ours = word_at(own, 4); /* words behind format, version and build */
    if (theirs - line != ours - own || memcmp(line, own, (size_t)(ours - own)) != 0)
        return refuse(j, 1, "this journal is of another version of stepsim, whose answers may differ",
                      another, err);
    return refuse(j, 1,
                  unseal(line, n) ? "this journal is of other inputs" : "the head of this journal is damaged",
                  another, err);
}

/* ---- opening ---- */

static int io_fail(const struct ss_journal *j, const char *what, struct ss_error *err)
{
    return ss_fail(err, SS_ERR_IO, j->path, 0, "cannot %s the journal: %s", what, strerror(errno));
}

static int note(struct ss_journal *j, int item, off_t at, size_t length, struct ss_error *err)
{
    int i = ss_map_put(&j->items, (uint64_t)item, (int)j->items.n);
    if (i < 0 || ss_grow(&j->place, &j->cap, j->items.n, sizeof *j->place))
        return ss_nomem(err);
    j->place[i] = (struct place){at, length};
    return SS_OK;
}

/* Returns the item of a line, or -1 for a line without one. */
static int item_of(const char *line, size_t n, int nitems)
{
    char *end;
    long item = strtol(line, &end, 10);
    return unseal(line, n) && end > line && *end == ' ' && item >= 0 && item < nitems ? (int)item : -1;
}

static int read_lines(struct ss_journal *j, FILE *f, const struct ss_journal_head *head, struct ss_error *err)
{
    char *line = NULL;
    size_t cap = 0;
    ssize_t n;
    int rc = SS_OK, number = 0;
    while (!rc && (n = getline(&line, &cap, f)) > 0 && line[n - 1] == '\n') {
        number++;
        int item = number > 1 ? item_of(line, (size_t)n, head->nitems) : 0;
        if (number == 1)
            rc = check_head(j, line, (size_t)n, head, err);
        else if (item < 0)
            rc = refuse(j, number, "this line of the journal is damaged", "remove it and all lines behind it",
                        err);
        else
            rc = note(j, item, j->end, (size_t)n, err);
        j->end += n;
    }
    if (!rc && ferror(f))
        rc = io_fail(j, "read", err);
    if (!rc && number == 0 && n > 0 &&
        strncmp(line, "stepsim-journal ", (size_t)n < 16 ? (size_t)n : 16) != 0)
        rc = refuse(j, 1, "this is no journal", "give --journal another name", err);
    free(line);
    return rc;
}

static int write_all(struct ss_journal *j, const char *data, size_t n)
{
    while (n > 0) {
        ssize_t done = pwrite(j->fd, data, n, j->end);
        if (done < 0 && errno == EINTR)
            continue;
        if (done < 0)
            return -1;
        j->end += done;
        data += done;
        n -= (size_t)done;
    }
    return 0;
}

/* Cuts off half a line; a new file gets its head. */
static int begin(struct ss_journal *j, const struct ss_journal_head *head, struct ss_error *err)
{
    if (ftruncate(j->fd, j->end))
        return io_fail(j, "write", err);
    if (j->end > 0)
        return SS_OK;
    return write_all(j, j->line, write_head(head, j->line)) ? io_fail(j, "write", err) : SS_OK;
}

static int lock(const struct ss_journal *j, struct ss_error *err)
{
    struct flock whole = {.l_type = F_WRLCK, .l_whence = SEEK_SET};
    if (fcntl(j->fd, F_SETLK, &whole) == 0 || (errno != EACCES && errno != EAGAIN))
        return SS_OK; /* file systems without locks may hold journals, too */
    return refuse(j, 0, "another process is writing this journal", "wait for it, or give another name", err);
}

static int open_file(struct ss_journal *j, int resume, const struct ss_journal_head *head,
                     struct ss_error *err)
{
    struct stat st;
    j->fd = open(j->path, O_RDWR | O_CREAT | O_CLOEXEC, 0666);
    if (j->fd < 0)
        return io_fail(j, "open", err);
    int rc = lock(j, err), copy = rc ? -1 : fcntl(j->fd, F_DUPFD_CLOEXEC, 0);
    FILE *f = copy >= 0 ? fdopen(copy, "rb") : NULL;
    if (!rc && (!f || fstat(j->fd, &st)))
        rc = io_fail(j, "read", err);
    if (!rc && !S_ISREG(st.st_mode))
        rc =
            refuse(j, 0, "this is no file that a journal can be kept in", "give --journal another name", err);
    SS_THEN(rc, read_lines(j, f, head, err));
    if (!rc && ss_journal_count(j) > 0 && !resume)
        rc = refuse(j, 0, "this journal has answers already",
                    "add --resume to go on from them, or remove the file to begin anew", err);
    SS_THEN(rc, begin(j, head, err));
    if (f) {
        fclose(f);
        lock(j, NULL); /* closing any descriptor of a file releases its locks */
    } else if (copy >= 0) {
        close(copy);
    }
    return rc;
}

int ss_journal_open(const char *path, int resume, const struct ss_journal_head *head, struct ss_journal **out,
                    struct ss_error *err)
{
    struct ss_journal *j = ss_calloc(1, sizeof *j);
    int rc = SS_OK;
    SS_NEED(j, err);
    j->fd = -1;
    j->path = strdup(path);
    j->room = most(head->size) + 256;
    j->line = malloc(j->room);
    j->synced = time(NULL);
    if (!j->path || !j->line)
        rc = ss_nomem(err);
    else
        rc = open_file(j, resume, head, err);
    j->size = head->size;
    SS_HAND(rc, j, out, ss_journal_close);
}

void ss_journal_close(struct ss_journal *j)
{
    if (!j)
        return;
    if (j->fd >= 0)
        close(j->fd);
    ss_map_free(&j->items);
    SS_FREE(j->place, j->line, j->path, j);
}

/* ---- answers ---- */

int ss_journal_count(const struct ss_journal *j)
{
    return (int)j->items.n;
}

int ss_journal_has(const struct ss_journal *j, int item)
{
    return ss_map_get(&j->items, (uint64_t)item) >= 0;
}

int ss_journal_get(struct ss_journal *j, int item, void *answer, struct ss_error *err)
{
    const struct place *p = &j->place[ss_map_get(&j->items, (uint64_t)item)];
    ssize_t got = p->length < j->room ? pread(j->fd, j->line, p->length, p->at) : 0;
    size_t n;
    if (got < 0)
        return io_fail(j, "read", err);
    j->line[got] = 0;
    const char *blank = strchr(j->line, ' ');
    if ((size_t)got != p->length || (n = unseal(j->line, p->length)) == 0 || !blank ||
        take_bytes(blank + 1, n - (size_t)(blank + 1 - j->line), answer, j->size))
        return refuse(j, 0, "an answer of the journal is damaged", "remove the file to begin anew", err);
    return SS_OK;
}

int ss_journal_put(struct ss_journal *j, int item, const void *answer, struct ss_error *err)
{
    size_t n = (size_t)sprintf(j->line, "%d ", item);
    off_t at = j->end;
    time_t now = time(NULL);
    n += put_bytes(j->line + n, answer, j->size);
    n = seal(j->line, n);
    if (write_all(j, j->line, n))
        return io_fail(j, "write", err);
    if (now - j->synced >= SYNC_S) {
        fdatasync(j->fd);
        j->synced = now;
    }
    return note(j, item, at, n, err);
}
