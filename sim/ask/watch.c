/* SPDX-License-Identifier: Apache-2.0 */
/* Who watches a command (ss_ask_watched). */
#include "ask/ask.h"
#include "base/base.h"

#define EVERY_S 0.1 /* the watcher is asked */

void ss_ask_tell(void *ctx, int done, int all)
{
    struct ss_ask_watcher *w = ctx;

    w->share = all > 0 ? (double)done / all : 0;
}

int ss_ask_stop(void *ctx)
{
    struct ss_ask_watcher *w = ctx;
    double now = ss_clock();

    if (now < w->asked + EVERY_S)
        return 0;
    w->asked = now;
    return w->watch(w->ctx, w->share);
}
