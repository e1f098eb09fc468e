/* SPDX-License-Identifier: Apache-2.0 */
/* `list`: what may stand after --model, --platform, --stack and --schedule. */
#include <string.h>

#include "report/common.h"

struct family {
    const char *name, *folder, *suffix;
    int (*describe)(const char *name, char *buf, size_t size, struct ss_error *err);
};

/* Each line of a list; the next two print or collect it. */
typedef void (*line_fn)(void *ctx, const char *name, const char *description);

static int describe_model(const char *name, char *buf, size_t size, struct ss_error *err)
{
    struct ss_model m;
    int rc;

    ss_model_init(&m);
    rc = ss_model_load(name, &m, err);
    if (!rc)
        rc = ss_model_finish(&m, err);
    if (rc)
        return rc;
    snprintf(buf, size, "%.4gB, %d layers of %d, %d heads, %d groups, vocabulary %d",
             ss_model_parameters(&m, m.vocab_size + m.extra_vocab_size) / 1e9, m.num_layers, m.hidden_size,
             m.num_attention_heads, m.num_query_groups, m.vocab_size + m.extra_vocab_size);
    return SS_OK;
}

static int describe_platform(const char *name, char *buf, size_t size, struct ss_error *err)
{
    struct ss_platform_options options = {.asker = ss_simgrid_ask_routes};
    struct ss_platform *p = NULL;
    int rc = ss_platform_load(name, &options, &p, err);

    if (rc)
        return rc;
    snprintf(buf, size, "%d x %s a node, %d NICs of %.4g GB/s", ss_platform_gpus_per_node(p),
             ss_platform_card(p)->name, ss_platform_nics_per_node(p), ss_platform_nic_bandwidth(p) / 1e9);
    ss_platform_free(p);
    return SS_OK;
}

static int describe_stack(const char *name, char *buf, size_t size, struct ss_error *err)
{
    struct ss_stack s;
    int rc = ss_stack_load(name, NULL, &s, err);

    if (rc)
        return rc;
    snprintf(buf, size, "%s, attention auto = %s", s.framework, s.attention_auto);
    return SS_OK;
}

static const struct family families[] = {
    {"models", "workloads/models", ".json", describe_model},
    {"platforms", "platforms", ".xml", describe_platform},
    {"stacks", "workloads/stacks", ".xml", describe_stack},
    {"schedules", NULL, NULL, NULL},
};

static int each_file(const struct family *f, line_fn line, void *ctx, struct ss_error *err)
{
    char **names = NULL, text[200];
    size_t n = 0;
    int rc = ss_data_list(f->folder, f->suffix, &names, &n, err);

    if (rc)
        return rc;
    for (size_t i = 0; !rc && i < n; i++) {
        rc = f->describe(names[i], text, sizeof text, err);
        if (!rc)
            line(ctx, names[i], text);
    }
    ss_names_free(names, n);
    return rc;
}

static int each(const struct family *f, line_fn line, void *ctx, struct ss_error *err)
{
    const char *name, *description;

    if (f->folder)
        return each_file(f, line, ctx, err);
    for (int i = 0; ss_schedule_known(i, &name, &description); i++)
        line(ctx, name, description);
    return SS_OK;
}

static void print_line(void *ctx, const char *name, const char *description)
{
    fprintf(ctx, "  %-16s  %s\n", name, description);
}

static void collect_line(void *ctx, const char *name, const char *description)
{
    json_t *o = json_object();

    ss_json_text(o, "name", name);
    ss_json_text(o, "description", description);
    json_array_append_new(ctx, o);
}

static int list_text(const char *what, FILE *out, struct ss_error *err)
{
    int rc = SS_OK;

    for (size_t i = 0; !rc && i < SS_ARRAY_LEN(families); i++) {
        if (what && strcmp(what, families[i].name) != 0)
            continue;
        if (!what)
            fprintf(out, "%s%s\n", i ? "\n" : "", families[i].name);
        rc = each(&families[i], print_line, out, err);
    }
    return rc ? rc : ss_report_done(out, err);
}

static int list_json(const char *what, FILE *out, struct ss_error *err)
{
    json_t *o = ss_json_document("list");

    for (size_t i = 0; i < SS_ARRAY_LEN(families); i++) {
        if (what && strcmp(what, families[i].name) != 0)
            continue;
        json_t *array = json_array();
        int rc = each(&families[i], collect_line, array, err);
        json_object_set_new(o, families[i].name, array);
        if (rc) {
            json_decref(o);
            return rc;
        }
    }
    return ss_json_write(o, out, err);
}

int ss_report_list(const char *what, int json, FILE *out, struct ss_error *err)
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
        return ss_hint(err, SS_ERR_USAGE, "choose models, platforms, stacks or schedules");
    }
    return json ? list_json(what, out, err) : list_text(what, out, err);
}
