/* SPDX-License-Identifier: Apache-2.0 */
/* `list`: what may stand after --model, --platform, --stack and --schedule. */
#include <string.h>

#include "report/common.h"

struct family {
    const char *name, *folder, *suffix;
};

static const struct family families[] = {
    {"models", "workloads/models", ".json"},
    {"platforms", "platforms", ".xml"},
    {"stacks", "workloads/stacks", ".xml"},
    {"schedules", NULL, NULL},
};

/* Each line of a list; the next two print or collect it. */
typedef void (*line_fn)(void *ctx, const char *name, const char *description);

static void describe_model(const char *name, char *buf, size_t size)
{
    struct ss_model m;
    struct ss_error err;

    ss_model_init(&m);
    buf[0] = '\0';
    if (ss_model_load(name, &m, &err) || ss_model_finish(&m, &err))
        return;
    snprintf(buf, size, "%.4gB, %d layers of %d, %d heads, %d groups, vocabulary %d",
             ss_model_parameters(&m, m.vocab_size + m.extra_vocab_size) / 1e9, m.num_layers, m.hidden_size,
             m.num_attention_heads, m.num_query_groups, m.vocab_size + m.extra_vocab_size);
}

static void describe_platform(const char *name, char *buf, size_t size)
{
    struct ss_platform *p = NULL;
    struct ss_platform_options options = {0};
    struct ss_error err;

    buf[0] = '\0';
    if (ss_platform_load(name, &options, &p, &err))
        return;
    snprintf(buf, size, "%d x %s a node, %d NICs of %.4g GB/s", ss_platform_gpus_per_node(p),
             ss_platform_card(p)->name, ss_platform_nics_per_node(p), ss_platform_nic_bandwidth(p) / 1e9);
    ss_platform_free(p);
}

static void describe_stack(const char *name, char *buf, size_t size)
{
    struct ss_stack s;
    struct ss_error err;

    buf[0] = '\0';
    if (ss_stack_load(name, NULL, &s, &err))
        return;
    snprintf(buf, size, "%s, attention auto = %s", s.framework, s.attention_auto);
}

static int each_file(const struct family *f, line_fn line, void *ctx, struct ss_error *err)
{
    char **names = NULL, text[200];
    size_t n = 0;
    int rc = ss_data_list(f->folder, f->suffix, &names, &n, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < n; i++) {
        if (!strcmp(f->name, "models"))
            describe_model(names[i], text, sizeof text);
        else if (!strcmp(f->name, "platforms"))
            describe_platform(names[i], text, sizeof text);
        else
            describe_stack(names[i], text, sizeof text);
        line(ctx, names[i], text);
    }
    ss_names_free(names, n);
    return SS_OK;
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
