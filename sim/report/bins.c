/* SPDX-License-Identifier: Apache-2.0 */
#include "report/bins.h"

#include "base/base.h"

static int add_part(struct ss_link_bytes **parts, size_t *cap, size_t first, size_t *n, int link,
                    double bytes)
{
    size_t i = first;

    while (i < *n && (*parts)[i].link != link)
        i++;
    if (i == *n) {
        if (ss_grow(parts, cap, *n + 1, sizeof **parts))
            return SS_ERR_NOMEM;
        (*parts)[(*n)++] = (struct ss_link_bytes){link, 0};
    }
    (*parts)[i].bytes += bytes;
    return SS_OK;
}

/* Gathers the bytes that one run of each collective puts on each link. */
static int gather_parts(struct ss_bins *b)
{
    const struct ss_program *p = b->program;
    size_t n = 0, cap = 0;
    int rc = SS_OK;

    for (int c = 0; c < p->ncollectives; c++) {
        const struct ss_collective *col = &p->collectives[c];
        b->first_part[c] = (int)n;
        for (int ph = 0; ph < col->nphases; ph++)
            for (int i = 0; i < col->phases[ph].nflows; i++) {
                const struct ss_flow *flow = &col->phases[ph].flows[i];
                const struct ss_path *path = flow->path < 0 ? NULL : &p->paths[flow->path];
                for (int l = 0; path && !rc && l < path->nlinks; l++)
                    rc = add_part(&b->parts, &cap, (size_t)b->first_part[c], &n, path->link[l],
                                  flow->bytes * path->weight[l]);
            }
    }
    b->first_part[p->ncollectives] = (int)n;
    return rc;
}

int ss_bins_init(struct ss_bins *b, const struct ss_program *p, double start, double end, int n)
{
    size_t cells = (size_t)p->nclasses * (size_t)n;

    memset(b, 0, sizeof *b);
    b->program = p;
    b->n = n;
    b->start = start;
    b->width = end > start ? (end - start) / n : 1;
    b->memory = ss_calloc(cells + 1, sizeof *b->memory);
    b->total = ss_calloc(cells + 1, sizeof *b->total);
    b->now = ss_calloc((size_t)p->nclasses + 1, sizeof *b->now);
    b->at = ss_calloc((size_t)p->nclasses + 1, sizeof *b->at);
    b->load = ss_calloc((size_t)p->nlinks * (size_t)n + 1, sizeof *b->load);
    b->first_part = ss_calloc((size_t)p->ncollectives + 1, sizeof *b->first_part);
    b->link_bytes = ss_calloc((size_t)p->nlinks + 1, sizeof *b->link_bytes);
    b->channel_bytes = ss_calloc((size_t)p->nchannels + 1, sizeof *b->channel_bytes);
    b->channel_messages = ss_calloc((size_t)p->nchannels + 1, sizeof *b->channel_messages);
    if (!b->memory || !b->total || !b->now || !b->at || !b->load || !b->first_part || !b->link_bytes ||
        !b->channel_bytes || !b->channel_messages || gather_parts(b)) {
        ss_bins_free(b);
        return SS_ERR_NOMEM;
    }
    return SS_OK;
}

void ss_bins_free(struct ss_bins *b)
{
    SS_FREE(b->memory, b->total, b->now, b->at, b->load, b->parts, b->first_part, b->link_bytes,
            b->channel_bytes, b->channel_messages);
    memset(b, 0, sizeof *b);
}

static int bin_of(const struct ss_bins *b, double time)
{
    double x = floor((time - b->start) / b->width);

    return x < 0 ? -1 : x >= b->n ? b->n : (int)x;
}

static void keep_level(struct ss_bins *b, int cls, int bin)
{
    size_t cell = (size_t)cls * (size_t)b->n + (size_t)bin;
    double total = 0;

    for (int m = 0; m < SS_MEM_COUNT; m++)
        total += b->now[cls][m];
    if (total < b->total[cell])
        return;
    b->total[cell] = total;
    memcpy(b->memory[cell], b->now[cls], sizeof b->now[cls]);
}

/* Puts the level since the last event into every bin up to `bin`. */
static void hold(struct ss_bins *b, int cls, int bin)
{
    int last = bin < b->n ? bin : b->n - 1;

    for (int i = b->at[cls] < 0 ? 0 : b->at[cls]; i <= last; i++)
        keep_level(b, cls, i);
    b->at[cls] = bin;
}

void ss_bins_memory(struct ss_bins *b, int cls, double time, int mem, double bytes)
{
    int bin = bin_of(b, time);

    hold(b, cls, bin);
    b->now[cls][mem] += bytes;
    if (bin >= 0 && bin < b->n)
        keep_level(b, cls, bin);
}

void ss_bins_end(struct ss_bins *b)
{
    for (int c = 0; c < b->program->nclasses; c++)
        hold(b, c, b->n - 1);
}

static void add_load(struct ss_bins *b, int link, double start, double end, double bytes)
{
    double *load = b->load + (size_t)link * (size_t)b->n, rate = end > start ? bytes / (end - start) : 0;
    int first = bin_of(b, start), last = bin_of(b, end);

    b->link_bytes[link] += bytes;
    if (end <= start && first >= 0 && first < b->n)
        load[first] += bytes;
    for (int i = first < 0 ? 0 : first; rate > 0 && i <= last && i < b->n; i++) {
        double from = fmax(start, b->start + i * b->width), to = fmin(end, b->start + (i + 1) * b->width);
        if (to > from)
            load[i] += rate * (to - from);
    }
}

void ss_bins_transfer(struct ss_bins *b, int channel, int collective, double start, double end, double bytes)
{
    const struct ss_program *p = b->program;

    if (channel >= 0) {
        int index = p->channels[channel].path;
        const struct ss_path *path = index < 0 ? NULL : &p->paths[index];
        double begin = fmin(end, start + p->channels[channel].latency);
        b->channel_bytes[channel] += bytes;
        b->channel_messages[channel]++;
        for (int l = 0; path && l < path->nlinks; l++)
            add_load(b, path->link[l], begin, end, bytes * path->weight[l]);
    } else {
        for (int i = b->first_part[collective]; i < b->first_part[collective + 1]; i++)
            add_load(b, b->parts[i].link, start, end, b->parts[i].bytes);
    }
}

double ss_bins_load(const struct ss_bins *b, int link, int bin)
{
    double room = b->program->links[link].bandwidth * b->width;

    return room > 0 ? b->load[(size_t)link * (size_t)b->n + (size_t)bin] / room : 0;
}
