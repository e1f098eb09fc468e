/* SPDX-License-Identifier: Apache-2.0 */
/* <cluster> with a topology: SimGrid makes its links and routes, and breaks down on numbers that do not fit. */
#include "platform/platform_internal.h"

#define MAX_NUMBERS 64

struct numbers {
    int n, part[MAX_NUMBERS]; /* part: how many numbers each part between ';' has */
    long value[MAX_NUMBERS];
};

static bool read_numbers(const char *text, struct numbers *out)
{
    int part = 0;

    out->n = 0;
    while (out->n < MAX_NUMBERS) {
        char *end;
        long value = *text >= '0' && *text <= '9' ? strtol(text, &end, 10) : 0;

        if (value < 1 || value > SS_MAX_HOSTS)
            return false;
        out->part[out->n] = part;
        out->value[out->n++] = value;
        if (*end == 0)
            return true;
        if (*end != ',' && *end != ';')
            return false;
        part += *end == ';';
        text = end + 1;
    }
    return false;
}

/* Hosts that the parameters make, 0: they have not the form that they should. */
static long hosts_of(const char *topology, const struct numbers *p, const char **form)
{
    const long *v = p->value;
    long hosts = 1;

    if (strcmp(topology, "TORUS") == 0) {
        *form = "the size of each dimension, like \"4,4,2\"";
        for (int i = 0; i < p->n && hosts <= SS_MAX_HOSTS; i++)
            hosts = p->part[i] == 0 ? hosts * v[i] : 0;
        return hosts;
    }
    if (strcmp(topology, "FAT_TREE") == 0) {
        int levels = (int)v[0];

        *form = "levels; children of a switch, parents, links to each of them, a number a level: "
                "\"2;4,4;1,2;1,2\"";
        if (levels > 16 || p->n != 1 + 3 * levels)
            return 0;
        for (int i = 1; i < p->n; i++)
            if (p->part[i] != 1 + (i - 1) / levels)
                return 0;
        for (int i = 0; i < levels && hosts <= SS_MAX_HOSTS; i++)
            hosts *= v[1 + i];
        return hosts;
    }
    *form = "groups,links; chassis,links; blades,links; nodes, like \"3,1;2,1;4,1;2\", with no more groups "
            "than blades";
    if (p->n != 7 || p->part[1] != 0 || p->part[3] != 1 || p->part[5] != 2 || p->part[6] != 3 || v[0] > v[4])
        return 0;
    for (int i = 0; i < 7 && hosts <= SS_MAX_HOSTS; i += 2)
        hosts *= v[i];
    return hosts;
}

bool ss_cluster_is_flat(const struct ss_xml_node *node)
{
    const char *topology = ss_xml_attr(node, "topology");

    return topology == NULL || strcmp(topology, "FLAT") == 0;
}

int ss_cluster_check(const struct ss_xml_node *node, long hosts, const char *file, struct ss_error *err)
{
    const char *topology = ss_xml_attr(node, "topology"), *text = ss_xml_attr(node, "topo_parameters");
    const char *policy = ss_xml_attr(node, "sharing_policy"), *form = "";
    struct numbers numbers = {.n = 1, .value = {1}};
    bool read = text != NULL && read_numbers(text, &numbers);
    long made = hosts_of(topology, &numbers, &form);

    if (!read || made == 0)
        return ss_fail(err, SS_ERR_INPUT, file, node->line,
                       "topo_parameters=\"%.100s\" of a %s" SS_HINT "write %s", text != NULL ? text : "",
                       topology, form);
    if (made != hosts)
        return ss_fail(err, SS_ERR_INPUT, file, node->line,
                       "topo_parameters=\"%.100s\" make %ld hosts, radical=\"%.60s\" %ld" SS_HINT
                       "they must be as many",
                       text, made, ss_xml_attr(node, "radical"), hosts);
    if (policy != NULL && strcmp(policy, "FATPIPE") == 0)
        return ss_fail(err, SS_ERR_UNSUPPORTED, file, node->line,
                       "a %s of FATPIPE links" SS_HINT "use SPLITDUPLEX or SHARED", topology);
    return SS_OK;
}
