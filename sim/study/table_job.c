/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a table as a job: a request with the words that stand for its columns, then those of its column flags. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "model/model_internal.h"
#include "stepsim/import.h"
#include "study/study_internal.h"

struct flags {
    const struct ss_table *t;
    int row, rc; /* rc: of the words added */
    struct ss_request request;
    struct ss_model named; /* of the model's name, where known */
    bool known;
    bool words; /* they are read: a mistake is one of them */
    struct ss_notes *notes;
    struct ss_error *err;
};

static const char *get(const struct flags *f, const char *column)
{
    return ss_table_get(f->t, f->row, column);
}

static int is(const struct flags *f, const char *column, const char *value)
{
    return !strcmp(get(f, column), value);
}

static void add(struct flags *f, const char *word)
{
    if (!f->rc)
        f->rc = ss_request_add(&f->request, word, ss_table_line(f->t, f->row), f->err);
}

static void add_two(struct flags *f, const char *flag, const char *value)
{
    add(f, flag);
    add(f, value);
}

static int bad(const struct flags *f, const char *column, const char *choices)
{
    ss_fail(f->err, SS_ERR_INPUT, ss_table_file(f->t), ss_table_line(f->t, f->row), "%s cannot be \"%.60s\"",
            column, get(f, column));
    return ss_hint(f->err, SS_ERR_INPUT, "it is one of: %s; or empty", choices);
}

/* Adds the flag (or two words) that stands for the column's word; empty and words without flag add nothing. */
struct choice {
    const char *value, *flag, *second;
};
static int choose(struct flags *f, const char *column, const struct choice *choices, size_t n)
{
    char list[160] = "";
    size_t used = 0;

    if (!get(f, column)[0])
        return SS_OK;
    for (size_t i = 0; i < n; i++) {
        if (is(f, column, choices[i].value)) {
            if (choices[i].flag)
                add(f, choices[i].flag);
            if (choices[i].second)
                add(f, choices[i].second);
            return SS_OK;
        }
        if (used < sizeof list)
            used += (size_t)snprintf(list + used, sizeof list - used, "%s%s", i ? " " : "", choices[i].value);
    }
    return bad(f, column, list);
}

static int yes_no(struct flags *f, const char *column, int *out)
{
    *out = is(f, column, "true") ? 1 : is(f, column, "false") ? 0 : -1;
    return *out >= 0 || !get(f, column)[0] ? SS_OK : bad(f, column, "true false");
}

static int switch_on(struct flags *f, const char *column, const char *flag, const char *second)
{
    int on, rc = yes_no(f, column, &on);

    if (rc || on != 1)
        return rc;
    add(f, flag);
    if (second)
        add(f, second);
    return SS_OK;
}

/* Columns whose values are those of a flag. */
static void add_values(struct flags *f)
{
    static const char *const same[][2] = {
        {"platform", "--platform"},
        {"nodes", "--nodes"},
        {"gpus_per_node", "--gpus-per-node"},
        {"stack", "--stack"},
        {"num_layers", "--num-layers"},
        {"hidden_size", "--hidden-size"},
        {"ffn_hidden_size", "--ffn-hidden-size"},
        {"num_attention_heads", "--num-attention-heads"},
        {"num_query_groups", "--num-query-groups"},
        {"kv_channels", "--kv-channels"},
        {"vocab_size", "--vocab-size"},
        {"tp", "--tp"},
        {"pp", "--pp"},
        {"cp", "--cp"},
        {"ep", "--ep"},
        {"layers_per_virtual_stage", "--num-layers-per-virtual-pipeline-stage"},
        {"first_stage_layers", "--decoder-first-pipeline-num-layers"},
        {"last_stage_layers", "--decoder-last-pipeline-num-layers"},
        {"micro_batch", "--mbs"},
        {"global_batch", "--gbs"},
        {"seq_length", "--seq"},
        {"seq_length", "--max-position-embeddings"},
        {"fsdp", "--fsdp"},
        {"attention", "--attention-backend"},
        {"recompute_num_layers", "--recompute-num-layers"}};

    for (size_t i = 0; i < SS_ARRAY_LEN(same); i++)
        if (get(f, same[i][0])[0])
            add_two(f, same[i][1], get(f, same[i][0]));
}

static int add_choices(struct flags *f)
{
    static const struct choice precision[] = {{"fp32", NULL, NULL},
                                              {"fp16", "--fp16", NULL},
                                              {"bf16", "--bf16", NULL},
                                              {"fp8", "--precision", "fp8"}};
    static const struct choice recompute[] = {{"none", "--recompute", "none"},
                                              {"unknown", "--recompute", "none"},
                                              {"selective", "--recompute", "selective"},
                                              {"full", "--recompute", "full"}};
    static const struct choice optimizer[] = {{"distributed", "--use-distributed-optimizer", NULL},
                                              {"fused_adam", NULL, NULL},
                                              {"adam", NULL, NULL}};
    static const struct choice position[] = {{"rope", "--position-embedding-type", "rope"},
                                             {"learned", "--position-embedding-type", "learned_absolute"},
                                             {"alibi", "--position-embedding-type", "none"},
                                             {"none", "--position-embedding-type", "none"}};
    static const struct choice norm[] = {{"rmsnorm", "--normalization", "RMSNorm"},
                                         {"layernorm", "--normalization", "LayerNorm"}};
    int rc = choose(f, "precision", precision, SS_ARRAY_LEN(precision));

    if (!rc)
        rc = choose(f, "recompute", recompute, SS_ARRAY_LEN(recompute));
    if (!rc)
        rc = choose(f, "optimizer", optimizer, SS_ARRAY_LEN(optimizer));
    if (!rc)
        rc = choose(f, "position", position, SS_ARRAY_LEN(position));
    if (!rc)
        rc = choose(f, "normalization", norm, SS_ARRAY_LEN(norm));
    return rc;
}

/* Activations of layers; an optimizer that is offloaded stands in the column flags. */
static int add_offload(struct flags *f)
{
    if (is(f, "cpu_offload", "true"))
        add_two(f, "--cpu-offloading-num-layers", "1");
    return switch_on(f, "cpu_offload", "--cpu-offloading", NULL);
}

static int add_switches(struct flags *f)
{
    int rc = switch_on(f, "sequence_parallel", "--sequence-parallel", NULL);

    if (!rc)
        rc = switch_on(f, "tp_comm_overlap", "--tp-comm-overlap", NULL);
    if (!rc)
        rc = switch_on(f, "grad_param_overlap", "--overlap-grad-reduce", "--overlap-param-gather");
    return rc ? rc : add_offload(f);
}

static int add_notes(struct flags *f)
{
    int rc = SS_OK;

    if (is(f, "recompute", "unknown"))
        rc = ss_study_note(f->notes, "recompute \"unknown\" is taken as none");
    if (!rc && is(f, "position", "alibi"))
        rc = ss_study_note(f->notes, "position \"alibi\" is taken as no position embedding");
    if (!rc && !get(f, "sequence_parallel")[0])
        rc = ss_study_note(f->notes, "sequence_parallel is off where the table does not say");
    if (!rc && !get(f, "tp_comm_overlap")[0])
        rc = ss_study_note(f->notes, "tp_comm_overlap is off where the table does not say");
    if (!rc && !get(f, "grad_param_overlap")[0])
        rc = ss_study_note(f->notes,
                           "grad_param_overlap is off where the table does not say (FSDP always overlaps)");
    return rc ? ss_fail(f->err, rc, NULL, 0, "out of memory") : SS_OK;
}

/* The model of that name, where there is one: a table may name one that only its columns describe. */
static int load_named(struct flags *f)
{
    const char *name = get(f, "model");
    char path[4096];
    int rc;

    if (!name[0] || strchr(name, '/'))
        return SS_OK;
    rc = ss_data_look("workloads/models", name, ".json", path, sizeof path, &f->known, f->err);
    return !rc && f->known ? ss_model_load(name, &f->named, f->err) : rc;
}

/* Whether the columns give a shape of their own. Without the MLP's width they do where it follows from the hidden
 * size; queries are not grouped where they do not say so, but that the model of that name groups as many heads. */
static int shape_is_complete(const struct flags *f)
{
    const struct ss_model *named = &f->named;
    int gated = get(f, "gated_mlp")[0] ? is(f, "gated_mlp", "true") : f->known && named->gated_mlp == 1;
    int64_t heads;
    int grouped = f->known && named->num_query_groups > 0 && !get(f, "num_query_groups")[0] &&
                  !ss_parse_i64(get(f, "num_attention_heads"), 1, 1 << 16, &heads) &&
                  heads == named->num_attention_heads;

    return get(f, "num_layers")[0] && get(f, "hidden_size")[0] && get(f, "num_attention_heads")[0] &&
           get(f, "vocab_size")[0] && (get(f, "ffn_hidden_size")[0] || !gated) && !grouped;
}

/* A model that is known by name gives what the columns cannot say; the columns beat it. */
static int complete_model(const struct flags *f, struct ss_job *job)
{
    int gated, tied, rc = yes_no((struct flags *)f, "gated_mlp", &gated);
    double attention = -1, hidden = -1;

    if (!rc)
        rc = yes_no((struct flags *)f, "tied_embeddings", &tied);
    if (rc)
        return rc;
    if (job->model.gated_mlp < 0)
        job->model.gated_mlp = gated;
    if (job->model.tied_embeddings < 0)
        job->model.tied_embeddings = tied;
    if (job->model.gated_mlp == 1 && job->model.linear_bias < 0)
        job->model.linear_bias = 0;
    if (f->known) {
        ss_model_choose(&job->model, &f->named);
        attention = f->named.attention_dropout;
        hidden = f->named.hidden_dropout;
    } else if (is(f, "position", "rope")) {
        attention = hidden = 0; /* no such model drops out in pre-training */
    }
    if (job->attention_dropout < 0)
        job->attention_dropout = attention;
    if (job->hidden_dropout < 0)
        job->hidden_dropout = hidden;
    ss_copy(job->model.name, sizeof job->model.name, get(f, "model"));
    return rc;
}

/* The line of the table is the place of every mistake that has no line in another file. A mistake of words is told with the
 * row's id; that of a column names the column; what is refused is an answer, and stands as it is. */
static int place(const struct flags *f, int rc)
{
    const char *file = ss_table_file(f->t);
    char text[sizeof f->err->message];
    int ours = !strcmp(f->err->file, file);

    if (!rc || (f->err->line && !ours))
        return rc;
    f->err->code = rc == SS_ERR_USAGE ? SS_ERR_INPUT : rc;
    if ((f->words || !f->err->line) && rc != SS_ERR_CONFIG && rc != SS_ERR_UNSUPPORTED) {
        snprintf(text, sizeof text, "row \"%.60s\": %.200s%s%.200s", get(f, "id"), ours ? "" : f->err->file,
                 !ours && f->err->file[0] ? ": " : "", f->err->message);
        ss_copy(f->err->message, sizeof f->err->message, text);
    }
    ss_copy(f->err->file, sizeof f->err->file, file);
    f->err->line = ss_table_line(f->t, f->row);
    return f->err->code;
}

/* The words of the columns, then those of flags, which beat them. */
static int add_words(struct flags *f, int complete)
{
    const char *flags = get(f, "flags"), *file = ss_table_file(f->t);
    int rc = ss_request_add_place(&f->request, file, f->err);
    size_t n;

    if (rc)
        return rc;
    if (!complete && get(f, "model")[0])
        add_two(f, "--model", get(f, "model"));
    add_values(f);
    rc = add_choices(f);
    if (!rc)
        rc = add_switches(f);
    if (!rc)
        rc = f->rc;
    if (rc || !flags[0])
        return rc;
    n = f->request.n;
    f->words = true;
    rc = ss_request_read_text(&f->request, flags, strlen(flags), file, f->err);
    for (; n < f->request.n; n++)
        if (!strcmp(f->request.place[f->request.word[n].place].file, file)) /* --job may have named another */
            f->request.word[n].line = ss_table_line(f->t, f->row);
    return rc;
}

static int build(struct flags *f, struct ss_job *job, struct ss_notes *words)
{
    int complete, rc = load_named(f);

    if (rc)
        return rc;
    complete = shape_is_complete(f);
    rc = add_words(f, complete);
    if (!rc)
        rc = add_notes(f);
    f->words = f->words || !rc;
    if (!rc)
        rc = ss_job_parse(job, &f->request, words, f->err);
    if (!rc && complete)
        rc = complete_model(f, job);
    return rc;
}

int ss_table_job(const struct ss_table *t, int row, struct ss_job *job, struct ss_notes *notes, struct ss_error *err)
{
    struct ss_notes words = {0};
    struct ss_error own = {0};
    struct flags f = {.t = t, .row = row, .notes = notes, .err = &own};
    int rc;

    ss_request_init(&f.request);
    ss_model_init(&f.named);
    ss_job_init(job);
    rc = place(&f, build(&f, job, &words));
    if (rc && err)
        *err = own;
    ss_request_free(&f.request);
    ss_notes_free(&words);
    return rc;
}
