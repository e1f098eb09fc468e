/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a schedule file: refused with a message, or a schedule that is sound, runs, and reads back the same. */
#include <stdlib.h>
#include <string.h>

#include "stepsim/schedule.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void same(const struct ss_schedule *a, const struct ss_schedule *b)
{
    if (a->stages != b->stages || a->chunks != b->chunks || a->microbatches != b->microbatches)
        abort();
    for (int r = 0; r < a->stages; r++)
        if (a->nslots[r] != b->nslots[r] ||
            memcmp(a->slots[r], b->slots[r], (size_t)a->nslots[r] * sizeof *a->slots[r]))
            abort();
}

static void round_trip(const struct ss_schedule *s, int format)
{
    struct ss_schedule *again = NULL;
    struct ss_error err;
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    if (!out)
        return;
    int rc = ss_schedule_write(s, format, out, &err);
    fclose(out);
    if (!rc) {
        if (ss_schedule_parse(text, len, "again", &again, &err))
            abort();
        same(s, again);
        ss_schedule_free(again);
    }
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_schedule *s = NULL;
    struct ss_error err = {0};
    if (size > 1 << 16)
        return 0;
    char *text = malloc(size + 1);
    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    if (ss_schedule_parse(text, size, "fuzz.csv", &s, &err)) {
        if (!err.message[0])
            abort();
    } else {
        if (ss_schedule_check(s, &err))
            abort();
        round_trip(s, SS_SCHEDULE_TEXT);
        if (s->stages <= 64)
            round_trip(s, SS_SCHEDULE_CSV);
        ss_schedule_free(s);
    }
    free(text);
    return 0;
}
