/* SPDX-License-Identifier: Apache-2.0 */
/* The GPU of the asked platform, as its driver tells it to a launch script. */
#include "base/base.h"
#include "import/import.h"
#include "import/sandbox.h"
#include "stepsim/platform.h"

/* Product names and compute capabilities, by the beginning of a card's name; the first that fits. */
static const struct {
    const char *card, *name, *capability;
} products[] = {
    {"V100-16GB", "Tesla V100-SXM2-16GB", "7.0"},
    {"V100-32GB", "Tesla V100-SXM3-32GB", "7.0"},
    {"A100-40GB", "NVIDIA A100-SXM4-40GB", "8.0"},
    {"A100", "NVIDIA A100-SXM4-80GB", "8.0"},
    {"A800", "NVIDIA A800-SXM4-80GB", "8.0"},
    {"H100-80GB", "NVIDIA H100 80GB HBM3", "9.0"},
    {"H100", "NVIDIA H100", "9.0"},
    {"H800", "NVIDIA H800", "9.0"},
    {"H200", "NVIDIA H200", "9.0"},
    {"H20", "NVIDIA H20", "9.0"},
    {"GH200", "NVIDIA GH200 480GB", "9.0"},
    {"B200", "NVIDIA B200", "10.0"},
    {"GB200", "NVIDIA GB200", "10.0"},
    {"B300", "NVIDIA B300 SXM6 AC", "10.3"},
    {"GB300", "NVIDIA GB300", "10.3"},
    {"MI300X", "AMD Instinct MI300X", "9.4"},
};

int ss_launch_gpu(const struct ss_cluster *cluster, struct ss_sandbox_gpu *out)
{
    const struct ss_platform_options options = {.gpus_per_node = cluster->gpus_per_node,
                                                .card = cluster->card};
    struct ss_platform *p;

    if (!cluster->platform || ss_platform_load(cluster->platform, &options, &p, NULL))
        return 0;
    const struct ss_card *card = ss_platform_card(p);
    *out = (struct ss_sandbox_gpu){.mib = (long)(card->device_memory / (1 << 20)),
                                   .multiprocessors = (int)card->sm_count};
    ss_copy(out->name, sizeof out->name, card->name);
    for (size_t i = 0; i < SS_ARRAY_LEN(products); i++)
        if (!strncmp(card->name, products[i].card, strlen(products[i].card))) {
            ss_copy(out->name, sizeof out->name, products[i].name);
            ss_copy(out->capability, sizeof out->capability, products[i].capability);
            break;
        }
    ss_platform_free(p);
    return 1;
}
