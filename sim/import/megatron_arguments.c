/* SPDX-License-Identifier: Apache-2.0 */
/* "MODEL_ARGS: {--num-layers: 12, --bf16: true}", as Megatron-LM's test cases and model zoos have it. */
#include <string.h>

#include "base/base.h"
#include "import/foreign.h"
#include "stepsim/flags.h"

const struct ss_tree_node *ss_arguments_of(const struct ss_tree_node *root)
{
    static const char *const names[] = {"MODEL_ARGS", "ARGS"};

    for (size_t i = 0; i < SS_ARRAY_LEN(names); i++) {
        const struct ss_tree_node *node = ss_tree_find(root, names[i]);
        if (node && node->kind == SS_TREE_MAP && node->first && !strncmp(node->first->key, "--", 2))
            return node;
    }
    return NULL;
}

/* Whether the prediction needs the flag's value: not of files of a tokenizer. */
static bool is_read(const char *flag)
{
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;

    if (!strcmp(flag, "--merge-file") || !strcmp(flag, "--tokenizer-model"))
        return false;
    while (ss_flag_list(&at, &info))
        if (!strcmp(info.name, flag))
            return info.read;
    return false;
}

/* "${TP}", which the environment of the test case has. */
static void lacks_variable(struct ss_reading *r, const struct ss_tree_node *node)
{
    const char *begin = strstr(node->text, "${") + 2;

    ss_reading_fail(r, node, SS_ERR_INPUT, "\"%.60s\" is a variable that is not set", node->text);
    ss_hint(r->err, r->rc, "give it behind the file: %.*s=VALUE", (int)strcspn(begin, "}:"), begin);
}

/* A value is words of a shell: "[core_attn mlp]" is two, and quotes within the text are the shell's. */
static void add_argument(struct ss_reading *r, struct ss_tree_node *node)
{
    size_t len = node->text ? strlen(node->text) : 0;
    int quoted = len > 1 && strchr("'\"", node->text[0]) && node->text[len - 1] == node->text[0];
    int list = len > 2 && node->text[0] == '[' && strchr(node->text, ' ');
    char words[1024];

    ss_tree_take(node);
    if (ss_tree_is_null(node))
        return;
    if (node->text && strstr(node->text, "${") && is_read(node->key)) {
        lacks_variable(r, node);
    } else if (ss_tree_truth(node) >= 0) {
        if (ss_tree_truth(node))
            ss_reading_flag(r, node, node->key, NULL);
    } else if ((!list && !quoted) || len >= sizeof words) {
        ss_reading_value(r, node, node->key);
    } else {
        snprintf(words, sizeof words, "%.*s", (int)(len - 2), node->text + 1);
        ss_reading_flag(r, node, node->key, NULL);
        ss_reading_words(r, node, words);
    }
}

static void add_arguments(struct ss_reading *r, struct ss_tree_node *none)
{
    for (struct ss_tree_node *n = ss_arguments_of(ss_tree_root(r->tree))->first; n && !r->rc; n = n->next)
        if (!strncmp(n->key, "--", 2))
            add_argument(r, n);
    for (struct ss_tree_node *n = ss_tree_root(r->tree)->first; n; n = n->next)
        if (n->kind == SS_TREE_SCALAR) /* variables, which stand elsewhere now */
            ss_tree_take(n);
    (void)none;
}

const struct ss_key_code ss_arguments_code[] = {{"arguments", add_arguments}, {NULL, NULL}};
