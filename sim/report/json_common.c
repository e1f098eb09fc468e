/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>

#include "report/common.h"
#include "stepsim/job.h"

void ss_json_verdict(struct ss_json *object, const struct ss_summary *s)
{
    struct ss_row r = {0};

    ss_row_verdict(&r, s);
    ss_json_put(object, r.at);
}

void ss_json_metrics(struct ss_json *object, int place, const struct ss_summary *s)
{
    struct ss_row r = {0};

    ss_row_metrics(&r, s);
    for (int i = 0; i < (int)r.n; i++)
        if (place >= 0 && (i < SS_METRICS ? ss_metric_at(i)->place : SS_IN_RUN) != place)
            r.at[i].cell = SS_NO_CELL;
    ss_json_put(object, r.at);
}

struct ss_json *ss_json_document(const char *command)
{
    return SS_OBJECT(SS_KEY("schema_version", SS_SCHEMA_VERSION), SS_KEY("version", ss_version()),
                     SS_KEY_IF(command, "command", command));
}

struct ss_json *ss_json_notes(const struct ss_notes *notes)
{
    struct ss_json *array = ss_json_begin_list();

    for (unsigned long i = 0; notes && i < notes->n; i++)
        SS_ITEM(array, notes->text[i]);
    if (notes && notes->lost)
        SS_ITEM(array, SS_NO_CELL);
    return array;
}

struct ss_json *ss_json_labels(const double seconds[SS_LABEL_COUNT])
{
    return ss_json_named(SS_LABEL_COUNT, ss_label_name, seconds, 1e3);
}

static struct ss_json *card_object(const struct ss_card *card)
{
    struct ss_json *object = SS_OBJECT(SS_SAME(card, name));

    for (int i = 0; i < SS_PROP_CARD_COUNT; i++)
        SS_PUT(object, SS_KEY(ss_prop_key(i), ss_prop_get(i, card)));
    return object;
}

struct ss_json *ss_json_platform(const struct ss_platform *p)
{
    char hash[32];

    snprintf(hash, sizeof hash, "%016" PRIx64, ss_platform_hash(p));
    return SS_OBJECT(
        SS_KEY("name", ss_platform_name(p)), SS_KEY("hash", hash), SS_KEY("nodes", ss_platform_file_nodes(p)),
        SS_KEY("gpus_per_node", ss_platform_file_gpus(p)),
        SS_KEY("nics_per_node", ss_platform_nics_per_node(p) / ss_platform_joined_nodes(p)),
        SS_KEY("nic_bandwidth", ss_platform_nic_bandwidth(p)),
        SS_KEY("nvlink_bandwidth", ss_platform_fabric_bandwidth(p)),
        SS_KEY_IF(strcmp(ss_platform_fabric(p), "NVLink"), "fabric", ss_platform_fabric(p)),
        SS_KEY_IF(ss_platform_library_file(p), "library", ss_platform_library(p)->name),
        SS_KEY("assumed", ss_platform_assumed(p)), SS_KEY("card", card_object(ss_platform_card(p))));
}

static struct ss_json *platform_object(const void *of)
{
    return ss_json_platform(of);
}

struct ss_json *ss_json_platform_kept(const struct ss_platform *p, struct ss_cache *cache)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_JSON);
    const char *const texts[] = {ss_platform_name(p), ss_platform_fabric(p),
                                 ss_platform_library_file(p) ? ss_platform_library(p)->name : "",
                                 ss_platform_assumed(p)};
    const double numbers[] = {ss_platform_nic_bandwidth(p), ss_platform_fabric_bandwidth(p)};
    const int counts[] = {ss_platform_file_nodes(p), ss_platform_file_gpus(p), ss_platform_nics_per_node(p),
                          ss_platform_joined_nodes(p)};
    ss_cache_mix(&key, ss_platform_hash(p)); /* of the card, too */
    ss_cache_mix_bytes(&key, numbers, sizeof numbers);
    ss_cache_mix_ints(&key, counts, (int)SS_ARRAY_LEN(counts));
    for (size_t i = 0; i < SS_ARRAY_LEN(texts); i++)
        ss_cache_mix_bytes(&key, texts[i], strlen(texts[i]));
    return ss_json_keep(cache, key, platform_object, p);
}

/* Returns mean and percentiles, each multiplied by `scale`. */
static struct ss_json *spread_object(const struct ss_load_spread *s, double scale)
{
    return SS_OBJECT(SS_KEY("mean", scale * s->mean), SS_KEY("p50", scale * s->p50),
                     SS_KEY("p90", scale * s->p90), SS_KEY("p99", scale * s->p99));
}

void ss_json_add_packing(struct ss_json *to, const struct ss_plan *plan)
{
    const struct ss_packing_figures *p = &plan->packing;

    if (plan->job->packed.rows)
        SS_PUT(to, SS_KEY("packing", SS_OBJECT(SS_KEY("documents_per_row", p->documents),
                                               SS_KEY("padding_pct", 100 * p->padding),
                                               SS_KEY("attention_pct", 100 * p->attention),
                                               SS_KEY("cut_pct", 100 * p->cut), SS_KEY("row_sigma", p->sigma),
                                               SS_KEY("imbalance_ms", spread_object(&p->imbalance, 1e3)))));
}

void ss_json_add_load(struct ss_json *to, const struct ss_plan *plan)
{
    const struct ss_load_figures *l = &plan->load;

    if (plan->experts)
        SS_PUT(to, SS_KEY("expert_load",
                          SS_OBJECT(SS_KEY("hottest_rank", spread_object(&l->rank, 1)),
                                    SS_KEY("hottest_expert", spread_object(&l->expert, 1)),
                                    SS_SAME(l, coldest_rank), SS_SAME(l, dropped), SS_SAME(l, expert_copies),
                                    SS_SAME(l, nodes), SS_SAME(l, remote_nodes), SS_SAME(l, ranks),
                                    SS_SAME(l, remote_ranks), SS_SAME(l, hottest_rank_tokens),
                                    SS_SAME(l, hottest_node_tokens), SS_KEY("busiest_source", l->source))));
}
