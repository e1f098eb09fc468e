/* SPDX-License-Identifier: Apache-2.0 */
/* What the pictures promise: docs/reference/formats.md "Traces" and "Gantt charts". */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "pictures_fixture.h"
#include "suite.h"

/* ---- the well-known figure ---- */

/* Virtual stage of a rank's chunk, and the rank of a virtual stage: 4 ranks, chunk by chunk. */
enum { RANKS = 4, CHUNKS = 2, MICROBATCHES = 8 };

static void add_slot(FILE *f, int rank, const struct ss_slot *s)
{
    int stage = s->chunk * RANKS + rank, forward = s->phase == SS_PHASE_F;
    int from = forward ? stage - 1 : stage + 1, to = forward ? stage + 1 : stage - 1, last = RANKS * CHUNKS;
    char tag = forward ? 'f' : 'b';

    fprintf(f, "slot - %s %d %d {\n", ss_phase_name(s->phase), s->chunk, s->microbatch);
    if (from >= 0 && from < last)
        fprintf(f, "recv %c%d.%d\nwait-recv %c%d.%d\n", tag, from % RANKS, rank, tag, from % RANKS, rank);
    fprintf(f, "compute %dms\n", forward ? 1 : 2);
    if (to >= 0 && to < last)
        fprintf(f, "send %c%d.%d 0B\n", tag, rank, to % RANKS);
    fputs("}\n", f);
}

/* The interleaved schedule with equal stages and free communication. */
static struct ss_program *figure(void)
{
    struct ss_schedule_params params = {
        .stages = RANKS, .chunks = CHUNKS, .microbatches = MICROBATCHES, .overlap_p2p = 1};
    struct ss_schedule *s = NULL;
    struct ss_program *p = NULL;
    struct ss_error err = {0};
    char *text = NULL;
    size_t size = 0;
    FILE *f = open_memstream(&text, &size);

    CU_ASSERT_EQUAL_FATAL(ss_schedule_build("interleaved", &params, &s, &err), 0);
    fputs("program interleaved-4-2-8\npath none\n", f);
    for (int r = 0; r < RANKS; r++) {
        int next = (r + 1) % RANKS;
        fprintf(f, "channel f%d.%d from rank%d to rank%d path none tag 0\n", r, next, r, next);
        fprintf(f, "channel b%d.%d from rank%d to rank%d path none tag 1\n", next, r, next, r);
    }
    for (int r = 0; r < RANKS; r++) {
        fprintf(f, "class rank%d stage %d {\n", r, r);
        for (int i = 0; i < s->nslots[r]; i++)
            add_slot(f, r, &s->slots[r][i]);
        fputs("}\n", f);
    }
    fclose(f);
    if (ss_program_parse(text, size, "figure", &p, &err))
        fprintf(stderr, "%s:%d: %s\n", err.file, err.line, err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    ss_schedule_free(s);
    free(text);
    return p;
}

/* The next drawn slot of an SVG: "F 0 3 1 2", times in ms. NULL at the end. */
static const char *next_slot(const char *at, char *out, size_t size)
{
    const char *op = strstr(at, "data-op=\"");
    char phase[4] = "";
    double start, end;
    int chunk, microbatch;

    if (!op ||
        sscanf(op, "data-op=\"%3[A-Z]\" data-mb=\"%d\" data-chunk=\"%d\" data-start=\"%lf\" data-end=\"%lf\"",
               phase, &microbatch, &chunk, &start, &end) != 5)
        return NULL;
    snprintf(out, size, "%s %d %d %.6g %.6g", phase, chunk, microbatch, 1e3 * start, 1e3 * end);
    return op + 9;
}

TEST(figure_slot_by_slot)
{
    struct ss_program *p = figure();
    struct drawn d = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){0}, 0);
    FILE *table = fopen(SS_SOURCE_DIR "/tests/golden/interleaved-4-2-8.txt", "r");
    char line[256], slot[64], want[80];
    const char *at = d.gantt, *rank = d.gantt;
    int compared = 0, last_rank = -1;

    CU_ASSERT_PTR_NOT_NULL_FATAL(table);
    while (fgets(line, sizeof line, table)) {
        if (line[0] == '#')
            continue;
        int r = line[0] - '0';
        if (r != last_rank) { /* its row */
            snprintf(want, sizeof want, "<g data-class=\"rank%d\">", r);
            CU_ASSERT_PTR_NOT_NULL_FATAL(rank = strstr(d.gantt, want));
            at = rank;
            last_rank = r;
        }
        CU_ASSERT_PTR_NOT_NULL_FATAL(at = next_slot(at, slot, sizeof slot));
        line[strcspn(line, "\n")] = '\0';
        if (strcmp(slot, line + 2) != 0)
            fprintf(stderr, "rank %d: drawn %s, the figure has %s\n", r, slot, line + 2);
        CU_ASSERT_STRING_EQUAL(slot, line + 2);
        compared++;
    }
    CU_ASSERT_EQUAL(compared, RANKS * CHUNKS * MICROBATCHES * 2);
    CU_ASSERT_PTR_NULL(next_slot(at, slot, sizeof slot)); /* nothing else is drawn */
    fclose(table);
    drop(&d);
    ss_program_free(p);
}

/* The first rank's row to the letter: colours of chunks, numbers, titles. cli/pictures/whole has what is around the rows. */
TEST(row_is_the_golden_file)
{
    static const char path[] = SS_SOURCE_DIR "/tests/golden/interleaved-4-2-8-rank0.svg";
    struct ss_program *p = figure();
    struct drawn d = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){0}, 0);
    const char *first = strstr(d.gantt, "<g data-class=\"rank0\">"),
               *second = strstr(d.gantt, "<g data-class=\"rank1\">");

    CU_ASSERT_FATAL(first && second && first < second);
    if (getenv("UPDATE")) {
        FILE *f = fopen(path, "w");
        CU_ASSERT_PTR_NOT_NULL_FATAL(f);
        fwrite(first, 1, (size_t)(second - first), f);
        fclose(f);
    }
    char *golden = slurp(path);
    CU_ASSERT(golden && strlen(golden) == (size_t)(second - first) &&
              !strncmp(golden, first, (size_t)(second - first)));
    free(golden);
    drop(&d);
    ss_program_free(p);
}

/* ---- all pictures ---- */

TEST(engines_draw_the_same)
{
    struct ss_program *p = example();
    struct drawn native = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){0}, 0);
    struct drawn again = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){0}, 0);
    struct drawn simgrid = draw(p, SS_ENGINE_SIMGRID, (struct ss_picture_request){0}, 0);

    CU_ASSERT_STRING_EQUAL(native.trace, again.trace);
    CU_ASSERT_STRING_EQUAL(native.report, again.report);
    CU_ASSERT_STRING_EQUAL(native.gantt, simgrid.gantt);
    CU_ASSERT_STRING_EQUAL(native.memory, simgrid.memory);
    CU_ASSERT_STRING_EQUAL(native.trace, simgrid.trace);
    drop(&native);
    drop(&again);
    drop(&simgrid);
    ss_program_free(p);
}

TEST(window)
{
    struct ss_program *p = example();
    struct drawn d =
        draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){.window_start = 0.030, .window_end = 0.040}, 0);

    /* only "last" computes then: its backward, from 28 to 52 ms */
    CU_ASSERT_PTR_NOT_NULL(strstr(d.gantt, "28.0 ms to 52.0 ms"));
    CU_ASSERT_PTR_NULL(strstr(d.gantt, "to 10.0 ms"));
    CU_ASSERT_PTR_NULL(strstr(d.trace, "collectives 0"));
    CU_ASSERT_PTR_NOT_NULL(strstr(d.trace, "\"ts\":28000,\"dur\":24000"));
    drop(&d);
    ss_program_free(p);
}

TEST(window_behind_the_end)
{
    struct ss_program *p = example();
    struct ss_picture_request request = {.window_start = 1, .window_end = 2};
    struct ss_timeline *t = NULL;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_timeline_replay(p, SS_ENGINE_NATIVE, &t, &err), 0);
    CU_ASSERT_EQUAL(ss_pictures_draw(p, t, SS_ENGINE_NATIVE, &request, &err), SS_ERR_USAGE);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "0.126 s"));
    ss_timeline_free(t);
    ss_program_free(p);
}

TEST(full_disk)
{
    struct ss_program *p = example();
    struct ss_timeline *t = NULL;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_timeline_replay(p, SS_ENGINE_NATIVE, &t, &err), 0);
    for (int i = 0; i < 4; i++) {
        FILE *full = fopen("/dev/full", "w");
        struct ss_picture_request request = {0};
        FILE **const streams[] = {&request.gantt, &request.memory, &request.report, &request.trace};
        setvbuf(full, NULL, _IONBF, 0);
        *streams[i] = full;
        CU_ASSERT_EQUAL(ss_pictures_draw(p, t, SS_ENGINE_NATIVE, &request, &err), SS_ERR_IO);
        fclose(full);
    }
    ss_timeline_free(t);
    ss_program_free(p);
}

static void count(void *ctx, double share)
{
    double *last = ctx;

    CU_ASSERT(share > *last && share <= 1);
    *last = share;
}

TEST(progress_rises_to_the_end)
{
    struct ss_program *p = figure();
    double last = 0;
    struct drawn d =
        draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){.progress = count, .progress_ctx = &last}, 0);

    CU_ASSERT(last > 0.99);
    drop(&d);
    ss_program_free(p);
}

/* Names are text, whatever they hold. */
TEST(names_are_escaped)
{
    static const char text[] =
        "program \"<b>&\\\"</script>\"\nclass \"<i>&\" {\nslot \"</style>\" {\ncompute 1ms\n}\n}\n";
    struct ss_program *p = NULL;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_program_parse(text, sizeof text - 1, "x", &p, &err), 0);
    struct drawn d = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){0}, 0);
    const char *const all[] = {d.gantt, d.memory, d.report};
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_PTR_NULL(strstr(all[i], "<b>"));
        CU_ASSERT_PTR_NULL(strstr(all[i], "<i>"));
    }
    json_t *trace = json_loads(d.trace, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL(trace);
    json_decref(trace);
    drop(&d);
    ss_program_free(p);
}

TEST(memory_names_the_peak)
{
    struct ss_program *p = example();
    struct drawn d = draw(p, SS_ENGINE_NATIVE, (struct ss_picture_request){0}, 0);

    /* 100 MB of weights and two activations of 30 MB at 16 ms: 152.6 MiB */
    CU_ASSERT_PTR_NOT_NULL(strstr(d.memory, "peak 0.15 GiB at 16.00 ms"));
    drop(&d);
    ss_program_free(p);
}
