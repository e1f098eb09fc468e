/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of mixtures of experts, and of what today's models have beside them, that take more than storing a number. */
#include "base/base.h"
#include "job/flags_set.h"

static int refuse(const char **why, int code, const char *text)
{
    *why = text;
    return code;
}

/* ---- dispatchers ---- */

const struct ss_flag_choice ss_flag_dispatchers[] = {{"allgather", SS_DISPATCH_ALLGATHER},
                                                     {"alltoall", SS_DISPATCH_ALLTOALL},
                                                     {"alltoall_seq", SS_DISPATCH_ALLTOALL},
                                                     {"flex", SS_DISPATCH_DEEPEP},
                                                     {NULL, 0}};

static void set_dispatcher(struct ss_asked *asked, int dispatcher)
{
    asked->job.moe.dispatcher = (enum ss_dispatcher)dispatcher;
    SS_GIVE(asked, dispatcher);
}

SS_FLAG_CALLED(dispatcher)
{
    for (const struct ss_flag_choice *c = ss_flag_dispatchers; c->name; c++) {
        if (strcmp(values[0], c->name) != 0)
            continue;
        asked->dispatcher_flex = c->value == SS_DISPATCH_DEEPEP;
        set_dispatcher(asked,
                       asked->dispatcher_flex && asked->flex_backend >= 0 ? asked->flex_backend : c->value);
        return SS_OK;
    }
    if (!strcmp(values[0], "deepep") || !strcmp(values[0], "hybridep"))
        return refuse(why, SS_ERR_INPUT,
                      "it is a backend of flex: --moe-token-dispatcher-type flex "
                      "--moe-flex-dispatcher-backend deepep or hybridep");
    return refuse(why, SS_ERR_INPUT, "it is allgather, alltoall, alltoall_seq or flex");
}

const struct ss_flag_choice ss_flag_backends[] = {
    {"deepep", SS_DISPATCH_DEEPEP}, {"hybridep", SS_DISPATCH_HYBRIDEP}, {NULL, 0}};

static void set_backend(struct ss_asked *asked, int backend)
{
    asked->flex_backend = backend;
    if (asked->dispatcher_flex)
        set_dispatcher(asked, backend);
}

SS_FLAG_CALLED(backend)
{
    for (const struct ss_flag_choice *c = ss_flag_backends; c->name; c++)
        if (!strcmp(values[0], c->name)) {
            set_backend(asked, c->value);
            return SS_OK;
        }
    if (!strcmp(values[0], "ncclep"))
        return refuse(why, SS_ERR_UNSUPPORTED, "that backend is not modelled: take deepep or hybridep");
    return refuse(why, SS_ERR_INPUT, "it is deepep or hybridep");
}

SS_FLAG_CALLED(enable_deepep)
{
    set_backend(asked, SS_DISPATCH_DEEPEP);
    asked->enable_deepep = 1;
    return SS_OK;
}

/* ---- router and load ---- */

const struct ss_flag_choice ss_flag_balancings[] = {{"aux_loss", 0},
                                                    {"seq_aux_loss", 0},
                                                    {"global_aux_loss", 0},
                                                    {"none", 0},
                                                    /* MindSpeed-LLM's */
                                                    {"pai_megatron_aux_loss", 0},
                                                    {"softmax_topk", 0},
                                                    {"sparsemixer_topk", 0},
                                                    {NULL, 0}};

static int is_choice(const struct ss_flag_choice *c, const char *word)
{
    while (c->name && strcmp(c->name, word) != 0)
        c++;
    return c->name != NULL;
}

SS_FLAG_CALLED(balancing)
{
    for (int i = 0; i < n; i++) {
        if (!strcmp(values[i], "sinkhorn"))
            return refuse(why, SS_ERR_UNSUPPORTED, "the steps of sinkhorn are not modelled: take aux_loss");
        if (!is_choice(ss_flag_balancings, values[i]))
            return refuse(why, SS_ERR_INPUT,
                          "it is aux_loss, seq_aux_loss, global_aux_loss, sinkhorn or none");
    }
    return SS_OK;
}

SS_FLAG_CALLED(capacity)
{
    double factor;

    if (ss_parse_double(values[0], &factor) || !(fabs(factor) <= 1e6) || factor == 0)
        return refuse(why, SS_ERR_INPUT, "it is a number above 0, or below 0 for no limit");
    asked->job.moe.capacity_factor = factor > 0 ? factor : 0;
    return SS_OK;
}

SS_FLAG_CALLED(force_balancing)
{
    asked->job.moe.load = SS_LOAD_UNIFORM;
    return SS_OK;
}

SS_FLAG_CALLED(force_biased)
{
    double sigma;

    if (ss_parse_double(values[0], &sigma) || !(fabs(sigma) <= 100))
        return refuse(why, SS_ERR_INPUT,
                      "it is a standard deviation of at most 100, below 0 where it is drawn once");
    asked->job.moe.load = SS_LOAD_BIASED;
    asked->job.moe.load_exponent = fabs(sigma);
    return SS_OK;
}

/* biased:SIGMA and zipf:EXPONENT */
static int read_drawn(const char *text, const char *name, double high, double *out)
{
    size_t n = strlen(name);

    return strncmp(text, name, n) || text[n] != ':' || ss_parse_double(text + n + 1, out) ||
           !(*out >= 0 && *out <= high);
}

static int is_workload(const char *text)
{
#define X(sym, name) name,
    static const char *const names[] = { SS_MOE_WORKLOAD_LIST(X) };
#undef X

    for (size_t i = 0; i < SS_ARRAY_LEN(names); i++)
        if (!strcmp(text, names[i]))
            return 1;
    return 0;
}

SS_FLAG_CALLED(load)
{
    const char *text = values[0];
    double v = 0;
    int kind;

    if (!strcmp(text, "balanced") || !strcmp(text, "uniform"))
        kind = text[0] == 'b' ? SS_LOAD_BALANCED : SS_LOAD_UNIFORM;
    else if (!read_drawn(text, "biased", 100, &v))
        kind = SS_LOAD_BIASED;
    else if (!read_drawn(text, "zipf", 100, &v))
        kind = SS_LOAD_ZIPF;
    else if (!strncmp(text, "biased", 6) || !strncmp(text, "zipf", 4))
        return refuse(why, SS_ERR_INPUT, "it is biased:SIGMA or zipf:EXPONENT, with a number in 0..100");
    else
        kind = is_workload(text) ? SS_LOAD_WORKLOAD : SS_LOAD_FILE;
    if (!text[0] || strlen(text) >= sizeof asked->job.moe.load_source)
        return refuse(why, SS_ERR_INPUT, text[0] ? "the value is too long" : "the value is empty");
    memset(asked->job.moe.load_source, 0, sizeof asked->job.moe.load_source);
    if (kind >= SS_LOAD_FILE)
        ss_copy(asked->job.moe.load_source, sizeof asked->job.moe.load_source, text);
    asked->job.moe.load = (enum ss_moe_load)kind;
    asked->job.moe.load_exponent = v;
    return SS_OK;
}

/* ---- multi-token prediction ---- */

SS_FLAG_CALLED(mtp)
{
    int64_t layers;

    if (ss_parse_i64(values[0], 0, 1000, &layers))
        return refuse(why, SS_ERR_INPUT, "it is a whole number in 0..1000");
    asked->job.model.mtp_num_layers = (int)layers;
    asked->mtp_given = 1;
    return SS_OK;
}

/* ---- attention ---- */

/* Tokens before and behind a query; -1 is all. Attention is causal: none behind. */
SS_FLAG_CALLED(window)
{
    char text[64], *comma;
    int64_t left, right;

    ss_copy(text, sizeof text, values[0][0] == '(' ? values[0] + 1 : values[0]);
    text[strcspn(text, ")")] = '\0';
    comma = strchr(text, ',');
    if (comma)
        *comma++ = '\0';
    while (comma && *comma == ' ')
        comma++;
    if (!comma || ss_parse_i64(text, -1, 1 << 26, &left) || ss_parse_i64(comma, -1, 1 << 26, &right))
        return refuse(why, SS_ERR_INPUT, "it is the tokens before and behind a query, as 128,0; -1: all");
    asked->window_given = 1;
    asked->job.model.sliding_window = left < 0 ? 0 : (int)left + 1;
    return SS_OK;
}

/* ---- recompute and offload ---- */

#define NONE_OF "it is none of"
#define WORD(symbol, word) " " word

/* The place of each value among the words behind NONE_OF, a bit each. */
static int read_set(const char *none_of, int n, char *const *values, unsigned *out, const char **why)
{
    *out = 0;
    for (int i = 0; i < n; i++) {
        const char *p = none_of + sizeof NONE_OF;
        size_t length = strlen(values[i]);
        int bit = 0;
        while (*p && (strcspn(p, " ") != length || strncmp(p, values[i], length) != 0)) {
            p += strcspn(p, " ");
            p += *p == ' ';
            bit++;
        }
        if (!*p)
            return refuse(why, SS_ERR_INPUT, none_of);
        *out |= 1u << bit;
    }
    return SS_OK;
}

/* The words are in the order of enum ss_graph_word. */
SS_FLAG_CALLED(cuda_graph_scope)
{
    unsigned words;

    SS_TRY(read_set(NONE_OF " full full_iteration attn mlp moe moe_router moe_preprocess mamba", n, values,
                    &words, why));
    asked->graph_words = words;
    asked->job.graphs.scope =
        (words & SS_GRAPH_WORD_ATTN ? SS_GRAPH_ATTN : 0u) |
        (words & SS_GRAPH_WORD_MAMBA ? SS_GRAPH_MAMBA : 0u) |
        (words & (SS_GRAPH_WORD_MLP | SS_GRAPH_WORD_MOE) ? SS_GRAPH_MLP : 0u) |
        (words & (SS_GRAPH_WORD_MOE | SS_GRAPH_WORD_ROUTER | SS_GRAPH_WORD_PREPROCESS) ? SS_GRAPH_ROUTER
                                                                                       : 0u) |
        (words & SS_GRAPH_WORD_PREPROCESS ? SS_GRAPH_PREPROCESS : 0u);
    asked->graph_scope_given = 1;
    return SS_OK;
}

SS_FLAG_CALLED(recompute_modules)
{
    unsigned modules;

    SS_TRY(read_set(NONE_OF SS_RECOMPUTE_MODULE_LIST(WORD), n, values, &modules, why));
    if (asked->moe_recompute) /* which stays, as in Megatron */
        modules |= SS_MODULE_BIT(SS_MODULE_MOE);
    asked->job.recompute.modules = modules;
    asked->modules_given = 1;
    return SS_OK;
}

SS_FLAG_CALLED(moe_recompute)
{
    asked->job.recompute.granularity = SS_RECOMPUTE_SELECTIVE;
    asked->recompute_short = 0;
    asked->moe_recompute = 1;
    asked->job.recompute.modules &= ~SS_MODULE_BIT(SS_MODULE_OPERATORS);
    asked->job.recompute.modules |= SS_MODULE_BIT(SS_MODULE_MOE);
    return SS_OK;
}

SS_FLAG_CALLED(offload_modules)
{
    unsigned modules;
    int rc = read_set(NONE_OF SS_OFFLOAD_MODULE_LIST(WORD), n, values, &modules, why);

    if (!rc)
        asked->job.offload.modules = modules;
    return rc;
}

/* ---- optimizer and kernels ---- */

SS_FLAG_CALLED(muon_coefficients)
{
    if (!strcmp(values[0], "cubic5"))
        return refuse(why, SS_ERR_UNSUPPORTED, "steps of two products are not modelled: take quintic");
    if (ss_has_word("simple quintic polar_express cans aol deepseekv4", values[0]))
        return SS_OK;
    return refuse(why, SS_ERR_INPUT, "it is simple, quintic, polar_express, cans, aol, deepseekv4 or cubic5");
}
