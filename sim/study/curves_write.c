/* SPDX-License-Identifier: Apache-2.0 */
/* Writes how well curves of kernels predict rows that they were not fitted on. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "report/common.h"
#include "study/curves.h"

void ss_curve_report_free(struct ss_curve_report *r)
{
    if (!r)
        return;
    ss_notes_free(&r->notes);
    free(r->scores);
    free(r->numbers);
    free(r);
}

#define MOST_CARDS 64

/* Fills names[] with the platforms of the scores, each once, but "all". Returns how many there are. */
static int cards_of(const struct ss_curve_report *r, const char *names[MOST_CARDS])
{
    int n = 0;

    for (int i = 0; i < r->nscores; i++) {
        int k = 0;
        while (k < n && strcmp(names[k], r->scores[i].gpu) != 0)
            k++;
        if (k == n && n < MOST_CARDS && strcmp(r->scores[i].gpu, "all") != 0)
            names[n++] = r->scores[i].gpu;
    }
    return n;
}

/* Writes the line of a kind, whose scores begin with that of all cards. Returns the index behind them. */
static int write_kind(const struct ss_curve_report *r, int first, const char *const *names, int n, FILE *out)
{
    const struct ss_curve_score *all = &r->scores[first];
    int end = first + 1;

    while (end < r->nscores && !strcmp(r->scores[end].kind, all->kind))
        end++;
    fprintf(out, "%-44s %5d %6.1f %6.1f %6.1f %+6.1f ", all->kind, all->error.n, all->error.mean_abs,
            all->error.median_abs, all->error.worst_abs, all->error.bias);
    for (int k = 0; k < n; k++) {
        int i = first + 1;
        while (i < end && strcmp(r->scores[i].gpu, names[k]) != 0)
            i++;
        if (i < end)
            fprintf(out, " %6.1f", r->scores[i].error.median_abs);
        else
            fprintf(out, " %6s", "-");
    }
    fputc('\n', out);
    return end;
}

static void write_numbers(const struct ss_curve_report *r, FILE *out)
{
    const char *gpu = "";
    char text[64];

    fprintf(out, "\nNumbers, %s\n",
            r->by == SS_CURVES_BY_HALF ? "of both halves"
                                       : "of those others; of all cards, as a card without rows has them");
    for (int i = 0; i < r->nnumbers; i++) {
        const struct ss_curve_number *n = &r->numbers[i];
        fprintf(out, "%-8s %-32s %12s\n", strcmp(n->gpu, gpu) ? n->gpu : "", n->id,
                ss_study_prop_text(n->id, n->value, text, sizeof text));
        gpu = n->gpu;
    }
}

int ss_curve_report_write_text(const struct ss_curve_report *r, FILE *out, struct ss_error *err)
{
    const char *names[MOST_CARDS];
    int n = cards_of(r, names);

    if (r->by == SS_CURVES_BY_HALF)
        fprintf(out,
                "Fitted on half of the shapes, drawn by seed %llu, and scored on the other half, in %%\n",
                (unsigned long long)r->seed);
    else
        fprintf(out, "Fitted on the other cards of its generation, or else on all others, and scored on a "
                     "card by its data "
                     "sheet, in %%\n");
    fprintf(out, "%-44s %5s %6s %6s %6s %6s  median on\n", "", "", "", "", "", "");
    fprintf(out, "%-44s %5s %6s %6s %6s %6s ", "kind", "rows", "mean", "median", "worst", "bias");
    for (int k = 0; k < n; k++)
        fprintf(out, " %6.6s", names[k]);
    fputc('\n', out);
    for (int i = 0; i < r->nscores;)
        i = write_kind(r, i, names, n, out);
    for (unsigned long i = 0; i < r->notes.n; i++)
        fprintf(out, "note: %s\n", r->notes.text[i]);
    if (r->unread)
        fprintf(out, "%d rows have no curve: calibrate --microbench TABLE says why\n", r->unread);
    write_numbers(r, out);
    return r->notes.lost ? ss_nomem(err) : ss_report_done(out, err);
}

static json_t *score_object(const void *score)
{
    const struct ss_curve_score *s = score;
    json_t *o = ss_error_stat_json(&s->error);

    SS_PUT(o, SS_KEY("platform", s->gpu), SS_SAME(s, kind));
    return o;
}

static json_t *number_object(const void *number)
{
    const struct ss_curve_number *n = number;

    return SS_OBJECT(SS_KEY("platform", n->gpu), SS_SAME(n, id), SS_SAME(n, value));
}

int ss_curve_report_write_json(const struct ss_curve_report *r, FILE *out, struct ss_error *err)
{
    json_t *o = ss_json_document("calibrate");

    SS_PUT(o, SS_KEY("leave_out", r->by == SS_CURVES_BY_HALF ? "half" : "gpu"),
           SS_KEY_IF(r->by == SS_CURVES_BY_HALF, "seed", r->seed), SS_KEY("rows_unread", r->unread),
           SS_KEY("scores", SS_LIST(score_object, r->scores, r->nscores)),
           SS_KEY("numbers", SS_LIST(number_object, r->numbers, r->nnumbers)),
           SS_KEY("notes", ss_json_notes(&r->notes)));
    return ss_json_write(o, out, err);
}
