/* SPDX-License-Identifier: Apache-2.0 */
/* The page without a server (sim/serve/alone): a program of its own in WebAssembly, whose functions a script calls. Arguments are given
 * first, then the address is asked; the answer stays until the next question. */
#include "stepsim/serve.h"

#define MOST 8 /* as many as the web server takes */
#define EXPORT __attribute__((used, visibility("default")))

static struct {
    struct ss_serve *page;
    struct ss_serve_argument argument[MOST];
    int n;
    struct ss_serve_reply reply;
} alone;

EXPORT int alone_argument(const char *name, const char *value);
EXPORT int alone_ask(const char *path);
EXPORT const char *alone_type(void);
EXPORT const char *alone_body(void);

/* Adds an argument of the next question. Returns 0; -1: out of memory, or too many. */
int alone_argument(const char *name, const char *value)
{
    char *both[2] = {strdup(name), strdup(value)};

    if (alone.n == MOST || !both[0] || !both[1]) {
        free(both[0]);
        free(both[1]);
        return -1;
    }
    alone.argument[alone.n++] = (struct ss_serve_argument){both[0], both[1]};
    return 0;
}

/* Returns the status of the answer. */
int alone_ask(const char *path)
{
    free(alone.reply.body);
    alone.reply = (struct ss_serve_reply){.status = 500};
    if (alone.page || !ss_serve_new(NULL, &alone.page, NULL))
        ss_serve_answer(alone.page, path, alone.argument, alone.n, &alone.reply);
    for (; alone.n; alone.n--) {
        free((char *)alone.argument[alone.n - 1].name);
        free((char *)alone.argument[alone.n - 1].value);
    }
    return alone.reply.body ? alone.reply.status : 500;
}

const char *alone_type(void)
{
    return alone.reply.body ? alone.reply.type : "application/json";
}

const char *alone_body(void)
{
    return alone.reply.body ? alone.reply.body : "{\"error\": {\"message\": \"out of memory\"}}";
}
