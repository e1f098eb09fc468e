/* SPDX-License-Identifier: Apache-2.0 */
#include "base/base.h"
#include "decide/contrast.h"

int ss_contrast_write(const struct ss_side *side, const struct ss_apart *apart, int n,
                      enum ss_contrast_form form, const struct ss_display *view, FILE *out,
                      struct ss_error *err)
{
    const struct ss_contrast c = {side, apart, n};

    if (!side || !apart || n < 2 || n > SS_SIDES_MOST)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "no sides to compare, or not 2 to %d", SS_SIDES_MOST);
    switch (form) {
    case SS_CONTRAST_TEXT: return ss_contrast_text(&c, view, out, err);
    case SS_CONTRAST_JSON: return ss_contrast_json(&c, out, err);
    case SS_CONTRAST_CSV: return ss_contrast_csv(&c, out, err);
    }
    return ss_fail(err, SS_ERR_USAGE, NULL, 0, "unknown form %d of a comparison", (int)form);
}
