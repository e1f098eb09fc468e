/* SPDX-License-Identifier: Apache-2.0 */
/* A row of a table as the words of a command line, so that both mean the same. */
#include <string.h>

#include "base/base.h"
#include "import/table_internal.h"
#include "model/model_internal.h"

/* What a row leaves open. */
static void note_assumptions(const struct ss_table_row *r)
{
    char layout[4096];

    if (ss_table_layout(r, layout, sizeof layout))
        ss_note(r->notes,
                "layers of a mixture that do not divide by its virtual stages are split as evenly as can be");
    if (ss_table_is(r, "recompute", "unknown"))
        ss_note(r->notes,
                "recompute \"unknown\" is what workloads/recipes.csv has of the release, else none");
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
    int made = !known && ss_table_layout(r, layout, sizeof layout);
    int has = known || made || ss_table_has_layout(r), rc = ss_table_place(r, out);

    for (size_t i = 0; i < ss_table_column_count && !rc; i++)
        if (!has || !is_of_layout(ss_table_columns[i].name))
            rc = ss_table_add_column(r, &ss_table_columns[i], out);
    return rc || !made ? rc : ss_table_add(r, out, "--pipeline-model-parallel-layout", layout);
}

static int add_all(struct ss_table_row *r, struct ss_request *out)
{
    struct ss_request columns;
    int rc = ss_table_load_named(r);

    SS_THEN(rc, ss_table_add_recipe(r, out));
    SS_THEN(rc, ss_table_place(r, out));
    SS_THEN(rc, ss_table_add_model(r, out));
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
    int rc;

    ss_model_init(&r.named);
    ss_request_init(out);
    note_assumptions(&r);
    rc = add_all(&r, out);
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

/* What the columns say of a row whose flags are refused, for people. */
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
