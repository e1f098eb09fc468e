/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A journal of five answers that is damaged: pairs of a place and a byte that is put there, then what is added. It is refused, or its
 * answers are read or told as damaged; either way none is made up. "r" as first byte: the bytes are the whole file.
 */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "common/bundle.h"
#include "common/check.h"
#include "workers/journal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

#define ITEMS 5

struct answer {
    int item, zero[8];
    double value;
};
static const struct ss_journal_head head = {"fuzz", sizeof(struct answer), ITEMS + 3, 42};

static char *good_text(size_t *len)
{
    static char *text;
    static size_t size;
    char path[128];
    struct ss_journal *j;

    if (!text) {
        if (fuzz_bundle_put("good", "", 0, path) || ss_journal_open(path, 0, &head, &j, NULL))
            abort();
        for (int i = 0; i < ITEMS; i++) {
            const struct answer a = {.item = i, .value = 1.5 * i};
            if (ss_journal_put(j, i, &a, NULL))
                abort();
        }
        ss_journal_close(j);
        FILE *f = fopen(path, "rb");
        text = malloc(4096);
        if (!f || !text)
            abort();
        size = fread(text, 1, 4096, f);
        fclose(f);
    }
    *len = size;
    return text;
}

static void read_all(const char *path)
{
    struct ss_journal *j = NULL;
    struct ss_error err = {0};
    struct answer a = {0};

    if (fuzz_check_status(ss_journal_open(path, 1, &head, &j, &err), &err))
        return;
    int n = 0;
    for (int i = 0; i < head.nitems; i++)
        if (ss_journal_has(j, i)) { /* a line with a right checksum may still be no answer */
            struct ss_error why = {0};
            fuzz_check_status(ss_journal_get(j, i, &a, &why), &why);
            n++;
        }
    if (n != ss_journal_count(j))
        abort();
    /* it goes on */
    for (int i = 0; i < head.nitems; i++)
        if (!ss_journal_has(j, i) && fuzz_check_status(ss_journal_put(j, i, &a, &err), &err))
            abort();
    if (ss_journal_count(j) != head.nitems)
        abort();
    ss_journal_close(j);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    char path[128], *text;
    size_t len;
    const char *good = good_text(&len);

    if (size > 4096 || !(text = malloc(len + size + 1)))
        return 0;
    memcpy(text, good, len);
    size_t damaged = size && data[0] != 'r' ? data[0] % 8 : 0;
    for (size_t i = 0; i < damaged && 3 * i + 3 < size; i++)
        text[((size_t)data[3 * i + 1] << 8 | data[3 * i + 2]) % len] = (char)data[3 * i + 3];
    size_t from = size && data[0] == 'r' ? 1 : 3 * damaged + 1 < size ? 3 * damaged + 1 : size;
    memcpy(text + len, data + from, size - from);
    int whole = size && data[0] == 'r';
    if (!fuzz_bundle_put("journal", whole ? text + len : text, (whole ? 0 : len) + size - from, path))
        read_all(path);
    free(text);
    return 0;
}
