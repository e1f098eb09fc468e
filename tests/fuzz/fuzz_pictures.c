/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words "FROM TO COLOUR" and a program (common/bundle.h): the timeline of any program that can run is drawn as chart, memory, page
 * and traces, told as text and JSON, and written for other simulators. All of it is well formed.
 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "common/bundle.h"
#include "common/check.h"
#include "stepsim/export.h"
#include "stepsim/pictures.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define MOST_BYTES (32 << 10)
#define MOST_EVENTS 20000

static void draw(const struct ss_program *p, const struct ss_timeline *timeline, const struct fuzz_bundle *b)
{
    struct ss_picture_request request = {0};
    FILE **const to[] = {&request.gantt, &request.memory, &request.report, &request.trace, &request.kineto};
    struct fuzz_text t[5];
    struct ss_error err = {0};

    if (b->nwords > 1) {
        request.window_start = atof(b->word[0]);
        request.window_end = atof(b->word[1]);
    }
    request.color = b->nwords > 2 ? SS_COLOR_MICROBATCH : SS_COLOR_PHASE;
    for (int i = 0; i < 5; i++) {
        fuzz_text_begin(&t[i]);
        *to[i] = t[i].out;
    }
    int rc = fuzz_check_status(ss_pictures_draw(p, timeline, SS_ENGINE_NATIVE, &request, &err), &err);
    for (int i = 0; i < 5; i++) {
        fuzz_text_end(&t[i], NULL);
        if (!rc)
            i < 2 ? fuzz_check_svg(&t[i]) : i == 2 ? fuzz_check_html(&t[i], 2) : fuzz_check_json(&t[i]);
        fuzz_text_free(&t[i]);
    }
}

static void tell(const struct ss_program *p, const struct ss_timeline *timeline)
{
    struct ss_error err = {0};
    struct fuzz_text t;

    for (int what = 0; what < 3; what++) {
        const struct ss_report_options opt = {.json = what == 1, .wall_s = -1};
        fuzz_text_begin(&t);
        int rc = what < 2 ? ss_report_timeline(p, timeline, SS_ENGINE_NATIVE, &opt, t.out, &err)
                          : ss_report_ranks(NULL, p, timeline, t.out, &err);
        if (fuzz_check_status(rc, &err))
            abort();
        fuzz_text_end(&t, NULL);
        what == 1 ? fuzz_check_json(&t) : fuzz_check_plain(&t);
        fuzz_text_free(&t);
    }
}

/* GOAL, process groups, and the trace of the first rank, where there is one. */
static void write_for_others(const struct ss_program *p)
{
    struct ss_export *x = NULL;
    struct ss_error err = {0};

    if (fuzz_check_status(ss_export_begin(p, &x, &err), &err))
        abort();
    for (int what = 0; what < 2 + (p->nclasses > 0); what++) {
        struct fuzz_text t;
        fuzz_text_begin(&t);
        int rc = what == 0   ? ss_export_goal(x, t.out, &err)
                 : what == 1 ? ss_export_chakra_groups(x, t.out, &err)
                             : ss_export_chakra(x, 0, t.out, &err);
        fuzz_check_status(rc, &err);
        fuzz_text_end(&t, NULL);
        if (!rc && what == 1)
            fuzz_check_json(&t);
        fuzz_text_free(&t);
        memset(&err, 0, sizeof err);
    }
    ss_export_free(x);
}

static void check_timeline(const struct ss_program *p, const struct ss_timeline *t)
{
    fuzz_check_amount(t->iteration_s, 0);
    if (t->iteration_s > SS_LONGEST_S)
        abort();
    for (int c = 0; c < p->nclasses; c++) {
        double sum = 0;
        for (int l = 0; l < SS_LABEL_COUNT; l++) {
            fuzz_check_amount(t->spent[c][l], t->iteration_s);
            sum += t->spent[c][l];
        }
        fuzz_check_amount(1e-6 * t->iteration_s - fabs(sum - t->iteration_s), t->iteration_s);
    }
}

static void show(const struct ss_program *p, const struct fuzz_bundle *b)
{
    struct ss_timeline *t = NULL;
    struct ss_error err = {0};

    if (fuzz_check_status(ss_timeline_replay(p, SS_ENGINE_NATIVE, &t, &err), &err))
        return;
    check_timeline(p, t);
    tell(p, t);
    draw(p, t, b);
    write_for_others(p);
    ss_timeline_free(t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_program *p = NULL;
    struct ss_error err = {0};
    struct fuzz_bundle b;

    if (size > MOST_BYTES)
        return 0;
    if (!fuzz_bundle_read(data, size, &b) && b.nfiles &&
        !fuzz_check_status(ss_program_parse(b.file[0].text, b.file[0].size, "fuzz.prog", &p, &err), &err)) {
        int rc = fuzz_check_status(ss_program_check(p, &err), &err);
        if (!rc && ss_program_event_count(p) <= MOST_EVENTS)
            show(p, &b);
        ss_program_free(p);
    }
    fuzz_bundle_free(&b);
    return 0;
}
