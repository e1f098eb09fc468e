/* SPDX-License-Identifier: Apache-2.0 */
/* The web server: a module of its own, so that no other command pays for its libraries. It links nothing of stepsim. */
#pragma once

#include "stepsim/serve.h"

#define SS_HTTP_ARGUMENTS 8

struct ss_http_call {
    const struct ss_serve *page;
    const struct ss_serve_place *place;
    int threads;
    int (*answer)(const struct ss_serve *page, const char *path, const struct ss_serve_argument *arguments,
                  int n, struct ss_serve_reply *reply);
};

/* Returns 0, or the errno of what failed. */
#define SS_HTTP_SYMBOL "ss_http_main"
typedef int ss_http_main_fn(const struct ss_http_call *call);
