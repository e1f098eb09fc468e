/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes either give the facts of a node, which make a platform that can be read back, or one error. */

#include "common/fork.h"
#include "platform/node_facts.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);
int LLVMFuzzerInitialize(int *argc, char ***argv);

/* hwloc runs in a child of fork. */
int LLVMFuzzerInitialize(int *argc, char ***argv)
{
    (void)argc, (void)argv;
    fuzz_share_counters();
    return 0;
}

static void check(struct ss_import *n, struct ss_platform *p, bool own)
{
    struct ss_own_node node = {&n->facts, 1};
    struct ss_platform *again = NULL;
    struct ss_error err = {0};
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    int status;

    if (out == NULL)
        return;
    status = own ? ss_own_nodes_write(p, "v100", &node, 1, out, &err) : ss_platform_write(p, out, &err);
    fclose(out);
    if (status != SS_OK)
        abort();
    status = ss_platform_parse(text, len, "again", NULL, &again, &err);
    if (status != SS_OK && (!own || status != SS_ERR_UNSUPPORTED)) /* for no one is asked for routes */
        abort();
    ss_platform_free(again);
    free(text);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_import n = {.file = "fuzz", .card = "v100"};
    struct ss_platform *p = NULL;
    struct ss_error err = {0};
    char *text = malloc(size + 1);
    bool own = false;

    if (text == NULL)
        return 0;
    memcpy(text, data, size);
    text[size] = 0;
    if (ss_import_facts(text, size, "fuzz", &n.facts, &err) == SS_OK &&
        ss_import_build(&n, &p, &own, &err) == SS_OK)
        check(&n, p, own);
    else if (err.message[0] == 0)
        abort();
    ss_platform_free(p);
    free(text);
    return 0;
}
