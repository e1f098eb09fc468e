/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "stepsim/text.h"

int ss_file_fail(struct ss_error *err, const char *path, const char *what, int errnum)
{
    if (errnum == ENOMEM)
        return ss_fail(err, SS_ERR_NOMEM, path, 0, "cannot %s: %s", what, strerror(errnum));
    ss_fail(err, SS_ERR_IO, path, 0, "cannot %s: %s", what, strerror(errnum));
    if (errnum == ENOENT || errnum == ENOTDIR || errnum == ENAMETOOLONG)
        ss_hint(err, SS_ERR_IO, "check the path");
    else if (errnum == EISDIR)
        ss_hint(err, SS_ERR_IO, "give a file in it");
    else if (errnum == EACCES || errnum == EPERM)
        ss_hint(err, SS_ERR_IO, "check the permissions of the file and its folder");
    else if (errnum == ENOSPC)
        ss_hint(err, SS_ERR_IO, "make room on the disk");
    return SS_ERR_IO;
}

/* Returns errno's value for a stream that has ferror(). The error may be old, so the function writes one more
 * byte to get it again; the file is incomplete and nobody reads that byte. Returns EIO where the system gives
 * no reason. */
static int why_of(FILE *stream)
{
    errno = 0;
    if (putc('\n', stream) == EOF || fflush(stream))
        return errno ? errno : EIO;
    return EIO;
}

int ss_text_written(FILE *stream, const char *what, struct ss_error *err)
{
    char text[100];
    if (!ferror(stream))
        return SS_OK;
    snprintf(text, sizeof text, "write %s", what);
    return ss_file_fail(err, NULL, text, why_of(stream));
}

/* Reads the rest of f; *out gets room for the NUL. */
static int read_all(FILE *f, const char *name, size_t max_bytes, char **out, size_t *len,
                    struct ss_error *err)
{
    char *data = NULL;
    struct stat st;
    size_t n = 0, cap = 0, known = 0; /* bytes of a file that says how many there are */
    if (!fstat(fileno(f), &st) && S_ISREG(st.st_mode) && (size_t)st.st_size <= max_bytes)
        known = (size_t)st.st_size;
    for (;;) {
        if (ss_grow(&data, &cap, (n > known ? n : known) + 4096 + 1, 1)) {
            free(data);
            return ss_nomem(err);
        }
        size_t got = fread(data + n, 1, cap - n - 1, f);
        n += got;
        if (n > max_bytes) {
            free(data);
            return ss_fail(err, SS_ERR_INPUT, name, 0,
                           "larger than %zu bytes" SS_HINT "is this the right file?", max_bytes);
        }
        if (!got)
            break;
    }
    if (ferror(f)) {
        int errnum = errno ? errno : EIO;
        free(data);
        return ss_file_fail(err, name, "read", errnum);
    }
    data[n] = '\0';
    *out = data;
    if (len)
        *len = n;
    return SS_OK;
}

#define PIPED "give a file, or - for what is piped to stdin"

/* What a file of this kind is that cannot be read to an end, or where opening it alone does something: a device may begin to work, a FIFO
 * waits for a writer and takes what is another reader's. NULL: it can be read. */
static const char *no_file(const struct stat *st)
{
    return S_ISCHR(st->st_mode) || S_ISBLK(st->st_mode) ? "a device"
           : S_ISFIFO(st->st_mode)                      ? "a FIFO"
           : S_ISSOCK(st->st_mode)                      ? "a socket"
                                                        : NULL;
}

static int refuse(const char *path, const char *what, const char *hint, struct ss_error *err)
{
    return ss_fail(err, SS_ERR_INPUT, path, 0, "%s, not a file" SS_HINT "%s", what, hint);
}

/* Paths of what this process has open: a pipe of the shell's there has its writer. */
static bool is_own(const char *path)
{
    return !strcmp(path, "/dev/stdin") ||
           ((!strncmp(path, "/dev/fd/", 8) || !strncmp(path, "/proc/self/fd/", 14)) && !strstr(path, ".."));
}

/* Returns SS_OK where a path can be read to its end, without opening it. */
static int look(const char *path, const char *hint, struct ss_error *err)
{
    struct stat st;

    if (ss_inside(path))
        return ss_inside_find(path) ? SS_OK : ss_file_fail(err, path, "read", ENOENT);
    if (stat(path, &st))
        return ss_file_fail(err, path, "read", errno);
    if (S_ISDIR(st.st_mode))
        return ss_file_fail(err, path, "read", EISDIR);
    const char *what = no_file(&st);
    return !what || (S_ISFIFO(st.st_mode) && is_own(path)) ? SS_OK : refuse(path, what, hint, err);
}

static int open_file(const char *path, const char *hint, FILE **out, struct ss_error *err)
{
    SS_TRY(look(path, hint, err));
    const struct ss_inside_file *inside = ss_inside_find(path);
    *out = inside ? fmemopen((char *)inside->bytes, inside->size, "rb") : fopen(path, "rbe");
    return *out ? SS_OK : ss_file_fail(err, path, "read", errno);
}

int ss_file_open(const char *path, FILE **out, struct ss_error *err)
{
    return open_file(path, "give a file", out, err);
}

static int read_stdin(size_t max_bytes, char **out, size_t *len, struct ss_error *err)
{
    struct stat st;

    if (!fstat(STDIN_FILENO, &st) && (S_ISCHR(st.st_mode) || S_ISBLK(st.st_mode)) && !isatty(STDIN_FILENO))
        return refuse("stdin", no_file(&st), PIPED, err);
    return read_all(stdin, "stdin", max_bytes, out, len, err);
}

int ss_file_read(const char *path, size_t max_bytes, char **out, size_t *len, struct ss_error *err)
{
    if (!path)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "no file is named");
    if (!strcmp(path, "-"))
        return read_stdin(max_bytes, out, len, err);
    FILE *f;
    SS_TRY(open_file(path, PIPED, &f, err));
    errno = 0;
    int rc = read_all(f, path, max_bytes, out, len, err);
    fclose(f);
    return rc;
}

/* Returns the allocated path that a link leads to, where there may be no file yet; NULL: path is no link. */
static char *link_target(const char *path)
{
    char to[4096];
    ssize_t n = readlink(path, to, sizeof to - 1);
    if (n <= 0)
        return NULL;
    to[n] = '\0';
    const char *slash = to[0] == '/' ? NULL : strrchr(path, '/');
    size_t folder = slash ? (size_t)(slash - path) + 1 : 0;
    char *whole = malloc(folder + (size_t)n + 1);
    if (whole) {
        memcpy(whole, path, folder);
        memcpy(whole + folder, to, (size_t)n + 1);
    }
    return whole;
}

/* Returns the allocated path without links and dots; its last part need not exist. NULL: there is no such
 * path. */
static char *canonical(const char *path)
{
    char *found = realpath(path, NULL), *at = NULL, *next, *folder, *whole = NULL;
    if (found)
        return found;
    for (int i = 0; i < 40 && (next = link_target(at ? at : path)) != NULL; i++) {
        free(at);
        at = next;
    }
    const char *last = at ? at : path, *slash = strrchr(last, '/'), *name = slash ? slash + 1 : last;
    folder = slash ? strndup(last, (size_t)(slash - last) + 1) : strdup(".");
    found = folder ? realpath(folder, NULL) : NULL;
    size_t size = found ? strlen(found) + strlen(name) + 2 : 0;
    if (size && (whole = malloc(size)))
        snprintf(whole, size, "%s/%s", found, name);
    SS_FREE(at, folder, found);
    return whole;
}

size_t ss_byte_order_mark(const char *text, size_t len)
{
    size_t n = sizeof SS_BYTE_ORDER_MARK - 1;
    return len >= n && memcmp(text, SS_BYTE_ORDER_MARK, n) == 0 ? n : 0;
}

static bool is_there(const char *path, struct stat *st)
{
    return (strcmp(path, "-") ? stat(path, st) : fstat(STDOUT_FILENO, st)) == 0;
}

bool ss_file_same_target(const char *a, const char *b)
{
    struct stat x, y;
    if (!a || !b || !a[0] || !b[0] || (!strcmp(a, "-") && !strcmp(b, "-")))
        return false;
    bool there = is_there(a, &x);
    if (there != is_there(b, &y))
        return false;
    if (there) /* a device such as /dev/null or a terminal takes any number of writers */
        return x.st_dev == y.st_dev && x.st_ino == y.st_ino && !S_ISCHR(x.st_mode);
    char *m = canonical(a), *n = canonical(b);
    bool same = m && n ? !strcmp(m, n) : !strcmp(a, b);
    SS_FREE(m, n);
    return same;
}

struct ss_file_writer {
    FILE *stream;
    char *target;    /* NULL: stdout, which is neither closed nor renamed */
    char *temporary; /* NULL: the target is written directly */
};

static void writer_free(struct ss_file_writer *w)
{
    SS_FREE(w->target, w->temporary, w);
}

/* Opens target.tmp.PID[.n], so that two writers of one path do not meet. */
static int open_temporary(struct ss_file_writer *w, mode_t mode)
{
    size_t size = strlen(w->target) + 48;
    w->temporary = ss_calloc(size, 1);
    if (!w->temporary)
        return ENOMEM;
    for (int n = 0; n < 100; n++) {
        snprintf(w->temporary, size, n ? "%s.tmp.%ld.%d" : "%s.tmp.%ld", w->target, (long)getpid(), n);
        int fd = open(w->temporary, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
        if (fd >= 0) {
            if (mode && fchmod(fd, mode))
                errno = 0; /* the umask's mode will do */
            w->stream = fdopen(fd, "wb");
            if (w->stream)
                return 0;
            int errnum = errno;
            close(fd);
            unlink(w->temporary);
            return errnum;
        }
        if (errno != EEXIST)
            return errno;
    }
    return EEXIST;
}

static int open_target(struct ss_file_writer *w, const char *path)
{
    struct stat st;
    mode_t mode = 0;
    bool exists = stat(path, &st) == 0;
    /* A symbolic link stays; the file behind it is replaced. */
    struct stat link;
    w->target = exists || (lstat(path, &link) == 0 && S_ISLNK(link.st_mode)) ? canonical(path) : strdup(path);
    if (!w->target)
        return errno ? errno : ENOMEM;
    if (exists && S_ISDIR(st.st_mode))
        return EISDIR;
    if (exists && !S_ISREG(st.st_mode)) { /* renaming would destroy /dev/null or a pipe */
        w->stream = fopen(path, "wbe");
        return w->stream ? 0 : errno;
    }
    if (exists) {
        mode = st.st_mode & 07777;
        if (!(mode & 0222)) /* read-only: access() lets root pass */
            return EACCES;
        if (access(path, W_OK))
            return errno;
    }
    return open_temporary(w, mode);
}

int ss_file_begin(const char *path, struct ss_file_writer **out, FILE **stream, struct ss_error *err)
{
    struct ss_file_writer *w = ss_calloc(1, sizeof *w);
    SS_NEED(w, err);
    if (!strcmp(path, "-"))
        w->stream = stdout;
    else {
        int errnum = open_target(w, path);
        if (errnum) {
            writer_free(w);
            return ss_file_fail(err, path, "write", errnum);
        }
    }
    *out = w;
    *stream = w->stream;
    return SS_OK;
}

int ss_file_commit(struct ss_file_writer *w, struct ss_error *err)
{
    int rc = SS_OK, errnum = 0;
    const char *name = w->target ? w->target : "stdout";
    if (fflush(w->stream) || ferror(w->stream))
        errnum = why_of(w->stream);
    if (w->target && fclose(w->stream) && !errnum)
        errnum = errno ? errno : EIO;
    if (!errnum && w->temporary && rename(w->temporary, w->target))
        errnum = errno;
    if (errnum) {
        rc = ss_file_fail(err, name, "write", errnum);
        if (w->temporary)
            unlink(w->temporary);
    }
    writer_free(w);
    return rc;
}

void ss_file_discard(const struct ss_file_writer *w)
{
    if (w && w->temporary)
        unlink(w->temporary);
}

void ss_file_abort(struct ss_file_writer *w)
{
    if (!w)
        return;
    if (w->target)
        fclose(w->stream);
    if (w->temporary)
        unlink(w->temporary);
    writer_free(w);
}

int ss_file_hash(const char *path, char hash[17], struct ss_error *err)
{
    char *text;
    size_t len;

    SS_TRY(ss_file_read(path, (size_t)1 << 30, &text, &len, err));
    snprintf(hash, 17, "%016llx", (unsigned long long)ss_hash(SS_HASH_INIT, text, len));
    free(text);
    return SS_OK;
}
