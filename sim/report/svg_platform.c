/* SPDX-License-Identifier: Apache-2.0 */
/* Draws a cluster: its nodes below, switches in rows above them, links with their rates. */
#include "report/common.h"
#include "report/sheet.h"
#include "report/svg.h"

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
static void rate_text(const struct ss_sheet *s, const struct rate *r, char *buf, size_t size)
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

/* ---- drawing ---- */

static void put_line(struct ss_sheet *s, const struct ss_drawn_edge *e)
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
static void put_lines(struct ss_sheet *s)
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

static void put_rect(struct ss_sheet *s, double x, double y, double width, double height,
                     const char *attributes)
{
    fprintf(s->out, "<rect x=\"%.1f\" y=\"%.1f\" width=\"%.1f\" height=\"%.1f\" rx=\"4\" %s/>\n", x, y, width,
            height, attributes);
}

/* Returns the rail of a leaf: the place of its NICs among those of a node; -1: it is none, or joins several. */
static int rail_of(const struct ss_drawing *d, int v)
{
    int nics = ss_platform_nics_per_node(d->p), gpus = ss_sheet_gpus(d), rail = -1;

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

static void put_box(struct ss_sheet *s, int v)
{
    const struct ss_drawing *d = &s->d;
    const struct ss_drawn_vertex *x = &d->vertices[v];
    char text[64], fill[64];
    double width = (x->level > 0 || ss_sheet_folds(d, v) ? SS_SHEET_WIDE : SS_SHEET_BOX) *
                   ss_sheet_squeeze(s, x->node < 0 ? x->level : 0);
    int rail = rail_of(d, v);
    int folded = ss_sheet_folds(d, v), shown = 0;
    for (int like = 0; like < d->nvertices; like++)
        shown += d->vertices[like].shows == v;
    snprintf(fill, sizeof fill, "class=\"b\" fill=\"%s\"", fill_of(&s->d, x));
    if (x->level == 0)
        snprintf(text, sizeof text, folded ? "%d GPUs" : "%d", folded ? shown : v % ss_sheet_gpus(d));
    else if (folded)
        snprintf(text, sizeof text, strcmp(x->role, "leaf") ? "%lld x %s" : "%lld %s", (long long)x->equal,
                 strcmp(x->role, "leaf") ? x->role : "leaves");
    else if (rail >= 0)
        snprintf(text, sizeof text, "%s, rail %d", x->role, rail);
    else
        snprintf(text, sizeof text, "%s", x->role);
    put_rect(s, x->x - width / 2, x->y - SS_SHEET_BOX / 2, width, SS_SHEET_BOX, fill);
    if (rail >= 0 && ss_text_width(text, 11) > width)
        snprintf(text, sizeof text, ss_text_width("rail 00", 11) > width ? "%d" : "rail %d", rail);
    if (ss_text_width(text, 11) <= width)
        ss_svg_text(s->out, x->x, x->y + 4, ss_color_light(fill_of(&s->d, x)) ? "mid k small" : "mid w small",
                    text);
}

static void put_frame_box(struct ss_sheet *s, double x, double y, double width)
{
    put_rect(s, x, y, width, SS_SHEET_FRAME, "class=\"bg\"");
    put_rect(s, x, y, width, SS_SHEET_FRAME, "class=\"frame\"");
}

static void put_frame(struct ss_sheet *s, int node)
{
    const struct ss_drawing *d = &s->d;
    const struct ss_drawn_node *n = &d->nodes[node];
    const int joined = ss_platform_joined_nodes(d->p);
    double low = INFINITY, high = -INFINITY;
    char text[64];

    for (int v = 0; v < d->nvertices; v++)
        if (ss_sheet_draws(d, v) && d->vertices[v].node == node) {
            double half =
                (d->vertices[v].level > 0 || ss_sheet_folds(d, v) ? SS_SHEET_WIDE / 2 : SS_SHEET_BOX / 2) *
                s->squeeze;
            low = fmin(low, d->vertices[v].x - half);
            high = fmax(high, d->vertices[v].x + half);
        }
    const double gap = SS_SHEET_GAP * s->squeeze, least = SS_SHEET_FRAME_LEAST * s->squeeze - gap;
    if (high - low < least) {
        double middle = (low + high) / 2;
        low = middle - least / 2;
        high = middle + least / 2;
    }
    if (n->equal > 1) /* more of them behind it */
        for (int k = 2; k > 0; k--)
            put_frame_box(s, low - gap + 5 * k, s->floor - 24 + 5 * k, high - low + 2 * gap);
    put_frame_box(s, low - gap, s->floor - 24, high - low + 2 * gap);
    if (joined > 1 && n->equal > 1)
        snprintf(text, sizeof text, "%lld %s domains of %d nodes", (long long)n->equal,
                 ss_platform_fabric(d->p), joined);
    else if (joined > 1)
        snprintf(text, sizeof text, "nodes %d to %d", n->node * joined, (n->node + 1) * joined - 1);
    else if (n->equal > 1)
        snprintf(text, sizeof text, "%lld nodes of %d GPU%s", (long long)n->equal, ss_sheet_gpus(d),
                 ss_sheet_gpus(d) == 1 ? "" : "s");
    else
        snprintf(text, sizeof text, "node %d", n->node);
    ss_svg_text(s->out, (low + high) / 2, s->floor + SS_SHEET_FRAME - 32, "mid small", text);
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

static void put_count(struct ss_sheet *s, const char *role, int64_t all, int drawn, double x, double y)
{
    char text[96];
    snprintf(text, sizeof text, "%s: %d of %lld drawn", role, drawn, (long long)all);
    ss_svg_text(s->out, x, y, "small muted", text);
}

static int columns_of(const struct ss_sheet *s)
{
    return s->width < SS_SHEET_NARROWEST ? 1 : 2;
}

/* Writes a line for each row of which not all is drawn, in the columns of the key from place `at` on. Returns the
 * next place. */
static int put_counts(struct ss_sheet *s, double y, int at)
{
    const int columns = columns_of(s);
    const struct ss_drawing *d = &s->d;

    for (int level = 1; level <= d->levels; level++) {
        const char *role = NULL;
        int64_t all = 0;
        int drawn = 0;

        for (int v = d->ngpus; v < d->nvertices; v++) {
            const struct ss_drawn_vertex *x = &d->vertices[v];
            int first = 1;

            if (!ss_sheet_draws(d, v) || x->node >= 0 || x->level != level || ss_sheet_folds(d, v))
                continue;
            for (int like = d->ngpus; like < v; like++)
                first =
                    first && !(ss_sheet_draws(d, like) &&
                               (d->vertices[like].color == x->color || ss_platform_leaf_nodes(d->p) > 0) &&
                               d->vertices[like].level == level && d->vertices[like].node < 0);
            all += first ? x->equal : 0;
            role = x->role;
            drawn++;
        }
        if (all > drawn && s->out)
            put_count(s, role, all, drawn, SS_SHEET_LEFT + at % columns * (s->width / 2 - SS_SHEET_LEFT) + 34,
                      y + 20 * (at / columns));
        at += all > drawn;
    }
    return at;
}

/* Writes every rate of a drawn link, one or two in a line, and what is not drawn. Returns the height. Without a
 * stream it only measures. */
static double put_key(struct ss_sheet *s, double y)
{
    struct rate rates[32];
    const int columns = columns_of(s);
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
        double left = SS_SHEET_LEFT + i % columns * (s->width / 2 - SS_SHEET_LEFT),
               at = y + 20 * (i / columns);

        rate_text(s, &rates[i], text, sizeof text);
        fprintf(s->out, "<path stroke=\"%s\" stroke-width=\"%.1f\" d=\"M%.1f %.1fh26\"/>\n",
                color_of(rates[i].kind), fmin(fmax(1 + log10(rates[i].bandwidth / 1e10), 1), 4), left,
                at - 4);
        ss_svg_text(s->out, left + 34, at, "small", text);
    }
    n = put_counts(s, y, n);
    return 20 * ((n + columns - 1) / columns);
}

/* Writes how much of what enters a leaf its uplinks carry; nothing where a file does not say. */
static void over_text(const struct ss_sheet *s, char *buf, size_t size)
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

/* The texts above the picture. */
struct head {
    char title[200], text[200], over[240];
};

static void write_head(const struct ss_sheet *s, struct head *h)
{
    const struct ss_platform *p = s->d.p;
    int domains = ss_platform_nodes(p), nodes = ss_platform_file_nodes(p), kinds = 0;
    char unit[40];

    snprintf(unit, sizeof unit, "%s domain", ss_platform_fabric(p));
    for (int i = 0; i < s->d.nnodes; i++)
        kinds += s->d.nodes[i].drawn;
    snprintf(h->title, sizeof h->title, "%s: %d node%s of %d x %s", ss_platform_name(p), nodes,
             nodes == 1 ? "" : "s", ss_platform_file_gpus(p), ss_platform_card(p)->name);
    h->text[0] = h->over[0] = '\0';
    if (kinds < domains)
        ss_append(h->text, sizeof h->text, "One %s %s, with the switches above it. ",
                  nodes > domains ? unit : "node", kinds > 1 ? "of each kind is drawn" : "stands for all");
    ss_append(h->text, sizeof h->text, "Links are full duplex: rates are those of one direction.");
    over_text(s, h->over, sizeof h->over);
}

/* Returns the last line of the head; without a stream it only measures. */
static double put_head(const struct ss_sheet *s, const struct head *h, FILE *out)
{
    const double wide = s->width - 2 * SS_SHEET_LEFT;
    double y = 50 + ss_svg_lines(out, SS_SHEET_LEFT, 30, wide, "title", h->title);

    y += ss_svg_lines(out, SS_SHEET_LEFT, y, wide, "small muted", h->text) + 18;
    return y + ss_svg_lines(out, SS_SHEET_LEFT, y, wide, "small", h->over);
}

static void put_sheet(struct ss_sheet *s, const struct head *h)
{
    ss_svg_begin(s->out, s->width, s->height, h->title, h->text);
    put_head(s, h, s->out);
    for (int i = 0; i < s->d.nnodes; i++)
        if (s->d.nodes[i].drawn)
            put_frame(s, i);
    put_lines(s);
    for (int v = 0; v < s->d.nvertices; v++)
        if (ss_sheet_draws(&s->d, v))
            put_box(s, v);
    put_key(s, s->floor + SS_SHEET_FRAME + 20);
    ss_svg_end(s->out);
}

int ss_platform_svg(const struct ss_platform *p, double width, FILE *out, struct ss_error *err)
{
    struct ss_sheet s = {.squeeze = 1};
    struct head h;
    int rc = ss_drawing_make(&s.d, p);

    if (rc)
        rc = ss_fail(err, rc, NULL, 0, "out of memory for the picture");
    if (!rc) {
        ss_sheet_set_width(&s, width);
        write_head(&s, &h);
        s.top = put_head(&s, &h, NULL) + 24;
        ss_sheet_place(&s);
        s.height = s.floor + SS_SHEET_FRAME + 20 + put_key(&s, 0) + 12;
        s.out = out;
        put_sheet(&s, &h);
        rc = ss_report_done(out, err);
    }
    ss_drawing_free(&s.d);
    return rc;
}
