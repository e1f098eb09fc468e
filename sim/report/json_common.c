/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/common.h"

/* A value that something is missing of has a type that jansson does not know: it cannot be dumped, nor can what holds it, and
 * nothing can be added to it. A flag of ours would need memory where there is none. */
enum { SPOILED = 100 };

static void spoil(json_t *value)
{
    if (value && (int)value->type < SPOILED)
        value->type = (json_type)((int)value->type + SPOILED);
}

void ss_json_set(json_t *object, const char *key, json_t *value)
{
    if (json_object_set_new(object, key, value))
        spoil(object);
}

void ss_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        spoil(array);
}

bool ss_json_is_whole(const json_t *value)
{
    const char *key;
    json_t *part;
    size_t i;

    if (!value || (int)value->type >= SPOILED)
        return false;
    json_object_foreach((json_t *)value, key, part)
    {
        if (!ss_json_is_whole(part))
            return false;
    }
    json_array_foreach(value, i, part)
    {
        if (!ss_json_is_whole(part))
            return false;
    }
    return true;
}

/* Gives jansson back the types that it frees by. */
static void mend(json_t *value)
{
    const char *key;
    json_t *part;
    size_t i;

    if ((int)value->type >= SPOILED)
        value->type = (json_type)((int)value->type - SPOILED);
    json_object_foreach(value, key, part) mend(part);
    json_array_foreach(value, i, part) mend(part);
}

void ss_json_free(json_t *value)
{
    if (value)
        mend(value);
    json_decref(value);
}

json_t *ss_json_string(const char *text)
{
    json_t *value = json_string(text);
    char ascii[1024];
    size_t n = 0;

    if (value || !text)
        return value;
    for (; text[n] && n + 1 < sizeof ascii; n++)
        ascii[n] = (unsigned char)text[n] < 128 ? text[n] : '?';
    ascii[n] = '\0';
    return json_string(ascii);
}

void ss_json_number(json_t *object, const char *key, double value)
{
    SS_PUT(object, SS_KEY(key, value));
}

void ss_json_integer(json_t *object, const char *key, int64_t value)
{
    ss_json_set(object, key, json_integer(value));
}

void ss_json_text(json_t *object, const char *key, const char *text)
{
    ss_json_set(object, key, ss_json_string(text));
}

void ss_json_flag(json_t *object, const char *key, int value)
{
    ss_json_set(object, key, json_boolean(value));
}

void ss_json_metric(json_t *object, int metric, const struct ss_summary *s)
{
    SS_PUT(object, SS_KEY(ss_metric_at(metric)->key, ss_metric_cell(metric, s)));
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

    for (unsigned long i = 0; notes && i < notes->n; i++)
        ss_json_append(array, ss_json_string(notes->text[i]));
    if (notes && notes->lost)
        ss_json_append(array, NULL);
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
    ss_json_integer(object, "nodes", ss_platform_file_nodes(p));
    ss_json_integer(object, "gpus_per_node", ss_platform_file_gpus(p));
    ss_json_integer(object, "nics_per_node", ss_platform_nics_per_node(p) / ss_platform_joined_nodes(p));
    ss_json_number(object, "nic_bandwidth", ss_platform_nic_bandwidth(p));
    ss_json_number(object, "nvlink_bandwidth", ss_platform_nvlink_bandwidth(p));
    ss_json_text(object, "assumed", ss_platform_assumed(p));
    ss_json_set(object, "card", card_object(ss_platform_card(p)));
    return object;
}

struct json_text {
    char *at;
    size_t n, cap;
    bool lost; /* jansson (2.14) goes on where a name found no memory */
};

static int add_text(const char *bytes, size_t n, void *to)
{
    struct json_text *text = to;

    if (ss_grow(&text->at, &text->cap, text->n + n, 1)) {
        text->lost = true;
        return -1;
    }
    memcpy(text->at + text->n, bytes, n);
    text->n += n;
    return 0;
}

int ss_json_write(json_t *document, FILE *out, struct ss_error *err)
{
    struct json_text text = {0};

    text.lost = !ss_json_is_whole(document) || /* else no half of it */
                json_dump_callback(document, add_text, &text,
                                   JSON_INDENT(2) | JSON_PRESERVE_ORDER | JSON_REAL_PRECISION(10)) ||
                text.lost;
    ss_json_free(document);
    if (text.lost) {
        free(text.at);
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "no memory for the JSON document");
    }
    fwrite(text.at, 1, text.n, out);
    fputc('\n', out);
    free(text.at);
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

    if (!plan->job->packed.rows)
        return;
    o = json_object();
    ss_json_number(o, "documents_per_row", p->documents);
    ss_json_number(o, "padding_pct", 100 * p->padding);
    ss_json_number(o, "attention_pct", 100 * p->attention);
    ss_json_number(o, "cut_pct", 100 * p->cut);
    ss_json_number(o, "row_sigma", p->sigma);
    ss_json_set(o, "imbalance_ms", ss_json_spread(&p->imbalance, 1e3));
    ss_json_set(to, "packing", o);
}

void ss_json_add_load(json_t *to, const struct ss_plan *plan)
{
    const struct ss_load_figures *l = &plan->load;
    json_t *o;

    if (!plan->experts)
        return;
    o = json_object();
    ss_json_set(o, "hottest_rank", ss_json_spread(&l->rank, 1));
    ss_json_set(o, "hottest_expert", ss_json_spread(&l->expert, 1));
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
    ss_json_set(to, "expert_load", o);
}
