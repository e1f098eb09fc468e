/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/precision.h"

#include "base/base.h"
#include "stepsim/params.h"

static const struct ss_precision_facts precisions[SS_PRECISION_COUNT] = {
#define X(sym, name, bits, rows, peak, efficiency, prologue, recipe, flag)                                   \
    {name, flag, bits, rows, SS_PROP_##peak, SS_PROP_##efficiency, SS_PROP_##prologue, recipe},
    SS_PRECISION_LIST(X)
#undef X
};

static const struct ss_recipe_facts recipes[SS_RECIPE_COUNT] = {
#define X(sym, word, precision, casts, block, scale, outside, efficiency, prologue)                          \
    {word, precision, casts, block, scale, outside, SS_PROP_##efficiency, SS_PROP_##prologue},
    SS_RECIPE_LIST(X)
#undef X
};

const struct ss_precision_facts *ss_precision_at(int precision)
{
    return &precisions[precision];
}

const struct ss_recipe_facts *ss_recipe_at(int recipe)
{
    return &recipes[recipe];
}

const char *ss_precision_name(int precision)
{
    return precision >= 0 && precision < SS_PRECISION_COUNT ? precisions[precision].name : "unknown";
}

int ss_precision_is_quantized(int precision)
{
    return precision >= 0 && precisions[precision].recipe != SS_NO_RECIPE;
}

int ss_precision_find(const char *word, int *recipe)
{
    for (int p = 0; p < SS_PRECISION_COUNT; p++)
        if (!strcmp(word, precisions[p].name)) {
            *recipe = precisions[p].recipe;
            return p;
        }
    for (int r = 0; r < SS_RECIPE_COUNT; r++)
        if (recipes[r].casts >= SS_CASTS_UNITS && !strcmp(word, recipes[r].word)) {
            *recipe = r;
            return recipes[r].precision;
        }
    return -1;
}

double ss_recipe_bytes(int recipe)
{
    const struct ss_recipe_facts *r = &recipes[recipe];
    return precisions[r->precision].bits / 8. + (r->block > 0 ? (double)r->scale_bytes / r->block : 0);
}
