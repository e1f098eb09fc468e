/* SPDX-License-Identifier: Apache-2.0 */
#include "decide/capacity_internal.h"

int ss_capacity_write(const struct ss_capacity *plan, enum ss_capacity_form form,
                      const struct ss_display *view, FILE *out, struct ss_error *err)
{
    switch (form) {
    case SS_CAPACITY_TEXT: return ss_capacity_text(plan, view, out, err);
    case SS_CAPACITY_JSON: return ss_capacity_json(plan, out, err);
    case SS_CAPACITY_CSV: return ss_capacity_csv(plan, out, err);
    }
    return SS_ERR_USAGE;
}
