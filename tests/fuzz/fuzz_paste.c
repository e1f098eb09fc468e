/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a text that is pasted: words without gaps, or one error. */
#include <stdlib.h>
#include <string.h>

#include "common/check.h"
#include "stepsim/paste.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_error err = {0};
    struct ss_pasted p;
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    int rc = ss_paste_read(text, size, "NNODES=2\n--vocab-size=100", &p, &err);
    fuzz_check_status(rc, &err);
    for (size_t i = 0; !rc && !p.missing.n && i < p.request.n; i++)
        if (!p.request.word[i].text)
            abort();
    if (!rc)
        ss_pasted_free(&p);
    free(text);
    return 0;
}
