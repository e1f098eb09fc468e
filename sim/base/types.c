/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/types.h"

#include "base/base.h"

SS_NAMES(ss_label_name, SS_LABEL_LIST, SS_SECOND)
SS_NAMES(ss_label_words, SS_LABEL_LIST, SS_THIRD)
SS_NAMES(ss_mem_name, SS_MEM_LIST, SS_SECOND)
SS_NAMES(ss_level_name, SS_LEVEL_LIST, SS_SECOND)
SS_NAMES(ss_phase_name, SS_PHASE_LIST, SS_SECOND)

double ss_label_sum(const double by_label[SS_LABEL_COUNT])
{
    double sum = 0;

    for (int l = 0; l < SS_LABEL_COUNT; l++)
        sum += by_label[l];
    return sum;
}
