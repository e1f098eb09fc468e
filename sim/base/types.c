/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/types.h"

#include "base/base.h"

#define X(sym, name) name,
static const char *const label_names[] = {SS_LABEL_LIST(X)};
static const char *const mem_names[] = {SS_MEM_LIST(X)};
static const char *const level_names[] = {SS_LEVEL_LIST(X)};
#undef X
static const char *const phase_names[] = {"F", "B", "I", "W", "FB"};

_Static_assert(SS_ARRAY_LEN(phase_names) == SS_PHASE_COUNT, "a name for each phase");

static const char *name_at(const char *const *names, size_t n, int index)
{
    return index >= 0 && (size_t)index < n ? names[index] : "unknown";
}

const char *ss_label_name(int label)
{
    return name_at(label_names, SS_ARRAY_LEN(label_names), label);
}

double ss_label_sum(const double by_label[SS_LABEL_COUNT])
{
    double sum = 0;

    for (int l = 0; l < SS_LABEL_COUNT; l++)
        sum += by_label[l];
    return sum;
}

const char *ss_mem_name(int mem)
{
    return name_at(mem_names, SS_ARRAY_LEN(mem_names), mem);
}

const char *ss_phase_name(int phase)
{
    return name_at(phase_names, SS_ARRAY_LEN(phase_names), phase);
}

const char *ss_level_name(int level)
{
    return name_at(level_names, SS_ARRAY_LEN(level_names), level);
}
