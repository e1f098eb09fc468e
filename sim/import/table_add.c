/* SPDX-License-Identifier: Apache-2.0 */
/* The words that one column of a row stands for. */
#include "base/base.h"
#include "import/table_internal.h"

int ss_table_has_experts(const struct ss_table *t, int row)
{
    const char *experts = ss_table_get(t, row, "num_experts");

    return experts[0] && strcmp(experts, "0") != 0 && strcmp(experts, "1") != 0;
}

int ss_table_place(const struct ss_table_row *r, struct ss_request *out)
{
    return ss_request_add_place(out, ss_table_file(r->table), r->err);
}

int ss_table_add(const struct ss_table_row *r, struct ss_request *out, const char *flag, const char *value)
{
    int line = ss_table_line(r->table, r->row), rc = ss_request_add(out, flag, line, r->err);

    return rc || !value ? rc : ss_request_add(out, value, line, r->err);
}

static int bad_choice(const struct ss_table_row *r, const struct ss_table_column *column)
{
    char list[160] = "";

    for (size_t i = 0; column->choices[i].value; i++)
        ss_append(list, sizeof list, "%s%s", i ? " " : "", column->choices[i].value);
    ss_table_fail(r, "%s cannot be \"%.60s\"", column->name, ss_table_field(r, column->name));
    return ss_hint(r->err, SS_ERR_INPUT, "it is one of: %s; or empty", list);
}

/* Frameworks whose stack refines the one that tables name for what frameworks of their kind share, with the
 * kernels that the row's note names: the first row that fits, without a note the framework's first. The study of nanotron ran its
 * pipelines over nodes again, by a launcher that has PyTorch check collectives (docs/design/calibration-log.md). */
static const struct {
    const char *framework, *shared, *kernels, *own;
    bool pipelines; /* pipelines over several nodes alone */
} refined[] = {
    {"nanotron", "pytorch-2023", "", "nanotron-2025-checked", true},
    {"nanotron", "pytorch-2023", "", "nanotron-2025", false},
    {"Aleph Alpha", "internevo-2023", "RMS kernel", "aleph-alpha-2023", false},
    {"Aleph Alpha", "internevo-2023", "flash_attentionv1", "aleph-alpha-2023-flash-1", false},
    {"Aleph Alpha", "internevo-2023", "torch", "aleph-alpha-2023-torch", false},
    {"Aleph Alpha", "internevo-2023", "", "aleph-alpha-2023-unfused-norm", false},
};

static bool pipes_over_nodes(const struct ss_table_row *r)
{
    return atoi(ss_table_field(r, "pp")) > 1 && atoi(ss_table_field(r, "nodes")) > 1;
}

/* The row's framework and kernels among them, -1: none. */
static int refined_by(const struct ss_table_row *r)
{
    const char *framework = ss_table_field(r, "framework"), *note = ss_table_field(r, "note");

    for (size_t i = 0; i < SS_ARRAY_LEN(refined); i++)
        if (!strncmp(framework, refined[i].framework, strlen(refined[i].framework)) &&
            (!note[0] || strstr(note, refined[i].kernels)) && (!refined[i].pipelines || pipes_over_nodes(r)))
            return (int)i;
    return -1;
}

const char *ss_table_stack(const struct ss_table_row *r)
{
    const char *stack = ss_table_field(r, "stack");
    int i = refined_by(r);

    return i >= 0 && !strcmp(stack, refined[i].shared) ? refined[i].own : stack;
}

bool ss_table_splits_unevenly(const struct ss_table_row *r)
{
    return !strncmp(ss_table_field(r, "framework"), refined[0].framework, strlen(refined[0].framework));
}

static int add_words(const struct ss_table_row *r, const char *words, struct ss_request *out)
{
    char word[64];
    int rc = SS_OK;

    for (const char *p = words ? words : ""; *p && !rc; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        rc = ss_table_add(r, out, word, NULL);
        p += n;
    }
    return rc;
}

/* The choice that the field names, NULL where it is none. */
static const struct ss_table_choice *chosen(const struct ss_table_row *r,
                                            const struct ss_table_column *column)
{
    const struct ss_table_choice *c = column->choices;

    while (c && c->value && !ss_table_is(r, column->name, c->value))
        c++;
    return c && c->value ? c : NULL;
}

int ss_table_add_column(const struct ss_table_row *r, const struct ss_table_column *column,
                        struct ss_request *out)
{
    const char *field = ss_table_field(r, column->name), *flag = column->flag;
    const struct ss_table_choice *choice = chosen(r, column);

    if (!field[0])
        return SS_OK;
    if (!strcmp(column->name, "stack"))
        field = ss_table_stack(r);
    if (column->experts && ss_table_has_experts(r->table, r->row))
        flag = column->experts;
    if (flag)
        return ss_table_add(r, out, flag, field);
    if (choice)
        return add_words(r, choice->words, out);
    return column->choices ? bad_choice(r, column) : SS_OK;
}

int ss_table_add_denied(const struct ss_table_row *r, const struct ss_table_column *column,
                        struct ss_request *out)
{
    const struct ss_table_choice *choice = chosen(r, column);
    int rc = SS_OK;

    if (!choice || !choice->words || choice->words[0])
        return SS_OK;
    for (const struct ss_table_choice *c = column->choices; c->value && !rc; c++)
        rc = add_words(r, c->words, out);
    return rc;
}
