/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>

#include "report/common.h"

void ss_json_number(json_t *object, const char *key, double value)
{
    /* -0.0 would print a sign that means nothing */
    json_object_set_new(object, key, isfinite(value) ? json_real(value == 0 ? 0 : value) : json_null());
}

void ss_json_integer(json_t *object, const char *key, int64_t value)
{
    json_object_set_new(object, key, json_integer(value));
}

/* Paths and names may hold any bytes; JSON holds UTF-8 only: others become '?'. */
void ss_json_text(json_t *object, const char *key, const char *text)
{
    json_t *value = json_string(text);

    if (!value) {
        char ascii[1024];
        size_t n = 0;
        for (; text[n] && n + 1 < sizeof ascii; n++)
            ascii[n] = (unsigned char)text[n] < 128 ? text[n] : '?';
        ascii[n] = '\0';
        value = json_string(ascii);
    }
    json_object_set_new(object, key, value);
}

void ss_json_flag(json_t *object, const char *key, int value)
{
    json_object_set_new(object, key, json_boolean(value));
}

void ss_json_metric(json_t *object, int metric, const struct ss_summary *s)
{
    const struct ss_metric *m = ss_metric_at(metric);

    if (m->kind == SS_METRIC_COUNT)
        ss_json_integer(object, m->key, (int64_t)ss_metric_value(metric, s));
    else
        ss_json_number(object, m->key, ss_metric_value(metric, s));
}

void ss_json_verdict(json_t *object, const struct ss_summary *s)
{
    ss_json_text(object, "verdict", ss_outcome_word(s->outcome));
    if (s->code)
        ss_json_text(object, "code", ss_status_name(s->code));
    ss_json_text(object, "reason", s->reason);
}

void ss_json_metrics(json_t *object, int place, const struct ss_summary *s)
{
    for (int i = 0; i < SS_METRICS; i++)
        if ((place < 0 || ss_metric_at(i)->place == place) && ss_metric_known(i, s))
            ss_json_metric(object, i, s);
}

json_t *ss_json_document(const char *command)
{
    json_t *document = json_object();

    ss_json_integer(document, "schema_version", SS_SCHEMA_VERSION);
    ss_json_text(document, "version", ss_version());
    if (command)
        ss_json_text(document, "command", command);
    return document;
}

json_t *ss_json_notes(const struct ss_notes *notes)
{
    json_t *array = json_array();

    for (unsigned long i = 0; i < notes->n; i++) {
        json_t *holder = json_object();
        ss_json_text(holder, "text", notes->text[i]);
        json_array_append(array, json_object_get(holder, "text"));
        json_decref(holder);
    }
    return array;
}

json_t *ss_json_labels(const double seconds[SS_LABEL_COUNT])
{
    json_t *object = json_object();

    for (int l = 0; l < SS_LABEL_COUNT; l++)
        ss_json_number(object, ss_label_name(l), 1e3 * seconds[l]);
    return object;
}

static json_t *card_object(const struct ss_card *card)
{
    json_t *object = json_object();

    ss_json_text(object, "name", card->name);
    for (int i = 0; i < SS_PROP_CARD_COUNT; i++)
        ss_json_number(object, ss_prop_at(i)->id, ss_prop_get(i, card));
    return object;
}

json_t *ss_json_platform(const struct ss_platform *p)
{
    json_t *object = json_object();
    char hash[32];

    snprintf(hash, sizeof hash, "%016" PRIx64, ss_platform_hash(p));
    ss_json_text(object, "name", ss_platform_name(p));
    ss_json_text(object, "hash", hash);
    ss_json_integer(object, "nodes", ss_platform_nodes(p));
    ss_json_integer(object, "gpus_per_node", ss_platform_gpus_per_node(p));
    ss_json_integer(object, "nics_per_node", ss_platform_nics_per_node(p));
    ss_json_number(object, "nic_bandwidth", ss_platform_nic_bandwidth(p));
    ss_json_number(object, "nvlink_bandwidth", ss_platform_nvlink_bandwidth(p));
    ss_json_text(object, "assumed", ss_platform_assumed(p));
    json_object_set_new(object, "card", card_object(ss_platform_card(p)));
    return object;
}

int ss_json_write(json_t *document, FILE *out, struct ss_error *err)
{
    int rc = json_dumpf(document, out, JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10));

    json_decref(document);
    if (rc)
        return ss_fail(err, ferror(out) ? SS_ERR_IO : SS_ERR_NOMEM, NULL, 0,
                       "cannot write the JSON document");
    fputc('\n', out);
    return ss_report_done(out, err);
}

json_t *ss_json_spread(const struct ss_load_spread *s, double scale)
{
    json_t *o = json_object();

    ss_json_number(o, "mean", scale * s->mean);
    ss_json_number(o, "p50", scale * s->p50);
    ss_json_number(o, "p90", scale * s->p90);
    ss_json_number(o, "p99", scale * s->p99);
    return o;
}

void ss_json_add_packing(json_t *to, const struct ss_plan *plan)
{
    const struct ss_packing_figures *p = &plan->packing;
    json_t *o;

    if (!plan->job->packing)
        return;
    o = json_object();
    ss_json_number(o, "documents_per_row", p->documents);
    ss_json_number(o, "padding_pct", 100 * p->padding);
    ss_json_number(o, "attention_pct", 100 * p->attention);
    ss_json_number(o, "cut_pct", 100 * p->cut);
    ss_json_number(o, "row_sigma", p->sigma);
    json_object_set_new(o, "imbalance_ms", ss_json_spread(&p->imbalance, 1e3));
    json_object_set_new(to, "packing", o);
}

void ss_json_add_load(json_t *to, const struct ss_plan *plan)
{
    const struct ss_load_figures *l = &plan->load;
    json_t *o;

    if (!plan->experts)
        return;
    o = json_object();
    json_object_set_new(o, "hottest_rank", ss_json_spread(&l->rank, 1));
    json_object_set_new(o, "hottest_expert", ss_json_spread(&l->expert, 1));
    ss_json_number(o, "coldest_rank", l->coldest_rank);
    ss_json_number(o, "dropped", l->dropped);
    ss_json_number(o, "expert_copies", l->expert_copies);
    ss_json_number(o, "nodes", l->nodes);
    ss_json_number(o, "remote_nodes", l->remote_nodes);
    ss_json_number(o, "ranks", l->ranks);
    ss_json_number(o, "remote_ranks", l->remote_ranks);
    ss_json_number(o, "hottest_rank_tokens", l->hottest_rank_tokens);
    ss_json_number(o, "hottest_node_tokens", l->hottest_node_tokens);
    ss_json_number(o, "busiest_source", l->source);
    json_object_set_new(to, "expert_load", o);
}
