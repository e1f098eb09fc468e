/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a job file of torchtitan, or as what it saves, are words that are flags of a job, or one error with text. */
#include <stdlib.h>

#include "import/torchtitan.h"
#include "stepsim/flags.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int (*adder)(struct ss_request *, const char *, size_t, const char *, struct ss_error *);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const adder readers[] = {ss_titan_toml_add, ss_titan_json_add};

    (void)ss_titan_toml_sniff((const char *)data, size), (void)ss_titan_json_sniff((const char *)data, size);
    for (int i = 0; i < 2; i++) {
        struct ss_request r;
        struct ss_error err = {0};
        ss_request_init(&r);
        if (readers[i](&r, (const char *)data, size, "fuzz", &err) && (!err.message[0] || !err.code))
            abort();
        for (size_t k = 0; k < r.n; k++)
            if (!strncmp(r.word[k].text, "--", 2) && !ss_flag_known(r.word[k].text))
                abort();
        ss_request_free(&r);
    }
    return 0;
}
