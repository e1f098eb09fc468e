/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan: recompute, compilation, precision, optimizer. */
#include "import/torchtitan.h"

#include <string.h>

#include "base/base.h"

/* Every n-th layer is recomputed whole. */
static void recompute_layers(struct ss_titan *x, const struct ss_tree_node *at, int64_t every)
{
    struct ss_trainer *t = &x->t;
    int64_t layers = t->has_model ? t->model.num_layers / x->pp / every : 0;

    if (!t->has_model) {
        ss_trainer_refuse(t, at,
                          "which layers are recomputed depends on the model, and %s is not known: give "
                          "--recompute in place of the key, and --model config.json",
                          x->model);
        return;
    }
    if (layers == 0) {
        ss_trainer_add(t, at, "--recompute", "none");
        return;
    }
    ss_trainer_add(t, at, "--recompute-granularity", "full");
    ss_trainer_add(t, at, "--recompute-method", "block");
    ss_trainer_add_whole(t, at, "--recompute-num-layers", layers);
    if (every > 1)
        ss_trainer_assume(t,
                          "that every layer of %lld is recomputed takes what the first %lld of a stage take",
                          (long long)every, (long long)layers);
}

/* Since 2026 the kind of a policy shows in its keys alone. */
static const char *newest_mode(struct ss_titan *x)
{
    struct ss_tree_node *at = ss_tree_find(ss_tree_root(x->t.tree), "activation_checkpoint");

    if (!at || ss_tree_is_null(at))
        return "none";
    return ss_tree_find(at, "memory_budget")                       ? "memory_budget"
           : ss_tree_find(at, "force_recompute_mm_shapes_by_fqns") ? "selective"
                                                                   : "full";
}

static void map_recompute(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const struct ss_tree_node *at = ss_trainer_node(t, "activation_checkpoint.mode");
    const struct ss_tree_node *option = ss_trainer_node(t, "activation_checkpoint.selective_ac_option");
    const char *mode =
        x->newest && !at ? newest_mode(x) : ss_trainer_text(t, "activation_checkpoint.mode", "selective");
    int64_t every = 2;

    if (!strcmp(mode, "none") || !strcmp(mode, "full"))
        ss_trainer_add(t, at, "--recompute", mode);
    else if (strcmp(mode, "selective") != 0)
        ss_trainer_refuse(t, at, "recompute of mode \"%.40s\" is not modelled", mode);
    else if (ss_tree_is(option, "op") || (x->newest && !option))
        ss_trainer_add(t, option ? option : at, "--recompute", "op-selective");
    else if (option && (!ss_tree_whole(option, &every) || every < 1))
        ss_trainer_refuse(t, option, "\"op\" or a number of layers is asked");
    else
        recompute_layers(x, option ? option : at, every);
}

static void map_compile(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const struct ss_tree_node *at = ss_trainer_node(t, "compile.enable training.compile");
    int on = ss_trainer_truth(t, "compile.enable training.compile", 0);

    if (on && ss_trainer_node(t, "compile.components") && !ss_trainer_lists(t, "compile.components", "model"))
        on = 0;
    if (!on)
        ss_trainer_add_prop(t, at, SS_PROP_compiled, 0);
}

/* The converter, or the key of releases before there were converters. */
static const struct ss_tree_node *has_float8(struct ss_titan *x)
{
    static const char *const names[] = {"float8", "quantize.linear.float8", "quantize.dense.float8"};
    struct ss_trainer *t = &x->t;
    const char *old = "float8.enable_float8_linear training.enable_float8_linear training.enable_fp8_linear";
    const struct ss_tree_node *at = NULL;

    if (ss_trainer_truth(t, old, 0))
        at = ss_trainer_node(t, old);
    for (size_t i = 0; i < SS_ARRAY_LEN(names); i++)
        if (ss_trainer_lists(t, "model.converters", names[i]))
            at = ss_trainer_node(t, "model.converters");
    return at;
}

static const struct ss_tree_node *has_mx(struct ss_titan *x)
{
    static const char *const names[] = {"mx", "quantize.linear.mx", "quantize.dense.mx"};
    const struct ss_tree_node *at = NULL;

    for (size_t i = 0; i < SS_ARRAY_LEN(names); i++)
        if (ss_trainer_lists(&x->t, "model.converters", names[i]))
            at = ss_trainer_node(&x->t, "model.converters");
    return at;
}

/* The configurations of converters that releases of the first half of 2026 saved: they have no names, but keys. */
static void map_converters(struct ss_titan *x, struct ss_tree_node *list)
{
    struct ss_trainer *t = &x->t;

    for (const struct ss_tree_node *item = list->first; item; item = item->next) {
        const struct ss_tree_node *recipe = ss_tree_find(item, "recipe_name"),
                                  *gather = ss_tree_find(item, "enable_fsdp_float8_all_gather");
        if (ss_tree_find(item, "emulate")) {
            ss_trainer_add(t, item, "--precision", "fp8");
            ss_trainer_add(t, item, "--fp8-recipe", "tensorwise");
            if (recipe && !ss_tree_is_null(recipe) && !ss_tree_is(recipe, "tensorwise"))
                ss_trainer_assume(t, "scales of %s cost what those of whole tensors cost",
                                  recipe->text ? recipe->text : "");
            if (ss_tree_truth(gather) == 1)
                ss_trainer_add(t, gather, "--fp8-param-gather", NULL);
        } else if (recipe && recipe->text && !strncmp(recipe->text, "mxfp8", 5)) {
            ss_trainer_add(t, item, "--precision", "mxfp8");
        } else {
            ss_trainer_refuse(t, item,
                              "this converter of the model is not known: give --precision in its place");
        }
    }
    ss_tree_take(list);
}

static void map_float8(struct ss_titan *x, const struct ss_tree_node *at)
{
    struct ss_trainer *t = &x->t;
    const char *recipe =
        "quantize.linear.float8.recipe_name quantize.dense.float8.recipe_name float8.recipe_name";
    const char *gather = "quantize.linear.float8.enable_fsdp_float8_all_gather "
                         "quantize.dense.float8.enable_fsdp_float8_all_gather "
                         "float8.enable_fsdp_float8_all_gather training.enable_fsdp_float8_all_gather";
    const char *name = ss_trainer_text(t, recipe, "tensorwise");
    int narrow = ss_trainer_truth(t, gather, 0);

    ss_trainer_add(t, at, "--precision", "fp8");
    ss_trainer_add(t, ss_trainer_node(t, recipe), "--fp8-recipe", "tensorwise");
    if (strcmp(name, "tensorwise") != 0)
        ss_trainer_assume(t, "scales of %s cost what those of whole tensors cost", name);
    if (narrow)
        ss_trainer_add(t, ss_trainer_node(t, gather), "--fp8-param-gather", NULL);
    if (t->has_model && t->model.num_experts > 0)
        ss_trainer_refuse(t, at,
                          "fp8 in some linear layers of a mixture and 16 bit in others is not modelled");
}

static void map_precision(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const struct ss_tree_node *stored = ss_trainer_node(t, "training.dtype");
    const struct ss_tree_node *at = ss_trainer_node(t, "training.mixed_precision_param");
    const struct ss_tree_node *fp8 = has_float8(x), *mx = has_mx(x);
    struct ss_tree_node *converters = ss_trainer_node(t, "model_converters.converters");

    if (stored && !ss_tree_is(stored, "float32"))
        ss_trainer_refuse(t, stored, "parameters and states in bf16 without an fp32 copy are not modelled");
    if (x->newest && !converters)
        ss_trainer_assume(t,
                          "no linear layer is in fp8, mxfp8 or nvfp4, which what torchtitan saves does not "
                          "say: else give --precision");
    if (fp8) {
        map_float8(x, fp8);
    } else if (mx) {
        ss_trainer_add(t, mx, "--precision", "mxfp8");
    } else if (at && ss_tree_is(at, "float32")) {
        ss_trainer_add(t, at, "--precision", "fp32");
    } else {
        ss_trainer_add(t, at, "--bf16", NULL);
    }
    if (converters)
        map_converters(x, converters);
}

static void check_optimizer(struct ss_titan *x, const struct ss_tree_node *at)
{
    if (at && !ss_tree_is(at, "AdamW") && !ss_tree_is(at, "Adam"))
        ss_trainer_refuse(&x->t, at, "the optimizer %.40s is not modelled: AdamW or Adam",
                          at->text ? at->text : "");
}

static void map_optimizer(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const char *how = ss_trainer_text(t, "optimizer.implementation", "fused");
    const struct ss_tree_node *at = ss_trainer_node(t, "optimizer.implementation");
    const struct ss_tree_node *groups = ss_trainer_node(t, "optimizer.param_groups");

    check_optimizer(x, ss_trainer_node(t, "optimizer.name"));
    for (const struct ss_tree_node *group = groups ? groups->first : NULL; group; group = group->next)
        check_optimizer(x, ss_tree_get(group, "optimizer_name"));
    if (!strcmp(how, "fused_opt_states_bf16")) {
        ss_trainer_add(t, at, "--use-precision-aware-optimizer", NULL);
        ss_trainer_add(t, at, "--exp-avg-dtype", "bf16");
        ss_trainer_add(t, at, "--exp-avg-sq-dtype", "bf16");
    } else if (strcmp(how, "fused") != 0 || !ss_trainer_truth(t, "optimizer.fused", 1)) {
        ss_trainer_assume(t, "the optimizer's step takes what the fused one takes");
    }
}

void ss_titan_map_kernels(struct ss_titan *x)
{
    map_recompute(x);
    map_compile(x);
    map_precision(x);
    map_optimizer(x);
}
