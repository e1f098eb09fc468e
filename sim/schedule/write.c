/* SPDX-License-Identifier: Apache-2.0 */
/* Writes schedules: torch's CSV and our own form. A written schedule reads back to the same slots. */
#include "base/base.h"
#include "schedule/file.h"
#include "stepsim/text.h"

static struct ss_action action_of(const struct ss_schedule *s, const int *map, int rank,
                                  const struct ss_slot *slot)
{
    static const int kind[] = {SS_ACTION_F, SS_ACTION_B, SS_ACTION_I, SS_ACTION_W, SS_ACTION_PAIR};
    struct ss_action a = {
        .kind = kind[slot->phase], .microbatch = slot->microbatch, .microbatch2 = slot->microbatch2};
    a.stage = map[rank * s->chunks + slot->chunk];
    a.stage2 = slot->phase == SS_PHASE_FB ? map[rank * s->chunks + slot->chunk2] : -1;
    return a;
}

/* Torch's lock-step runtime wants a cell for each time step: a slot stands where it would run if every slot
 * took one step; idle steps before it are empty. */
static void write_csv_row(const struct ss_schedule *s, const int *map, int rank, const double *start,
                          FILE *out)
{
    char word[64];
    int at = 0;
    for (int i = 0; i < s->nslots[rank]; i++) {
        struct ss_action a = action_of(s, map, rank, &s->slots[rank][i]);
        for (int step = (int)lround(start[i]); at < step; at++)
            fputc(',', out);
        fputs(ss_action_format(&a, word, sizeof word), out);
    }
    fputc('\n', out);
}

static int write_csv(const struct ss_schedule *s, const int *map, FILE *out, struct ss_error *err)
{
    size_t p = (size_t)s->stages, n = 0;
    for (size_t r = 0; r < p; r++)
        n += (size_t)s->nslots[r];
    double *one = ss_calloc((size_t)s->chunks, sizeof *one), *times = ss_calloc(n, sizeof *times);
    double **start = ss_calloc(p, sizeof *start);
    int rc = one && times && start ? SS_OK : ss_nomem(err);
    for (int c = 0; !rc && c < s->chunks; c++)
        one[c] = 1;
    for (size_t r = 0, at = 0; !rc && r < p; at += (size_t)s->nslots[r++])
        start[r] = times + at;
    if (!rc) {
        const double *duration[SS_PHASE_COUNT] = {one, one, one, one, one};
        rc = ss_schedule_times(s, duration, start, NULL, err);
    }
    for (int r = 0; !rc && r < s->stages; r++)
        write_csv_row(s, map, r, start[r], out);
    SS_FREE(one, times, start);
    return rc;
}

/* A long rank goes on in further lines. */
static void write_text_rank(const struct ss_schedule *s, const int *map, int rank, FILE *out)
{
    char word[64];
    int width = 0;
    for (int i = 0; i < s->nslots[rank]; i++) {
        struct ss_action a = action_of(s, map, rank, &s->slots[rank][i]);
        width = width ? width : fprintf(out, "%srank %d:", i ? "\n" : "", rank);
        width += fprintf(out, " %s", ss_action_format(&a, word, sizeof word));
        if (width > 110)
            width = 0;
    }
    fputc('\n', out);
}

static void write_text(const struct ss_schedule *s, const int *map, FILE *out)
{
    fprintf(out, "schedule 1\nname %s\n", s->name);
    fprintf(out, "# %d ranks, %d chunks a rank, %d microbatches\n", s->stages, s->chunks,
            ss_schedule_microbatches(s));
    if (s->pipelines > 1)
        fprintf(out, "pipelines %d\n", s->pipelines);
    fprintf(out, "p2p %s\n", ss_p2p_name(s->p2p));
    if (s->p2p != SS_P2P_ASYNC) {
        fputs("warmup", out);
        for (int r = 0; r < s->stages; r++)
            fprintf(out, " %d", s->warmup[r]);
        fputc('\n', out);
    }
    for (int r = 0; r < s->stages; r++)
        write_text_rank(s, map, r, out);
}

int ss_schedule_write(const struct ss_schedule *s, int format, FILE *out, struct ss_error *err)
{
    if (format == SS_SCHEDULE_CSV && s->pipelines > 1)
        return ss_fail(
            err, SS_ERR_UNSUPPORTED, NULL, 0,
            "schedule %s runs microbatches in two directions over two copies of the model; the CSV has "
            "no word for it" SS_HINT "write the text form",
            s->name);
    int *map = ss_schedule_stage_map(s);
    SS_NEED(map, err);
    int rc = SS_OK;
    if (format == SS_SCHEDULE_CSV)
        rc = write_csv(s, map, out, err);
    else
        write_text(s, map, out);
    free(map);
    return rc ? rc : ss_text_written(out, "the schedule", err);
}
