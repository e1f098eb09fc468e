/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as configurations of DeepSpeed, accelerate, LLaMA-Factory, Axolotl and GPT-NeoX are words that are flags of a job, or one error with text.
 * Files that they name are not read. */
#include <stdlib.h>

#include "import/hf.h"
#include "stepsim/flags.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

typedef int (*adder)(struct ss_request *, const char *, size_t, const char *, struct ss_error *);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    static const adder readers[] = {ss_deepspeed_add, ss_accelerate_add, ss_factory_add,
                                    ss_axolotl_add,   ss_factory_v1_add, ss_neox_add};

    const char *text = (const char *)data;
    (void)ss_deepspeed_sniff(text, size), (void)ss_accelerate_sniff(text, size),
        (void)ss_factory_sniff(text, size), (void)ss_axolotl_sniff(text, size),
        (void)ss_factory_v1_sniff(text, size), (void)ss_neox_sniff(text, size);
    if (memmem(data, size, "deepspeed", 9) && memmem(data, size, ".json", 5))
        return 0;
    for (int i = 0; i < (int)(sizeof readers / sizeof *readers); i++) {
        struct ss_request r;
        struct ss_error err = {0};
        ss_request_init(&r);
        if (readers[i](&r, text, size, "fuzz", &err) && (!err.message[0] || !err.code))
            abort();
        for (size_t k = 0; k < r.n; k++)
            if (!strncmp(r.word[k].text, "--", 2) && !ss_flag_known(r.word[k].text))
                abort();
        ss_request_free(&r);
    }
    return 0;
}
