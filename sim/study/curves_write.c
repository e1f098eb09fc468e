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

int ss_curve_report_write_text(const struct ss_curve_report *r, FILE *out, struct ss_error *err)
{
    const char *gpu = "";
    char text[64];

    if (r->by == SS_CURVES_BY_HALF)
        fprintf(out, "Fitted on half of the shapes, drawn by seed %llu, and scored on the other half\n",
                (unsigned long long)r->seed);
    else
        fprintf(out, "Fitted on the other cards of its generation, or else on all others, and scored on a "
                     "card by its data sheet\n");
    fprintf(out, "%-42s %-8s %5s %8s %8s %8s %8s\n", "kind", "platform", "rows", "mean", "median", "worst",
            "bias %");
    for (int i = 0; i < r->nscores; i++) {
        const struct ss_curve_score *s = &r->scores[i];
        int first = !i || strcmp(s[-1].kind, s->kind) != 0;
        fprintf(out, "%-42s %-8s %5d %8.1f %8.1f %8.1f %+8.1f\n", first ? s->kind : "", s->gpu, s->error.n,
                s->error.mean_abs, s->error.median_abs, s->error.worst_abs, s->error.bias);
    }
    for (unsigned long i = 0; i < r->notes.n; i++)
        fprintf(out, "note: %s\n", r->notes.text[i]);
    if (r->unread)
        fprintf(out, "%d rows have no curve\n", r->unread);
    fprintf(out, "\nNumbers, %s\n",
            r->by == SS_CURVES_BY_HALF ? "of both halves"
                                       : "of those others; of all cards, as a card without rows has them");
    for (int i = 0; i < r->nnumbers; i++) {
        const struct ss_curve_number *n = &r->numbers[i];
        fprintf(out, "%-8s %-32s %12s\n", strcmp(n->gpu, gpu) ? n->gpu : "", n->id,
                ss_study_prop_text(n->id, n->value, text, sizeof text));
        gpu = n->gpu;
    }
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
           SS_KEY_IF(r->by == SS_CURVES_BY_HALF, "seed", (double)r->seed), SS_KEY("rows_unread", r->unread),
           SS_KEY("scores", SS_LIST(score_object, r->scores, r->nscores)),
           SS_KEY("numbers", SS_LIST(number_object, r->numbers, r->nnumbers)),
           SS_KEY("notes", ss_json_notes(&r->notes)));
    return ss_json_write(o, out, err);
}
