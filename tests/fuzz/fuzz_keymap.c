/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes as a keymap, applied to the YAML behind a zero byte: words of a job, or one error with text. */

#include "base/base.h"
#include "import/foreign.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void apply(struct ss_keymap *map, const char *yaml, size_t len)
{
    struct ss_reading r;
    struct ss_request request;
    struct ss_tree *tree;
    struct ss_error err = {0};

    if (ss_tree_parse(yaml, len, "fuzz.yaml", &tree, NULL)) {
        ss_keymap_free(map);
        return;
    }
    ss_request_init(&request);
    ss_reading_begin(&r, "fuzz", tree, &request, &err);
    r.map = map;
    r.code = ss_nemo_code;
    ss_reading_rows(&r);
    if (ss_reading_end(&r) && (!err.message[0] || !err.code))
        abort();
    ss_request_free(&request);
    ss_tree_free(tree);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data, *zero = memchr(data, 0, size);
    size_t len = zero ? (size_t)(zero - text) : size;
    struct ss_keymap *map;
    struct ss_error err = {0};

    if (memmem(text, len, "include", 7)) /* the maps of the data are too long for every input */
        return 0;
    if (ss_keymap_parse(text, len, "fuzz.map", ss_nemo_code, &map, &err)) {
        if (!err.message[0] || err.line < 1)
            abort();
        return 0;
    }
    apply(map, zero ? zero + 1 : "", zero ? size - len - 1 : 0);
    return 0;
}
