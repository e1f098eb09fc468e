/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a model with a finite number of parameters, or give one error with text. */
#include <math.h>
#include <stdlib.h>

#include "model/model_internal.h"
#include "stepsim/parameters.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_model m;
    struct ss_error err = {0};
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    for (size_t i = 0; i < size; i++)
        text[i] = (char)data[i];
    text[size] = 0;
    int rc = ss_model_parse(text, size, "fuzz.json", &m, &err);
    if (!rc)
        rc = ss_model_finish(&m, &err);
    if (rc ? !err.message[0] : !(isfinite(ss_model_parameters(&m, ss_model_padded_vocab(&m, 128, 8)))))
        abort();
    free(text);
    return 0;
}
