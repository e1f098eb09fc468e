/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Words and the files that they name (common/bundle.h), of any kind that --job takes: what counts of them is told as text and JSON, and
 * makes the same words when it is flattened again.
 */
#include <stdlib.h>
#include <string.h>

#include "common/bundle.h"
#include "common/check.h"
#include "stepsim/import.h"
#include "stepsim/report.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void tell(const struct ss_request *r)
{
    const struct ss_notes none = {0};
    struct ss_error err = {0};
    struct fuzz_text t;

    for (int json = 0; json < 2; json++) {
        fuzz_text_begin(&t);
        if (fuzz_check_status(ss_report_request(r, &none, json, t.out, &err), &err))
            abort();
        fuzz_text_end(&t, NULL);
        json ? fuzz_check_json(&t) : fuzz_check_plain(&t);
        fuzz_text_free(&t);
    }
}

static void flatten_again(const struct ss_request *flat)
{
    struct ss_request again;
    struct ss_error err = {0};

    if (fuzz_check_status(ss_request_flatten(flat, &again, &err), &err) || again.n != flat->n)
        abort();
    for (size_t i = 0; i < flat->n; i++)
        if (strcmp(flat->word[i].text, again.word[i].text))
            abort();
    ss_request_free(&again);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_request r, flat;
    struct ss_error err = {0};
    struct fuzz_bundle b;

    if (size > 1 << 15)
        return 0;
    ss_request_init(&r);
    if (!fuzz_bundle_read(data, size, &b) &&
        !fuzz_check_status(ss_request_read(&r, b.nwords, b.word, &err), &err) &&
        !fuzz_check_status(ss_request_flatten(&r, &flat, &err), &err)) {
        flatten_again(&flat);
        tell(&flat);
        ss_request_free(&flat);
    }
    ss_request_free(&r);
    fuzz_bundle_free(&b);
    return 0;
}
