/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as the file of a card: a card whose rates are finite, or one error. */
#include <stdlib.h>

#include "common/bundle.h"
#include "common/check.h"
#include "stepsim/platform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_card card;
    struct ss_error err = {0};
    char path[128];

    if (size > 1 << 16 || fuzz_bundle_put("card.xml", (const char *)data, size, path))
        return 0;
    if (fuzz_check_status(ss_card_load(path, &card, &err), &err))
        return 0;
    if (!card.name[0])
        abort();
    fuzz_check_amount(card.hbm_size, 0);
    fuzz_check_amount(card.hbm_bandwidth, 0);
    return 0;
}
