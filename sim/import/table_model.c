/* SPDX-License-Identifier: Apache-2.0 */
/* The model of a row: what its name says, beside the columns. */
#include <string.h>

#include "base/base.h"
#include "import/table_internal.h"
#include "model/model_internal.h"

/* A table may name a model that only its columns describe. */
int ss_table_load_named(struct ss_table_row *r)
{
    const char *name = ss_table_field(r, "model");
    char path[4096];
    int rc;

    if (!name[0] || strchr(name, '/'))
        return SS_OK;
    rc = ss_data_look("workloads/models", name, ".json", path, sizeof path, &r->known, r->err);
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

int ss_table_add_model(const struct ss_table_row *r, struct ss_request *out)
{
    int rc = add_shape(r, out);

    if (!rc && !ss_table_is(r, "seq_length", ""))
        rc = ss_table_add(r, out, "--max-position-embeddings", ss_table_field(r, "seq_length"));
    if (!rc && ss_table_is(r, "cpu_offload", "true"))
        rc = ss_table_add(r, out, "--cpu-offloading-num-layers", "1");
    return rc;
}
