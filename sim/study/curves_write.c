/* SPDX-License-Identifier: Apache-2.0 */
/* Writes how well curves of kernels predict rows that they were not fitted on. */
#include "report/common.h"
#include "study/curves.h"

void ss_curve_report_free(struct ss_curve_report *r)
{
    if (!r)
        return;
    ss_notes_free(&r->notes);
    SS_FREE(r->scores, r->numbers, r);
}

#define MOST_CARDS 24

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

/* Adds the row of a kind, whose scores begin with that of all cards. Returns the index behind them. */
static int add_kind(const struct ss_curve_report *r, int first, struct ss_grid *grid)
{
    const struct ss_curve_score *all = &r->scores[first];
    struct ss_row row = {0};
    int end = first + 1;

    SS_ADD(&row, SS_SAME(all, kind), SS_KEY("rows", all->error.n), SS_KEY("mean", all->error.mean_abs),
           SS_KEY("median", all->error.median_abs), SS_KEY("worst", all->error.worst_abs),
           SS_KEY("bias", all->error.bias));
    for (; end < r->nscores && !strcmp(r->scores[end].kind, all->kind); end++)
        SS_ADD(&row, SS_KEY(r->scores[end].gpu, r->scores[end].error.median_abs));
    ss_grid_row(grid, &row);
    return end;
}

/* Writes the errors of each kind of kernel, and on each card their median. */
static int write_scores(const struct ss_curve_report *r, const struct ss_display *view, FILE *out)
{
    struct ss_column columns[6 + MOST_CARDS] = {
        {"kind", "kind", "%-s", 1, 0},    {"rows", "rows", "%.0f", 1, 0},
        {"mean", "mean", "%.1f", 1, 0},   {"median", "median", "%.1f", 1, 0},
        {"worst", "worst", "%.1f", 1, 0}, {"bias", "bias", "%+.1f", 1, 0}};
    const char *names[MOST_CARDS];
    int n = cards_of(r, names);
    struct ss_grid grid;

    for (int k = 0; k < n; k++)
        columns[6 + k] = (struct ss_column){names[k], names[k], "%.1f", 1, 1};
    ss_grid_begin(&grid, columns, (size_t)(6 + n));
    for (int i = 0; i < r->nscores;)
        i = add_kind(r, i, &grid);
    return ss_grid_end(&grid, view, out);
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

int ss_curve_report_write_text(const struct ss_curve_report *r, const struct ss_display *view, FILE *out,
                               struct ss_error *err)
{
    if (r->by == SS_CURVES_BY_HALF)
        fprintf(out,
                "Fitted on half of the shapes, drawn by seed %llu, and scored on the other half, in %%\n",
                (unsigned long long)r->seed);
    else
        fprintf(out, "Fitted on the other cards of its generation, or else on all others, and scored on a "
                     "card by its data "
                     "sheet, in %%\n");
    fputs("(behind the bias: the median on each card)\n", out);
    int rc = write_scores(r, view, out);
    for (unsigned long i = 0; i < r->notes.n; i++)
        fprintf(out, "note: %s\n", r->notes.text[i]);
    if (r->unread)
        fprintf(out, "%d row%s no curve: calibrate --microbench TABLE says why\n", r->unread,
                r->unread == 1 ? " has" : "s have");
    write_numbers(r, out);
    return rc || r->notes.lost ? ss_nomem(err) : ss_report_done(out, err);
}

static struct ss_json *score_object(const void *score)
{
    const struct ss_curve_score *s = score;
    struct ss_json *o = ss_error_stat_json(&s->error);

    SS_PUT(o, SS_KEY("platform", s->gpu), SS_SAME(s, kind));
    return o;
}

static struct ss_json *number_object(const void *number)
{
    const struct ss_curve_number *n = number;

    return SS_OBJECT(SS_KEY("platform", n->gpu), SS_SAME(n, id), SS_SAME(n, value));
}

int ss_curve_report_write_json(const struct ss_curve_report *r, FILE *out, struct ss_error *err)
{
    struct ss_json *o = ss_json_document("calibrate");

    SS_PUT(o, SS_KEY("leave_out", r->by == SS_CURVES_BY_HALF ? "half" : "gpu"),
           SS_KEY_IF(r->by == SS_CURVES_BY_HALF, "seed", r->seed), SS_KEY("rows_unread", r->unread),
           SS_KEY("scores", SS_LIST(score_object, r->scores, r->nscores)),
           SS_KEY("numbers", SS_LIST(number_object, r->numbers, r->nnumbers)),
           SS_KEY("notes", ss_json_notes(&r->notes)));
    return ss_json_write(o, out, err);
}
