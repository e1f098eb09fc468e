/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan: recompute, compilation, precision, optimizer. */
#include "import/torchtitan.h"

#include "base/base.h"

/* Every n-th layer is recomputed whole. */
static void recompute_layers(struct ss_titan *x, const struct ss_tree_node *at, int64_t every)
{
    struct ss_reading *r = &x->r;
    int64_t layers = r->has_model ? r->model.num_layers / x->pp / every : 0;

    if (!r->has_model) {
        ss_reading_refuse(r, at,
                          "which layers are recomputed depends on the model, and %s is not known: give "
                          "--recompute in place of the key, and --model config.json",
                          x->model);
        return;
    }
    if (layers == 0) {
        ss_reading_flag(r, at, "--recompute", "none");
        return;
    }
    ss_reading_flag(r, at, "--recompute-granularity", "full");
    ss_reading_flag(r, at, "--recompute-method", "block");
    ss_reading_whole_flag(r, at, "--recompute-num-layers", layers);
    if (every > 1)
        ss_reading_assume(r,
                          "that every layer of %lld is recomputed takes what the first %lld of a stage take",
                          (long long)every, (long long)layers);
}

/* Since 2026 the kind of a policy shows in its keys alone. */
static const char *newest_mode(struct ss_titan *x)
{
    struct ss_tree_node *at = ss_tree_find(ss_tree_root(x->r.tree), "activation_checkpoint");

    if (!at || ss_tree_is_null(at))
        return "none";
    return ss_tree_find(at, "memory_budget")                       ? "memory_budget"
           : ss_tree_find(at, "force_recompute_mm_shapes_by_fqns") ? "selective"
                                                                   : "full";
}

SS_KEY_CALLED(ss_titan_recompute)
{
    struct ss_titan *x = ss_titan_of(r);
    const struct ss_tree_node *at = ss_reading_node(r, "activation_checkpoint.mode");
    const struct ss_tree_node *option = ss_reading_node(r, "activation_checkpoint.selective_ac_option");
    const char *mode =
        x->newest && !at ? newest_mode(x) : ss_reading_text(r, "activation_checkpoint.mode", "selective");
    int64_t every = 2;

    if (!strcmp(mode, "none") || !strcmp(mode, "full"))
        ss_reading_flag(r, at, "--recompute", mode);
    else if (strcmp(mode, "selective") != 0)
        ss_reading_refuse(r, at, "recompute of mode \"%.40s\" is not modelled", mode);
    else if (ss_tree_is(option, "op") || (x->newest && !option))
        ss_reading_flag(r, option ? option : at, "--recompute", "op-selective");
    else if (option && (!ss_tree_whole(option, &every) || every < 1))
        ss_reading_refuse(r, option, "\"op\" or a number of layers is asked");
    else
        recompute_layers(x, option ? option : at, every);
}

/* Since 27 April 2026 the loss goes in chunks; a saved configuration has their number. */
static void loss_chunks(struct ss_titan *x)
{
    struct ss_reading *r = &x->r;
    const struct ss_tree_node *loss = ss_tree_find(ss_tree_root(r->tree), "loss"),
                              *at = loss ? ss_tree_find(loss, "num_chunks") : NULL;
    int64_t chunks = 0;

    if (at && (!ss_tree_whole(at, &chunks) || chunks < 1 || chunks > 1024))
        ss_reading_fail(r, at, SS_ERR_INPUT, "loss.num_chunks: a whole number from 1 to 1024 is asked");
    else if (at || (x->newest && (loss || !x->tokens)))
        ss_reading_prop(r, at ? at : loss, SS_PROP_loss_chunks, (double)chunks);
}

/* A graph of the whole iteration is on since 13 August 2026, but torchtitan has none of a pipeline, nor of
 * experts whose dispatch waits for the host. */
static void graphs(struct ss_titan *x)
{
    struct ss_reading *r = &x->r;
    const struct ss_tree_node *at = ss_reading_node(r, "training.disable_cuda_graphs");

    if (!at || ss_reading_truth(r, "training.disable_cuda_graphs", 1) || x->pp > 1 || x->ep > 1)
        return;
    ss_reading_flag(r, at, "--cuda-graph-impl", "local");
    ss_reading_flag(r, at, "--cuda-graph-scope", "full_iteration");
}

/* The loss is compiled with the layers since April 2025 (pytorch/torchtitan#1033), by a component of its own since August. */
SS_KEY_CALLED(ss_titan_compile)
{
    struct ss_titan *x = ss_titan_of(r);
    const struct ss_tree_node *at = ss_reading_node(r, "compile.enable"),
                              *parts = ss_reading_node(r, "compile.components");
    int on = ss_reading_truth(r, "compile.enable", 0);

    if (!on || (parts && !ss_reading_lists(r, "compile.components", "model")))
        ss_reading_prop(r, at, SS_PROP_compiled, 0);
    if (!x->first && (!on || (parts && !ss_reading_lists(r, "compile.components", "loss"))))
        ss_reading_prop(r, parts ? parts : at, SS_PROP_fused_cross_entropy, 0);
    loss_chunks(x);
    graphs(x);
}

/* The list of converters, where it has one of these; NULL: it has none. */
static const struct ss_tree_node *has_converter(struct ss_reading *r, const char *a, const char *b,
                                                const char *c)
{
    return ss_reading_lists(r, "model.converters", a) || ss_reading_lists(r, "model.converters", b) ||
                   ss_reading_lists(r, "model.converters", c)
               ? ss_reading_node(r, "model.converters")
               : NULL;
}

/* The converter, or the key of releases before there were converters. */
static const struct ss_tree_node *has_float8(struct ss_reading *r)
{
    static const char old[] = "float8.enable_float8_linear";
    int was = ss_reading_truth(r, old, 0);
    const struct ss_tree_node *at =
        has_converter(r, "float8", "quantize.linear.float8", "quantize.dense.float8");

    return at || !was ? at : ss_reading_node(r, old);
}

/* Maps of a list have no rows. */
static void check_keys(struct ss_reading *r, const struct ss_tree_node *item, const char *known)
{
    for (const struct ss_tree_node *n = item->first; n; n = n->next)
        if (n->key && !ss_has_word(known, n->key))
            ss_reading_fail(r, n, SS_ERR_INPUT, "torchtitan has no such key that is known here");
}

/* A value that torchtitan has no recipe of would stop it. */
static void check_recipe(struct ss_reading *r, const struct ss_tree_node *recipe, const char *known)
{
    char why[200], hint[200];

    if (!recipe || ss_tree_is_null(recipe) || !recipe->text || ss_has_word(known, recipe->text))
        return;
    snprintf(why, sizeof why, "torchtitan has no recipe \"%.60s\"", recipe->text);
    snprintf(hint, sizeof hint, "it is one of: %s", known);
    ss_reading_fault(r, recipe, SS_ERR_INPUT, why, hint);
}

#define FLOAT8_RECIPES "tensorwise rowwise rowwise_with_gw_hp"
#define MX_RECIPES                                                                                           \
    "mxfp8 mxfp8_cublas mxfp8_cublas_rceil mxfp8_rceil mxfp8_emulated mxfp8_wgrad_with_hp "                  \
    "mxfp8_rceil_wgrad_with_hp"

/* The configurations of converters that releases of the first half of 2026 saved: they have no names, but keys. */
static void map_converters(struct ss_titan *x, struct ss_tree_node *list)
{
    struct ss_reading *r = &x->r;

    for (const struct ss_tree_node *item = list->first; item; item = item->next) {
        const struct ss_tree_node *recipe = ss_tree_find(item, "recipe_name"),
                                  *gather = ss_tree_find(item, "enable_fsdp_float8_all_gather");
        check_keys(r, item,
                   "recipe_name filter_fqns emulate fqns enable_fsdp_float8_all_gather pad_multiple "
                   "pad_token_groups_for_grouped_mm "
                   "precompute_float8_dynamic_scale_for_fsdp mxfp8_dim1_cast_kernel_choice");
        if (ss_tree_find(item, "emulate")) {
            check_recipe(r, recipe, FLOAT8_RECIPES);
            ss_reading_flag(r, item, "--precision", "fp8");
            ss_reading_flag(r, item, "--fp8-recipe", "tensorwise");
            if (recipe && !ss_tree_is_null(recipe) && !ss_tree_is(recipe, "tensorwise"))
                ss_reading_assume(r, "scales of %s cost what those of whole tensors cost",
                                  recipe->text ? recipe->text : "");
            if (ss_tree_truth(gather) == 1)
                ss_reading_flag(r, gather, "--fp8-param-gather", NULL);
        } else if (recipe && recipe->text && !strncmp(recipe->text, "mxfp8", 5)) {
            ss_reading_flag(r, item, "--precision", "mxfp8");
        } else {
            ss_reading_refuse(r, item,
                              "this converter of the model is not known: give --precision in its place");
        }
    }
    ss_tree_take(list);
}

static void map_float8(struct ss_titan *x, const struct ss_tree_node *at)
{
    struct ss_reading *r = &x->r;
    const char *recipe =
        "quantize.linear.float8.recipe_name quantize.dense.float8.recipe_name float8.recipe_name";
    const char *gather = "quantize.linear.float8.enable_fsdp_float8_all_gather "
                         "quantize.dense.float8.enable_fsdp_float8_all_gather "
                         "float8.enable_fsdp_float8_all_gather training.enable_fsdp_float8_all_gather";
    const char *name = ss_reading_text(r, recipe, "tensorwise");
    int narrow = ss_reading_truth(r, gather, 0);

    check_recipe(r, ss_reading_node(r, recipe), FLOAT8_RECIPES);
    ss_reading_flag(r, at, "--precision", "fp8");
    ss_reading_flag(r, ss_reading_node(r, recipe), "--fp8-recipe", "tensorwise");
    if (strcmp(name, "tensorwise") != 0)
        ss_reading_assume(r, "scales of %s cost what those of whole tensors cost", name);
    if (narrow)
        ss_reading_flag(r, ss_reading_node(r, gather), "--fp8-param-gather", NULL);
    if (r->has_model && r->model.num_experts > 0)
        ss_reading_refuse(r, at,
                          "fp8 in some linear layers of a mixture and 16 bit in others is not modelled");
}

SS_KEY_CALLED(ss_titan_precision)
{
    struct ss_titan *x = ss_titan_of(r);
    const struct ss_tree_node *at = ss_reading_node(r, "training.mixed_precision_param");
    const struct ss_tree_node *fp8 = has_float8(r),
                              *mx = has_converter(r, "mx", "quantize.linear.mx", "quantize.dense.mx");
    struct ss_tree_node *converters = ss_reading_node(r, "model_converters.converters");

    if (x->newest && !converters)
        ss_reading_assume(r,
                          "no linear layer is in fp8, mxfp8 or nvfp4, which what torchtitan saves does not "
                          "say: else give --precision");
    if (fp8) {
        map_float8(x, fp8);
    } else if (mx) {
        check_recipe(
            r,
            ss_reading_node(r, "quantize.linear.mx.recipe_name quantize.dense.mx.recipe_name mx.recipe_name"),
            MX_RECIPES);
        ss_reading_flag(r, mx, "--precision", "mxfp8");
    } else if (at && ss_tree_is(at, "float32")) {
        ss_reading_flag(r, at, "--precision", "fp32");
    } else {
        ss_reading_flag(r, at, "--bf16", NULL);
    }
    if (converters)
        map_converters(x, converters);
}

SS_KEY_CALLED(ss_titan_optimizer)
{
    const struct ss_tree_node *groups = ss_reading_node(r, "optimizer.param_groups");

    for (const struct ss_tree_node *group = groups ? groups->first : NULL; group; group = group->next) {
        const struct ss_tree_node *at = ss_tree_find(group, "optimizer_name");
        check_keys(r, group, "pattern optimizer_name optimizer_kwargs");
        if (at && !ss_tree_is(at, "AdamW") && !ss_tree_is(at, "Adam"))
            ss_reading_refuse(r, at, "the optimizer %.40s is not modelled: AdamW or Adam",
                              at->text ? at->text : "");
    }
}
