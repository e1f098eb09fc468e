/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a cluster: its nodes below, switches in rows above them, links with their rates. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "report/common.h"
#include "report/drawing.h"
#include "report/svg.h"
#include "stepsim/params.h"

#define LEFT 24.0
#define TOP 92.0
#define ROW 96.0   /* from one row of switches to the next */
#define BOX 24.0   /* height of a box, and a GPU's width */
#define PITCH 30.0 /* distance of GPUs */
#define WIDE 96.0  /* width of a switch, and of a box that stands for GPUs */
#define GAP 12.0
#define FRAME 138.0 /* height of a node's frame */
#define NARROWEST 760.0

struct sheet {
    struct ss_drawing d;
    FILE *out;
    double width, height, floor; /* floor: y of the GPUs */
};

/* A rate of a kind of link, for the key. */
struct rate {
    int kind, sharers;
    double bandwidth;
};

static const char *color_of(int kind)
{
    return ss_tone(SS_TONES_LINK, kind)->color;
}

static const char *fill_of(const struct ss_drawing *d, const struct ss_drawn_vertex *v)
{
    if (v->level == 0)
        return "#d5dae1";
    return v->role == d->fabric_switch ? color_of(SS_LINK_FABRIC)
           : !strcmp(v->role, "host")  ? color_of(SS_LINK_OTHER)
           : v->level == 1             ? color_of(SS_LINK_NIC)
                                       : color_of(SS_LINK_UPLINK);
}

/* Writes a rate: "900 GB/s", "400 Gb/s (50 GB/s)". For networks bits come first. */
static void rate_text(const struct sheet *s, const struct rate *r, char *buf, size_t size)
{
    char bytes[32];

    snprintf(bytes, sizeof bytes, r->bandwidth >= 1e12 ? "%.4g TB/s" : "%.4g GB/s",
             r->bandwidth / (r->bandwidth >= 1e12 ? 1e12 : 1e9));
    if (r->kind == SS_LINK_NIC || r->kind == SS_LINK_UPLINK)
        snprintf(buf, size, r->bandwidth * 8 >= 1e12 ? "%s %.4g Tb/s (%s)" : "%s %.4g Gb/s (%s)",
                 r->kind == SS_LINK_NIC ? "NIC" : "uplink",
                 r->bandwidth * 8 / (r->bandwidth * 8 >= 1e12 ? 1e12 : 1e9), bytes);
    else
        snprintf(buf, size, "%s %s", r->kind == SS_LINK_FABRIC ? ss_platform_fabric(s->d.p) : "other link",
                 bytes);
    if (r->sharers > 1)
        snprintf(buf + strlen(buf), size - strlen(buf), ", shared by %d GPUs", r->sharers);
}

/* ---- layout ---- */

static int is_drawn(const struct ss_drawing *d, int v)
{
    return d->vertices[v].shows == v;
}

static int is_folded(const struct ss_drawing *d, int v)
{
    for (int like = 0; like < d->nvertices; like++)
        if (like != v && d->vertices[like].shows == v)
            return 1;
    return 0;
}

static int gpus_of(const struct ss_drawing *d)
{
    return d->ngpus / d->nnodes;
}

/* Places the GPUs of a node side by side, and what is inside the node below them. Returns the width of
 * its frame. */
static double place_node(struct sheet *s, int node, double x)
{
    struct ss_drawing *d = &s->d;
    int g = gpus_of(d), n = 0, inside = 0;

    for (int l = node * g; l < (node + 1) * g; l++)
        n += is_drawn(d, l);
    for (int v = d->ngpus; v < d->nvertices; v++)
        inside += is_drawn(d, v) && d->vertices[v].node == node;
    double pitch = n < g ? WIDE + GAP : PITCH;
    double width = fmax(fmax(n * pitch, inside * (WIDE + GAP)), 150) + GAP,
           at = x + (width - n * pitch) / 2 + pitch / 2;

    for (int l = node * g; l < (node + 1) * g; l++)
        if (is_drawn(d, l)) {
            d->vertices[l].x = at;
            d->vertices[l].y = s->floor;
            at += pitch;
        }
    at = x + (width - inside * (WIDE + GAP)) / 2 + (WIDE + GAP) / 2;
    for (int v = d->ngpus; v < d->nvertices; v++)
        if (is_drawn(d, v) && d->vertices[v].node == node) {
            d->vertices[v].x = at;
            d->vertices[v].y = s->floor + 64;
            at += WIDE + GAP;
        }
    return width;
}

static double row_width(const struct ss_drawing *d, int level)
{
    int n = 0;

    for (int v = d->ngpus; v < d->nvertices; v++)
        n += is_drawn(d, v) && d->vertices[v].node < 0 && d->vertices[v].level == level;
    return n * (WIDE + GAP);
}

/* Returns the mean x of the drawn boxes that a switch joins from below. Switches that join none come
 * last. */
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

static void place_row(struct sheet *s, int level)
{
    struct ss_drawing *d = &s->d;
    double at = (s->width - row_width(d, level)) / 2 + (WIDE + GAP) / 2;

    for (int v = d->ngpus; v < d->nvertices; v++)
        d->vertices[v].y = d->vertices[v].node < 0 && d->vertices[v].level == level ? 0 : d->vertices[v].y;
    for (int next = 0; next >= 0; at += WIDE + GAP) {
        double best = INFINITY;

        next = -1;
        for (int v = d->ngpus; v < d->nvertices; v++)
            if (is_drawn(d, v) && d->vertices[v].node < 0 && d->vertices[v].level == level &&
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

static int rows_of(const struct ss_drawing *d)
{
    int rows = 0;

    for (int level = 1; level <= d->levels; level++)
        rows = row_width(d, level) > 0 ? level : rows;
    return rows;
}

static void place(struct sheet *s)
{
    struct ss_drawing *d = &s->d;
    double nodes = 0, x;
    int rows = rows_of(d);

    s->floor = TOP + rows * ROW + 20;
    for (int i = 0; i < d->nnodes; i++)
        nodes += d->nodes[i].drawn ? place_node(s, i, 0) + 2 * GAP : 0;
    s->width = fmax(NARROWEST, nodes + 2 * LEFT);
    for (int level = 1; level <= rows; level++)
        s->width = fmax(s->width, row_width(d, level) + 2 * LEFT);
    x = (s->width - nodes) / 2 + GAP;
    for (int i = 0; i < d->nnodes; i++)
        if (d->nodes[i].drawn)
            x += place_node(s, i, x) + 2 * GAP;
    for (int level = 1; level <= rows; level++)
        place_row(s, level);
}

/* ---- drawing ---- */

static void put_line(struct sheet *s, const struct ss_drawn_edge *e)
{
    const struct ss_drawn_vertex *a = &s->d.vertices[s->d.vertices[e->a].shows],
                                 *b = &s->d.vertices[s->d.vertices[e->b].shows];
    double bow = a->level == b->level ? fmin(22 + fabs(a->x - b->x) / 8, 40) : 0; /* beside each other */
    char text[128];

    if (a->level > 0)
        bow = -bow;
    rate_text(s, &(struct rate){e->kind, e->sharers, e->bandwidth}, text, sizeof text);
    fprintf(s->out,
            "<path fill=\"none\" stroke=\"%s\" stroke-opacity=\".75\" stroke-width=\"%.1f\" d=\"M%.1f "
            "%.1fQ%.1f %.1f %.1f %.1f\"><title>",
            color_of(e->kind), fmin(fmax(1 + log10(e->bandwidth / 1e10), 1), 4), a->x, a->y,
            (a->x + b->x) / 2, (a->y + b->y) / 2 + 2 * bow, b->x, b->y);
    ss_xml_escape(s->out, text);
    fputs("</title></path>\n", s->out);
}

static int same_line(const struct ss_drawing *d, const struct ss_drawn_edge *x, const struct ss_drawn_edge *y)
{
    return d->vertices[x->a].shows == d->vertices[y->a].shows &&
           d->vertices[x->b].shows == d->vertices[y->b].shows && x->kind == y->kind &&
           x->bandwidth == y->bandwidth;
}

/* Draws the lines. Edges stand in the order of their ends, so that equal lines of folded boxes are near
 * each other. */
static void put_lines(struct sheet *s)
{
    const struct ss_drawn_edge *last = NULL;

    for (size_t e = 0; e < s->d.nedges; e++) {
        const struct ss_drawn_edge *x = &s->d.edges[e];

        if (s->d.vertices[x->a].shows < 0 || s->d.vertices[x->b].shows < 0 ||
            (last && same_line(&s->d, last, x)))
            continue;
        if (s->d.vertices[x->a].shows != x->a && s->d.vertices[x->b].shows != x->b)
            continue; /* that of the boxes that stand for them is drawn */
        if (s->d.vertices[x->a].shows != s->d.vertices[x->b].shows)
            put_line(s, x);
        last = x;
    }
}

static void put_rect(struct sheet *s, double x, double y, double width, double height, const char *attributes)
{
    fprintf(s->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" %s/>\n", x, y, width,
            height, attributes);
}

/* Returns the rail of a leaf: the place of its NICs among those of a node; -1: it is none, or joins several. */
static int rail_of(const struct ss_drawing *d, int v)
{
    int nics = ss_platform_nics_per_node(d->p), gpus = gpus_of(d), rail = -1;

    if (nics < 2 || d->vertices[v].node >= 0 || d->vertices[v].level != 1 ||
        strcmp(d->vertices[v].role, "leaf") != 0)
        return -1;
    for (size_t e = 0; e < d->nedges; e++) {
        int gpu = d->edges[e].a;
        if (d->edges[e].b != v || d->vertices[gpu].level > 0)
            continue;
        int own = gpu % gpus * nics / gpus;
        if (rail >= 0 && own != rail)
            return -1;
        rail = own;
    }
    return rail;
}

static void put_box(struct sheet *s, int v)
{
    const struct ss_drawing *d = &s->d;
    const struct ss_drawn_vertex *x = &d->vertices[v];
    char text[64], fill[64];
    double width = x->level > 0 || is_folded(d, v) ? WIDE : BOX;
    int rail = rail_of(d, v);
    int folded = is_folded(d, v), shown = 0;
    for (int like = 0; like < d->nvertices; like++)
        shown += d->vertices[like].shows == v;
    snprintf(fill, sizeof fill, "class=\"b\" fill=\"%s\"", fill_of(&s->d, x));
    if (x->level == 0)
        snprintf(text, sizeof text, folded ? "%d GPUs" : "%d", folded ? shown : v % gpus_of(d));
    else if (folded)
        snprintf(text, sizeof text, strcmp(x->role, "leaf") ? "%lld x %s" : "%lld %s", (long long)x->equal,
                 strcmp(x->role, "leaf") ? x->role : "leaves");
    else if (rail >= 0)
        snprintf(text, sizeof text, "%s, rail %d", x->role, rail);
    else
        snprintf(text, sizeof text, "%s", x->role);
    put_rect(s, x->x - width / 2, x->y - BOX / 2, width, BOX, fill);
    ss_svg_text(s->out, x->x, x->y + 4, ss_color_light(fill_of(&s->d, x)) ? "mid k small" : "mid w small",
                text);
}

static void put_frame_box(struct sheet *s, double x, double y, double width)
{
    put_rect(s, x, y, width, FRAME, "class=\"bg\"");
    put_rect(s, x, y, width, FRAME, "class=\"frame\"");
}

static void put_frame(struct sheet *s, int node)
{
    const struct ss_drawing *d = &s->d;
    const struct ss_drawn_node *n = &d->nodes[node];
    const int joined = ss_platform_joined_nodes(d->p);
    double low = INFINITY, high = -INFINITY;
    char text[64];

    for (int v = 0; v < d->nvertices; v++)
        if (is_drawn(d, v) && d->vertices[v].node == node) {
            double half = d->vertices[v].level > 0 || is_folded(d, v) ? WIDE / 2 : BOX / 2;
            low = fmin(low, d->vertices[v].x - half);
            high = fmax(high, d->vertices[v].x + half);
        }
    if (high - low < 150 - GAP) {
        double middle = (low + high) / 2;
        low = middle - (150 - GAP) / 2;
        high = middle + (150 - GAP) / 2;
    }
    if (n->equal > 1) /* more of them behind it */
        for (int k = 2; k > 0; k--)
            put_frame_box(s, low - GAP + 5 * k, s->floor - 24 + 5 * k, high - low + 2 * GAP);
    put_frame_box(s, low - GAP, s->floor - 24, high - low + 2 * GAP);
    if (joined > 1 && n->equal > 1)
        snprintf(text, sizeof text, "%lld %s domains of %d nodes", (long long)n->equal,
                 ss_platform_fabric(d->p), joined);
    else if (joined > 1)
        snprintf(text, sizeof text, "nodes %d to %d", n->node * joined, (n->node + 1) * joined - 1);
    else if (n->equal > 1)
        snprintf(text, sizeof text, "%lld nodes of %d GPU%s", (long long)n->equal, gpus_of(d),
                 gpus_of(d) == 1 ? "" : "s");
    else
        snprintf(text, sizeof text, "node %d", n->node);
    ss_svg_text(s->out, (low + high) / 2, s->floor + FRAME - 32, "mid small", text);
}

/* ---- key ---- */

static int has_rate(const struct rate *rates, int n, const struct ss_drawn_edge *e)
{
    for (int i = 0; i < n; i++)
        if (rates[i].kind == e->kind && rates[i].bandwidth == e->bandwidth && rates[i].sharers == e->sharers)
            return 1;
    return 0;
}

static int by_rate(const void *a, const void *b)
{
    const struct rate *x = a, *y = b;

    if (x->kind != y->kind)
        return x->kind - y->kind;
    return x->bandwidth != y->bandwidth ? (x->bandwidth < y->bandwidth) - (x->bandwidth > y->bandwidth)
                                        : x->sharers - y->sharers;
}

static void put_count(struct sheet *s, const char *role, int64_t all, int drawn, double x, double y)
{
    char text[96];
    snprintf(text, sizeof text, "%s: %d of %lld drawn", role, drawn, (long long)all);
    ss_svg_text(s->out, x, y, "small muted", text);
}

/* Writes a line for each row of which not all is drawn, in two columns from place `at` on. Returns the
 * next place. */
static int put_counts(struct sheet *s, double y, int at)
{
    const struct ss_drawing *d = &s->d;

    for (int level = 1; level <= d->levels; level++) {
        const char *role = NULL;
        int64_t all = 0;
        int drawn = 0;

        for (int v = d->ngpus; v < d->nvertices; v++) {
            const struct ss_drawn_vertex *x = &d->vertices[v];
            int first = 1;

            if (!is_drawn(d, v) || x->node >= 0 || x->level != level || is_folded(d, v))
                continue;
            for (int like = d->ngpus; like < v; like++)
                first =
                    first && !(is_drawn(d, like) &&
                               (d->vertices[like].color == x->color || ss_platform_leaf_nodes(d->p) > 0) &&
                               d->vertices[like].level == level && d->vertices[like].node < 0);
            all += first ? x->equal : 0;
            role = x->role;
            drawn++;
        }
        if (all > drawn && s->out)
            put_count(s, role, all, drawn, LEFT + at % 2 * (s->width / 2 - LEFT) + 34, y + 20 * (at / 2));
        at += all > drawn;
    }
    return at;
}

/* Writes every rate of a drawn link, two in a line, and what is not drawn. Returns the height. Without a
 * stream it only measures. */
static double put_key(struct sheet *s, double y)
{
    struct rate rates[32];
    int n = 0;
    char text[128];

    for (size_t e = 0; e < s->d.nedges && n < (int)SS_ARRAY_LEN(rates); e++) {
        const struct ss_drawn_edge *x = &s->d.edges[e];

        if ((s->d.vertices[x->a].shows >= 0 || s->d.vertices[x->b].shows >= 0) && !has_rate(rates, n, x))
            rates[n++] = (struct rate){x->kind, x->sharers, x->bandwidth};
    }
    if (n)
        qsort(rates, (size_t)n, sizeof *rates, by_rate);
    for (int i = 0; i < n && s->out; i++) {
        double left = LEFT + i % 2 * (s->width / 2 - LEFT), at = y + 20 * (i / 2);

        rate_text(s, &rates[i], text, sizeof text);
        fprintf(s->out, "<path stroke=\"%s\" stroke-width=\"%.1f\" d=\"M%.1f %.1fh26\"/>\n",
                color_of(rates[i].kind), fmin(fmax(1 + log10(rates[i].bandwidth / 1e10), 1), 4), left,
                at - 4);
        ss_svg_text(s->out, left + 34, at, "small", text);
    }
    n = put_counts(s, y, n);
    return 20 * ((n + 1) / 2);
}

/* Writes how much of what enters a leaf its uplinks carry; nothing where a file does not say. */
static void over_text(const struct sheet *s, char *buf, size_t size)
{
    double over = ss_platform_leaf_nodes(s->d.p) > 0 ? ss_platform_get(s->d.p, SS_PROP_OVERSUBSCRIPTION) : 0;
    int rails = over > 0 ? ss_platform_nics_per_node(s->d.p) : 0;

    if (over > 0)
        ss_append(
            buf, size,
            over > 1 ? "Oversubscribed %g:1: so much more enters a leaf from its NICs than its uplinks carry."
                     : "Not oversubscribed (%g:1): uplinks carry all that enters a leaf from its NICs.",
            over);
    if (rails > 1)
        ss_append(buf, size, " %d rails: leaf r joins NIC r of its nodes.", rails);
}

static void put_sheet(struct sheet *s)
{
    const struct ss_platform *p = s->d.p;
    int domains = ss_platform_nodes(p), nodes = ss_platform_file_nodes(p), kinds = 0;
    char unit[40], title[200], text[200], over[240] = "";

    snprintf(unit, sizeof unit, "%s domain", ss_platform_fabric(p));
    for (int i = 0; i < s->d.nnodes; i++)
        kinds += s->d.nodes[i].drawn;
    snprintf(title, sizeof title, "%s: %d node%s of %d x %s", ss_platform_name(p), nodes,
             nodes == 1 ? "" : "s", ss_platform_file_gpus(p), ss_platform_card(p)->name);
    text[0] = '\0';
    if (kinds < domains)
        snprintf(text, sizeof text, "One %s %s, with the switches above it. ",
                 nodes > domains ? unit : "node", kinds > 1 ? "of each kind is drawn" : "stands for all");
    snprintf(text + strlen(text), sizeof text - strlen(text), "%s",
             "Links are full duplex: rates are those of one direction.");
    over_text(s, over, sizeof over);
    ss_svg_begin(s->out, s->width, s->height, title, text);
    ss_svg_text(s->out, LEFT, 30, "title", title);
    ss_svg_text(s->out, LEFT, 50, "small muted", text);
    ss_svg_text(s->out, LEFT, 68, "small", over);
    for (int i = 0; i < s->d.nnodes; i++)
        if (s->d.nodes[i].drawn)
            put_frame(s, i);
    put_lines(s);
    for (int v = 0; v < s->d.nvertices; v++)
        if (is_drawn(&s->d, v))
            put_box(s, v);
    put_key(s, s->floor + FRAME + 20);
    ss_svg_end(s->out);
}

int ss_platform_svg(const struct ss_platform *p, FILE *out, struct ss_error *err)
{
    struct sheet s = {.out = NULL};
    int rc = ss_drawing_make(&s.d, p);

    if (rc)
        rc = ss_fail(err, rc, NULL, 0, "out of memory for the picture");
    if (!rc) {
        place(&s);
        s.height = s.floor + FRAME + 20 + put_key(&s, 0) + 12;
        s.out = out;
        put_sheet(&s);
        rc = ss_report_done(out, err);
    }
    ss_drawing_free(&s.d);
    return rc;
}
