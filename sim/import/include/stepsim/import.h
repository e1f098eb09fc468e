/* SPDX-License-Identifier: Apache-2.0 */
/* From command lines and files to a request. */
#ifndef STEPSIM_IMPORT_H
#define STEPSIM_IMPORT_H

#include "stepsim/error.h"
#include "stepsim/request.h"

#ifdef __cplusplus
extern "C" {
#endif

/*
 * Adds the words argv[0 .. argc-1] to *r, which ss_request_init made. "--job FILE" gives way to the words of that file,
 * which stand in a place before: the command line beats the file wherever it names it, and a file beats those that it
 * names. FILE is a path (beside the file that names it, else as it stands), a name in workloads/jobs, or "-" for stdin;
 * it holds flags, one or more a line, or a whole launch command.
 * Whether the words are flags of a job is not looked at here. Errors carry file:line; *r is then to be freed all the same.
 */
int ss_request_read(struct ss_request *r, int argc, char *const *argv, struct ss_error *err);
/* The same of a text, as if it were a file of that name. */
int ss_request_read_text(struct ss_request *r, const char *text, size_t len, const char *file, struct ss_error *err);

#ifdef __cplusplus
}
#endif
#endif
