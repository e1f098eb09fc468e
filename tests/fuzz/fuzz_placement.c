/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a placement of 16 GPUs, which names each GPU once, or one error. */
#include <stdlib.h>

#include "common/bundle.h"
#include "common/check.h"
#include "stepsim/plan.h"
#include "stepsim/platform.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static struct ss_platform *platform;
    const struct ss_platform_options options = {.nodes = 2};
    struct ss_error err = {0};
    int *gpu_of = NULL, seen = 0;
    char path[128];

    if (!platform && ss_platform_load("h800", &options, &platform, NULL))
        abort();
    if (size > 1 << 16 || fuzz_bundle_put("placement", (const char *)data, size, path))
        return 0;
    if (fuzz_check_status(ss_placement_load(path, platform, &gpu_of, &err), &err))
        return 0;
    for (int i = 0; i < 16; i++)
        seen |= gpu_of[i] >= 0 && gpu_of[i] < 16 ? 1 << gpu_of[i] : 0;
    if (seen != 0xffff)
        abort();
    free(gpu_of);
    return 0;
}
