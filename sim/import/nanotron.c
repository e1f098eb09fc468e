/* SPDX-License-Identifier: Apache-2.0 */
/* nanotron: its command, and what the rows of nanotron.map cannot say of GPUs and stages. */
#include "base/base.h"
#include "import/foreign.h"

#define SHAPE "model.model_config."
#define MOST_LAYERS 100000

/* GPUs by the degrees; a launcher says how many a node has, else the platform does. */
static SS_KEY_CALLED(add_nodes)
{
    static const char *const degrees[] = {"parallelism.dp", "parallelism.pp", "parallelism.tp",
                                          "parallelism.context_parallel_size"};
    const struct ss_tree_node *at = ss_reading_node(r, degrees[0]);
    int64_t all = 1, each = r->gpus_per_node ? r->gpus_per_node : 8;

    for (size_t i = 0; i < SS_ARRAY_LEN(degrees); i++)
        all *= ss_reading_size(r, degrees[i], 1, 1, 1 << 13);
    if (r->nodes && all != (int64_t)r->nodes * each)
        ss_reading_fail(r, at, SS_ERR_CONFIG,
                        "the degrees ask for %lld GPUs, the launcher has %d nodes of %lld", (long long)all,
                        r->nodes, (long long)each);
    if (r->nodes)
        return;
    if (!r->gpus_per_node)
        ss_reading_whole_flag(r, at, "--gpus", all);
    else if (all % each == 0)
        ss_reading_whole_flag(r, at, "--nodes", all / each);
}

/* Stages with about the same products: nanotron begins the next one behind the layer that passes a stage's share (build_model of its
 * models/base.py, get_block_compute_costs of models/llama.py and qwen.py). */
static SS_KEY_CALLED(add_layout)
{
    int64_t layers = ss_reading_size(r, SHAPE "num_hidden_layers", 32, 1, MOST_LAYERS),
            h = ss_reading_size(r, SHAPE "hidden_size", 4096, 1, 1 << 20),
            ffn = ss_reading_size(r, SHAPE "intermediate_size", 11008, 1, 1 << 24),
            heads = ss_reading_size(r, SHAPE "num_attention_heads", 32, 1, 1 << 16),
            vocab = ss_reading_size(r, SHAPE "vocab_size", 32000, 1, 1 << 26),
            pp = ss_reading_size(r, "parallelism.pp", 1, 1, 1 << 13);
    double layer = (double)(4 * heads * (h / heads) * h) + (double)(3 * ffn * h),
           all = (double)layers * layer + (double)vocab * (double)h, done = 0;
    char text[4096] = "E";
    int64_t stage = 0, here = 0;
    bool fits = true;

    for (int64_t i = 0; i < layers && !r->rc; i++) {
        done += layer;
        here++;
        int ends = done > all * ((double)(stage + 1) / (double)pp);
        if (ends || i + 1 == layers)
            fits = fits && ss_append(text, sizeof text, "t*%lld%s", (long long)here, ends ? "|" : "");
        here = ends ? 0 : here;
        stage += ends;
    }
    if (!fits || stage + 1 != pp)
        ss_reading_refuse(
            r, ss_reading_node(r, "parallelism.pp"),
            "nanotron leaves stages without layers, for the output layer costs more than a stage's share");
    ss_append(text, sizeof text, "L");
    ss_reading_flag(r, ss_reading_node(r, "parallelism.pp"), "--pipeline-model-parallel-layout", text);
}

static SS_KEY_CALLED(add_window)
{
    int64_t window = ss_reading_size(r, SHAPE "sliding_window_size", 0, 1, 1 << 26);
    char text[40];

    snprintf(text, sizeof text, "%lld,0", (long long)window);
    if (window)
        ss_reading_flag(r, ss_reading_node(r, SHAPE "sliding_window_size"), "--window-size", text);
}

const struct ss_key_code ss_nanotron_code[] = {
    {"nodes", add_nodes}, {"layout", add_layout}, {"window", add_window}, {NULL, NULL}};

/* ---- "torchrun --nproc_per_node 8 run_train.py --config-file config.yaml" ---- */

static const char *config_of(const struct ss_words *words, const struct ss_command *c)
{
    const char *file = ss_command_value(words, c->script + 1, c->end, "--config-file");

    return file ? file : ss_command_value(words, c->script + 1, c->end, "--config_file");
}

int ss_nanotron_command_sniff(const struct ss_words *words, const struct ss_command *c)
{
    const char *script = words->w[c->script].text, *slash = strrchr(script, '/');

    return !strcmp(slash ? slash + 1 : script, "run_train.py") && config_of(words, c) != NULL;
}

int ss_nanotron_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                            struct ss_error *err)
{
    char path[1024], *text;
    struct ss_tree *tree;
    struct ss_reading reading;
    size_t len;
    int rc = ss_command_read(words, config_of(words, c), words->file, path, sizeof path, &text, &len, err);

    if (rc)
        return ss_command_locate(words, c->script, err);
    rc = ss_tree_parse(text, len, path, &tree, err);
    free(text);
    if (rc)
        return rc;
    rc = ss_command_add_sizes(r, words, c, err);
    ss_reading_begin(&reading, "nanotron", tree, r, err);
    reading.rc = rc;
    struct ss_command whole = *c;
    ss_command_resolve(words, &whole);
    reading.nodes = whole.nodes;
    reading.gpus_per_node = whole.gpus_per_node;
    ss_reading_load(&reading, "nanotron", ss_nanotron_code);
    ss_reading_rows(&reading);
    rc = ss_reading_end(&reading);
    ss_tree_free(tree);
    return rc;
}
