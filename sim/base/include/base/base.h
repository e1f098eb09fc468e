/* SPDX-License-Identifier: Apache-2.0 */
/* Layer 0: what every room uses. Not installed. */
#ifndef SS_BASE_H
#define SS_BASE_H

#include <stdarg.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>

#include "stepsim/error.h"
#include "stepsim/units.h"

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

/* ---- error.c ---- */
/* Fills *err (when not NULL) with the one text for a lack of this machine's memory; returns SS_ERR_NOMEM. */
int ss_nomem(struct ss_error *err);
/* Fills *err (when not NULL) and returns code, so that `return ss_fail(...)` reads well.
 * file may be NULL. Newlines in the text become spaces. */
int ss_fail(struct ss_error *err, int code, const char *file, int line, const char *fmt, ...)
    __attribute__((format(printf, 5, 6)));
/* Adds the hint to an error just made; returns code. */
int ss_hint(struct ss_error *err, int code, const char *fmt, ...) __attribute__((format(printf, 3, 4)));

/* ---- memory.c: arrays that grow; all return NULL/-1 on exhaustion, never abort ---- */
void *ss_calloc(size_t n, size_t size);
/* Makes room for `need` items of `size` bytes in *array with *cap; 0 or SS_ERR_NOMEM. */
int ss_grow(void *array, size_t *cap, size_t need, size_t size);
/* Bounded copy, always terminated; false when cut. */
bool ss_copy(char *dst, size_t size, const char *src);
/* Writes n >= 0 in decimal to *at, which has room for 11 characters, without a NUL; returns where it ends. A search has millions of
 * names with numbers, for which formats take too long. */
char *ss_write_int(char *at, int n);
/* Is it one of the space separated words of the list? */
bool ss_has_word(const char *list, const char *word);

/* ---- file.c, data.c ---- */
struct ss_files;
/* SS_ERR_IO, SS_ERR_NOMEM of ENOMEM: "cannot WHAT: " and the system's words for errno's value, with what to do about it. */
int ss_file_fail(struct ss_error *err, const char *path, const char *what, int errnum);
/* errno's value of a stream that has ferror(): the error may be old, so it is asked for once more by a byte that nobody reads, for
 * what was written is incomplete. EIO where nothing says why. */
int ss_file_why(FILE *stream);
/* Reads a whole file (at most max_bytes), NUL-terminated; caller frees *out. "-" is stdin. Devices, FIFOs and sockets are refused with
 * SS_ERR_INPUT before they are opened, folders with SS_ERR_IO; a pipe that this process has ("/dev/stdin", "/dev/fd/63" of a shell's
 * "<(...)") is read. */
int ss_file_read(const char *path, size_t max_bytes, char **out, size_t *len, struct ss_error *err);
/* Writes by way of "path.tmp.PID" and rename, so that a reader never sees half a file.
 * Begin returns the stream; commit closes and renames; abort closes and removes. "-" is stdout. A file that nobody
 * may write is refused, to root too. */
struct ss_file_writer;
int ss_file_begin(const char *path, struct ss_file_writer **out, FILE **stream, struct ss_error *err);
int ss_file_commit(struct ss_file_writer *w, struct ss_error *err);
void ss_file_abort(struct ss_file_writer *w);
/* Removes the unfinished file of a program about to die. For signal handlers: frees nothing. */
void ss_file_discard(const struct ss_file_writer *w);
/* UTF-8's byte order mark, with which some editors and spreadsheets begin a file. */
#define SS_BYTE_ORDER_MARK "\xef\xbb\xbf"
/* Bytes of it at the start of text[0 .. len-1]: 3, or 0 where there is none. */
size_t ss_byte_order_mark(const char *text, size_t len);
/* Whether writing to both paths would write one file, whatever links lead there; "-" is stdout, which may be a file; "" and
 * NULL are none, and no device is one file. */
bool ss_file_same_target(const char *a, const char *b);
/* Finds `name` + `suffix` under the data folder `kind` ("platforms", "workloads/models",
 * "workloads/stacks"): $STEPSIM_DATA, then the data folder of ss_home, in this order.
 * A name that none has is looked for in any case and without the dashes between words ("Llama-3.1-8B" finds
 * llama3.1-8b). A name with '/' or ending in `suffix` is taken as a path; a folder stands for its config.json where
 * `suffix` is ".json". 0 or SS_ERR_IO naming the choices; also when $STEPSIM_DATA is set to what is no such folder. */
int ss_data_find(const char *kind, const char *name, const char *suffix, char *path, size_t size,
                 struct ss_error *err);
/* Of a name that is none of those known and no path: 0 where there is no such file, else an error of `code` that says in what
 * the files of `whose` end. */
int ss_data_other_ending(const char *name, const char *endings, const char *whose, int code,
                         struct ss_error *err);
/* As ss_data_find for who can do without the file: *found tells whether there is one. That there is none is no error,
 * that a place cannot be looked at is. */
int ss_data_look(const char *kind, const char *name, const char *suffix, char *path, size_t size, bool *found,
                 struct ss_error *err);
/* Adds the file of that name to the list, where there is one; `files` NULL: nothing happens. */
int ss_data_note(const char *kind, const char *name, const char *suffix, struct ss_files *files,
                 struct ss_error *err);
/* Whether `path` is of the data folder; *rest is then its end below that folder, "platforms/h800.xml". */
bool ss_data_relative(const char *path, const char **rest);
/* The path of such an end; SS_ERR_IO where there is no such file. */
int ss_data_place(const char *rest, char *path, size_t size, struct ss_error *err);
/* Writes the FNV-1a hash of the file's bytes, 16 hexadecimal digits. */
int ss_file_hash(const char *path, char hash[17], struct ss_error *err);
/* Sorted names (suffix removed) in that folder; caller frees with ss_names_free. */
int ss_data_list(const char *kind, const char *suffix, char ***names, size_t *n, struct ss_error *err);
void ss_names_free(char **names, size_t n);

/* ---- notes.c ---- */
struct ss_notes;
/* ss_notes_add for who can do without the note: nothing happens where `notes` is NULL. */
void ss_note(struct ss_notes *notes, const char *fmt, ...) __attribute__((format(printf, 2, 3)));

/* ---- home.c ---- */
bool ss_is_folder(const char *path);
/* Where a program finds the files that came with it. A constant that each program is linked with, not a question asked
 * when it runs: programs of the build tree have the sources' folder (cmake/home.c.in), the installed program the folders
 * beside its own, so that an installation may be moved, and a program that links the library those of the configured
 * prefix. So an installed program has no path of its build folder to take data or code from. */
struct ss_home_place {
    const char *below_program; /* path from the running program's folder, taken where it exists; NULL: none */
    const char *below_library; /* path from the shared library's folder, where this is one, likewise */
    const char *folder;        /* absolute: taken otherwise */
};
extern const struct ss_home {
    struct ss_home_place data;    /* holds platforms/, workloads/ and validation/ */
    struct ss_home_place modules; /* holds stepsim-simgrid and the modules */
} ss_home;
/* Writes the path of the place; the folder need not exist. */
void ss_home_find(const struct ss_home_place *place, char *path, size_t size);

/* ---- clock.c ---- */
/* Seconds of a clock that never goes back. */
double ss_clock(void);

/* ---- hash.c ---- */
/* FNV-1a, 64 bit; start with SS_HASH_INIT. The same on every machine. */
#define SS_HASH_INIT 0xcbf29ce484222325ULL
uint64_t ss_hash(uint64_t h, const void *data, size_t len);

/* ---- text.c, with stepsim/text.h ---- */
/* Bytes of the UTF-8 character at c, 1 to 4; 0 where these bytes are none. */
size_t ss_utf8_length(const char *c);
/* At most `most` bytes of text, whole characters. */
int ss_utf8_cut(const char *text, int most);

/* ---- xml.c: the only user of libxml2 ---- */
/* A parsed document as a plain tree. Read with XML_PARSE_NONET | XML_PARSE_BIG_LINES, no entity
 * expansion, at most 256 MiB (64 KiB in a code that is no superset of ASCII), depth 256, 4,194,304 elements and 256
 * attributes of a tag. */
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
/* `name` stands for the file in messages. */
int ss_xml_parse(const char *text, size_t len, const char *name, struct ss_xml **out, struct ss_error *err);
const struct ss_xml_node *ss_xml_root(const struct ss_xml *doc);
/* Value of an attribute or NULL. */
const char *ss_xml_attr(const struct ss_xml_node *node, const char *name);
void ss_xml_free(struct ss_xml *doc);
/* Writes text with & < > " escaped. */
void ss_xml_escape(FILE *out, const char *text);

#endif
