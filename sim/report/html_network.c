/* SPDX-License-Identifier: Apache-2.0 */
/* Draws the topology as the program sees it: classes as boxes with their links, messages between them,
 * and the load of each link. */
#include "report/common.h"
#include "report/html.h"

#define COLUMNS 8
#define BOX_W 134.0
#define BOX_H 74.0
#define STEP_X 152.0
#define STEP_Y 168.0
#define MARGIN 16.0
#define LINKS_SHOWN 4 /* links that a box shows */
#define SPARK 120
#define LINKS_LISTED 200

/* Computes the mean load over the bins, and the highest. */
static void link_load(const struct ss_bins *b, int link, double *mean, double *most)
{
    *mean = *most = 0;
    for (int i = 0; i < b->n; i++) {
        double load = ss_bins_load(b, link, i);
        *mean += load / b->n;
        *most = fmax(*most, load);
    }
}

/* Returns the class whose traffic starts, or whose collectives run, on this link; -1: none. */
static int link_class(const struct ss_page *page, int link)
{
    const struct ss_program *p = page->program;

    for (int c = 0; c < p->ncollectives; c++)
        for (int i = page->bins->first_part[c]; i < page->bins->first_part[c + 1]; i++)
            if (page->bins->parts[i].link == link && p->collectives[c].nmembers == 1)
                return p->collectives[c].members[0];
    for (int c = 0; c < p->nchannels; c++) {
        const struct ss_path *path = p->channels[c].path < 0 ? NULL : &p->paths[p->channels[c].path];
        if (path && path->nlinks > 0 && path->link[0] == link)
            return p->channels[c].from;
        if (path && path->nlinks > 0 && path->link[path->nlinks - 1] == link)
            return p->channels[c].to;
    }
    return -1;
}

/* Returns 1 where a link has no figures: what tensor, context and expert groups exchange is not counted at this level, and that is
 * most of what the fabric carries. */
static int is_partial(const struct ss_page *page, int link)
{
    return page->run && ss_report_links_partial(page->run) &&
           page->program->links[link].kind == SS_LINK_FABRIC;
}

/* Returns the word for a kind of link. A link of a fabric other than NVLink has the fabric's name. */
static const char *kind_of(const struct ss_page *page, const struct ss_link *link)
{
    const struct ss_platform *p = page->run && page->run->plan ? page->run->plan->platform : NULL;

    return link->kind == SS_LINK_NIC           ? "NIC"
           : p && link->kind == SS_LINK_FABRIC ? ss_platform_fabric(p)
                                               : ss_link_kind_name(link->kind);
}

static void put_short(FILE *out, const char *name, int most)
{
    char text[64];

    snprintf(text, sizeof text, "%.*s", ss_utf8_cut(name, most), name);
    ss_xml_escape(out, text);
}

static double box_x(int cls)
{
    return MARGIN + (cls % COLUMNS) * STEP_X;
}

static double box_y(int cls)
{
    return 58 + (cls / COLUMNS) * STEP_Y;
}

static void put_box(const struct ss_page *page, int cls, const int *owner)
{
    double x = box_x(cls), y = box_y(cls), mean, most;
    FILE *out = page->out;
    char words[24];
    int shown = 0;

    fprintf(out, "<g class=\"node\"><rect x=\"%.0f\" y=\"%.0f\" width=\"%.0f\" height=\"%.0f\" rx=\"6\"/>", x,
            y, BOX_W, BOX_H);
    fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" class=\"nodename\">", x + 8, y + 16);
    put_short(out, page->program->classes[cls].name, 14);
    fputs("</text>", out);
    for (int l = 0; l < page->program->nlinks && shown < LINKS_SHOWN; l++) {
        if (owner[l] != cls || !(page->bins->link_bytes[l] > 0) || is_partial(page, l))
            continue;
        link_load(page->bins, l, &mean, &most);
        double at = y + 25 + 12 * shown++;
        const char *name = page->program->links[l].name, *dot = strchr(name, '.');
        fputs("<g><title>", out);
        ss_xml_escape(out, name);
        fprintf(out, ": mean load %.1f %%, peak %.1f %%</title>", 100 * mean, 100 * most);
        fprintf(out, "<text x=\"%.0f\" y=\"%.0f\" class=\"linkname\">", x + 8, at + 8);
        if (page->program->links[l].kind != SS_LINK_OTHER && dot)
            snprintf(words, sizeof words, "%.6s %.8s", kind_of(page, &page->program->links[l]), dot + 1);
        else
            snprintf(words, sizeof words, "%.11s", dot ? dot + 1 : name);
        put_short(out, words, 11);
        fprintf(out, "</text><text x=\"%.0f\" y=\"%.0f\" class=\"linkload\">%.1f %%</text>", x + BOX_W - 8,
                at + 8, 100 * mean);
        fprintf(out, "<rect class=\"linkbg\" x=\"%.0f\" y=\"%.0f\" width=\"18\" height=\"8\"/>", x + 76, at);
        fprintf(out,
                "<rect x=\"%.0f\" y=\"%.0f\" width=\"%.1f\" height=\"8\" fill=\"%s\" stroke=\"none\"/></g>",
                x + 76, at, 18 * fmin(1, mean), ss_tone(SS_TONES_LINK, page->program->links[l].kind)->color);
    }
    fputs("</g>\n", out);
}

/* Draws the traffic of a channel: forward traffic curves above the boxes, backward traffic below. */
static void put_channel(const struct ss_page *page, int channel, double most)
{
    const struct ss_channel *c = &page->program->channels[channel];
    double bytes = page->bins->channel_bytes[channel];
    double x1 = box_x(c->from) + BOX_W / 2, x2 = box_x(c->to) + BOX_W / 2;
    double y1 = box_y(c->from), y2 = box_y(c->to), bend = 18 + 0.035 * fabs(x2 - x1);
    int forward = c->tag % 2 == 0;

    if (!(bytes > 0))
        return;
    if (!forward) {
        y1 += BOX_H;
        y2 += BOX_H;
        bend = -bend;
    }
    fprintf(page->out,
            "<path class=\"edge\" d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\" stroke-width=\"%.1f\" "
            "stroke=\"%s\" "
            "marker-end=\"url(#arrow)\"><title>",
            x1 + (x2 > x1 ? 14 : -14), y1, x1, y1 - bend, x2, y2 - bend, x2 + (x2 > x1 ? -14 : 14),
            y2 + (forward ? -3 : 3), 1 + 3 * bytes / most, forward ? "#1c53a1" : "#ef963e");
    ss_xml_escape(page->out, page->program->classes[c->from].name);
    fputs(" to ", page->out);
    ss_xml_escape(page->out, page->program->classes[c->to].name);
    fprintf(page->out, ": %d messages, %.4g GB</title></path>\n", page->bins->channel_messages[channel],
            bytes / 1e9);
}

static void topology(const struct ss_page *page, const int *owner)
{
    const struct ss_program *p = page->program;
    int n = p->nclasses < 64 ? p->nclasses : 64, rows = (n + COLUMNS - 1) / COLUMNS;
    double width = 2 * MARGIN + (n < COLUMNS ? n : COLUMNS) * STEP_X - (STEP_X - BOX_W), most = 0;

    for (int c = 0; c < p->nchannels; c++)
        most = fmax(most, page->bins->channel_bytes[c]);
    fprintf(page->out,
            "<div class=\"wide\"><svg class=\"topology\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f "
            "%.0f\" "
            "role=\"img\" aria-label=\"Classes of ranks, the messages between them and the load of their "
            "links; the "
            "tables below have the same figures\"><defs><marker id=\"arrow\" viewBox=\"0 0 8 8\" refX=\"6\" "
            "refY=\"4\" "
            "markerWidth=\"7\" markerHeight=\"7\" markerUnits=\"userSpaceOnUse\" "
            "orient=\"auto-start-reverse\"><path "
            "d=\"M0 0L8 4L0 8z\" fill=\"#7d8794\"/></marker></defs>\n",
            width, rows * STEP_Y + 24, width, rows * STEP_Y + 24);
    for (int c = 0; c < p->nchannels; c++)
        if (p->channels[c].from < n && p->channels[c].to < n)
            put_channel(page, c, most);
    for (int c = 0; c < n; c++)
        put_box(page, c, owner);
    fputs("</svg></div>\n<p class=\"hint\">Arrows above the boxes: activations; below: their gradients; "
          "thicker is more "
          "bytes. Bars: mean load of the links of a class over the window.",
          page->out);
    if (n < p->nclasses)
        fprintf(page->out, " The first %d of %d classes.", n, p->nclasses);
    fputs("</p>\n", page->out);
}

/* Draws the load over the window; the link's own peak fills the height. */
static void spark(const struct ss_page *page, int link, double peak)
{
    const struct ss_bins *b = page->bins;

    fputs("<td><svg class=\"spark\" width=\"120\" height=\"18\" aria-hidden=\"true\"><path d=\"M0 18",
          page->out);
    for (int s = 0; s < SPARK; s++) {
        double most = 0;
        int first = s * b->n / SPARK, last = (s + 1) * b->n / SPARK;
        for (int i = first; i < last || i == first; i++)
            most = fmax(most, ss_bins_load(b, link, i));
        fprintf(page->out, "L%d %.1f", s, 18 - 17 * fmin(1, peak > 0 ? most / peak : 0));
    }
    fputs("L120 18z\"/></svg></td>", page->out);
}

/* A row: a link, and those of its kind that carry the same. */
struct link_row {
    int link, alike;
    double mean, most;
};

static int busier(const void *a, const void *b)
{
    const struct link_row *x = a, *y = b;

    return x->mean != y->mean ? (x->mean < y->mean) - (x->mean > y->mean)
                              : (x->link > y->link) - (x->link < y->link);
}

static int is_alike(const struct ss_page *page, const struct link_row *row, int link)
{
    const struct ss_link *a = &page->program->links[row->link], *b = &page->program->links[link];
    double x = page->bins->link_bytes[row->link], y = page->bins->link_bytes[link];

    return a->kind == b->kind && a->bandwidth == b->bandwidth && fabs(x - y) <= 1e-3 * x;
}

/* Finds the rows, busiest first. Returns how many, or -1 where memory ran out. */
static int find_rows(const struct ss_page *page, struct link_row **out)
{
    int n = 0;

    *out = ss_calloc((size_t)page->program->nlinks + 1, sizeof **out);
    for (int l = 0; *out && l < page->program->nlinks; l++) {
        int row = 0;
        if (!(page->bins->link_bytes[l] > 0) || is_partial(page, l))
            continue;
        while (row < n && !is_alike(page, &(*out)[row], l))
            row++;
        if (row < n) {
            (*out)[row].alike++;
            continue;
        }
        (*out)[n].link = l;
        link_load(page->bins, l, &(*out)[n].mean, &(*out)[n].most);
        n++;
    }
    if (n)
        qsort(*out, (size_t)n, sizeof **out, busier);
    return *out ? n : -1;
}

static void put_link(const struct ss_page *page, const struct link_row *row)
{
    const struct ss_link *link = &page->program->links[row->link];

    fputs("<tr><th scope=\"row\">", page->out);
    ss_xml_escape(page->out, link->name);
    if (row->alike)
        fprintf(page->out, " and %d alike", row->alike);
    fprintf(page->out,
            "</th><td class=\"text\">%s</td><td>%.4g</td><td>%.4g</td><td>%.2f %%</td><td>%.1f %%</td>",
            kind_of(page, link), link->bandwidth / 1e9, page->bins->link_bytes[row->link] / 1e9,
            100 * row->mean, 100 * row->most);
    if (page->timeline->link_busy && page->timeline->iteration_s > 0)
        fprintf(page->out, "<td>%.2f %%</td>",
                100 * page->timeline->link_busy[row->link] / page->timeline->iteration_s);
    else
        fputs("<td></td>", page->out);
    spark(page, row->link, row->most);
    fputs("</tr>\n", page->out);
}

static int links(const struct ss_page *page)
{
    struct link_row *rows;
    int n = find_rows(page, &rows);

    fprintf(page->out,
            "<div class=\"wide\"><table><caption>Links, the busiest first; load is the share of the "
            "bandwidth%s%s%s</caption>\n",
            page->run && ss_report_links_partial(page->run)
                ? ". Not counted: tensor, context and expert traffic, and so no "
                : "",
            page->run && ss_report_links_partial(page->run) ? ss_platform_fabric(page->run->plan->platform)
                                                            : "",
            page->run && ss_report_links_partial(page->run) ? " (--level layer counts it)" : "");
    fputs("<thead><tr><th "
          "scope=\"col\">Link</th><th scope=\"col\" class=\"text\">Kind</th><th scope=\"col\">GB/s</th><th "
          "scope=\"col\">GB an "
          "iteration</th><th scope=\"col\">mean load</th><th scope=\"col\">peak load</th><th "
          "scope=\"col\">in use</th>"
          "<th scope=\"col\">up to the peak, over time</th></tr></thead>\n<tbody>\n",
          page->out);
    for (int i = 0; i < n && i < LINKS_LISTED; i++)
        put_link(page, &rows[i]);
    free(rows);
    fputs("</tbody></table></div>\n", page->out);
    return n < 0 ? SS_ERR_NOMEM : SS_OK;
}

static void messages(const struct ss_page *page)
{
    const struct ss_program *p = page->program;

    if (p->nchannels == 0)
        return;
    fputs("<details><summary>Messages between classes</summary><div class=\"wide\"><table>\n<thead><tr><th "
          "scope=\"col\">From</th><th scope=\"col\" class=\"text\">To</th><th scope=\"col\">Tag</th><th "
          "scope=\"col\">Messages</th><th "
          "scope=\"col\">MB each</th><th scope=\"col\">GB</th></tr></thead>\n<tbody>\n",
          page->out);
    for (int c = 0; c < p->nchannels; c++) {
        int n = page->bins->channel_messages[c];
        fputs("<tr><th scope=\"row\">", page->out);
        ss_xml_escape(page->out, p->classes[p->channels[c].from].name);
        fputs("</th><td class=\"text\">", page->out);
        ss_xml_escape(page->out, p->classes[p->channels[c].to].name);
        fprintf(page->out, "</td><td>%d</td><td>%d</td><td>%.4g</td><td>%.4g</td></tr>\n", p->channels[c].tag,
                n, n ? page->bins->channel_bytes[c] / n / 1e6 : 0, page->bins->channel_bytes[c] / 1e9);
    }
    fputs("</tbody></table></div></details>\n", page->out);
}

int ss_html_network(const struct ss_page *page)
{
    int *owner = ss_calloc((size_t)page->program->nlinks + 1, sizeof *owner),
        rc = owner ? SS_OK : SS_ERR_NOMEM;

    for (int l = 0; owner && l < page->program->nlinks; l++)
        owner[l] = link_class(page, l);
    if (owner)
        topology(page, owner);
    free(owner);
    SS_THEN(rc, links(page));
    messages(page);
    return rc;
}
