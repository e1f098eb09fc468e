/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan: what its files and commands are, and keys that set nothing here. */
#include "import/torchtitan.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/toml.h"

/* clang-format off */
static const struct ss_trainer_rule rules[] = {
#define FINE(path) {path, "*", NULL},
    FINE("job.*") FINE("profiling.*") FINE("profiler.*") FINE("metrics.*") FINE("checkpoint.*")
    FINE("validation.*") FINE("validator.*") FINE("lr_scheduler.*") FINE("comm.*") FINE("tokenizer.*")
    FINE("dataloader.*") FINE("training.dataloader.*") FINE("memory_estimation.*") FINE("dump_folder")
    FINE("hf_assets_path") FINE("loss.*")
    FINE("model.hf_assets_path") FINE("model.tokenizer_path") FINE("model.print_after_conversion")
    FINE("model.norm_type") FINE("model.attn_mask_type") FINE("model.use_flex_attn")
    FINE("optimizer.lr") FINE("optimizer.eps") FINE("optimizer.beta1") FINE("optimizer.beta2")
    FINE("optimizer.weight_decay") FINE("optimizer.param_groups") FINE("optimizer.optimizer_factory_kwargs_by_name.*") FINE("optimizer.implementation")
    FINE("training.max_norm") FINE("training.steps") FINE("training.dataset") FINE("training.dataset_path")
    FINE("training.gc_freq") FINE("training.gc_debug") FINE("training.seed") FINE("training.warmup_steps")
    FINE("training.disable_cuda_graphs")
    FINE("debug.seed") FINE("debug.print_config") FINE("debug.save_config_file")
    FINE("debug.enable_structured_logging") FINE("debug.deterministic_warn_only")
    FINE("debug.spmd_typechecking")
    FINE("activation_checkpoint.preserve_rng_state") FINE("activation_checkpoint.determinism_check")
    FINE("activation_checkpoint.early_stop") FINE("activation_checkpoint.debug")
    FINE("activation_checkpoint.memory_budget") FINE("activation_checkpoint.visualize_memory_budget_pareto")
    FINE("activation_checkpoint.force_recompute_mm_shapes_by_fqns")
    FINE("activation_checkpoint.per_op_sac_force_recompute_mm_shapes_by_fqns")
    FINE("parallelism.context_parallel_load_balancer") FINE("parallelism.context_parallel_ptrr_mask_key")
    FINE("parallelism.spmd_backend") FINE("parallelism.full_dtensor") FINE("model_converters.*")
    FINE("parallelism.hybridep_non_blocking_expert_capacity_factor") FINE("parallelism.enable_compiled_autograd")
    FINE("experimental.enable_compiled_autograd")
    FINE("compile.backend") FINE("compile.components")
    FINE("quantize.linear.float8.*") FINE("quantize.dense.float8.*") FINE("quantize.linear.mx.*")
    FINE("quantize.dense.mx.*") FINE("float8.*") FINE("mx.*") FINE("quantize.grouped_mm.*")
    FINE("quantize.moe.*")
#undef FINE
    {"override.imports", "[]", "components of the user's own code are not read"},
    {"training.enable_cpu_offload", "false",
     "FSDP with parameters, gradients and optimizer on the host is not modelled"},
    {"training.mixed_precision_reduce", "float32", "gradients that FSDP reduces in 16 bit are not modelled in torchtitan"},
    {"optimizer.early_step_in_backward", "false", "an optimizer's step inside the backward is not modelled"},
    {"debug.deterministic", "false", "the cost of deterministic kernels is not modelled in torchtitan"},
    {"training.deterministic", "false", "the cost of deterministic kernels is not modelled in torchtitan"},
    {"debug.detect_anomaly", "false", "autograd's search for anomalies is not modelled"},
    {"debug.batch_invariant", "false", "batch-invariant kernels are not modelled"},
    {"debug.moe_force_load_balance", "false", NULL},
    {"parallelism.enable_fsdp_symm_mem", "false", "FSDP over symmetric memory is not modelled"},
    {"parallelism.module_fqns_per_model_part", "[]",
     "stages by names of modules are not read: give --pipeline-model-parallel-layout"},
    {"parallelism.pipeline_parallel_schedule_csv", "", "give the schedule's file by --schedule"},
    {"experimental.pipeline_parallel_schedule_csv", "", "give the schedule's file by --schedule"},
    {"parallelism.pipeline_parallel_split_points", "[]",
     "split points are not read: give --pipeline-model-parallel-layout"},
    {"experimental.pipeline_parallel_split_points", "[]",
     "split points are not read: give --pipeline-model-parallel-layout"},
    {"training.data_parallel_type", "fsdp", "only fsdp is read: since 2024-09 degrees say it"},
    {"fault_tolerance.enable", "false", "training by TorchFT is not modelled"},
    {"fault_tolerance.*", "*", NULL},
    {"experimental.custom_args_module", "", "a module with configuration of its own is not read"},
    {"experimental.custom_import", "", "a module with code of its own is not read"},
    {"experimental.custom_model_path", "", "a module with code of its own is not read"},
};
/* clang-format on */

/* Takes the tree over. */
static int map(struct ss_request *request, struct ss_tree *tree, const struct ss_command *c,
               struct ss_error *err)
{
    const struct ss_tree_node *root = ss_tree_root(tree);
    struct ss_titan x = {.steps = 1,
                         .newest = ss_tree_find(root, "model_spec") != NULL,
                         .tokens = ss_tree_find(root, "training.max_context_length") != NULL};

    ss_trainer_begin(&x.t, "torchtitan", tree, request, err);
    if (c) {
        x.t.nodes = c->nodes;
        x.t.gpus_per_node = c->gpus_per_node;
    }
    ss_trainer_add(&x.t, NULL, "--stack", "torchtitan-2025");
    ss_trainer_assume(&x.t, "the software is that of the stack torchtitan-2025 (--stack)%s",
                      x.tokens ? ": no CUDA graphs, the loss in one piece" : "");
    ss_titan_map_parallel(&x);
    ss_titan_map_pipeline(&x);
    ss_titan_map_kernels(&x);
    ss_trainer_rest(&x.t, rules, SS_ARRAY_LEN(rules));
    int rc = ss_trainer_end(&x.t);
    ss_tree_free(tree);
    return rc;
}

/* ---- files ---- */

/* Whether a line is this header, "[training]". */
static int has_header(const char *text, size_t len, const char *header)
{
    size_t n = strlen(header);

    for (const char *p = text, *end = text + len; p < end;) {
        while (p < end && (*p == ' ' || *p == '\t'))
            p++;
        if ((size_t)(end - p) >= n && !memcmp(p, header, n))
            return 1;
        p = memchr(p, '\n', (size_t)(end - p));
        if (!p)
            return 0;
        p++;
    }
    return 0;
}

/* Whether a line sets a key of torchtitan, "training.seq_len = 8192". NeMo's overrides have a "model." too. */
static int is_dotted(const char *p, const char *end, int blank_wanted)
{
    static const char *const begins[] = {"model.name", "model.flavor", "training.", "parallelism.",
                                         "activation_checkpoint."};

    for (size_t i = 0; i < SS_ARRAY_LEN(begins); i++) {
        size_t n = strlen(begins[i]);
        const char *q = p + n;
        if ((size_t)(end - p) <= n || memcmp(p, begins[i], n) != 0)
            continue;
        while (q < end && (isalnum((unsigned char)*q) || *q == '_' || *q == '.'))
            q++;
        const char *blank = q;
        while (q < end && (*q == ' ' || *q == '\t'))
            q++;
        return q - blank >= blank_wanted && q < end && *q == '=';
    }
    return 0;
}

/* Whether the first line that is neither empty nor a comment begins a table, as "[model]" does, or any sets such a key. Nothing else that
 * is read begins so; further down overrides of Hydra do, which have no blank before "=". */
static int is_toml(const char *text, size_t len)
{
    int first = 1;

    for (const char *p = text + ss_byte_order_mark(text, len), *end = text + len, *next; p < end; p = next) {
        next = memchr(p, '\n', (size_t)(end - p));
        next = next ? next + 1 : end;
        while (p < next && isspace((unsigned char)*p))
            p++;
        if (p == next || *p == '#')
            continue;
        if (is_dotted(p, next, !first) ||
            (first && next - p > 1 && *p == '[' && isalpha((unsigned char)p[1])))
            return 1;
        first = 0;
    }
    return 0;
}

int ss_titan_toml_sniff(const char *text, size_t len)
{
    return is_toml(text, len) || has_header(text, len, "[training]") ||
           has_header(text, len, "[parallelism]");
}

int ss_titan_toml_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err)
{
    struct ss_tree *tree;
    int rc = ss_toml_parse(text, len, file, &tree, err);

    return rc ? rc : map(r, tree, NULL, err);
}

/* Where the JSON begins; NULL: there is none. */
static const char *json_of(const char *text, size_t len)
{
    static const char before[] = "Running with configs: ";
    const char *log = memmem(text, len, before, sizeof before - 1);
    size_t i = log ? (size_t)(log - text) + sizeof before - 1 : ss_byte_order_mark(text, len);

    while (i < len && text[i] && strchr(" \t\r\n", text[i]))
        i++;
    return i < len && text[i] == '{' ? text + i : NULL;
}

int ss_titan_json_sniff(const char *text, size_t len)
{
    const char *json = json_of(text, len);
    size_t rest = json ? len - (size_t)(json - text) : 0;

    return json && memmem(json, rest, "\"parallelism\"", 13) && memmem(json, rest, "\"training\"", 10);
}

/* Bytes up to the brace that closes the first one: a log goes on behind it. */
static size_t length_of(const char *json, size_t len)
{
    int depth = 0, quoted = 0;

    for (size_t i = 0; i < len; i++) {
        if (quoted && json[i] == '\\')
            i++;
        else if (json[i] == '"')
            quoted = !quoted;
        else if (!quoted && json[i] == '{')
            depth++;
        else if (!quoted && json[i] == '}' && --depth == 0)
            return i + 1;
    }
    return len;
}

/* What stands before and behind the JSON becomes blanks, so that lines count as in the file. */
int ss_titan_json_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err)
{
    const char *json = json_of(text, len);
    size_t first = json ? (size_t)(json - text) : 0, end = first + (json ? length_of(json, len - first) : 0);
    char *copy = malloc(len + 1);
    struct ss_tree *tree;

    if (!copy)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    for (size_t i = 0; i < end; i++)
        copy[i] = i >= first || text[i] == '\n' ? text[i] : ' ';
    int rc = ss_tree_parse(copy, end, file, &tree, err);
    free(copy);
    return rc ? rc : map(r, tree, NULL, err);
}

/* ---- commands ---- */

static const char *config_file(const struct ss_words *words, const struct ss_command *c, size_t *at)
{
    static const char *const names[] = {"--job.config_file", "--job.config-file"};

    for (size_t i = c->script + 1; i < c->end; i++)
        for (size_t k = 0; k < SS_ARRAY_LEN(names); k++) {
            const char *text = words->w[i].text;
            size_t n = strlen(names[k]);
            *at = i;
            if (!strncmp(text, names[k], n) && text[n] == '=')
                return text + n + 1;
            if (!strcmp(text, names[k]))
                return i + 1 < c->end ? words->w[i + 1].text : "";
        }
    return NULL;
}

int ss_titan_command_sniff(const struct ss_words *words, const struct ss_command *c)
{
    size_t at;

    return strstr(words->w[c->script].text, "torchtitan") != NULL || config_file(words, c, &at) != NULL;
}

/* --compile.enable, --compile.no-enable, --training.seq_len=8192, --training.seq_len 8192, --model.converters a b */
static void override(struct ss_trainer *t, const struct ss_words *words, const struct ss_command *c,
                     size_t *at)
{
    const struct ss_word *w = &words->w[*at];
    char path[160], value[512], *last;
    size_t n = strcspn(w->text, "=");

    snprintf(path, sizeof path, "%.*s", (int)(n > 2 ? n - 2 : 0), w->text + 2);
    for (char *p = path; *p; p++)
        *p = *p == '-' ? '_' : *p;
    snprintf(value, sizeof value, "%s", w->text[n] ? w->text + n + 1 : "");
    while (!w->text[n] && *at + 1 < c->end && strncmp(words->w[*at + 1].text, "--", 2) != 0) {
        size_t used = strlen(value);
        snprintf(value + used, sizeof value - used, "%s%s", used ? "," : "", words->w[++*at].text);
    }
    last = strrchr(path, '.');
    if (strncmp(w->text, "--", 2) != 0 || !last || !last[1] || last == path) {
        t->rc = ss_fail(t->err, SS_ERR_INPUT, words->file, w->line,
                        "\"%.100s\" is no option of torchtitan: --SECTION.KEY", w->text);
        return;
    }
    if (!value[0] && !w->text[n]) {
        int no = !strncmp(last + 1, "no_", 3);
        if (no)
            memmove(last + 1, last + 4, strlen(last + 4) + 1);
        ss_copy(value, sizeof value, no ? "false" : "true");
    }
    ss_trainer_set(t, path, value, words->file, w->line);
}

static int override_all(struct ss_tree *tree, struct ss_request *r, const struct ss_words *words,
                        const struct ss_command *c, size_t config, struct ss_error *err)
{
    struct ss_trainer t;

    ss_trainer_begin(&t, "torchtitan", tree, r, err);
    for (size_t i = c->script + 1; i < c->end && !t.rc; i++) {
        if (i == config)
            i += !strchr(words->w[i].text, '=');
        else
            override(&t, words, c, &i);
    }
    return ss_trainer_end(&t);
}

static int no_file(const struct ss_words *words, const struct ss_command *c, struct ss_error *err)
{
    ss_fail(err, SS_ERR_UNSUPPORTED, words->file, words->w[c->script].line,
            "this configuration of torchtitan is Python code, which is not run");
    return ss_hint(
        err, SS_ERR_UNSUPPORTED,
        "write it out with --debug.save_config_file FILE, or by python -c 'import json; from "
        "torchtitan.config.manager import ConfigManager as C; print(json.dumps(C().parse_args().to_dict()))' "
        "and these options, and give that by --job");
}

int ss_titan_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                         struct ss_error *err)
{
    size_t config = 0, len;
    const char *name = config_file(words, c, &config);
    char path[1024], *text;
    struct ss_tree *tree;

    if (!name)
        return no_file(words, c, err);
    int rc = ss_command_read(words, name, words->file, path, sizeof path, &text, &len, err);
    if (rc)
        return ss_command_locate(words, config, err);
    rc = ss_toml_parse(text, len, path, &tree, err);
    free(text);
    if (rc)
        return rc;
    rc = override_all(tree, r, words, c, config, err);
    if (!rc)
        rc = ss_command_add_sizes(r, words, c, err);
    if (!rc)
        return map(r, tree, c, err);
    ss_tree_free(tree);
    return rc;
}
