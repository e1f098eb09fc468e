/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes either give a node that can be written and read back, or one error. */

#include "common/fork.h"
#include "platform/platform_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* hwloc runs in a child of fork. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_share_counters();
    return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_platform *p = NULL, *again = NULL;
    struct ss_error err = {0};
    char note[600], *text = malloc(size + 1), *written = NULL;
    size_t len = 0;
    FILE *out;

    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (ss_platform_import_text(text, size, "fuzz", &p, note, sizeof(note), &err) != SS_OK) {
        if (err.message[0] == 0 || p != NULL)
            abort();
    } else if ((out = open_memstream(&written, &len)) != NULL) {
        if (ss_platform_write(p, out, NULL) != SS_OK)
            abort();
        fclose(out);
        if (ss_platform_parse(written, len, "again", NULL, &again, &err) != SS_OK)
            abort();
    }
    free(text);
    free(written);
    ss_platform_free(again);
    ss_platform_free(p);
    return 0;
}
