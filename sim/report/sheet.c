/* SPDX-License-Identifier: Apache-2.0 */
#include "report/sheet.h"

#include <math.h>

#define ROW 96.0   /* from one row of switches to the next */
#define PITCH 30.0 /* distance of GPUs */

int ss_sheet_draws(const struct ss_drawing *d, int v)
{
    return d->vertices[v].shows == v;
}

int ss_sheet_folds(const struct ss_drawing *d, int v)
{
    for (int like = 0; like < d->nvertices; like++)
        if (like != v && d->vertices[like].shows == v)
            return 1;
    return 0;
}

int ss_sheet_gpus(const struct ss_drawing *d)
{
    return d->ngpus / d->nnodes;
}

/* Places the GPUs of a node side by side, and what is inside the node below them. Returns the width of
 * its frame. */
static double place_node(struct ss_sheet *s, int node, double x)
{
    struct ss_drawing *d = &s->d;
    int g = ss_sheet_gpus(d), n = 0, inside = 0;

    for (int l = node * g; l < (node + 1) * g; l++)
        n += ss_sheet_draws(d, l);
    for (int v = d->ngpus; v < d->nvertices; v++)
        inside += ss_sheet_draws(d, v) && d->vertices[v].node == node;
    double wide = (SS_SHEET_WIDE + SS_SHEET_GAP) * s->squeeze, pitch = n < g ? wide : PITCH * s->squeeze;
    double width = fmax(fmax(n * pitch, inside * wide), SS_SHEET_FRAME_LEAST * s->squeeze) +
                   SS_SHEET_GAP * s->squeeze,
           at = x + (width - n * pitch) / 2 + pitch / 2;

    for (int l = node * g; l < (node + 1) * g; l++)
        if (ss_sheet_draws(d, l)) {
            d->vertices[l].x = at;
            d->vertices[l].y = s->floor;
            at += pitch;
        }
    at = x + (width - inside * wide) / 2 + wide / 2;
    for (int v = d->ngpus; v < d->nvertices; v++)
        if (ss_sheet_draws(d, v) && d->vertices[v].node == node) {
            d->vertices[v].x = at;
            d->vertices[v].y = s->floor + 64;
            at += wide;
        }
    return width;
}

static double row_width(const struct ss_sheet *s, int level)
{
    const struct ss_drawing *d = &s->d;
    int n = 0;

    for (int v = d->ngpus; v < d->nvertices; v++)
        n += ss_sheet_draws(d, v) && d->vertices[v].node < 0 && d->vertices[v].level == level;
    return n * (SS_SHEET_WIDE + SS_SHEET_GAP);
}

double ss_sheet_squeeze(const struct ss_sheet *s, int level)
{
    return level ? fmin(1, (s->width - 2 * SS_SHEET_LEFT) / row_width(s, level)) : s->squeeze;
}

/* Returns the mean x of the drawn boxes that a switch joins from below. Switches that join none come last. */
static double pull_of(const struct ss_drawing *d, int v)
{
    double sum = 0;
    int n = 0;

    for (size_t e = 0; e < d->nedges; e++) {
        const struct ss_drawn_edge *x = &d->edges[e];

        if (x->b != v || d->vertices[x->a].shows < 0 || d->vertices[x->a].level == d->vertices[v].level)
            continue;
        sum += d->vertices[d->vertices[x->a].shows].x;
        n++;
    }
    return n ? sum / n : 1e9;
}

static void place_row(struct ss_sheet *s, int level)
{
    struct ss_drawing *d = &s->d;
    double wide = (SS_SHEET_WIDE + SS_SHEET_GAP) * ss_sheet_squeeze(s, level),
           at = (s->width - row_width(s, level) * ss_sheet_squeeze(s, level)) / 2 + wide / 2;

    for (int v = d->ngpus; v < d->nvertices; v++)
        d->vertices[v].y = d->vertices[v].node < 0 && d->vertices[v].level == level ? 0 : d->vertices[v].y;
    for (int next = 0; next >= 0; at += wide) {
        double best = INFINITY;

        next = -1;
        for (int v = d->ngpus; v < d->nvertices; v++)
            if (ss_sheet_draws(d, v) && d->vertices[v].node < 0 && d->vertices[v].level == level &&
                d->vertices[v].y == 0 && pull_of(d, v) < best) {
                best = pull_of(d, v);
                next = v;
            }
        if (next >= 0) {
            d->vertices[next].x = at;
            d->vertices[next].y = s->floor - 24 - level * ROW + ROW / 3;
        }
    }
}

static int rows_of(const struct ss_sheet *s)
{
    int rows = 0;

    for (int level = 1; level <= s->d.levels; level++)
        rows = row_width(s, level) > 0 ? level : rows;
    return rows;
}

static double nodes_width(struct ss_sheet *s)
{
    double nodes = 0;

    for (int i = 0; i < s->d.nnodes; i++)
        nodes += s->d.nodes[i].drawn ? place_node(s, i, 0) + 2 * SS_SHEET_GAP * s->squeeze : 0;
    return nodes;
}

void ss_sheet_set_width(struct ss_sheet *s, double wanted)
{
    double nodes = nodes_width(s), need = nodes;

    for (int level = 1; level <= rows_of(s); level++)
        need = fmax(need, row_width(s, level));
    s->width = wanted > 0 ? wanted : fmax(SS_SHEET_NARROWEST, need + 2 * SS_SHEET_LEFT);
    s->squeeze = fmin(1, (s->width - 2 * SS_SHEET_LEFT) / nodes);
}

void ss_sheet_place(struct ss_sheet *s)
{
    struct ss_drawing *d = &s->d;
    double x;
    int rows = rows_of(s);

    s->floor = s->top + rows * ROW + 20;
    x = (s->width - nodes_width(s)) / 2 + SS_SHEET_GAP * s->squeeze;
    for (int i = 0; i < d->nnodes; i++)
        if (d->nodes[i].drawn)
            x += place_node(s, i, x) + 2 * SS_SHEET_GAP * s->squeeze;
    for (int level = 1; level <= rows; level++)
        place_row(s, level);
}
