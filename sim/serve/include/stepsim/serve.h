/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A web page of this machine on which model, cluster and layout are moved by hand and the prediction follows.
 *
 *     ss_serve_new(&options, &page, &err);
 *     ss_serve_run(page, &place, &err);   until place.stop can be read
 *     ss_serve_free(page);
 *
 * The page is read only: it writes no file, reads none but those of the data and those that its owner named at the start, and
 * names no path of the machine. docs/reference/serve.md lists its addresses and limits.
 */
#pragma once

#include <stdio.h>

#include "stepsim/request.h"

SS_C_BEGIN

#define SS_SERVE_JOB_BYTES 8192 /* most bytes of the words of a job */
#define SS_SERVE_ROWS 64        /* most rows of a sweep */

/* A page: what every answer reads and nothing changes. Several threads may ask at once. */
struct ss_serve;
struct ss_serve_options {
    /* The job that the page begins with; the files of its words may be read. NULL: the page's own job. */
    const struct ss_request *start;
};
/* Makes a page; it keeps a copy of the words. `options` may be NULL. The caller frees *out with ss_serve_free. Errors: SS_ERR_IO, SS_ERR_INPUT (data),
 * SS_ERR_NOMEM. */
int ss_serve_new(const struct ss_serve_options *options, struct ss_serve **out, struct ss_error *err);
/* Frees a page. NULL is allowed. */
void ss_serve_free(struct ss_serve *page);

/* An argument of an address: "job" and "--tp 4 --pp 8" of "/run.json?job=--tp%204%20--pp%208". */
struct ss_serve_argument {
    const char *name, *value;
};
struct ss_serve_reply {
    /* of HTTP: 200, 400 (no such argument), 404 (no such address), 422 (an error or a refusal), 500 */
    int status;
    const char *type;    /* "application/json" */
    const char *save_as; /* name under which a browser saves it; NULL: the browser shows it */
    char *body;          /* [size], the caller frees it */
    size_t size;
};
/* Answers one address, "/run.json". An error of the job is an answer. Error: SS_ERR_NOMEM, without a body. */
int ss_serve_answer(const struct ss_serve *page, const char *path, const struct ss_serve_argument *arguments,
                    int n, struct ss_serve_reply *reply);

/* Writes the link that opens a page with this job, "PAGE#job=--tp+4...", without a line end; `page` NULL: the part from # on alone. Errors:
 * SS_ERR_USAGE, a link cannot carry the job; those of ss_request_flatten. */
int ss_serve_link(const struct ss_request *r, const char *page, FILE *out, struct ss_error *err);

struct ss_serve_place {
    int port;    /* port of 127.0.0.1; 0: any free port */
    int threads; /* threads that answer; 0: two a core */
    int stop;    /* descriptor that can be read when it is time to end */
    /* Called with the port once the page listens. */
    void (*ready)(void *ctx, int port);
    void *ctx;
};
/* Serves the page to browsers of this machine until `stop` can be read. Errors: SS_ERR_IO (the port is taken), SS_ERR_UNSUPPORTED
 * (built without libmicrohttpd). */
int ss_serve_run(const struct ss_serve *page, const struct ss_serve_place *place, struct ss_error *err);

SS_C_END
