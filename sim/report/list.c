/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what `list` prints: what may follow --model, --platform, --stack, --schedule and --set. */

#include "report/common.h"
#include "stepsim/parameters.h"
#include "stepsim/stack.h"

/* Takes a line of a list, to print or to collect it. */
typedef void (*line_fn)(void *ctx, const char *name, const char *description);

static int load_model(const char *name, struct ss_model *m, struct ss_error *err)
{
    int rc = ss_model_load(name, m, err);
    return rc ? rc : ss_model_finish(m, err);
}

static int describe_model(const char *name, char *buf, size_t size, struct ss_error *err)
{
    struct ss_model m;
    char parameters[64];
    int rc = load_model(name, &m, err), rows;

    if (rc)
        return rc;
    rows = m.vocab_size + m.extra_vocab_size;
    snprintf(buf, size, "%s, %d x %d, vocab %d",
             ss_report_parameters(&m, rows, "", parameters, sizeof parameters), m.num_layers, m.hidden_size,
             rows);
    return SS_OK;
}

static int describe_platform(const char *name, char *buf, size_t size, struct ss_error *err)
{
    struct ss_platform_options options = {.asker = ss_simgrid_ask_routes};
    struct ss_platform *p = NULL;

    SS_TRY(ss_platform_load(name, &options, &p, err));
    int joined = ss_platform_joined_nodes(p);
    int n = snprintf(buf, size, "%d x %s a node, %d NICs of %.4g GB/s", ss_platform_file_gpus(p),
                     ss_platform_card(p)->name, ss_platform_nics_per_node(p) / joined,
                     ss_platform_nic_bandwidth(p) / 1e9);
    if (joined > 1 && n > 0 && (size_t)n < size)
        snprintf(buf + n, size - (size_t)n, ", %s joins %d nodes", ss_platform_fabric(p), joined);
    ss_platform_free(p);
    return SS_OK;
}

static int describe_card(const char *name, char *buf, size_t size, struct ss_error *err)
{
    char peak[64], memory[64], bandwidth[64];
    struct ss_card c;

    SS_TRY(ss_card_load(name, &c, err));
    snprintf(buf, size, "%s, %.0f SMs, %s dense in 16 bit, %s of %s", c.name, c.sm_count,
             ss_unit_format(c.peak_bf16 > 0 ? c.peak_bf16 : c.peak_fp16, SS_UNIT_FLOPS, peak, sizeof peak),
             ss_unit_format(c.hbm_size, SS_UNIT_BYTES, memory, sizeof memory),
             ss_unit_format(c.hbm_bandwidth, SS_UNIT_BANDWIDTH, bandwidth, sizeof bandwidth));
    return SS_OK;
}

static int describe_stack(const char *name, char *buf, size_t size, struct ss_error *err)
{
    struct ss_stack s;

    SS_TRY(ss_stack_load(name, NULL, &s, err));
    snprintf(buf, size, "%s", s.about);
    return SS_OK;
}

static void list_schedules(line_fn line, void *ctx)
{
    const char *name, *description;

    for (int i = 0; ss_schedule_known(i, &name, &description); i++)
        line(ctx, name, description);
}

/* Lists the props, each described as "card, 0.1 to 1: meaning". */
static void list_props(line_fn line, void *ctx)
{
    char text[512], low[64], high[64];

    for (int i = 0; i < SS_PROP_COUNT; i++) {
        const struct ss_prop *p = ss_prop_at(i);

        if (!p->is_word)
            snprintf(text, sizeof text, "%s, %s to %s: %s", ss_owner_name(p->owner),
                     ss_unit_format(p->low, p->unit, low, sizeof low),
                     ss_unit_format(p->high, p->unit, high, sizeof high), p->doc);
        else
            snprintf(text, sizeof text, "%s, %s: %s", ss_owner_name(p->owner), p->words ? p->words : "a text",
                     p->doc);
        line(ctx, p->id, text);
    }
}

static const struct family {
    const char *name;
    int on_demand;               /* 1: it is listed only when the user names it */
    const char *folder, *suffix; /* of data files, each with a description; NULL: `list` knows all names */
    int (*describe)(const char *name, char *buf, size_t size, struct ss_error *err);
    void (*list)(line_fn line, void *ctx);
} families[] = {
    {"models", 0, "workloads/models", ".json", describe_model, NULL},
    {"platforms", 0, "platforms", ".xml", describe_platform, NULL},
    {"cards", 0, "platforms/cards", ".xml", describe_card, NULL},
    {"stacks", 0, "workloads/stacks", ".xml", describe_stack, NULL},
    {"schedules", 0, NULL, NULL, NULL, list_schedules},
    {"props", 1, NULL, NULL, NULL, list_props},
};

static int is_wanted(const struct family *f, const char *what)
{
    return what ? !strcmp(what, f->name) : !f->on_demand;
}

static int each(const struct family *f, line_fn line, void *ctx, struct ss_error *err)
{
    char **names = NULL, text[200];
    size_t n = 0;
    int rc = SS_OK;

    if (f->list) {
        f->list(line, ctx);
        return SS_OK;
    }
    SS_TRY(ss_data_list(f->folder, f->suffix, &names, &n, err));
    for (size_t i = 0; !rc && i < n; i++) {
        rc = f->describe(names[i], text, sizeof text, err);
        if (!rc)
            line(ctx, names[i], text);
    }
    ss_names_free(names, n);
    return rc;
}

static void add_line(void *ctx, const char *name, const char *description)
{
    struct ss_row r = {0};
    char shown[200];

    snprintf(shown, sizeof shown, "  %s", name);
    SS_ADD(&r, SS_KEY("name", shown), SS_KEY("description", description));
    ss_grid_row(ctx, &r);
}

static void collect_line(void *ctx, const char *name, const char *description)
{
    SS_ITEM((struct ss_json *)ctx, SS_OBJECT(SS_KEY("name", name), SS_KEY("description", description)));
}

/* Adds a model's shape, and its parameters with the parts that some publishers leave out. */
static void add_facts(struct ss_json *o, const char *name)
{
    struct ss_parameter_counts n;
    struct ss_model m;

    if (load_model(name, &m, NULL)) { /* it has just been described: memory ran out */
        SS_PUT(o, SS_KEY("parameters", (struct ss_json *)NULL));
        return;
    }
    ss_model_count(&m, m.vocab_size + m.extra_vocab_size, &n);
    SS_PUT(o, SS_SAME(&m, num_layers), SS_SAME(&m, hidden_size), SS_SAME(&m, num_attention_heads),
           SS_SAME(&m, num_query_groups), SS_KEY("vocab_size", m.vocab_size + m.extra_vocab_size));
    SS_PUT(o, SS_KEY("parameters", (int64_t)n.total), SS_KEY("active_parameters", (int64_t)n.active),
           SS_KEY("input_parameters", (int64_t)n.input), SS_KEY("output_parameters", (int64_t)n.output),
           SS_KEY("mtp_parameters", (int64_t)n.mtp), SS_KEY("mtp_active_parameters", (int64_t)n.mtp_active));
}

static void collect_model(void *ctx, const char *name, const char *description)
{
    struct ss_json *o = SS_OBJECT(SS_KEY("name", name), SS_KEY("description", description));

    add_facts(o, name);
    SS_ITEM((struct ss_json *)ctx, o);
}

static int list_text(const char *what, const struct ss_display *view, FILE *out, struct ss_error *err)
{
    static const struct ss_column columns[] = {{"name", NULL, "%-s", 1, 0},
                                               {"description", NULL, "%-s", 1, 0}};
    int rc = SS_OK;

    for (size_t i = 0; !rc && i < SS_ARRAY_LEN(families); i++) {
        struct ss_grid grid;
        if (!is_wanted(&families[i], what))
            continue;
        if (!what)
            fprintf(out, "%s%s\n", i ? "\n" : "", families[i].name);
        ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
        rc = each(&families[i], add_line, &grid, err);
        if (ss_grid_end(&grid, view, out) && !rc)
            rc = ss_nomem(err);
    }
    return rc ? rc : ss_report_done(out, err);
}

static int list_json(const char *what, FILE *out, struct ss_error *err)
{
    struct ss_json *o = ss_json_document("list");

    for (size_t i = 0; i < SS_ARRAY_LEN(families); i++) {
        if (!is_wanted(&families[i], what))
            continue;
        struct ss_json *array = ss_json_begin_list();
        int rc = each(&families[i], families[i].describe == describe_model ? collect_model : collect_line,
                      array, err);
        SS_PUT(o, SS_KEY(families[i].name, array));
        if (rc) {
            ss_json_free(o);
            return rc;
        }
    }
    return ss_json_write(o, out, err);
}

int ss_report_list(const char *what, const struct ss_display *view, FILE *out, struct ss_error *err)
{
    const char *names[SS_ARRAY_LEN(families)];
    int known = what == NULL;

    for (size_t i = 0; i < SS_ARRAY_LEN(families); i++) {
        names[i] = families[i].name;
        known |= what && !strcmp(what, names[i]);
    }
    if (!known) {
        const char *near = ss_nearest(what, names, SS_ARRAY_LEN(names));
        ss_fail(err, SS_ERR_USAGE, NULL, 0, "nothing to list is called \"%s\"", what);
        if (near)
            return ss_hint(err, SS_ERR_USAGE, "did you mean %s?", near);
        return ss_hint(err, SS_ERR_USAGE, "choose models, platforms, cards, stacks, schedules or props");
    }
    return view && view->json ? list_json(what, out, err) : list_text(what, view, out, err);
}

int ss_list_names(const char *what, void (*name)(void *ctx, const char *name, const char *description),
                  void *ctx, struct ss_error *err)
{
    char **names = NULL;
    size_t n = 0;
    int rc = SS_OK;

    for (size_t i = 0; i < SS_ARRAY_LEN(families) && !rc; i++) {
        if (strcmp(what, families[i].name) != 0)
            continue;
        if (families[i].list)
            families[i].list(name, ctx);
        else
            rc = ss_data_list(families[i].folder, families[i].suffix, &names, &n, err);
    }
    for (size_t i = 0; !rc && i < n; i++)
        name(ctx, names[i], "");
    ss_names_free(names, n);
    return rc;
}
