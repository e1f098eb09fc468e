/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Statuses and errors. A function that can fail returns SS_OK or a negative status and takes a `struct ss_error *` last.
 * The caller may pass NULL there. The function fills the error when it fails and leaves it untouched when it succeeds. When
 * it fails it hands out nothing that must be freed, unless its comment says so. The library prints nothing and never exits.
 */
#pragma once

#include <stddef.h>

/* What stands between these two has the names of C in a program of C++, too. */
#ifdef __cplusplus
#define SS_C_BEGIN extern "C" {
#define SS_C_END }
#else
#define SS_C_BEGIN
#define SS_C_END
#endif

SS_C_BEGIN

/* X(symbol, value, exit status of the program, short name used in --json). Values are never used again for something else. */
#define SS_ERROR_LIST(X)                                                                                     \
    X(SS_ERR_USAGE, -1, 2, "usage")             /* wrong command line */                                     \
    X(SS_ERR_INPUT, -2, 3, "bad-input")         /* a file or value that cannot be understood */              \
    X(SS_ERR_CONFIG, -3, 3, "config-error")     /* a configuration that the framework refuses */             \
    X(SS_ERR_IO, -4, 3, "io")                   /* a file cannot be read or written */                       \
    X(SS_ERR_UNSUPPORTED, -5, 3, "unsupported") /* the program understands it, but does not model it */      \
    X(SS_ERR_NOMEM, -6, 3, "no-memory")         /* this machine's memory, not the simulated card's */        \
    X(SS_ERR_DEADLOCK, -7, 1, "deadlock")       /* the simulated job blocks for ever */                      \
    X(SS_ERR_OOM, -8, 1, "oom")                 /* the simulated job does not fit its card */                \
    X(SS_ERR_TOLERANCE, -9, 4, "tolerance")     /* prediction further from --measured than allowed */        \
    X(SS_ERR_ENGINE, -10, 3, "engine")          /* the simulation kernel failed */                           \
    X(SS_ERR_STOPPED, -11, 3, "stopped")        /* who asked wants no answer any more (ss_workers.stop) */

enum ss_status {
    SS_OK = 0,
#define X(sym, value, exit_status, name) sym = value,
    SS_ERROR_LIST(X)
#undef X
};

/* Takes the next step of a chain of calls unless an earlier step failed. `rc` holds the status of the first
 * step that failed. */
#define SS_THEN(rc, step) ((rc) = (rc) ? (rc) : (step))
/* Leaves the function with the status of a call that failed. */
#define SS_TRY(...)                                                                                          \
    do {                                                                                                     \
        const int ss_tried = (__VA_ARGS__);                                                                  \
        if (ss_tried)                                                                                        \
            return ss_tried;                                                                                 \
    } while (0)

/* Where and why a call failed. The caller owns it and begins with {0}; no text holds a newline. */
struct ss_error {
    int code;       /* enum ss_status */
    int line;       /* of the file, from 1; 0: none */
    char file[256]; /* "": no file is at fault */
    char message[3072];
    char hint[512]; /* what to do about it, or "" */
    /* SS_ERR_CONFIG: flags of the job that the refusal comes from ("--tp --pp"), most telling first; "": not
     * known */
    char flags[256];
};

/* Returns the short name of a status: "config-error", "ok" for 0, "unknown" for a number that is no status.
 * Never NULL. */
const char *ss_status_name(int status);
/* Returns the program's exit status for a status of the library; 3 for a number that is no status. */
int ss_status_exit(int status);
/* Returns 1 for SS_ERR_CONFIG and SS_ERR_UNSUPPORTED: the configuration is refused, which is an answer about the job. Returns
 * 0 for every other status: the call succeeded, or it failed. */
int ss_status_refuses(int status);
/* Returns the nearest of n names to `word`, or NULL. A name is near when the edit distance is at most 1 + a
 * third of the word's length. Leading dashes do not count. A name or word longer than 63 bytes is near to
 * nothing. The result is one of `names`. */
const char *ss_nearest(const char *word, const char *const *names, size_t n);
/* Writes "file:line: error: message: hint" into buf, cut to `size` bytes with the final 0; 4,096 bytes hold every error.
 * Returns buf. */
char *ss_error_format(const struct ss_error *err, char *buf, unsigned long size);

SS_C_END
