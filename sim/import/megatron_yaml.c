/* SPDX-License-Identifier: Apache-2.0 */
/* YAML of Megatron-LM itself: --yaml-cfg, arguments as a test case has them, and arguments as they were dumped. */
#include <string.h>

#include "base/base.h"
#include "import/core_names.h"
#include "import/foreign_rows.h"
#include "stepsim/flags.h"

/* Names of arguments that argparse has under another one, in all three. */
static const struct ss_foreign_row renamed[] = {
    FALSE("add_position_embedding", ""),
    FALSE("scatter_gather_tensors_in_pipeline", "--no-scatter-gather-tensors-in-pipeline"),
    FALSE("check_for_nan_in_loss_and_grad", "--no-check-for-nan-in-loss-and-grad"),
};

/* ---- --yaml-cfg (megatron/training/yaml_arguments.py): language_model and model_parallel, the rest at the root ---- */

static bool knows_config(const struct ss_tree_node *root)
{
    return ss_tree_find(root, "language_model.num_layers") && ss_tree_find(root, "model_parallel");
}

static int read_config(struct ss_foreign *f, struct ss_error *err)
{
    static const char *const sections[] = {"language_model", "model_parallel"};
    const struct ss_tree_node *root = ss_tree_root(f->tree);
    struct ss_tree_node *ramp = ss_tree_get(root, "rampup_batch_size");
    int rc = SS_OK;

    ss_tree_take(ramp);
    if (!ss_tree_is_null(ramp))
        ss_foreign_assume(f, "the global batch has grown to its full size (rampup_batch_size)");
    for (size_t i = 0; i < SS_ARRAY_LEN(sections) && !rc; i++) {
        const struct ss_tree_node *section = ss_tree_get(root, sections[i]);
        rc = ss_core_precision(f, section, err);
        rc = rc ? rc : ss_core_names(f, section, err);
    }
    rc = rc ? rc : ss_foreign_map(f, root, renamed, SS_ARRAY_LEN(renamed), err);
    return rc ? rc : ss_foreign_by_name(f, root, err);
}

const struct ss_foreign_kind ss_foreign_megatron_config = {"Megatron-LM's --yaml-cfg", knows_config,
                                                           read_config, false, false};

/* ---- "MODEL_ARGS: {--num-layers: 12, --bf16: true}", as Megatron-LM's test cases and model zoos have ---- */

static const struct ss_tree_node *arguments_of(const struct ss_tree_node *root)
{
    static const char *const names[] = {"MODEL_ARGS", "ARGS"};

    for (size_t i = 0; i < SS_ARRAY_LEN(names); i++) {
        const struct ss_tree_node *node = ss_tree_find(root, names[i]);
        if (node && node->kind == SS_TREE_MAP && node->first && !strncmp(node->first->key, "--", 2))
            return node;
    }
    return NULL;
}

static bool knows_arguments(const struct ss_tree_node *root)
{
    return arguments_of(root) != NULL;
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
static int lacks_variable(const struct ss_tree_node *node, struct ss_error *err)
{
    const char *begin = strstr(node->text, "${") + 2;

    ss_tree_fail(node, SS_ERR_INPUT, err, "\"%.60s\" is a variable that is not set", node->text);
    return ss_hint(err, SS_ERR_INPUT, "give it behind the file: %.*s=VALUE", (int)strcspn(begin, "}:"),
                   begin);
}

/* A value is words of a shell: "[core_attn mlp]" is two, and quotes within the text are the shell's. */
static int add_argument(struct ss_foreign *f, struct ss_tree_node *node, struct ss_error *err)
{
    const struct ss_foreign_row flag = {node->key, SS_ROW_TRUE, node->key, NULL, NULL},
                                value = {node->key, SS_ROW_VALUE, node->key, NULL, NULL};
    size_t len = node->text ? strlen(node->text) : 0;
    int quoted = len > 1 && strchr("'\"", node->text[0]) && node->text[len - 1] == node->text[0];
    int list = len > 2 && node->text[0] == '[' && strchr(node->text, ' ');
    char words[1024];

    if (node->text && strstr(node->text, "${") && is_read(node->key))
        return lacks_variable(node, err);
    if (ss_tree_truth(node) >= 0)
        return ss_foreign_map(f, node->parent, &flag, 1, err);
    if ((!list && !quoted) || len >= sizeof words)
        return ss_foreign_map(f, node->parent, &value, 1, err);
    ss_tree_take(node);
    snprintf(words, sizeof words, "%.*s", (int)(len - 2), node->text + 1);
    int rc = ss_foreign_flag(f, node, node->key, NULL, err);
    return rc ? rc : ss_foreign_add(f, node, words, err);
}

static int read_arguments(struct ss_foreign *f, struct ss_error *err)
{
    static const struct ss_foreign_row rest[] = {
        NONE("ENV_VARS"),      NONE("TEST_TYPE"), NONE("MODE"),
        NONE("BEFORE_SCRIPT"), NONE("METRICS"),   NONE("AFTER_SCRIPT"),
    };
    int rc = SS_OK;

    for (struct ss_tree_node *n = arguments_of(ss_tree_root(f->tree))->first; n && !rc; n = n->next)
        rc = strncmp(n->key, "--", 2) ? SS_OK : add_argument(f, n, err);
    for (struct ss_tree_node *n = ss_tree_root(f->tree)->first; n; n = n->next)
        if (n->kind == SS_TREE_SCALAR) /* variables, which stand elsewhere now */
            ss_tree_take(n);
    return rc ? rc : ss_foreign_map(f, ss_tree_root(f->tree), rest, SS_ARRAY_LEN(rest), err);
}

const struct ss_foreign_kind ss_foreign_megatron_arguments = {"Megatron-LM's MODEL_ARGS", knows_arguments,
                                                              read_arguments, true, true};

/* ---- vars(args), dumped: arguments under their names in Python ---- */

static bool knows_dump(const struct ss_tree_node *root)
{
    return ss_tree_find(root, "num_layers") && ss_tree_find(root, "hidden_size") &&
           ss_tree_find(root, "tensor_model_parallel_size") && ss_tree_find(root, "micro_batch_size");
}

static int read_dump(struct ss_foreign *f, struct ss_error *err)
{
    const struct ss_tree_node *root = ss_tree_root(f->tree);
    int rc = ss_core_precision(f, root, err);

    rc = rc ? rc : ss_foreign_map(f, root, renamed, SS_ARRAY_LEN(renamed), err);
    return rc ? rc : ss_core_names(f, root, err);
}

const struct ss_foreign_kind ss_foreign_megatron_dump = {"Megatron-LM's arguments as a dump", knows_dump,
                                                         read_dump, false, false};
