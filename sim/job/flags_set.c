/* SPDX-License-Identifier: Apache-2.0 */
#include "job/flags_set.h"

#include "base/base.h"
#include "stepsim/params.h"

static int bad(const char **why, const char *text)
{
    *why = text;
    return SS_ERR_INPUT;
}

static int unsupported(const char **why, const char *text)
{
    *why = text;
    return SS_ERR_UNSUPPORTED;
}

/* The words of files, and of launch scripts, are put in place before the flags are applied. */
SS_FLAG_CALLED(job)
{
    return bad(why, "only a command line can give it");
}

SS_FLAG_CALLED(measured)
{
    double s;
    const char *what;

    if (ss_unit_parse(values[0], SS_UNIT_TIME, &s, &what))
        return bad(why, what);
    if (!(s > 0 && s <= 1e9))
        return bad(why, "a measured time is above 0 and at most 1e9 s");
    asked->measured_ms = s * 1e3;
    return SS_OK;
}

SS_FLAG_CALLED(measured_memory)
{
    double bytes;
    const char *what;

    if (ss_unit_parse(values[0], SS_UNIT_BYTES, &bytes, &what))
        return bad(why, what);
    if (!(bytes > 0 && bytes <= 1e15))
        return bad(why, "a measured memory is above 0 and at most 1e15 bytes");
    asked->measured_mib = bytes / SS_MIB;
    return SS_OK;
}

/* Reads "3:5" or "3", n characters: numbers up to SS_MAX_GPUS - 1 and `most` with the mark between them.
 * out[1] is -1 where the text has one number. */
static int read_pair(const char *text, size_t n, char mark, int64_t most, int64_t out[2])
{
    char word[32], *second;

    if (n == 0 || n >= sizeof word)
        return -1;
    memcpy(word, text, n);
    word[n] = '\0';
    second = strchr(word, mark);
    if (second)
        *second++ = '\0';
    out[1] = -1;
    return ss_parse_i64(word, 0, SS_MAX_GPUS - 1, &out[0]) ||
           (second && ss_parse_i64(second, 0, most, &out[1]));
}

/* Several of one node leave out one node. */
SS_FLAG_CALLED(failed_gpu)
{
    const char *at = values[0];

    asked->job.nfailed = 0;
    for (size_t len;; at += len + 1) {
        int64_t pair[2];
        int i = 0;
        len = strcspn(at, ",");
        if (read_pair(at, len, ':', SS_MAX_GPUS_PER_NODE - 1, pair))
            return bad(why, "not NODE or NODE:GPU, several with commas between them");
        const struct ss_failed_gpu g = {(int)pair[0], (int)pair[1]};
        while (i < asked->job.nfailed && asked->job.failed[i].node != g.node)
            i++;
        if (i == SS_MAX_FAILED)
            return bad(why, "more than 64 nodes");
        if (i == asked->job.nfailed)
            asked->job.failed[asked->job.nfailed++] = g;
        else if (g.gpu > asked->job.failed[i].gpu)
            asked->job.failed[i].gpu = g.gpu;
        if (!at[len])
            return SS_OK;
    }
}

SS_FLAG_CALLED(on_nodes)
{
    const char *at = values[0];

    asked->job.nranges = 0;
    for (size_t len;; at += len + 1) {
        static const char wrong[] = "not nodes like 0-3,8: from the lower to the higher, each once";
        int64_t pair[2];
        len = strcspn(at, ",");
        if (read_pair(at, len, '-', SS_MAX_GPUS - 1, pair) || (pair[1] >= 0 && pair[1] < pair[0]))
            return bad(why, wrong);
        const struct ss_node_range r = {(int)pair[0], (int)(pair[1] < 0 ? pair[0] : pair[1])};
        for (int i = 0; i < asked->job.nranges; i++)
            if (r.first <= asked->job.on_nodes[i].last && asked->job.on_nodes[i].first <= r.last)
                return bad(why, wrong);
        if (asked->job.nranges == SS_MAX_NODE_RANGES)
            return bad(why, "more than 64 ranges");
        asked->job.on_nodes[asked->job.nranges++] = r;
        if (!at[len])
            return SS_OK;
    }
}

/* fp8 is a matter of the GEMMs; --bf16 or --fp16 beside it say how values are stored. */
static void set_storage(struct ss_asked *asked, int precision)
{
    asked->job.stored = precision;
    if (!ss_precision_is_quantized(asked->job.precision))
        asked->job.precision = precision;
}

SS_FLAG_CALLED(fp16)
{
    set_storage(asked, SS_FP16);
    return SS_OK;
}

SS_FLAG_CALLED(bf16)
{
    set_storage(asked, SS_BF16);
    return SS_OK;
}

SS_FLAG_CALLED(fp8)
{
    asked->job.precision = SS_FP8;
    return SS_OK;
}

/* A format of a precision, or "none", which takes back that precision alone; 0: it is neither. */
static int set_format(struct ss_job *job, enum ss_precision precision, const char *formats, const char *word)
{
    int none = !strcmp(word, "none"), known = none || ss_has_word(formats, word);
    if (none && job->precision == precision)
        job->precision = job->stored;
    else if (known && !none)
        job->precision = precision;
    return known;
}

SS_FLAG_CALLED(fp8_format)
{
    return set_format(&asked->job, SS_FP8, "hybrid e4m3", values[0]) ? SS_OK
                                                                     : bad(why, "it is hybrid, e4m3 or none");
}

SS_FLAG_CALLED(fp4_format)
{
    return set_format(&asked->job, SS_NVFP4, "e2m1", values[0]) ? SS_OK : bad(why, "it is e2m1 or none");
}

SS_FLAG_CALLED(fp4_recipe)
{
    asked->fp4_recipe_given = 1;
    return strcmp(values[0], "nvfp4") ? bad(why, "it is nvfp4") : SS_OK;
}

SS_FLAG_CALLED(fp4_param_gather)
{
    asked->fp4_param_gather = 1;
    return SS_OK;
}

#define X(symbol, name, bits, rows, peak, efficiency, prologue, recipe, flag) " " name
#define PRECISIONS SS_PRECISION_LIST(X) " mxfp8"

/* mxfp8 is fp8 with a recipe; any other precision drops that recipe. */
SS_FLAG_CALLED(precision)
{
    int recipe, p = ss_precision_find(values[0], &recipe);
    if (p < 0)
        return bad(why, "it is one of" PRECISIONS);
    int of_recipe = recipe != ss_precision_at(p)->recipe;
    if (of_recipe || asked->precision_mxfp8)
        asked->job.fp8_recipe = of_recipe ? (enum ss_recipe)recipe : SS_FP8_DELAYED;
    asked->precision_mxfp8 = of_recipe;
    asked->job.precision = p;
    asked->job.stored = ss_precision_is_quantized(p) ? SS_BF16 : (enum ss_precision)p;
    return SS_OK;
}

/* A later word leaves nothing of an earlier one. */
static void set_recompute(struct ss_asked *asked, int recompute)
{
    asked->job.recompute.granularity = recompute;
    asked->recompute_short = asked->checkpoint_activations = 0;
    if (asked->job.recompute.modules & SS_MODULE_BIT(SS_MODULE_OPERATORS))
        asked->job.recompute.modules = 0;
}

SS_FLAG_CALLED(recompute)
{
    int operators = !strcmp(values[0], "op-selective"), full = !strcmp(values[0], "full");

    if (!operators && !full && strcmp(values[0], "none") && strcmp(values[0], "selective"))
        return bad(why, "it is none, selective, op-selective or full");
    set_recompute(asked, full                  ? SS_RECOMPUTE_FULL
                         : values[0][0] == 'n' ? SS_RECOMPUTE_NONE
                                               : SS_RECOMPUTE_SELECTIVE);
    asked->recompute_short = full;
    if (operators) {
        asked->job.recompute.modules = SS_MODULE_BIT(SS_MODULE_OPERATORS);
        asked->modules_given = 0;
    }
    if (!full) {
        asked->job.recompute.method = SS_RECOMPUTE_UNIFORM;
        SS_TAKE_BACK(asked, recompute_method);
        asked->job.recompute.num_layers = 0;
    }
    return SS_OK;
}

SS_FLAG_CALLED(recompute_activations)
{
    set_recompute(asked, SS_RECOMPUTE_SELECTIVE);
    return SS_OK;
}

SS_FLAG_CALLED(recompute_granularity)
{
    if (strcmp(values[0], "selective") && strcmp(values[0], "full"))
        return bad(why, "it is selective or full");
    int full = values[0][0] == 'f', shorter = asked->recompute_short;
    set_recompute(asked, full ? SS_RECOMPUTE_FULL : SS_RECOMPUTE_SELECTIVE);
    asked->recompute_short = full && shorter;
    return SS_OK;
}

SS_FLAG_CALLED(checkpoint_activations)
{
    char full[] = "full";
    char *const words[] = {full};

    int rc = ss_flag_recompute(asked, 1, words, why);
    asked->checkpoint_activations = 1;
    return rc;
}

/* Name of 2021 and 2022: which layers are computed again, all of a layer; without it none is. */
SS_FLAG_CALLED(checkpoint_method)
{
    int block = !strcmp(values[0], "block");

    if (!block && strcmp(values[0], "uniform") != 0)
        return bad(why, "it is uniform or block");
    int rc = ss_flag_checkpoint_activations(asked, n, values, why);
    asked->job.recompute.method = block ? SS_RECOMPUTE_BLOCK : SS_RECOMPUTE_UNIFORM;
    SS_GIVE(asked, recompute_method);
    return rc;
}

SS_FLAG_CALLED(fsdp)
{
    static const struct {
        const char *name;
        int fsdp, sharding, hybrid;
    } words[] = {{"none", 0, SS_SHARD_NONE, 0},
                 {"full", 1, SS_SHARD_OPTIM_GRADS_PARAMS, 0},
                 {"grad", 1, SS_SHARD_OPTIM_GRADS, 0},
                 {"hybrid", 1, SS_SHARD_OPTIM_GRADS_PARAMS, 1}};

    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++) {
        if (strcmp(values[0], words[i].name))
            continue;
        asked->job.dp.fsdp = words[i].fsdp;
        asked->job.dp.fsdp2 = 0;
        asked->job.dp.sharding = words[i].sharding;
        asked->job.dp.fsdp_hybrid = words[i].hybrid;
        return SS_OK;
    }
    return bad(why, "it is full, grad, hybrid or none");
}

SS_FLAG_CALLED(fsdp2)
{
    asked->job.dp.fsdp = asked->job.dp.fsdp2 = 1;
    asked->job.dp.sharding = SS_SHARD_OPTIM_GRADS_PARAMS;
    return SS_OK;
}

SS_FLAG_CALLED(rank_order)
{
    const char *p = values[0];
    int seen = 0;

    while (1) {
        static const char *const axes[] = {"tp", "cp", "ep", "dp", "pp"};
        size_t len = strcspn(p, "-");
        int axis = -1;
        for (int i = 0; i < 5; i++)
            if (len == 2 && !memcmp(p, axes[i], 2))
                axis = i;
        if (axis < 0 || seen & 1 << axis)
            return bad(why, "it is an order of tp, cp, ep, dp and pp, each once, such as tp-cp-ep-dp-pp");
        seen |= 1 << axis;
        if (!p[len])
            break;
        p += len + 1;
    }
    ss_copy(asked->job.rank_order, sizeof(asked->job.rank_order), values[0]);
    return SS_OK;
}

SS_FLAG_CALLED(vp)
{
    int64_t stages;

    if (ss_parse_i64(values[0], 1, 100000, &stages))
        return bad(why, "it is a whole number in 1..100000");
    asked->job.virtual_stages = stages > 1 ? (int)stages : 0;
    asked->job.layers_per_virtual_stage = 0;
    return SS_OK;
}

SS_FLAG_CALLED(tp_pp_dp)
{
    ss_copy(asked->job.rank_order, sizeof(asked->job.rank_order), "tp-pp-dp");
    return SS_OK;
}

const struct ss_flag_choice ss_flag_cp_comms[] = {{"p2p", SS_CP_P2P},
                                                  {"a2a", SS_CP_A2A},
                                                  {"allgather", SS_CP_ALLGATHER},
                                                  {"a2a+p2p", SS_CP_A2A_P2P},
                                                  {NULL, 0}};

SS_FLAG_CALLED(cp_comm)
{
    const char *word = strcmp(values[0], "all_gather") ? values[0] : "allgather";

    for (int i = 1; i < n; i++)
        if (strcmp(values[i], values[0]))
            return unsupported(why, "a type that differs between layers is not modelled");
    for (const struct ss_flag_choice *c = ss_flag_cp_comms; c->name; c++)
        if (!strcmp(word, c->name)) {
            asked->job.cp_comm_type = (enum ss_cp_comm)c->value;
            SS_GIVE(asked, cp_comm_type);
            return SS_OK;
        }
    return bad(why, "it is p2p, a2a, allgather or a2a+p2p");
}

SS_FLAG_CALLED(cpu_offloading)
{
    asked->cpu_offloading = 1;
    return SS_OK;
}

/* Offload with a default of its fraction; --optimizer-offload-fraction beats it wherever it stands. */
static void optimizer_on(struct ss_asked *asked, double fraction)
{
    asked->job.offload.optimizer = fmax(asked->job.offload.optimizer, fraction);
}

SS_FLAG_CALLED(optimizer)
{
    asked->dist_muon = !strcmp(values[0], "dist_muon");
    asked->job.optimizer.kind =
        asked->dist_muon || !strcmp(values[0], "muon") ? SS_OPTIMIZER_MUON : SS_OPTIMIZER_ADAM;
    if (asked->job.optimizer.kind == SS_OPTIMIZER_MUON)
        return SS_OK;
    if (!strcmp(values[0], "hybridadam")) {
        optimizer_on(asked, 0.5); /* its own default of the fraction */
        return SS_OK;
    }
    if (!strcmp(values[0], "adam") || !strcmp(values[0], "adamw"))
        return SS_OK;
    return unsupported(why, "only adam, hybridadam, muon and dist_muon are modelled");
}

SS_FLAG_CALLED(optimizer_offload)
{
    optimizer_on(asked, 1);
    return SS_OK;
}

SS_FLAG_CALLED(optimizer_fraction)
{
    double v;

    if (ss_parse_double(values[0], &v) || !(v >= 0 && v <= 1))
        return bad(why, "it is a number in 0..1");
    asked->optimizer_fraction = v;
    return SS_OK;
}

SS_FLAG_CALLED(clip_grad)
{
    double norm;

    if (ss_parse_double(values[0], &norm) || !(norm >= 0 && norm <= 1e15))
        return bad(why, "it is a norm of 0 or more");
    asked->job.optimizer.clip_grad = norm > 0;
    return SS_OK;
}

SS_FLAG_CALLED(quick_geglu)
{
    asked->job.model.gated_mlp = asked->quick_geglu = 1;
    return SS_OK;
}

/* Without its flag the width is 4h, whatever gates it. */
SS_FLAG_CALLED(glu_activation)
{
    if (!ss_has_word("swiglu geglu reglu liglu", values[0]))
        return bad(why, "it is swiglu, geglu, reglu or liglu");
    return ss_flag_quick_geglu(asked, 0, NULL, why);
}

SS_FLAG_CALLED(padded_vocab)
{
    int64_t rows;

    if (ss_parse_i64(values[0], 1, 1 << 26, &rows))
        return bad(why, "it is a whole number in 1..67108864");
    asked->job.model.vocab_size = (int)rows;
    asked->padded_vocab = 1;
    asked->job.model.extra_vocab_size = 0;
    asked->job.vocab_divisible_by = 1;
    return SS_OK;
}

/* The batch as trainers say it that do not know how many GPUs they will have. */
SS_FLAG_CALLED(accumulation)
{
    int64_t steps;

    if (ss_parse_i64(values[0], 1, 1 << 26, &steps))
        return bad(why, "it is a whole number from 1 to 67108864");
    asked->accumulation = (int)steps;
    asked->job.global_batch = 0; /* an earlier word, which this one beats */
    return SS_OK;
}

/* ---- vocabularies that the names of tokenizers tell: tokenizers themselves are not read ---- */

#define GPT2 50257
#define NOT_KNOWN (-1)

SS_FLAG_CALLED(tokenizer)
{
    static const struct {
        const char *name;
        int rows;
    } known[] = {{"GPT2BPETokenizer", GPT2}, {"LLama3Tokenizer", 128256}, {"LLama2Tokenizer", 32000},
                 {"LLamaTokenizer", 32000},  {"Llama2Tokenizer", 32000},  {"Qwen2Tokenizer", 151643},
                 {"MistralTokenizer", 32000}};

    asked->tokenizer_vocab = NOT_KNOWN;
    asked->null_tokenizer = !strcmp(values[0], "NullTokenizer");
    for (size_t i = 0; i < SS_ARRAY_LEN(known); i++)
        if (!strcmp(values[0], known[i].name))
            asked->tokenizer_vocab = known[i].rows;
    return SS_OK;
}

SS_FLAG_CALLED(merge_file)
{
    if (asked->tokenizer_vocab == 0) /* pretrain_gpt.py's own default */
        asked->tokenizer_vocab = GPT2;
    return SS_OK;
}

/* Read when the job is complete, where it turns out that nothing else tells the vocabulary. */
SS_FLAG_CALLED(tokenizer_model)
{
    return SS_OK;
}
