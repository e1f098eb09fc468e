/* SPDX-License-Identifier: Apache-2.0 */
/* Command lines and files as words of a request. */
#pragma once

#include "stepsim/request.h"

SS_C_BEGIN

/*
 * Adds the words argv[0 .. argc-1], without the name of a program, to *r, which ss_request_init made. The
 * words of FILE replace "--job FILE". The command line beats the file, wherever it names it, and a file beats
 * the files that it names. FILE is a path (looked for beside the file that names it, then as it stands), a
 * name (workloads/jobs/NAME.args of the data), or "-" for stdin. It holds flags, one or more a line, or a
 * whole launch command. ss_scenario_build says whether the words are flags of a job. Errors: SS_ERR_USAGE (a
 * word is NULL), SS_ERR_IO, SS_ERR_INPUT, with file and line; the caller frees *r after an error, too.
 */
int ss_request_read(struct ss_request *r, int argc, char *const *argv, struct ss_error *err);
/* Adds the words of a text of `len` bytes, as if the text were a file of that name given by --job. Errors:
 * SS_ERR_USAGE (text or name is NULL), and those of ss_request_read. */
int ss_request_read_text(struct ss_request *r, const char *text, size_t len, const char *file,
                         struct ss_error *err);

SS_C_END
