/* SPDX-License-Identifier: Apache-2.0 */
/* NVLinks of a node from what its pairs of GPUs have, and what one link carries. */
#include "platform/node_facts.h"

void ss_nvlink_sum(struct ss_nvlink_matrix *m, int ngpus)
{
    m->whole = 1;
    m->mesh = 1;
    m->link = m->pair[1];
    for (int a = 0; a < ngpus; a++)
        for (int b = 0; b < ngpus; b++)
            m->whole = m->whole && (a == b || m->pair[a * SS_MAX_MESH_GPUS + b] == m->link);
    m->whole = m->whole && m->link > 0;
    m->total = m->link * (ngpus - 1);
}

double ss_nvlink_most(const struct ss_node_facts *f, int gpu)
{
    double most = 0;

    for (int b = 0; b < f->ngpus && f->ngpus <= SS_MAX_MESH_GPUS; b++)
        if (f->nvlink.pair[gpu * SS_MAX_MESH_GPUS + b] > most)
            most = f->nvlink.pair[gpu * SS_MAX_MESH_GPUS + b];
    return most;
}

double ss_model_memory(const char *model)
{
    const char *gigabytes = strstr(model, "GB");

    while (gigabytes != NULL && gigabytes > model && isdigit((unsigned char)gigabytes[-1]))
        gigabytes--;
    return gigabytes != NULL && isdigit((unsigned char)*gigabytes) ? atof(gigabytes) * SS_GIB : 0;
}

/* NVIDIA's data sheets print a GPU's NVLinks in both directions together: P100 160 GB/s in 4 links, V100 300 in 6, A100 600
 * in 12, H100 900 in 18, B200 1800 in 18. */
static const struct {
    const char *model;
    int sm;
    double rate;
} generations[] = {{"P100", 60, 20e9},  {"V100", 70, 25e9},  {"A100", 80, 25e9},   {"A800", 80, 25e9},
                   {"H100", 90, 25e9},  {"H200", 90, 25e9},  {"H800", 90, 25e9},   {"H20", 90, 25e9},
                   {"B200", 100, 50e9}, {"B300", 103, 50e9}, {"GB200", 100, 50e9}, {"GB300", 103, 50e9}};

double ss_nvlink_rate(const char *model, int sm)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(generations); i++)
        if (sm > 0 ? generations[i].sm == sm : ss_card_is_named(model, generations[i].model))
            return generations[i].rate;
    return 0;
}
