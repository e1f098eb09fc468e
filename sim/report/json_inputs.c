/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a prediction: the words and files to run it again, and what they came to. */
#include "job/flags.h"
#include "model/model_internal.h"
#include "report/common.h"
#include "stepsim/parameters.h"

static void parallel_fields(struct ss_json *o, const struct ss_plan *plan)
{
    const struct ss_job *job = plan->job;

    SS_PUT(o, SS_SAME(plan, world_size), SS_SAME(job, tp), SS_SAME(job, pp), SS_SAME(job, cp),
           SS_SAME(job, ep), SS_SAME(plan, dp), SS_SAME(plan->schedule, chunks),
           SS_SAME(job, layers_per_virtual_stage), SS_SAME(job, microbatch_group_size),
           SS_SAME(job, first_stage_layers), SS_SAME(job, last_stage_layers),
           SS_TRUTH(job, account_for_embedding), SS_TRUTH(job, account_for_loss), SS_SAME(job, rank_order),
           SS_KEY("schedule", plan->schedule->name), SS_SAME(job, micro_batch), SS_SAME(job, global_batch),
           SS_SAME(plan, microbatches), SS_SAME(job, seq_length), SS_TRUTH(job, sequence_parallel),
           SS_TRUTH(job, tp_comm_overlap),
           SS_KEY("cp_comm_type", ss_job_word("--cp-comm-type", job->cp_comm_type)));
}

static struct ss_json *job_object(const struct ss_plan *plan)
{
    char nodes[512];
    const struct ss_job *job = plan->job;
    const int quantized = ss_precision_is_quantized(job->precision);
    struct ss_json *o = ss_json_begin_object();

    parallel_fields(o, plan);
    SS_PUT(o, SS_KEY("precision", ss_precision_name(job->precision)),
           SS_KEY_IF(quantized, "fp8_base", ss_precision_name(job->stored)),
           SS_KEY_IF(quantized, "fp8_param_gather", (bool)job->fp8_param_gather),
           SS_KEY("attention", ss_job_word("--attention-backend", job->attention)),
           SS_SAME(job, attention_dropout), SS_SAME(job, hidden_dropout),
           SS_KEY("recompute", ss_job_word("--recompute", job->recompute.granularity)),
           SS_KEY("recompute_method", ss_job_word("--recompute-method", job->recompute.method)),
           SS_KEY("recompute_num_layers", job->recompute.num_layers),
           SS_TRUTH(&job->dp, distributed_optimizer), SS_TRUTH(&job->dp, fsdp),
           SS_TRUTH(&job->dp, fsdp_hybrid),
           SS_KEY("sharding", ss_job_word("--data-parallel-sharding-strategy", job->dp.sharding)),
           SS_KEY("outer_sharding", ss_job_word("--data-parallel-sharding-strategy", job->dp.outer_sharding)),
           SS_TRUTH(&job->dp, overlap_grad_reduce), SS_TRUTH(&job->dp, overlap_param_gather),
           SS_KEY("overlap_p2p", (bool)(plan->schedule->p2p == SS_P2P_OVERLAPPED)),
           SS_TRUTH(&job->dp, grad_reduce_fp32), SS_SAME(&job->dp, bucket_size),
           SS_KEY("cpu_offload_layers", job->offload.layers),
           SS_KEY("cpu_offload_activations", (bool)job->offload.activations),
           SS_KEY("cpu_offload_weights", (bool)job->offload.weights),
           SS_KEY("optimizer_offload", job->offload.optimizer), SS_TRUTH(&job->optimizer, check_for_nan),
           SS_TRUTH(&job->optimizer, clip_grad), SS_KEY("failed_nodes", job->nfailed));
    ss_job_nodes_text(job, ss_job_named_nodes(job, NULL), nodes, sizeof nodes);
    SS_PUT(o, SS_KEY("on_nodes", nodes), SS_KEY("padded_vocab_size", plan->padded_vocab),
           SS_KEY("parameters", (int64_t)plan->parameters),
           SS_KEY("active_parameters", (int64_t)ss_model_active_parameters(&job->model, plan->padded_vocab)));
    return o;
}

static struct ss_json *stack_object(const void *of)
{
    const struct ss_stack *s = of;
    struct ss_json *o =
        SS_OBJECT(SS_SAME(s, name), SS_KEY("framework", ss_prop_word(SS_PROP_framework, s->framework)),
                  SS_KEY("attention_auto", ss_prop_word(SS_PROP_attention_auto, s->attention_auto)),
                  SS_KEY("timers", ss_prop_word(SS_PROP_timers, s->timers)),
                  SS_KEY("memory_logged", ss_prop_word(SS_PROP_memory_logged, s->memory_logged)));

    for (int i = SS_PROP_PLATFORM_COUNT; i < SS_PROP_COUNT; i++)
        if (!ss_prop_at(i)->is_word)
            SS_PUT(o, SS_KEY(ss_prop_key(i), ss_prop_get(i, s)));
    return o;
}

/* ---- what was asked for ---- */

static struct ss_json *words_of(const struct ss_request *r, int place)
{
    struct ss_json *words = ss_json_begin_list();

    for (size_t i = 0; i < r->n; i++)
        if (r->word[i].place == place)
            SS_ITEM(words, r->word[i].text);
    return words;
}

static bool has_words(const struct ss_request *r, int place)
{
    size_t i = 0;

    while (i < r->n && r->word[i].place != place)
        i++;
    return i < r->n;
}

/* Places that hold words, in the order in which they apply. */
static struct ss_json *request_array(const struct ss_request *r)
{
    struct ss_json *places = ss_json_begin_list();

    for (int p = 0; p < r->nplaces; p++) {
        if (!has_words(r, p))
            continue;
        SS_ITEM(places, SS_OBJECT(SS_KEY_IF(r->place[p].file, "file", r->place[p].file),
                                  SS_KEY_IF(r->place[p].program, "program", (bool)true),
                                  SS_KEY_IF(r->place[p].whence, "whence", r->place[p].whence),
                                  SS_KEY("words", words_of(r, p))));
    }
    return places;
}

static struct ss_json *how_array(const struct ss_request *how)
{
    struct ss_json *words = ss_json_begin_list();

    for (size_t i = 0; how && i < how->n; i++)
        SS_ITEM(words, how->word[i].text);
    return words;
}

static int is_place(const struct ss_request *r, const char *path)
{
    for (int p = 0; p < r->nplaces; p++)
        if (r->place[p].file && !strcmp(r->place[p].file, path))
            return 1;
    return 0;
}

/* Files with the hash of their bytes; those that came with the program by their place below its data. */
static struct ss_json *files_array(const struct ss_report_options *opt)
{
    struct ss_json *files = ss_json_begin_list();

    for (size_t i = 0; opt->files && i < opt->files->n; i++) {
        const char *path = opt->files->path[i], *rest;
        char hash[17];
        struct ss_error why = {0};
        if (is_place(opt->request, path))
            continue;
        if (ss_cache_file_hash(opt->cache, path, hash, &why)) { /* "-" and pipes are gone */
            if (why.code == SS_ERR_NOMEM)
                SS_ITEM(files, SS_NO_CELL);
            continue;
        }
        const bool data = ss_data_relative(path, &rest);
        SS_ITEM(files, SS_OBJECT(SS_KEY(data ? "data" : "file", data ? rest : path), SS_KEY("fnv1a", hash)));
    }
    return files;
}

/* ---- the flags as they were resolved ---- */

/* Bits of the fields, by their offsets, that a row has said something of. */
#define FIELDS (sizeof(struct ss_asked) / 8 + 1)
struct told {
    unsigned char set[FIELDS], other[FIELDS];
};

/* Whether an earlier row says the same of the same field; notes that this one does. Rows that set a field may set it to other numbers. */
static bool is_told(struct told *told, const struct ss_flag_setter *s)
{
    unsigned char *of = (s->kind == SS_FLAG_SET ? told->set : told->other) + s->offset / 8;
    const unsigned char bit = (unsigned char)(1u << s->offset % 8);
    bool before = *of & bit;

    *of |= bit;
    if (!before || s->kind != SS_FLAG_SET)
        return before;
    const struct ss_flag_setter *t = ss_flag_setters;
    while (t->offset != s->offset || t->kind != SS_FLAG_SET || t->low != s->low)
        t++;
    return t != s;
}

static void add_choice(struct ss_json *o, const char *key, const struct ss_flag_choice *choices, int value)
{
    for (const struct ss_flag_choice *c = choices; c->name; c++)
        if (c->value == value) {
            SS_PUT(o, SS_KEY(key, c->name));
            return;
        }
    SS_PUT(o, SS_KEY(key, ss_json_null()));
}

/* `asked`: what the flags say that is gone in the job. */
static void add_flag(struct ss_json *o, const struct ss_flag_setter *s, const struct ss_job *job,
                     const struct ss_asked *asked)
{
    const void *at =
        s->offset < sizeof *job ? (const char *)job + s->offset : (const char *)asked + s->offset;
    char key[96];

    ss_copy(key, sizeof key, s->name + 2);
    for (char *c = key; *c; c++)
        *c = *c == '-' ? '_' : *c;
    switch ((enum ss_flag_kind)s->kind) {
    case SS_FLAG_SET: SS_PUT(o, SS_KEY(key, (bool)(*(const int *)at == (int)s->low))); break;
    case SS_FLAG_INT: SS_PUT(o, SS_KEY(key, *(const int *)at)); break;
    case SS_FLAG_DOUBLE: SS_PUT(o, SS_KEY(key, *(const double *)at)); break;
    case SS_FLAG_TEXT: SS_PUT(o, SS_KEY(key, (const char *)at)); break;
    case SS_FLAG_CHOICE: add_choice(o, key, s->choices, *(const int *)at); break;
    default: break; /* its words are in the request */
    }
}

enum { FIELD_INT, FIELD_REAL, FIELD_TEXT };
#define KIND(field)                                                                                          \
    _Generic((field), double : FIELD_REAL, const char *: FIELD_TEXT, char * : FIELD_TEXT, default : FIELD_INT)

static void add_field(struct ss_json *o, const char *key, int kind, const void *at)
{
    if (!key)
        return;
    switch (kind) {
    case FIELD_INT: SS_PUT(o, SS_KEY(key, *(const int *)at)); break;
    case FIELD_REAL: SS_PUT(o, SS_KEY(key, *(const double *)at)); break;
    default: SS_PUT(o, SS_KEY(key, (const char *)at));
    }
}

/* Fields that no flag stores as it is given. */
static void add_fields(struct ss_json *o, const struct ss_job *job, const struct ss_asked *asked)
{
#define SS_FIELD(type, field, unset, key) add_field(o, key, KIND(job->field), &job->field);
#define SS_MEMBER(group, type, field, unset, key) SS_FIELD(type, group.field, unset, key)
#define SS_ASKED(type, field, unset, key) add_field(o, key, KIND(asked->field), &asked->field);
#include "stepsim/job_fields.def"
    SS_PUT(o, SS_KEY("fp8_base", job->stored == SS_FP32 ? -1 : (int)job->stored));
}

/* Values in a row as Megatron writes them, [0]*3+[1]*58: short where they repeat. */
struct runs {
    size_t used;
    int value, count;
    char text[16 * SS_LAYER_RULE_MAX];
};

static void begin_runs(struct runs *r) /* leaves the rest of the text as it is, which is long */
{
    r->used = 0;
    r->value = r->count = 0;
    r->text[0] = '\0';
}

static void end_run(struct runs *r)
{
    if (r->count > 0 && r->used < sizeof r->text)
        r->used += (size_t)snprintf(r->text + r->used, sizeof r->text - r->used, "%s[%d]*%d",
                                    r->used ? "+" : "", r->value, r->count);
    r->count = 0;
}

static void add_value(struct runs *r, int value)
{
    if (value != r->value)
        end_run(r);
    r->value = value;
    r->count++;
}

static void add_rule(struct ss_json *o, const char *key, const struct ss_layer_rule *rule)
{
    struct runs runs;
    int regular = rule->period || rule->first || rule->phase;

    begin_runs(&runs);
    for (int layer = 0; layer < rule->n; layer++)
        add_value(&runs, (int)(rule->bits[layer / 64] >> layer % 64 & 1));
    end_run(&runs);
    if (regular && runs.used < sizeof runs.text)
        snprintf(runs.text + runs.used, sizeof runs.text - runs.used, "%severy %d from %d phase %d",
                 runs.used ? ", else " : "", rule->period, rule->first, rule->phase);
    SS_PUT(o, SS_KEY(key, regular || rule->n > 0 ? runs.text : "none"));
}

static void add_layout(struct ss_json *o, const struct ss_pipeline_layout *layout)
{
    struct runs runs;

    begin_runs(&runs);
    for (int stage = 0; stage < layout->n; stage++)
        add_value(&runs, layout->layers[stage]);
    end_run(&runs);
    SS_PUT(o, SS_KEY("layout", runs.text));
}

/* ---- fields of the model ---- */

/* Word i of "none learned rope alibi". */
static void add_word(struct ss_json *o, const char *key, const char *words, int i)
{
    char word[32];

    while (i-- > 0)
        words += strcspn(words, " ") + 1;
    ss_copy(word, sizeof word, words);
    word[strcspn(word, " ")] = '\0';
    SS_PUT(o, SS_KEY(key, word));
}

static void add_integer(struct ss_json *o, const char *key, const struct ss_model_field *f, int value)
{
    switch (f->told) {
    case SS_TOLD_NUMBER: SS_PUT(o, SS_KEY(key, value)); break;
    case SS_TOLD_FLAG: SS_PUT(o, SS_KEY(key, (bool)value)); break;
    case SS_TOLD_WORD: add_word(o, key, f->words, value); break;
    case SS_TOLD_CONFIG: SS_PUT(o, SS_KEY(key, (double)value)); break;
    }
}

static void add_encoder(struct ss_json *o, const char *key, const struct ss_encoder *e)
{
    if (!(e->num_layers > 0))
        return;
    struct ss_json *sizes = ss_json_begin_object();
#define X(field) SS_PUT(sizes, SS_SAME(e, field));
    SS_ENCODER_LIST(X)
#undef X
    SS_PUT(o, SS_KEY(key, sizes));
}

/* The fields that are told beside the flags, or the others. */
static void add_model(struct ss_json *o, const char *prefix, const struct ss_model *m, int beside_flags)
{
    for (const struct ss_model_field *f = ss_model_fields; f < ss_model_fields + SS_MODEL_FIELDS; f++) {
        const void *at = (const char *)m + f->offset;
        char key[64];
        if (beside_flags != (f->told == SS_TOLD_CONFIG))
            continue;
        ss_copy(stpcpy(key, prefix), sizeof key - strlen(prefix), f->name);
        switch (f->kind) {
        case SS_MODEL_IS_NEED:
        case SS_MODEL_IS_SIZE:
        case SS_MODEL_IS_CHOICE:
        case SS_MODEL_IS_MARK: add_integer(o, key, f, *(const int *)at); break;
        case SS_MODEL_IS_SHARE:
        case SS_MODEL_IS_RATE: SS_PUT(o, SS_KEY(key, *(const double *)at)); break;
        case SS_MODEL_IS_LAYERS: add_rule(o, key, at); break;
        case SS_MODEL_IS_TEXT: SS_PUT(o, SS_KEY(key, (const char *)at)); break;
        case SS_MODEL_IS_ENCODER: add_encoder(o, key, at); break;
        }
    }
}

static struct ss_json *flags_object(const struct ss_job *job, const struct ss_asked *asked)
{
    struct ss_json *o = ss_json_begin_object();

    add_fields(o, job, asked);
    add_model(o, "config_", &job->model, 1);
    SS_PUT(o, SS_SAME(&job->model, mtp_num_layers));
    add_layout(o, &job->layout);
    struct told told = {.set = {0}};
    for (const struct ss_flag_setter *s = ss_flag_setters; s->name; s++)
        if (s->kind < SS_FLAG_CALL && !is_told(&told, s))
            add_flag(o, s, job, asked);
    return o;
}

static struct ss_json *model_object(const void *of)
{
    struct ss_json *o = ss_json_begin_object();

    add_model(o, "", of, 0);
    return o;
}

/* The object of a structure whose bytes tell all of it. */
static struct ss_json *keep_bytes(struct ss_cache *cache, struct ss_json *(*object)(const void *of),
                                  const void *of, size_t size)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_JSON);

    ss_cache_mix(&key, (uint64_t)(uintptr_t)object);
    if (cache)
        ss_cache_mix_bytes(&key, of, size);
    return ss_json_keep(cache, key, object, of);
}

struct ss_json *ss_json_inputs(const struct ss_plan *plan, const struct ss_report_options *opt)
{
    struct ss_json *o = ss_json_begin_object();
    struct ss_cache *cache = opt ? opt->cache : NULL;
    const struct ss_request *request = opt ? opt->request : NULL;
    struct ss_asked asked;
    int rc = request ? ss_asked_read(&asked, request, NULL) : SS_OK;

    if (!request)
        ss_asked_init(&asked);
    else
        SS_PUT(o, SS_KEY("request", request_array(request)), SS_KEY("how", how_array(opt->how)),
               SS_KEY("files", files_array(opt)),
               SS_KEY_IF(request->notes.n, "notes", ss_json_notes(&request->notes)),
               SS_KEY_IF(request->ignored.n, "ignored", ss_json_notes(&request->ignored)));
    SS_PUT(o, SS_KEY("job", job_object(plan)),
           SS_KEY("flags", rc == SS_ERR_NOMEM ? (struct ss_json *)NULL : flags_object(plan->job, &asked)),
           SS_KEY("model", keep_bytes(cache, model_object, &plan->job->model, sizeof plan->job->model)),
           SS_KEY("stack", keep_bytes(cache, stack_object, plan->stack, sizeof *plan->stack)),
           SS_KEY("platform", ss_json_platform_kept(plan->platform, cache)));
    return o;
}
