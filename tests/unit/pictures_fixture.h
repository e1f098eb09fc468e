/* SPDX-License-Identifier: Apache-2.0 */
/* Pictures in memory. */
#ifndef PICTURES_FIXTURE_H
#define PICTURES_FIXTURE_H

#include <CUnit/Basic.h>
#include <jansson.h>
#include <stdlib.h>

#include "stepsim/stepsim.h"

struct drawn {
    char *gantt, *memory, *report, *trace;
    struct ss_timeline *timeline; /* of the same program */
};

static inline void drop(struct drawn *d)
{
    free(d->gantt);
    free(d->memory);
    free(d->report);
    free(d->trace);
    ss_timeline_free(d->timeline);
}

/* Draws all four, or with only_trace the trace alone. */
static inline struct drawn draw(const struct ss_program *p, int engine, struct ss_picture_request request,
                                int only_trace)
{
    struct drawn d = {0};
    size_t size[4];
    struct ss_error err = {0};

    request.trace = open_memstream(&d.trace, &size[3]);
    request.gantt = only_trace ? NULL : open_memstream(&d.gantt, &size[0]);
    request.memory = only_trace ? NULL : open_memstream(&d.memory, &size[1]);
    request.report = only_trace ? NULL : open_memstream(&d.report, &size[2]);
    CU_ASSERT_EQUAL_FATAL(ss_timeline_replay(p, engine, &d.timeline, &err), 0);
    CU_ASSERT_EQUAL(ss_pictures_draw(p, d.timeline, engine, &request, &err), 0);
    FILE *const streams[] = {request.gantt, request.memory, request.report, request.trace};
    for (int i = 0; i < 4; i++)
        if (streams[i])
            fclose(streams[i]);
    return d;
}

/* Two ranks by hand (docs/guide/examples): every time in it is known. */
static inline struct ss_program *example(void)
{
    struct ss_program *p = NULL;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_program_read(SS_SOURCE_DIR "/docs/guide/examples/two-ranks.prog", &p, &err), 0);
    return p;
}

static inline char *slurp(const char *path)
{
    FILE *f = fopen(path, "r");
    char *text = NULL;
    size_t size = 0;
    ssize_t n = f ? getdelim(&text, &size, '\0', f) : -1;

    if (f)
        fclose(f);
    if (n >= 0)
        return text;
    free(text);
    return NULL;
}

#endif
