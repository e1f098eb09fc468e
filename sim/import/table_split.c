/* SPDX-License-Identifier: Apache-2.0 */
/* How the layers of a row are split over its pipeline, where no number of layers a stage can say it. */
#include <stdio.h>
#include <string.h>

#include "base/base.h"
#include "import/table_internal.h"

/* The whole number of a column, or what stands for an empty one; 0 where it is none, which is found elsewhere. */
static int number_of(const struct ss_table_row *r, const char *column, int empty)
{
    const char *field = ss_table_field(r, column);
    int64_t n;

    if (!field[0])
        return empty;
    return ss_parse_i64(field, 1, 1 << 20, &n) ? 0 : (int)n;
}

/* Whether the row says itself how its layers are split. */
static int says_split(const struct ss_table_row *r)
{
    static const char *const flags[] = {"--pipeline-model-parallel-layout", "-pipeline-num-layers",
                                        "-in-pipeline-split"};

    for (size_t i = 0; i < SS_ARRAY_LEN(flags); i++)
        if (strstr(ss_table_field(r, "flags"), flags[i]))
            return 1;
    return !ss_table_is(r, "first_stage_layers", "") || !ss_table_is(r, "last_stage_layers", "");
}

/* Layers of the stages one after the other: as even as can be, the first ones have one more. */
static void write_layout(int layers, int stages, char *out, size_t size)
{
    ss_copy(out, size, "E");
    for (int i = 0; i < stages; i++)
        ss_append(out, size, "%st*%d", i ? "|" : "", layers / stages + (i < layers % stages));
    ss_append(out, size, "L");
}

int ss_table_has_layout(const struct ss_table_row *r)
{
    return strstr(ss_table_field(r, "flags"), "--pipeline-model-parallel-layout") != NULL;
}

int ss_table_layout(const struct ss_table_row *r, char *out, size_t size)
{
    int layers = number_of(r, "num_layers", r->known ? r->named.num_layers : 0), pp = number_of(r, "pp", 1);
    int each = number_of(r, "layers_per_virtual_stage", layers), chunks;

    if (!ss_table_has_experts(r->table, r->row) || says_split(r) || layers < 1 || pp < 2 || each < 1)
        return 0;
    chunks = ss_table_is(r, "layers_per_virtual_stage", "") ? 1 : (layers + pp * each - 1) / (pp * each);
    if (layers % (pp * chunks) == 0 || pp * chunks > 512)
        return 0;
    write_layout(layers, pp * chunks, out, size);
    return 1;
}
