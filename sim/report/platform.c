/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what `platform show` prints. */
#include "report/common.h"

static void text_card(const struct ss_card *card, FILE *out)
{
    char value[64];

    fprintf(out, "\n%s\n", card->name);
    for (int i = 0; i < SS_PROP_CARD_COUNT; i++) {
        const struct ss_prop *p = ss_prop_at(i);
        int stated = ss_prop_get(i, card) != 0 ||
                     (i != SS_PROP_price && i != SS_PROP_power); /* no GPU costs or draws nothing */

        fprintf(out, "  %-24s %12s  %s\n", p->id,
                stated ? ss_unit_format(ss_prop_get(i, card), p->unit, value, sizeof value) : "not stated",
                p->doc);
    }
}

static int json_show(const struct ss_platform *p, FILE *out, struct ss_error *err)
{
    struct ss_json *o = ss_json_document("platform"), *links = ss_json_begin_list();
    int n = ss_platform_link_count(p);

    for (int i = 0; i < n && i < 1024; i++) {
        struct ss_link link;
        ss_platform_link(p, i, &link);
        SS_ITEM(links, SS_OBJECT(SS_SAME(&link, name), SS_KEY("kind", ss_link_kind_name(link.kind)),
                                 SS_SAME(&link, bandwidth), SS_SAME(&link, latency)));
    }
    SS_PUT(o, SS_KEY("platform", ss_json_platform(p)), SS_KEY("link_count", n), SS_KEY("links", links));
    return ss_json_write(o, out, err);
}

static void text_links(const struct ss_platform *p, FILE *out)
{
    int count[SS_LINK_KIND_COUNT] = {0}, n = ss_platform_link_count(p);
    double low[SS_LINK_KIND_COUNT] = {0}, high[SS_LINK_KIND_COUNT] = {0};

    for (int i = 0; i < n; i++) {
        struct ss_link link;
        ss_platform_link(p, i, &link);
        int k = link.kind >= 0 && link.kind < SS_LINK_KIND_COUNT ? link.kind : SS_LINK_OTHER;
        if (count[k] == 0 || link.bandwidth < low[k])
            low[k] = link.bandwidth;
        if (link.bandwidth > high[k])
            high[k] = link.bandwidth;
        count[k]++;
    }
    fprintf(out, "\nLinks, one direction each\n");
    for (int k = 0; k < SS_LINK_KIND_COUNT; k++) {
        char a[64], b[64];
        if (!count[k])
            continue;
        fprintf(out, "  %-8s %6d of %s", k == SS_LINK_FABRIC ? ss_platform_fabric(p) : ss_link_kind_name(k),
                count[k], ss_unit_format(low[k], SS_UNIT_BANDWIDTH, a, sizeof a));
        if (high[k] > low[k])
            fprintf(out, " to %s", ss_unit_format(high[k], SS_UNIT_BANDWIDTH, b, sizeof b));
        fputc('\n', out);
    }
}

int ss_report_platform(const struct ss_platform *p, int json, FILE *out, struct ss_error *err)
{
    int nodes = ss_platform_file_nodes(p), gpus = ss_platform_file_gpus(p),
        joined = ss_platform_joined_nodes(p);
    const char *assumed = ss_platform_assumed(p);

    if (json)
        return json_show(p, out, err);
    fprintf(out, "%s: %d node%s x %d GPUs = %d x %s, hash %016llx\n", ss_platform_name(p), nodes,
            ss_plural(nodes), gpus, nodes * gpus, ss_platform_card(p)->name,
            (unsigned long long)ss_platform_hash(p));
    fprintf(out, "%d NICs a node of %.4g GB/s, %s %.4g GB/s a GPU and direction",
            ss_platform_nics_per_node(p) / joined, ss_platform_nic_bandwidth(p) / 1e9, ss_platform_fabric(p),
            ss_platform_fabric_bandwidth(p) / 1e9);
    if (joined > 1)
        fprintf(out, ", of %d nodes on one switch", joined);
    fputc('\n', out);
    if (ss_platform_library_file(p))
        fprintf(out, "collectives of %s\n", ss_platform_library(p)->name);
    if (assumed[0])
        fprintf(out, "assumed, not known: %s\n", assumed);
    text_links(p, out);
    text_card(ss_platform_card(p), out);
    return ss_report_done(out, err);
}
