/* SPDX-License-Identifier: Apache-2.0 */
#ifndef STEPSIM_ERROR_H
#define STEPSIM_ERROR_H

#include <stddef.h>

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Every fallible function returns 0 (SS_OK) or one of these negative codes and takes a
 * `struct ss_error *` last, which may be NULL and stays untouched on success.
 * X(symbol, value, exit status of the program, short name used in --json)
 */
#define SS_ERROR_LIST(X)                                                                          \
    X(SS_ERR_USAGE, -1, 2, "usage")         /* wrong command line */                              \
    X(SS_ERR_INPUT, -2, 3, "bad-input")     /* a file or value that cannot be understood */       \
    X(SS_ERR_CONFIG, -3, 3, "config-error") /* a configuration that the framework refuses */      \
    X(SS_ERR_IO, -4, 3, "io")               /* a file cannot be read or written */                \
    X(SS_ERR_UNSUPPORTED, -5, 3, "unsupported") /* understood, but not modelled */                \
    X(SS_ERR_NOMEM, -6, 3, "no-memory")     /* this machine's memory, not the simulated card's */ \
    X(SS_ERR_DEADLOCK, -7, 1, "deadlock")   /* the simulated job blocks for ever */               \
    X(SS_ERR_OOM, -8, 1, "oom")             /* the simulated job does not fit its card */         \
    X(SS_ERR_TOLERANCE, -9, 4, "tolerance") /* prediction further from --measured than allowed */ \
    X(SS_ERR_ENGINE, -10, 3, "engine")      /* the simulation kernel failed */

enum ss_status {
    SS_OK = 0,
#define X(sym, value, exit_status, name) sym = value,
    SS_ERROR_LIST(X)
#undef X
};

/* Where and why. `file` is "" and `line` 0 when there is none. No newlines in any text. */
struct ss_error {
    int code;
    int line;
    char file[256];
    char message[1024];
    char hint[512]; /* what to do about it, or "" */
    char flags[256]; /* SS_ERR_CONFIG: flags of the job that the refusal comes from ("--tp --pp"), most telling first; "" not known */
};

/* Short name of a status ("config-error"), "ok" for 0, "unknown" otherwise. Never NULL. */
const char *ss_status_name(int status);
/* Exit status of the program for a status; 3 for unknown ones. */
int ss_status_exit(int status);
/* 1 for SS_ERR_CONFIG and SS_ERR_UNSUPPORTED: the configuration is refused, which is an answer about the job; 0 for every
 * other status: the call succeeded, or failed. */
int ss_status_refuses(int status);
/* Nearest of n names to `word` by edit distance, NULL when none is near (distance > 1 + len/3). */
const char *ss_nearest(const char *word, const char *const *names, size_t n);
/* Writes "file:line: error: message: hint" into buf (always terminated); returns buf. */
char *ss_error_format(const struct ss_error *err, char *buf, unsigned long size);

#ifdef __cplusplus
}
#endif
#endif
