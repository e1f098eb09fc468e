/* SPDX-License-Identifier: Apache-2.0 */
/* The inputs of a prediction: the words and files to run it again, and what they came to. */
#include <string.h>

#include "base/base.h"
#include "job/asked.h"
#include "job/flags.h"
#include "model/model_internal.h"
#include "report/common.h"
#include "stepsim/parameters.h"

static void parallel_fields(json_t *o, const struct ss_plan *plan)
{
    const struct ss_job *job = plan->job;

    ss_json_integer(o, "world_size", plan->world_size);
    ss_json_integer(o, "tp", job->tp);
    ss_json_integer(o, "pp", job->pp);
    ss_json_integer(o, "cp", job->cp);
    ss_json_integer(o, "ep", job->ep);
    ss_json_integer(o, "dp", plan->dp);
    ss_json_integer(o, "chunks", plan->schedule->chunks);
    ss_json_integer(o, "layers_per_virtual_stage", job->layers_per_virtual_stage);
    ss_json_integer(o, "microbatch_group_size", job->microbatch_group_size);
    ss_json_integer(o, "first_stage_layers", job->first_stage_layers);
    ss_json_integer(o, "last_stage_layers", job->last_stage_layers);
    ss_json_flag(o, "account_for_embedding", job->account_for_embedding);
    ss_json_flag(o, "account_for_loss", job->account_for_loss);
    ss_json_text(o, "rank_order", job->rank_order);
    ss_json_text(o, "schedule", plan->schedule->name);
    ss_json_integer(o, "micro_batch", job->micro_batch);
    ss_json_integer(o, "global_batch", job->global_batch);
    ss_json_integer(o, "microbatches", plan->microbatches);
    ss_json_integer(o, "seq_length", job->seq_length);
    ss_json_flag(o, "sequence_parallel", job->sequence_parallel);
    ss_json_flag(o, "tp_comm_overlap", job->tp_comm_overlap);
    ss_json_text(o, "cp_comm_type", ss_job_word("--cp-comm-type", job->cp_comm_type));
}

static json_t *job_object(const struct ss_plan *plan)
{
    char nodes[512];
    const struct ss_job *job = plan->job;
    json_t *o = json_object();

    parallel_fields(o, plan);
    ss_json_text(o, "precision", ss_precision_name(job->precision));
    if (ss_precision_is_quantized(job->precision)) {
        ss_json_text(o, "fp8_base", ss_precision_name(job->stored));
        ss_json_flag(o, "fp8_param_gather", job->fp8_param_gather);
    }
    ss_json_text(o, "attention", ss_job_word("--attention-backend", job->attention));
    ss_json_number(o, "attention_dropout", job->attention_dropout);
    ss_json_number(o, "hidden_dropout", job->hidden_dropout);
    ss_json_text(o, "recompute", ss_job_word("--recompute", job->recompute.granularity));
    ss_json_text(o, "recompute_method", ss_job_word("--recompute-method", job->recompute.method));
    ss_json_integer(o, "recompute_num_layers", job->recompute.num_layers);
    ss_json_flag(o, "distributed_optimizer", job->dp.distributed_optimizer);
    ss_json_flag(o, "fsdp", job->dp.fsdp);
    ss_json_flag(o, "fsdp_hybrid", job->dp.fsdp_hybrid);
    ss_json_text(o, "sharding", ss_job_word("--data-parallel-sharding-strategy", job->dp.sharding));
    ss_json_text(o, "outer_sharding",
                 ss_job_word("--data-parallel-sharding-strategy", job->dp.outer_sharding));
    ss_json_flag(o, "overlap_grad_reduce", job->dp.overlap_grad_reduce);
    ss_json_flag(o, "overlap_param_gather", job->dp.overlap_param_gather);
    ss_json_flag(o, "overlap_p2p", plan->schedule->p2p == SS_P2P_OVERLAPPED);
    ss_json_flag(o, "grad_reduce_fp32", job->dp.grad_reduce_fp32);
    ss_json_number(o, "bucket_size", job->dp.bucket_size);
    ss_json_integer(o, "cpu_offload_layers", job->offload.layers);
    ss_json_flag(o, "cpu_offload_activations", job->offload.activations);
    ss_json_flag(o, "cpu_offload_weights", job->offload.weights);
    ss_json_number(o, "optimizer_offload", job->offload.optimizer);
    ss_json_flag(o, "check_for_nan", job->optimizer.check_for_nan);
    ss_json_flag(o, "clip_grad", job->optimizer.clip_grad);
    ss_json_integer(o, "failed_nodes", job->nfailed);
    ss_job_nodes_text(job, ss_job_named_nodes(job, NULL), nodes, sizeof nodes);
    ss_json_text(o, "on_nodes", nodes);
    ss_json_integer(o, "padded_vocab_size", plan->padded_vocab);
    ss_json_integer(o, "parameters", (int64_t)plan->parameters);
    ss_json_integer(o, "active_parameters",
                    (int64_t)ss_model_active_parameters(&job->model, plan->padded_vocab));
    return o;
}

static json_t *stack_object(const struct ss_stack *s)
{
    json_t *o = json_object();

    ss_json_text(o, "name", s->name);
    ss_json_text(o, "framework", ss_prop_word(SS_PROP_framework, s->framework));
    ss_json_text(o, "attention_auto", ss_prop_word(SS_PROP_attention_auto, s->attention_auto));
    ss_json_text(o, "timers", ss_prop_word(SS_PROP_timers, s->timers));
    ss_json_text(o, "memory_logged", ss_prop_word(SS_PROP_memory_logged, s->memory_logged));
    for (int i = SS_PROP_PLATFORM_COUNT; i < SS_PROP_COUNT; i++)
        if (!ss_prop_at(i)->is_word)
            ss_json_number(o, ss_prop_key(i), ss_prop_get(i, s));
    return o;
}

/* ---- what was asked for ---- */

static json_t *words_of(const struct ss_request *r, int place)
{
    json_t *words = json_array();

    for (size_t i = 0; i < r->n; i++)
        if (r->word[i].place == place)
            ss_json_append(words, ss_json_string(r->word[i].text));
    return words;
}

/* Places that hold words, in the order in which they apply. */
static json_t *request_array(const struct ss_request *r)
{
    json_t *places = json_array();

    for (int p = 0; p < r->nplaces; p++) {
        json_t *words = words_of(r, p), *place;
        if (json_is_array(words) && json_array_size(words) == 0) {
            ss_json_free(words);
            continue;
        }
        place = json_object();
        if (r->place[p].file)
            ss_json_text(place, "file", r->place[p].file);
        ss_json_set(place, "words", words);
        ss_json_append(places, place);
    }
    return places;
}

static json_t *how_array(const struct ss_request *how)
{
    json_t *words = json_array();

    for (size_t i = 0; how && i < how->n; i++)
        ss_json_append(words, ss_json_string(how->word[i].text));
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
static json_t *files_array(const struct ss_report_options *opt)
{
    json_t *files = json_array();

    for (size_t i = 0; opt->files && i < opt->files->n; i++) {
        const char *path = opt->files->path[i], *rest;
        char hash[17];
        struct ss_error why = {0};
        if (is_place(opt->request, path))
            continue;
        if (ss_file_hash(path, hash, &why)) { /* "-" and pipes are gone */
            if (why.code == SS_ERR_NOMEM)
                ss_json_append(files, NULL);
            continue;
        }
        json_t *file = json_object();
        if (ss_data_relative(path, &rest))
            ss_json_text(file, "data", rest);
        else
            ss_json_text(file, "file", path);
        ss_json_text(file, "fnv1a", hash);
        ss_json_append(files, file);
    }
    return files;
}

/* ---- the flags as they were resolved ---- */

/* Whether an earlier row says the same of the same field. */
static int is_told(const struct ss_flag_setter *s)
{
    for (const struct ss_flag_setter *t = ss_flag_setters; t != s; t++)
        if (t->offset == s->offset && (t->kind == SS_FLAG_SET) == (s->kind == SS_FLAG_SET) &&
            t->kind < SS_FLAG_CALL && (s->kind != SS_FLAG_SET || t->low == s->low))
            return 1;
    return 0;
}

static void add_choice(json_t *o, const char *key, const struct ss_flag_choice *choices, int value)
{
    for (const struct ss_flag_choice *c = choices; c->name; c++)
        if (c->value == value) {
            ss_json_text(o, key, c->name);
            return;
        }
    ss_json_set(o, key, json_null());
}

/* `asked`: what the flags say that is gone in the job. */
static void add_flag(json_t *o, const struct ss_flag_setter *s, const struct ss_job *job,
                     const struct ss_asked *asked)
{
    const void *at =
        s->offset < sizeof *job ? (const char *)job + s->offset : (const char *)asked + s->offset;
    char key[96];

    ss_copy(key, sizeof key, s->name + 2);
    for (char *c = key; *c; c++)
        *c = *c == '-' ? '_' : *c;
    switch ((enum ss_flag_kind)s->kind) {
    case SS_FLAG_SET: ss_json_flag(o, key, *(const int *)at == (int)s->low); break;
    case SS_FLAG_INT: ss_json_integer(o, key, *(const int *)at); break;
    case SS_FLAG_DOUBLE: ss_json_number(o, key, *(const double *)at); break;
    case SS_FLAG_TEXT: ss_json_text(o, key, at); break;
    case SS_FLAG_CHOICE: add_choice(o, key, s->choices, *(const int *)at); break;
    default: break; /* its words are in the request */
    }
}

enum { FIELD_INT, FIELD_REAL, FIELD_TEXT };
#define KIND(field)                                                                                          \
    _Generic((field), double : FIELD_REAL, const char *: FIELD_TEXT, char * : FIELD_TEXT, default : FIELD_INT)

static void add_field(json_t *o, const char *key, int kind, const void *at)
{
    if (!key)
        return;
    switch (kind) {
    case FIELD_INT: ss_json_integer(o, key, *(const int *)at); break;
    case FIELD_REAL: ss_json_number(o, key, *(const double *)at); break;
    default: ss_json_text(o, key, at);
    }
}

/* Fields that no flag stores as it is given. */
static void add_fields(json_t *o, const struct ss_job *job, const struct ss_asked *asked)
{
#define SS_FIELD(type, field, unset, key) add_field(o, key, KIND(job->field), &job->field);
#define SS_MEMBER(group, type, field, unset, key) SS_FIELD(type, group.field, unset, key)
#define SS_ASKED(type, field, unset, key) add_field(o, key, KIND(asked->field), &asked->field);
#include "stepsim/job_fields.def"
    ss_json_integer(o, "fp8_base", job->stored == SS_FP32 ? -1 : (int)job->stored);
}

/* Values in a row as Megatron writes them, [0]*3+[1]*58: short where they repeat. */
struct runs {
    char text[16 * SS_LAYER_RULE_MAX];
    size_t used;
    int value, count;
};

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

static void add_runs(json_t *o, const char *key, struct runs *r)
{
    end_run(r);
    ss_json_text(o, key, r->text);
}

static void add_rule(json_t *o, const char *key, const struct ss_layer_rule *rule)
{
    struct runs runs = {.used = 0};
    int regular = rule->period || rule->first || rule->phase;

    for (int layer = 0; layer < rule->n; layer++)
        add_value(&runs, (int)(rule->bits[layer / 64] >> layer % 64 & 1));
    end_run(&runs);
    if (regular && runs.used < sizeof runs.text)
        snprintf(runs.text + runs.used, sizeof runs.text - runs.used, "%severy %d from %d phase %d",
                 runs.used ? ", else " : "", rule->period, rule->first, rule->phase);
    ss_json_text(o, key, regular || rule->n > 0 ? runs.text : "none");
}

static void add_layout(json_t *o, const struct ss_pipeline_layout *layout)
{
    struct runs runs = {.used = 0};

    for (int stage = 0; stage < layout->n; stage++)
        add_value(&runs, layout->layers[stage]);
    add_runs(o, "layout", &runs);
}

/* ---- fields of the model ---- */

/* Word i of "none learned rope alibi". */
static void add_word(json_t *o, const char *key, const char *words, int i)
{
    while (i-- > 0)
        words += strcspn(words, " ") + 1;
    ss_json_set(o, key, json_stringn(words, strcspn(words, " ")));
}

static void add_integer(json_t *o, const char *key, const struct ss_model_field *f, int value)
{
    switch (f->told) {
    case SS_TOLD_NUMBER: ss_json_integer(o, key, value); break;
    case SS_TOLD_FLAG: ss_json_flag(o, key, value); break;
    case SS_TOLD_WORD: add_word(o, key, f->words, value); break;
    case SS_TOLD_CONFIG: ss_json_number(o, key, value); break;
    }
}

/* The fields that are told beside the flags, or the others. */
static void add_model(json_t *o, const char *prefix, const struct ss_model *m, int beside_flags)
{
    for (const struct ss_model_field *f = ss_model_fields; f < ss_model_fields + SS_MODEL_FIELDS; f++) {
        const void *at = (const char *)m + f->offset;
        char key[64];
        if (beside_flags != (f->told == SS_TOLD_CONFIG))
            continue;
        snprintf(key, sizeof key, "%s%s", prefix, f->name);
        switch (f->kind) {
        case SS_MODEL_IS_NEED:
        case SS_MODEL_IS_SIZE:
        case SS_MODEL_IS_CHOICE:
        case SS_MODEL_IS_MARK: add_integer(o, key, f, *(const int *)at); break;
        case SS_MODEL_IS_SHARE:
        case SS_MODEL_IS_RATE: ss_json_number(o, key, *(const double *)at); break;
        case SS_MODEL_IS_LAYERS: add_rule(o, key, at); break;
        case SS_MODEL_IS_TEXT: ss_json_text(o, key, at); break;
        }
    }
}

static json_t *flags_object(const struct ss_job *job, const struct ss_asked *asked)
{
    json_t *o = json_object();

    add_fields(o, job, asked);
    add_model(o, "config_", &job->model, 1);
    ss_json_integer(o, "mtp_num_layers", job->model.mtp_num_layers);
    add_layout(o, &job->layout);
    for (const struct ss_flag_setter *s = ss_flag_setters; s->name; s++)
        if (s->kind < SS_FLAG_CALL && !is_told(s))
            add_flag(o, s, job, asked);
    return o;
}

static void add_notes(json_t *o, const char *key, const struct ss_notes *notes)
{
    if (notes->n)
        ss_json_set(o, key, ss_json_notes(notes));
}

json_t *ss_json_inputs(const struct ss_plan *plan, const struct ss_report_options *opt)
{
    json_t *o = json_object(), *model = json_object();
    const struct ss_request *request = opt ? opt->request : NULL;
    struct ss_asked asked;
    int rc = request ? ss_asked_read(&asked, request, NULL) : SS_OK;

    if (!request)
        ss_asked_init(&asked);
    if (request) {
        ss_json_set(o, "request", request_array(request));
        ss_json_set(o, "how", how_array(opt->how));
        ss_json_set(o, "files", files_array(opt));
        add_notes(o, "notes", &request->notes);
        add_notes(o, "ignored", &request->ignored);
    }
    ss_json_set(o, "job", job_object(plan));
    ss_json_set(o, "flags", rc == SS_ERR_NOMEM ? NULL : flags_object(plan->job, &asked));
    add_model(model, "", &plan->job->model, 0);
    ss_json_set(o, "model", model);
    ss_json_set(o, "stack", stack_object(plan->stack));
    ss_json_set(o, "platform", ss_json_platform(plan->platform));
    return o;
}
