/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes are either a program whose text reads back to the same text, or one error with a message. */
#include <stdlib.h>
#include <string.h>

#include "stepsim/program.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static char *write_text(const struct ss_program *p, int expanded, size_t *len)
{
    char *text = NULL;
    FILE *out = open_memstream(&text, len);
    if (!out || ss_program_write(p, expanded, out, NULL) || fclose(out))
        abort();
    return text;
}

static void round_trip(const struct ss_program *p, int expanded)
{
    struct ss_program *back = NULL;
    size_t len, again_len;
    char *text = write_text(p, expanded, &len);
    if (ss_program_parse(text, len, "written", &back, NULL))
        abort();
    char *again = write_text(back, expanded, &again_len);
    if (len != again_len || memcmp(text, again, len) != 0)
        abort();
    free(text);
    free(again);
    ss_program_free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_program *p = NULL;
    struct ss_error err = {0};
    if (ss_program_parse((const char *)data, size, "fuzz.prog", &p, &err)) {
        if (!err.message[0] || !err.code || p)
            abort();
        return 0;
    }
    int rc = ss_program_check(p, &err);
    if (rc && (!err.message[0] || err.code != rc))
        abort();
    if (!rc) {
        round_trip(p, 0);
        round_trip(p, 1);
    }
    ss_program_free(p);
    return 0;
}
