/* SPDX-License-Identifier: Apache-2.0 */
/* Helpers that every room uses, and the headers of the C library that most files need: who includes this one does not name them again.
 * They are not installed. */
#pragma once

#include <ctype.h>
#include <limits.h>
#include <math.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "stepsim/units.h"

/* Leaves the function with the error of missing memory where the pointer is NULL, or the condition false. */
#define SS_NEED(got, err)                                                                                    \
    do {                                                                                                     \
        if (!(got))                                                                                          \
            return ss_nomem(err);                                                                            \
    } while (0)

/* Ends the function with the status: what was made is handed out where the status is SS_OK, else it is freed by `drop`. */
#define SS_HAND(rc, made, out, drop)                                                                         \
    do {                                                                                                     \
        if (rc)                                                                                              \
            drop(made);                                                                                      \
        else                                                                                                 \
            *(out) = (made);                                                                                 \
        return rc;                                                                                           \
    } while (0)
/* Frees each of these pointers, of which any may be NULL. */
#define SS_FREE(...)                                                                                         \
    do {                                                                                                     \
        void *const ss_freed[] = {__VA_ARGS__};                                                              \
        for (size_t ss_at = 0; ss_at < SS_ARRAY_LEN(ss_freed); ss_at++)                                      \
            free(ss_freed[ss_at]);                                                                           \
    } while (0)

/* The initializer {...}, whose values stand several in a line. */
#define SS_VALUES(...)                                                                                       \
    {                                                                                                        \
        __VA_ARGS__                                                                                          \
    }
#define SS_ARRAY_LEN(a) (sizeof(a) / sizeof((a)[0]))
#define SS_MIB (1024.0 * 1024.0)
#define SS_GIB (1024.0 * 1024.0 * 1024.0)

/* Defines function(int i): what PART picks of row i of an X list, "unknown" of a number that is none. */
#define SS_NAMES(function, LIST, PART)                                                                       \
    const char *function(int i)                                                                              \
    {                                                                                                        \
        static const char *const names[] = {LIST(PART)};                                                     \
        return i >= 0 && (size_t)i < SS_ARRAY_LEN(names) ? names[i] : "unknown";                             \
    }
#define SS_SECOND(first, second, ...) second,
#define SS_THIRD(first, second, third, ...) third,

/* Returns the blank, from byte `first` on, at which a line of n bytes breaks so that its beginning has at most `width` columns; the first
 * one after them where none is before, and 0 where there is none at all. *command: flags stand on both sides, as in a command line. */
size_t ss_text_break(const char *line, size_t n, size_t first, size_t width, bool *command);
/* Returns what makes a noun of so many: "s", or "" for one. */
static inline const char *ss_plural(int64_t n)
{
    return n == 1 ? "" : "s";
}

/* ---- error.c ---- */
/* Fills *err (when not NULL) with the one text for lack of this machine's memory; returns SS_ERR_NOMEM. */
int ss_nomem(struct ss_error *err);
/* Stands in the format of ss_fail between the message and the hint: "no such file '%s'" SS_HINT "give a name of %s". */
#define SS_HINT "\v"
/* Fills *err (when not NULL) and returns code, so that `return ss_fail(...)` reads well.
 * file may be NULL. Newlines in the texts become spaces. */
int ss_fail(struct ss_error *err, int code, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Adds the hint to an error that another function has just made; returns code. */
int ss_hint(struct ss_error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- memory.c: arrays that grow; when memory runs out each returns NULL or -1 and never aborts ---- */
void *ss_calloc(size_t n, size_t size);
/* Makes room in *array for `need` items of `size` bytes; *cap is the room so far. Returns 0 or
 * SS_ERR_NOMEM. */
int ss_grow(void *array, size_t *cap, size_t need, size_t size);
/* Copies at most size - 1 bytes and always terminates; returns false when the text was cut. */
bool ss_copy(char *dst, size_t size, const char *src);
/* ss_nearest of names that are at most so far away. */
const char *ss_nearest_within(const char *word, const char *const *names, size_t n, size_t most);
/* Returns 1 where the last reason of a list ("a: reason (3); b: likewise (5)") is this one. */
int ss_is_told_last(const char *list, const char *reason);
/* Adds to the text that is in the buffer; returns false when it is cut. */
bool ss_append(char *buf, size_t size, const char *fmt, ...) __attribute__((format(printf, 3, 4)));
/* Writes n >= 0 in decimal to *at, which has room for 11 characters, without a NUL; returns where the digits
 * end. A search writes millions of names with numbers, for which printf formats take too long. */
char *ss_write_int(char *at, int n);
/* Returns true when `word` is one of the space separated words of the list. */
bool ss_has_word(const char *list, const char *word);

/* ---- file.c, data.c ---- */
struct ss_files;
/* Fills the error "cannot WHAT: " with the system's words for errnum and with what to do about it. Returns
 * SS_ERR_IO, or SS_ERR_NOMEM for ENOMEM. */
int ss_file_fail(struct ss_error *err, const char *path, const char *what, int errnum);
/* Reads a whole file (at most max_bytes) and adds a NUL; the caller frees *out. "-" is stdin. Devices, FIFOs
 * and sockets are refused with SS_ERR_INPUT before they are opened, folders with SS_ERR_IO; a pipe that this
 * process has ("/dev/stdin", "/dev/fd/63" of a shell's "<(...)") is read. */
int ss_file_read(const char *path, size_t max_bytes, char **out, size_t *len, struct ss_error *err);
/* Opens a file to be read piece by piece; the caller closes *out. Refuses what ss_file_read refuses; "-" is a
 * name like any other. */
int ss_file_open(const char *path, FILE **out, struct ss_error *err);
/* Writes by way of "path.tmp.PID" and rename, so that a reader never sees half a file. Begin returns the
 * stream; commit closes and renames; abort closes and removes. "-" is stdout. A file that nobody may write is
 * refused even to root. */
struct ss_file_writer;
int ss_file_begin(const char *path, struct ss_file_writer **out, FILE **stream, struct ss_error *err);
int ss_file_commit(struct ss_file_writer *w, struct ss_error *err);
void ss_file_abort(struct ss_file_writer *w);
/* Removes the unfinished file of a program that is about to die. A signal handler may call it: it frees
 * nothing. */
void ss_file_discard(const struct ss_file_writer *w);
/* Byte order mark of UTF-8; some editors and spreadsheets begin a file with it. */
#define SS_BYTE_ORDER_MARK "\xef\xbb\xbf"
/* Returns how many bytes at the start of text[0 .. len-1] are a byte order mark: 3, or 0 for none. */
size_t ss_byte_order_mark(const char *text, size_t len);
/* Returns true when writing to both paths would write one file, whatever links lead there. "-" is stdout,
 * which may be a file. "" and NULL are no file, and a device never counts as one. */
bool ss_file_same_target(const char *a, const char *b);
/* Finds `name` + `suffix` under the data folder `kind` ("platforms", "workloads/models", "workloads/stacks"):
 * first in $STEPSIM_DATA, then in the data folder of ss_home. A name without a match is compared again in any
 * case and without the dashes between words ("Llama-3.1-8B" finds llama3.1-8b). A name with '/' or ending in
 * `suffix` is a path; a folder stands for its config.json where `suffix` is ".json". Returns 0, or SS_ERR_IO
 * with the choices. A $STEPSIM_DATA that is no data folder is SS_ERR_IO, too. */
int ss_data_find(const char *kind, const char *name, const char *suffix, char *path, size_t size,
                 struct ss_error *err);
/* Returns true when `name` is a path for the functions here, and no name of a data folder's file. */
bool ss_data_is_path(const char *name, const char *suffix);
/* Checks a name that is neither known nor a path. Returns 0 where there is no file of that name, else an
 * error of `code` that says in what the files of `whose` end. */
int ss_data_other_ending(const char *name, const char *endings, const char *whose, int code,
                         struct ss_error *err);
/* Does ss_data_find for a caller who can do without the file: *found says whether there is one. A missing
 * file is no error; a place that cannot be looked at is one. */
int ss_data_look(const char *kind, const char *name, const char *suffix, char *path, size_t size, bool *found,
                 struct ss_error *err);
/* Adds the file of that name to the list, where the file exists. Nothing happens where `files` is NULL. */
int ss_data_note(const char *kind, const char *name, const char *suffix, struct ss_files *files,
                 struct ss_error *err);
/* Returns true when `path` is in the data folder; *rest is then its part below that folder,
 * "platforms/h800.xml". */
bool ss_data_relative(const char *path, const char **rest);
/* Finds the path of that part (`rest`); SS_ERR_IO where there is no such file. */
int ss_data_place(const char *rest, char *path, size_t size, struct ss_error *err);
/* Writes the FNV-1a hash of the file's bytes, 16 hexadecimal digits. */
int ss_file_hash(const char *path, char hash[17], struct ss_error *err);
/* Lists the sorted names (suffix removed) of that folder; the caller frees them with ss_names_free. */
int ss_data_list(const char *kind, const char *suffix, char ***names, size_t *n, struct ss_error *err);
void ss_names_free(char **names, size_t n);

/* ---- notes.c ---- */
struct ss_notes;
/* Does ss_notes_add for a caller who can do without the note. Nothing happens where `notes` is NULL. */
void ss_note(struct ss_notes *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- home.c ---- */
bool ss_is_folder(const char *path);
/* Where a program finds the files that came with it. Each program is linked with this constant, so the
 * program asks nothing when it runs. Programs of the build tree have the folder of the sources
 * (cmake/home.c.in). The installed program has the folders beside its own, so that an installation may be
 * moved. A program that links the library has those of the configured prefix. An installed program thus has
 * no path of its build folder to take data or code from. */
struct ss_home_place {
    const char *below_program; /* path from the running program's folder, taken where it exists; NULL: none */
    const char *
        below_library; /* path from the shared library's folder, taken where it exists and the code is in a library */
    const char *folder; /* absolute path, taken where neither exists */
};
/* A file that is inside the program. */
struct ss_inside_file {
    const char *path, *bytes; /* path: below the data folder; bytes: with a NUL behind them */
    size_t size;
};
extern const struct ss_home {
    struct ss_home_place data;           /* holds platforms/, workloads/ and validation/ */
    struct ss_home_place modules;        /* holds stepsim-simgrid and the modules */
    const struct ss_inside_file *inside; /* sorted by path; NULL: the data are files */
    size_t ninside;
} ss_home;
/* Writes the path of the place; the folder may be missing. */
void ss_home_find(const struct ss_home_place *place, char *path, size_t size);

/* ---- inside.c: files inside the program have paths, too, "inside:/platforms/h800.xml" ---- */
#define SS_INSIDE "inside:" /* their data folder */
/* Returns true for a path of this kind, where the program has data inside. */
bool ss_inside(const char *path);
/* Returns the file of that path; NULL: there is none. */
const struct ss_inside_file *ss_inside_find(const char *path);
/* Returns the name of the next file in the folder of that path, NULL after the last; *at is 0 at first. */
const char *ss_inside_next(const char *folder, size_t *at);

/* ---- clock.c ---- */
/* Returns the seconds of a clock that never goes back. */
double ss_clock(void);

/* ---- hash.c ---- */
/* FNV-1a hash of 64 bits, the same on every machine; begin with SS_HASH_INIT. */
#define SS_HASH_INIT 0xcbf29ce484222325ULL
uint64_t ss_hash(uint64_t h, const void *data, size_t len);

/* ---- text.c, with stepsim/text.h ---- */
/* Returns the bytes of the UTF-8 character at c, 1 to 4; 0 where the bytes are no UTF-8. */
size_t ss_utf8_length(const char *c);
/* Returns how many bytes, at most `most`, hold whole characters of text. */
int ss_utf8_cut(const char *text, int most);

/* ---- xml.c: the only user of libxml2 ---- */
/* A parsed document as a plain tree. It is read with XML_PARSE_NONET | XML_PARSE_BIG_LINES and without entity
 * expansion. Limits: 256 MiB (64 KiB in an encoding that is no superset of ASCII), depth 256, 4,194,304
 * elements, 256 attributes a tag. */
struct ss_xml_attr {
    const char *name, *value;
};
struct ss_xml_node {
    const char *tag;
    int line;
    int nattrs;
    struct ss_xml_attr *attrs;
    struct ss_xml_node *parent, *first_child, *next; /* elements only, document order */
};
struct ss_xml;
int ss_xml_load(const char *path, struct ss_xml **out, struct ss_error *err);
/* Parses a text; `name` stands for the file in messages. */
int ss_xml_parse(const char *text, size_t len, const char *name, struct ss_xml **out, struct ss_error *err);
/* Returns libxml2's version, 20914 of 2.9.14; 0: it is not there. */
long ss_xml_version(void);
const struct ss_xml_node *ss_xml_root(const struct ss_xml *doc);
/* Returns 1 for a shipped text, byte for byte, which the build has read. */
int ss_xml_is_known(const struct ss_xml *doc);
/* Returns the value of an attribute, or NULL. */
const char *ss_xml_attr(const struct ss_xml_node *node, const char *name);
void ss_xml_free(struct ss_xml *doc);
/* Writes the text with & < > " escaped. */
void ss_xml_escape(FILE *out, const char *text);
