/* SPDX-License-Identifier: Apache-2.0 */
/* Frameworks around Hugging Face's Trainer: their defaults, how their files are known, and what their maps cannot say. */
#include "base/base.h"
#include "import/foreign.h"
#include "import/hf.h"

const struct ss_hf_kind ss_hf_kinds[] = {
    [SS_HF_TRAINER] = {.name = "Hugging Face", .map = "huggingface", .batch = 8},
    [SS_HF_DEEPSPEED] = {.name = "DeepSpeed", .map = "huggingface", .batch = 8},
    [SS_HF_ACCELERATE] = {.name = "accelerate", .map = "huggingface", .batch = 8},
    [SS_HF_FACTORY] =
        {.name = "LLaMA-Factory", .map = "huggingface", .length = 2048, .batch = 8, .recompute = true},
    [SS_HF_FACTORY_V1] = {.name = "LLaMA-Factory v1",
                          .map = "llamafactory-v1",
                          .length = 2048,
                          .batch = 1,
                          .recompute = true,
                          .bf16 = true,
                          .root = true,
                          .alone = true},
    [SS_HF_AXOLOTL] = {.name = "Axolotl",
                       .map = "axolotl",
                       .length = 512,
                       .batch = 1,
                       .bf16 = true,
                       .whole = true,
                       .root = true,
                       .alone = true},
    [SS_HF_TRL] = {.name = "TRL",
                   .map = "trl",
                   .length = 1024,
                   .batch = 8,
                   .recompute = true,
                   .bf16 = true,
                   .alone = true},
};

/* ---- which file it is ---- */

/* Whether a line begins with this name and, where it is asked, has a value. */
static int has_name(const char *text, size_t len, const char *name, int valued)
{
    size_t n = strlen(name);

    for (const char *p = text, *end = text + len; p;
         p = memchr(p, '\n', (size_t)(end - p)), p = p ? p + 1 : NULL) {
        if ((size_t)(end - p) <= n || memcmp(p, name, n) != 0 || p[n] != ':')
            continue;
        const char *value = p + n + 1;
        while (value < end && (*value == ' ' || *value == '\t'))
            value++;
        if (!valued || (value < end && !strchr("\r\n#{[", *value)))
            return 1;
    }
    return 0;
}

int ss_axolotl_sniff(const char *text, size_t len)
{
    return ss_foreign_sniff(text, len) && has_name(text, len, "base_model", 1);
}

/* Its model is a name, where other frameworks have a map. */
int ss_factory_v1_sniff(const char *text, size_t len)
{
    static const char *const own[] = {"model_class", "dist_config",   "kernel_config",
                                      "peft_config", "train_dataset", "batching_strategy"};
    size_t i = 0;

    while (i < SS_ARRAY_LEN(own) && !has_name(text, len, own[i], 0))
        i++;
    return i < SS_ARRAY_LEN(own) && ss_foreign_sniff(text, len) && has_name(text, len, "model", 1);
}

/* ---- what their maps cannot say ---- */

/* Makes a key of the Trainer or of accelerate this text, at the place of a node. */
static void set(struct ss_reading *r, const struct ss_tree_node *at, const char *path, const char *text)
{
    ss_reading_set(r, path, text, at->file, at->line);
}

/* FSDP is on where Axolotl's file has either of its keys; the words of `fsdp` name the strategy. */
static void set_fsdp(struct ss_reading *r)
{
    static const char config[] = "accelerate.fsdp_config";
    struct ss_tree_node *words = ss_reading_node(r, "fsdp");
    const struct ss_tree_node *root = ss_tree_root(r->tree), *at = ss_tree_find(root, config);

    ss_tree_take(words);
    at = at && at->n ? at->first : words && words->n ? words : NULL;
    if (!at || !ss_tree_is_null(ss_tree_find(root, "args.deepspeed")))
        return;
    set(r, at, "accelerate.distributed_type", "FSDP");
    for (const struct ss_tree_node *n = words ? words->first : NULL; n; n = n->next)
        if (ss_tree_is(n, "offload"))
            ss_reading_refuse(r, n, "FSDP with parameters on the host is not modelled");
        else if (n->text && !ss_tree_is(n, "auto_wrap") &&
                 !ss_tree_is(ss_tree_find(root, "accelerate.fsdp_config.fsdp_version"), "2"))
            set(r, n, "accelerate.fsdp_config.fsdp_sharding_strategy", n->text);
}

/* A switch each, where the Trainer has one name. */
static void set_attention(struct ss_reading *r)
{
    static const char *const switches[][2] = {{"flash_attention", "flash_attention_2"},
                                              {"sdp_attention", "sdpa"},
                                              {"eager_attention", "eager"},
                                              {"flex_attention", "flex_attention"},
                                              {"xformers_attention", "xformers"},
                                              {"sage_attention", "sage"}};

    for (size_t i = 0; i < SS_ARRAY_LEN(switches); i++)
        if (ss_reading_truth(r, switches[i][0], 0))
            set(r, ss_reading_node(r, switches[i][0]), "args.attn_implementation", switches[i][1]);
}

static void set_factory_v1(struct ss_reading *r)
{
    const struct ss_tree_node *at = ss_reading_node(r, "dist_config.name");
    const char *name = ss_reading_text(r, "dist_config.name", "");
    const struct ss_tree_node *kernels = ss_reading_node(r, "kernel_config.name");

    if (kernels && ss_tree_is(kernels, "liger_kernel"))
        set(r, kernels, "args.use_liger_kernel", "true");
    if (!strcmp(name, "fsdp2")) {
        set(r, at, "accelerate.distributed_type", "FSDP");
        set(r, at, "accelerate.fsdp_config.fsdp_version", "2");
    } else if (at && strcmp(name, "deepspeed") != 0) {
        ss_reading_refuse(r, at, "\"%.40s\" is not modelled: fsdp2 or deepspeed", name);
    }
}

/* accelerate_config of trl, a file or the name of one of its own, is read once. */
static void read_accelerate(struct ss_reading *r)
{
    struct ss_tree_node *at = ss_tree_find(ss_tree_root(r->tree), "args.accelerate_config");
    const char *dot = at && at->text ? strrchr(at->text, '.') : NULL;
    char name[300];

    if (!at || !at->text || r->rc)
        return;
    snprintf(name, sizeof name, "%s%s%s", dot ? "" : "trl/accelerate_configs/", at->text, dot ? "" : ".yaml");
    r->rc = ss_hf_graft_file(r->tree, ss_hf_of(r)->words, "accelerate", name, at->file, r->err);
    if (r->rc == SS_ERR_IO)
        r->rc = ss_tree_fail(at, r->rc, r->err, "no file \"%.200s\", nor one of trl's own", at->text);
    ss_tree_drop(at);
}

void ss_hf_set_kind(struct ss_reading *r)
{
    const struct ss_hf_kind *kind = ss_hf_of(r)->kind;

    if (kind == &ss_hf_kinds[SS_HF_AXOLOTL]) {
        set_fsdp(r);
        set_attention(r);
    } else if (kind == &ss_hf_kinds[SS_HF_FACTORY_V1]) {
        set_factory_v1(r);
    } else if (kind == &ss_hf_kinds[SS_HF_TRL]) {
        read_accelerate(r);
    }
}
