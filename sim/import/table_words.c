/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a table as the words of a command line, so that both mean the same. */
#include "base/base.h"
#include "import/import.h"
#include "import/table_internal.h"
#include "job/recipe.h"

/* ---- the model: what its name says, beside the columns ---- */

/* A table may name a model that only its columns describe. */
static int load_named(struct ss_table_row *r)
{
    const char *name = ss_table_field(r, "model");
    char path[4096];

    if (!name[0] || strchr(name, '/'))
        return SS_OK;
    int rc = ss_data_look("workloads/models", name, ".json", path, sizeof path, &r->known, r->err);
    return !rc && r->known ? ss_model_load(name, &r->named, r->err) : rc;
}

/* Whether the columns give a shape of their own. Without the MLP's width they do where it follows from the hidden
 * size; queries are not grouped where they do not say so, but that the model of that name groups as many heads. */
static int shape_is_complete(const struct ss_table_row *r)
{
    static const char *const needed[] = {"num_layers", "hidden_size", "num_attention_heads", "vocab_size"};
    const struct ss_model *named = &r->named;
    int gated = ss_table_is(r, "gated_mlp", "") ? r->known && named->gated_mlp == 1
                                                : ss_table_is(r, "gated_mlp", "true");
    int64_t heads;
    int grouped = r->known && named->num_query_groups > 0 && ss_table_is(r, "num_query_groups", "") &&
                  !ss_parse_i64(ss_table_field(r, "num_attention_heads"), 1, 1 << 16, &heads) &&
                  heads == named->num_attention_heads;

    for (size_t i = 0; i < SS_ARRAY_LEN(needed); i++)
        if (ss_table_is(r, needed[i], ""))
            return 0;
    return (!ss_table_is(r, "ffn_hidden_size", "") || !gated) && !grouped;
}

static int add_dropout(const struct ss_table_row *r, double attention, double hidden, struct ss_request *out)
{
    char text[32];
    int rc = SS_OK;

    snprintf(text, sizeof text, "%.17g", attention);
    if (attention >= 0)
        rc = ss_table_add(r, out, "--attention-dropout", text);
    snprintf(text, sizeof text, "%.17g", hidden);
    if (!rc && hidden >= 0)
        rc = ss_table_add(r, out, "--hidden-dropout", text);
    return rc;
}

/* A flag where the model of that name is so and no column of the row (NULL: there is none for it) says otherwise. */
static int add_choice(const struct ss_table_row *r, int is, const char *column, const char *flag,
                      const char *value, struct ss_request *out)
{
    return is && (!column || ss_table_is(r, column, "")) ? ss_table_add(r, out, flag, value) : SS_OK;
}

/* The choices of a known model that differ from Megatron's defaults. */
static int add_choices(const struct ss_table_row *r, struct ss_request *out)
{
    const struct ss_model *m = &r->named;
    const struct {
        int is;
        const char *column, *flag, *value;
    } choices[] = {
        {m->gated_mlp == 1, "gated_mlp", "--swiglu", NULL},
        {m->tied_embeddings == 0, "tied_embeddings", "--untie-embeddings-and-output-weights", NULL},
        {m->qkv_bias == 1, NULL, "--add-qkv-bias", NULL},
        {m->linear_bias == 0, NULL, "--disable-bias-linear", NULL},
        {m->qk_norm == SS_QK_NORM_HEAD, NULL, "--qk-layernorm", NULL},
        {m->normalization == SS_NORM_RMSNORM, "normalization", "--normalization", "RMSNorm"},
        {m->position == SS_POSITION_ROPE, "position", "--position-embedding-type", "rope"},
        {m->position == SS_POSITION_NONE, "position", "--position-embedding-type", "none"},
    };
    int rc = SS_OK;

    for (size_t i = 0; i < SS_ARRAY_LEN(choices) && !rc; i++)
        rc = add_choice(r, choices[i].is, choices[i].column, choices[i].flag, choices[i].value, out);
    return rc;
}

/* A model that is known by name gives what the columns cannot say. */
static int add_shape(const struct ss_table_row *r, struct ss_request *out)
{
    int rc;

    /* no column says what else a mixture of that name has: shared experts, norms of queries and keys, biases */
    if (!shape_is_complete(r) || (r->known && ss_table_has_experts(r->table, r->row)))
        return ss_table_is(r, "model", "") ? SS_OK
                                           : ss_table_add(r, out, "--model", ss_table_field(r, "model"));
    if (r->known) {
        rc = add_choices(r, out);
        return rc ? rc : add_dropout(r, r->named.attention_dropout, r->named.hidden_dropout, out);
    }
    /* no such model drops out in pre-training */
    return ss_table_is(r, "position", "rope") ? add_dropout(r, 0, 0, out) : SS_OK;
}

/* Adds what the model's name says and no column can, and what a row leaves to be assumed. */
static int add_model(const struct ss_table_row *r, struct ss_request *out)
{
    int rc = add_shape(r, out);

    if (!rc && !ss_table_is(r, "seq_length", ""))
        rc = ss_table_add(r, out, "--max-position-embeddings", ss_table_field(r, "seq_length"));
    if (!rc && ss_table_is(r, "cpu_offload", "true"))
        rc = ss_table_add(r, out, "--cpu-offloading-num-layers", "1");
    return rc;
}

/* ---- how layers are split over the pipeline, where no number of layers a stage can say it ---- */

/* The whole number of a column, or what stands for an empty one; 0 where it is none, which is found elsewhere. */
static int number_of(const struct ss_table_row *r, const char *column, int empty)
{
    const char *field = ss_table_field(r, column);
    int64_t n;

    if (!field[0])
        return empty;
    return ss_parse_i64(field, 1, 1 << 20, &n) ? 0 : (int)n;
}

/* Whether the row says itself how its layers are split. */
static int says_split(const struct ss_table_row *r)
{
    static const char *const flags[] = {"--pipeline-model-parallel-layout", "-pipeline-num-layers",
                                        "-in-pipeline-split"};

    for (size_t i = 0; i < SS_ARRAY_LEN(flags); i++)
        if (strstr(ss_table_field(r, "flags"), flags[i]))
            return 1;
    return !ss_table_is(r, "first_stage_layers", "") || !ss_table_is(r, "last_stage_layers", "");
}

/* Layers of the stages one after the other: as even as can be, the first ones have one more. */
static void write_layout(int layers, int stages, char *out, size_t size)
{
    ss_copy(out, size, "E");
    for (int i = 0; i < stages; i++)
        ss_append(out, size, "%st*%d", i ? "|" : "", layers / stages + (i < layers % stages));
}

/* Ends a layout: MTP layers, of the row or of the recipe's words, stand in the last stage, before the loss. */
static void end_layout(const struct ss_table_row *r, const struct ss_request *said, char *out, size_t size)
{
    static const char flag[] = "--mtp-num-layers";
    const char *own = strstr(ss_table_field(r, "flags"), flag);
    size_t at = ss_request_find(said, flag);
    const char *text = own ? own + sizeof flag : at + 1 < said->n ? said->word[at + 1].text : "0";

    if (text[0] >= '1' && text[0] <= '9' && !(text[1] >= '0' && text[1] <= '9'))
        for (int i = '0'; i < text[0]; i++)
            ss_append(out, size, "m");
    ss_append(out, size, "L");
}

/* Whether the column `flags` has a layout of the pipeline, which beats the columns of stages. */
static int has_layout(const struct ss_table_row *r)
{
    return strstr(ss_table_field(r, "flags"), "--pipeline-model-parallel-layout") != NULL;
}

/* Writes the layout of layers that do not divide by the virtual stages, where the row does not say one: of a mixture, or where the
 * framework splits them so. Returns 1; 0 where there is none to write. */
static int layout_of(const struct ss_table_row *r, char *out, size_t size)
{
    int layers = number_of(r, "num_layers", r->known ? r->named.num_layers : 0), pp = number_of(r, "pp", 1);
    int each = number_of(r, "layers_per_virtual_stage", layers), chunks;

    int uneven = ss_table_has_experts(r->table, r->row) || ss_table_splits_unevenly(r);

    if (!uneven || says_split(r) || layers < 1 || pp < 2 || each < 1)
        return 0;
    chunks = ss_table_is(r, "layers_per_virtual_stage", "") ? 1 : (layers + pp * each - 1) / (pp * each);
    if (layers % (pp * chunks) == 0 || pp * chunks > 512)
        return 0;
    write_layout(layers, pp * chunks, out, size);
    return 1;
}

/* ---- the recipe of the release, which published tables leave out (job/recipe.h) ---- */

static int virtual_stages_of(const struct ss_table_row *r)
{
    int layers = number_of(r, "num_layers", r->known ? r->named.num_layers : 0), pp = number_of(r, "pp", 1);
    int each = number_of(r, "layers_per_virtual_stage", 0);

    return each > 0 && pp > 0 ? (layers + pp * each - 1) / (pp * each) : 1;
}

/* What the row says, which beats a recipe: its flags, and how its optimizer is sharded. */
static int read_flags(const struct ss_table_row *r, struct ss_request *out)
{
    const char *text = ss_table_field(r, "flags");
    struct ss_words words = {0};
    int rc = ss_args_read(&words, text, strlen(text), "", r->err);

    for (size_t k = 0; k < words.n && !rc; k++)
        rc = ss_request_add(out, words.w[k].text, 0, r->err);
    ss_words_free(&words);
    if (!rc && ss_table_is(r, "optimizer", "distributed")) /* and no FSDP */
        rc = ss_request_add(out, "--use-distributed-optimizer", 0, r->err);
    return rc;
}

/* What no column says and no table prints: how many parameters a data-parallel bucket has, who begins its gather, passes over gradients, and a
 * fused kernel. */
#define UNPRINTED                                                                                            \
    "--ddp-bucket-size --align-param-gather --no-ddp-average-in-collective "                                 \
    "--no-check-for-nan-in-loss-and-grad --fused-single-qkv-rope"

/* Adds, in a place of their own, the words of the release's recipe that stand in for columns: all where recompute is "unknown", else UNPRINTED
 * and those of overlaps that the row leaves open. */
static int add_nearest(const struct ss_table_row *r, const struct ss_csv *csv, const char *only, int must,
                       struct ss_request *out)
{
    const struct ss_recipe_key key = {.stack = ss_table_field(r, "stack"),
                                      .model = ss_table_field(r, "model"),
                                      .card = ss_table_field(r, "gpu"),
                                      .precision = ss_table_field(r, "precision"),
                                      .gpus = number_of(r, "nodes", 0) * number_of(r, "gpus_per_node", 0),
                                      .tp = number_of(r, "tp", 1),
                                      .pp = number_of(r, "pp", 1),
                                      .cp = number_of(r, "cp", 1),
                                      .ep = number_of(r, "ep", 1),
                                      .vp = virtual_stages_of(r),
                                      .mbs = number_of(r, "micro_batch", 0),
                                      .gbs = number_of(r, "global_batch", 0)};
    int row = ss_recipe_nearest(csv, &key, must, NULL, 0);
    struct ss_request said;

    if (row < 0)
        return SS_OK;
    ss_request_init(&said);
    int rc = read_flags(r, &said);
    SS_THEN(rc,
            ss_recipe_add(csv, row, &key, &(struct ss_recipe_use){.said = &said, .only = only}, out, r->err));
    ss_request_free(&said);
    if (!rc && ss_table_is(r, "recompute", "unknown"))
        rc = ss_request_assumed(out, ss_csv_field(csv, (size_t)row, ss_csv_column(csv, "source")), r->err);
    return rc;
}

static int add_recipe(const struct ss_table_row *r, struct ss_request *out)
{
    int unknown = ss_table_is(r, "recompute", "unknown");
    int tp = ss_table_is(r, "tp_comm_overlap", "") && number_of(r, "tp", 1) > 1;
    int dp = ss_table_is(r, "grad_param_overlap", "");
    char path[4096];
    struct ss_csv *csv;

    int rc = ss_data_find("workloads", "recipes", ".csv", path, sizeof path, r->err);
    SS_THEN(rc, ss_csv_load(path, &csv, r->err));
    if (rc)
        return rc;
    if (unknown)
        rc = add_nearest(r, csv, NULL, 0, out);
    else
        rc = add_nearest(r, csv, tp ? "--tp-comm-overlap " UNPRINTED : UNPRINTED, SS_RECIPE_RELEASE, out);
    if (!unknown && ss_table_is(r, "vocab_size", ""))
        SS_THEN(rc, add_nearest(r, csv, "--vocab-size", SS_RECIPE_RELEASE, out));
    if (dp)
        SS_THEN(rc, add_nearest(r, csv,
                                "--use-distributed-optimizer --overlap-grad-reduce --overlap-param-gather",
                                SS_RECIPE_RELEASE, out));
    ss_csv_free(csv);
    return rc;
}

/* ---- the row ---- */

static void note_assumptions(const struct ss_table_row *r)
{
    char layout[4096];

    if (layout_of(r, layout, sizeof layout))
        ss_note(r->notes, "layers that do not divide by the virtual stages are split as evenly as can be");
    if (ss_table_is(r, "recompute", "unknown"))
        ss_note(r->notes,
                "recompute \"unknown\" is what workloads/recipes.csv has of the release, else none");
    if (strcmp(ss_table_stack(r), ss_table_field(r, "stack")) != 0)
        ss_note(r->notes, "%s of framework \"%s\" is taken as %s", ss_table_field(r, "stack"),
                ss_table_field(r, "framework"), ss_table_stack(r));
    if (ss_table_is(r, "position", "alibi"))
        ss_note(r->notes, "position \"alibi\" is taken as no position embedding");
    if (ss_table_is(r, "sequence_parallel", ""))
        ss_note(r->notes, "sequence_parallel is off where the table does not say");
    if (ss_table_is(r, "tp_comm_overlap", ""))
        ss_note(r->notes, "tp_comm_overlap is what workloads/recipes.csv has of the release where the table "
                          "does not say, else off");
    if (ss_table_is(r, "grad_param_overlap", ""))
        ss_note(r->notes,
                "grad_param_overlap is what workloads/recipes.csv has of the release where the table "
                "does not say, else off (FSDP always overlaps)");
}

/* A layout says all that these columns can. */
static int is_of_layout(const char *column)
{
    return !strcmp(column, "layers_per_virtual_stage") || !strcmp(column, "first_stage_layers") ||
           !strcmp(column, "last_stage_layers");
}

/* `said`: the words so far, a recipe's among them. */
static int add_columns(const struct ss_table_row *r, const struct ss_request *said, struct ss_request *out)
{
    char layout[4096];
    int known = ss_request_find(said, "--pipeline-model-parallel-layout") < said->n;
    int accounts = ss_request_find(said, "--account-for-embedding-in-pipeline-split") < said->n;
    int made = !known && !accounts && layout_of(r, layout, sizeof layout);
    int has = known || made || has_layout(r), rc = ss_table_place(r, out);

    if (made)
        end_layout(r, said, layout, sizeof layout);
    for (size_t i = 0; i < ss_table_column_count && !rc; i++)
        if (!has || !is_of_layout(ss_table_columns[i].name))
            rc = ss_table_add_column(r, &ss_table_columns[i], out);
    return rc || !made ? rc : ss_table_add(r, out, "--pipeline-model-parallel-layout", layout);
}

static int add_all(struct ss_table_row *r, struct ss_request *out)
{
    struct ss_request columns;
    int rc = load_named(r);

    SS_THEN(rc, add_recipe(r, out));
    SS_THEN(rc, ss_table_place(r, out));
    SS_THEN(rc, add_model(r, out));
    SS_THEN(rc, add_columns(r, out, out));
    if (rc || ss_table_is(r, "flags", ""))
        return rc;
    ss_request_init(&columns);
    rc = add_columns(r, out, &columns);
    SS_THEN(rc, ss_table_add_flags(r, &columns, out));
    ss_request_free(&columns);
    return rc;
}

int ss_table_request(const struct ss_table *t, int row, struct ss_request *out, struct ss_notes *notes,
                     struct ss_error *err)
{
    struct ss_error own = {0};
    struct ss_table_row r = {.table = t, .row = row, .notes = notes, .err = &own};

    ss_model_init(&r.named);
    ss_request_init(out);
    note_assumptions(&r);
    int rc = add_all(&r, out);
    if (!rc)
        return SS_OK;
    ss_request_free(out);
    if (!own.line)
        ss_table_locate(t, row, &own);
    if (err)
        *err = own;
    return own.code;
}

int ss_table_locate(const struct ss_table *t, int row, struct ss_error *err)
{
    char text[sizeof err->message];
    int here = !strcmp(err->file, ss_table_file(t));

    if ((err->line && !here) || err->code == SS_ERR_CONFIG || err->code == SS_ERR_UNSUPPORTED)
        return err->code;
    if (err->code == SS_ERR_USAGE)
        err->code = SS_ERR_INPUT;
    snprintf(text, sizeof text, "row \"%.60s\": %.200s%s%.200s", ss_table_get(t, row, "id"),
             here ? "" : err->file, err->file[0] && !here ? ": " : "", err->message);
    ss_copy(err->message, sizeof err->message, text);
    ss_copy(err->file, sizeof err->file, ss_table_file(t));
    if (!err->line)
        err->line = ss_table_line(t, row);
    return err->code;
}

/* Reads for people what the columns say, for a row whose flags are refused. */
static void read_columns(const struct ss_table *t, int row, struct ss_asked *asked)
{
    struct ss_error own = {0};
    const struct ss_table_row r = {.table = t, .row = row, .err = &own};
    struct ss_request columns;

    ss_request_init(&columns);
    if (!add_columns(&r, &columns, &columns))
        ss_asked_parse(asked, &columns, NULL, NULL, NULL);
    ss_request_free(&columns);
}

int ss_table_asked(const struct ss_table *t, int row, struct ss_asked *asked, struct ss_notes *notes,
                   struct ss_error *err)
{
    struct ss_request r;
    struct ss_error own = {0};
    int rc = ss_table_request(t, row, &r, notes, err);

    ss_asked_init(asked);
    if (rc == SS_ERR_CONFIG || rc == SS_ERR_UNSUPPORTED)
        read_columns(t, row, asked);
    if (rc)
        return rc;
    rc = ss_asked_parse(asked, &r, NULL, NULL, &own);
    ss_request_free(&r);
    if (!rc)
        return SS_OK;
    rc = ss_table_locate(t, row, &own);
    if (err)
        *err = own;
    return rc;
}
