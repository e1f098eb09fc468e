/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a table of predictions held against measured runs: bands that are ordered and finite, what moved since, or one error. */
#include <math.h>
#include <stdlib.h>

#include "common/bundle.h"
#include "common/check.h"
#include "stepsim/study.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_band(const struct ss_band *b)
{
    if (b->n && (!isfinite(b->pct) || !isfinite(b->low_pct) || b->low_pct > b->high_pct || b->sources < 1))
        abort();
}

static void ask(const struct ss_bands *bands)
{
    const struct ss_band_job jobs[] = {{.card = "H800", .family = "megatron", .size = {2048, 1e7, 1e9}},
                                       {.card = "A100", .family = "nemo", .experts = 1, .hybrid = 1}};
    struct ss_band time, memory;
    struct ss_pair_band pair;
    struct ss_coverage coverage;

    for (int i = 0; i < 2; i++) {
        ss_bands_find(bands, &jobs[i], &time, &memory);
        check_band(&time);
        check_band(&memory);
        if (ss_bands_pair(bands, &jobs[i], &pair, NULL) || (pair.pairs && !(pair.pct >= 0)))
            abort();
        if (ss_bands_coverage(bands, i == 1, i == 2, &coverage, NULL))
            abort();
        for (int k = 0; k < coverage.n; k++)
            fuzz_check_amount(1 - coverage.sources[k].inside, 1);
        ss_coverage_free(&coverage);
    }
}

static void compare(const char *path)
{
    struct ss_validation none = {0};
    struct ss_error err = {0};
    struct fuzz_text t;
    int moved = 0;

    fuzz_text_begin(&t);
    fuzz_check_status(ss_validation_compare(&none, path, t.out, &moved, &err), &err);
    fuzz_text_end(&t, NULL);
    fuzz_text_free(&t);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_bands *bands = NULL;
    struct ss_error err = {0};
    char path[128];

    if (size > 1 << 15 || fuzz_bundle_put("results.csv", (const char *)data, size, path))
        return 0;
    if (!fuzz_check_status(ss_bands_load(path, NULL, &bands, &err), &err))
        ask(bands);
    ss_bands_free(bands);
    compare(path);
    return 0;
}
