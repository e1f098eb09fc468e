/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of a run's stages: their time, where labels that matter become columns and the rest is summed, and their memory. */
#include "report/common.h"
#include "report/text.h"

/* Of more stages a screen has the first, the last, the busiest and the fullest. */
#define STAGES_SHOWN 4

static int any_spread(const struct ss_result *r)
{
    for (int s = 0; s < r->nstages; s++)
        if (r->stages[s].breakdown[SS_LABEL_SPREAD] > 0)
            return 1;
    return 0;
}

/* Returns whether a stage is one of those that a screen has. */
static bool is_shown(const struct ss_result *r, int s, int verbose)
{
    return verbose || r->nstages <= STAGES_SHOWN || s == 0 || s == r->nstages - 1 || s == r->critical_stage ||
           s == r->peak_stage;
}

int ss_text_stages_left(const struct ss_result *r, const struct ss_report_options *opt)
{
    int n = 0;

    for (int s = 0; s < r->nstages; s++)
        n += !is_shown(r, s, opt->verbose);
    return n;
}

int ss_text_stages(const struct ss_result *r, const struct ss_report_options *opt, FILE *out)
{
    static const struct {
        const char *key;
        int label[4];
    } groups[] = {
        {"compute", {SS_LABEL_COMPUTE, SS_LABEL_OPTIMIZER, -1, -1}},
        {"recompute", {SS_LABEL_RECOMPUTE, -1, -1, -1}},
        {"layer", {SS_LABEL_TP, SS_LABEL_CP, SS_LABEL_EP, -1}},
        {"dp", {SS_LABEL_DP, SS_LABEL_OFFLOAD, SS_LABEL_OTHER, -1}},
        {"pp", {SS_LABEL_PP, -1, -1, -1}},
        {"bubble", {SS_LABEL_BUBBLE, -1, -1, -1}},
        {"imbalance", {SS_LABEL_IMBALANCE, -1, -1, -1}},
        {"spread", {SS_LABEL_SPREAD, -1, -1, -1}},
    };
    const struct ss_column columns[] = {{"stage", "Stage, ms", "%-s", 1, 0},
                                        {"compute", "comp+opt", "%.1f", 1e3, 0},
                                        {"recompute", "recompute", "%.1f", 1e3, 1},
                                        {"layer", "tp+cp+ep", "%.1f", 1e3, 0},
                                        {"dp", "dp+other", "%.1f", 1e3, 0},
                                        {"pp", "pp", "%.1f", 1e3, 0},
                                        {"bubble", "bubble", "%.1f", 1e3, 0},
                                        {"imbalance", "imbalance", "%.1f", 1e3, 0},
                                        {"spread", "spread", any_spread(r) ? "%.1f" : NULL, 1e3, 0}};
    const struct ss_display view = {.width = opt->width};
    struct ss_grid grid;

    if (r->nstages < 2)
        return SS_OK;
    fputc('\n', out);
    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int s = 0; s < r->nstages; s++) {
        struct ss_row row = {0};
        char name[16];
        if (!is_shown(r, s, opt->verbose))
            continue;
        snprintf(name, sizeof name, "%d", s);
        SS_ADD(&row, SS_KEY("stage", name));
        for (size_t g = 0; g < SS_ARRAY_LEN(groups); g++) {
            double sum = 0;
            for (int i = 0; i < 4 && groups[g].label[i] >= 0; i++)
                sum += r->stages[s].breakdown[groups[g].label[i]];
            SS_ADD(&row, SS_KEY(groups[g].key, sum));
        }
        ss_grid_row(&grid, &row);
    }
    return ss_grid_end(&grid, &view, out);
}

int ss_text_memory(const struct ss_result *r, const struct ss_report_options *opt, FILE *out)
{
    static const struct ss_column columns[] = {{"stage", "Memory, GiB", "%-s", 1, 0},
                                               {"weights", "weights", "%.2f", 1 / SS_GIB, 0},
                                               {"gradients", "gradients", "%.2f", 1 / SS_GIB, 0},
                                               {"optimizer", "optimizer", "%.2f", 1 / SS_GIB, 0},
                                               {"activations", "activations", "%.2f", 1 / SS_GIB, 0},
                                               {"logits", "logits", "%.2f", 1 / SS_GIB, 0},
                                               {"other", "other", "%.2f", 1 / SS_GIB, 0},
                                               {"total", "total", "%.2f", 1 / SS_GIB, 0},
                                               {"note", "", "%-s", 1, 0}};
    const struct ss_display view = {.width = opt->width};
    struct ss_grid grid;

    fputc('\n', out);
    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int s = 0; s < r->nstages; s++) {
        const struct ss_stage_result *stage = &r->stages[s];
        const double *m = stage->memory;
        struct ss_row row = {0};
        char name[32], note[32];
        if (!is_shown(r, s, opt->verbose))
            continue;
        snprintf(name, sizeof name, "stage %d", s);
        snprintf(note, sizeof note, "%s%s", s == r->peak_stage && r->nstages > 1 ? "* " : "",
                 m[SS_MEM_ACTIVATIONS] > 0 ? "" : "in the step");
        SS_ADD(&row, SS_KEY("stage", name), SS_KEY("weights", m[SS_MEM_WEIGHTS]),
               SS_KEY("gradients", m[SS_MEM_GRADIENTS]), SS_KEY("optimizer", m[SS_MEM_OPTIMIZER]),
               SS_KEY("activations", m[SS_MEM_ACTIVATIONS]), SS_KEY("logits", m[SS_MEM_LOGITS]),
               SS_KEY("other", m[SS_MEM_OTHER] + ss_result_beside(stage)), SS_KEY("total", stage->device),
               SS_KEY("note", note));
        ss_grid_row(&grid, &row);
    }
    return ss_grid_end(&grid, &view, out);
}
