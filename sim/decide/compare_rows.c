/* SPDX-License-Identifier: Apache-2.0 */
/* Fills the rows of a comparison. */
#include <math.h>

#include "decide/contrast.h"
#include "stepsim/compute.h"

static const char *const tables[SS_CONTRAST_TABLES] = {"time", "kernels", "memory"};

const char *ss_contrast_table_key(int table)
{
    return tables[table];
}

int ss_contrast_has(const struct ss_side *side, int table)
{
    return side->summary.outcome != SS_OUTCOME_REFUSED && (table != SS_CONTRAST_KERNELS || side->opened);
}

static double kernels_total(const struct ss_side *s)
{
    return s->label[SS_LABEL_COMPUTE] + s->label[SS_LABEL_RECOMPUTE];
}

static double value_of(const struct ss_side *s, int table, int i, int n)
{
    if (!ss_contrast_has(s, table))
        return NAN;
    switch (table) {
    case SS_CONTRAST_TIME: return i < n ? s->label[i] : s->summary.iteration_s;
    case SS_CONTRAST_KERNELS: return i < SS_PARTS ? s->part[i] : i < n ? s->part_rest : kernels_total(s);
    default: return i < n ? s->memory[i] : s->summary.peak_device;
    }
}

int ss_contrast_row(const struct ss_contrast *c, int table, int i, struct ss_contrast_row *row)
{
    static const int lines[SS_CONTRAST_TABLES] = {SS_LABEL_COUNT, SS_PARTS + 1, SS_MEM_COUNT};
    int n = lines[table];

    if (i > n)
        return 0;
    row->is_total = i == n;
    row->key = i == n                        ? "total"
               : table == SS_CONTRAST_TIME   ? ss_label_name(i)
               : table == SS_CONTRAST_MEMORY ? ss_mem_name(i)
               : i < SS_PARTS                ? ss_part_key(i)
                                             : "beside_others";
    row->words = table == SS_CONTRAST_KERNELS && i < SS_PARTS ? ss_part_words(i)
                 : table == SS_CONTRAST_KERNELS && i < n      ? "beside others"
                 : table == SS_CONTRAST_TIME && i < n         ? ss_label_words(i)
                                                              : row->key;
    for (int s = 0; s < c->n; s++)
        row->value[s] = value_of(&c->side[s], table, i, n);
    return 1;
}
