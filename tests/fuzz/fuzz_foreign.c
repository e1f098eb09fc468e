/* SPDX-License-Identifier: Apache-2.0 */
/* Any text of a configuration, and overrides in the lines behind a zero byte: words of a job, each with a file, or one error with text. */
#include <stdlib.h>

#include "import/foreign.h"
#include "import/hydra.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int override_all(struct ss_tree *tree, char *lines, struct ss_error *err)
{
    char *rest = lines;
    int rc = 0, line = 1;

    for (char *word; !rc && (word = strsep(&rest, "\n")) != NULL; line++)
        if (ss_hydra_is_override(word))
            rc = ss_hydra_override(tree, word, line % 2 ? "job.sh" : NULL, line % 2 ? line : 0, line % 3 == 0,
                                   err);
    return rc;
}

static int read_tree(struct ss_tree *tree, char *lines, struct ss_request *r, struct ss_error *err)
{
    int rc = override_all(tree, lines, err);

    rc = rc ? rc : ss_hydra_resolve(tree, err);
    return rc ? rc : ss_foreign_request(r, NULL, tree, NULL, err);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_tree *tree;
    struct ss_request r;
    struct ss_error err = {0};
    char *text = malloc(size + 1);

    if (!text)
        return 0;
    memcpy(text, data, size);
    text[size] = '\0';
    size_t len = strlen(text);
    (void)ss_foreign_sniff(text, size);
    if (ss_tree_parse(text, len, "fuzz.yaml", &tree, &err)) {
        free(text);
        return 0;
    }
    ss_request_init(&r);
    if (read_tree(tree, text + (len < size ? len + 1 : len), &r, &err) && !err.message[0])
        abort();
    for (size_t i = 0; i < r.n; i++)
        if (r.word[i].line > 0 && !r.place[r.word[i].place].file)
            abort();
    ss_request_free(&r);
    ss_tree_free(tree);
    free(text);
    return 0;
}
