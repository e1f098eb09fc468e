/* SPDX-License-Identifier: Apache-2.0 */
/* Topology as the program sees it: classes as boxes with their links, messages between them, load of each link. */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "report/common.h"
#include "report/html.h"
#include "report/table.h"

#define COLUMNS 8
#define BOX_W 134.0
#define BOX_H 74.0
#define STEP_X 152.0
#define STEP_Y 168.0
#define MARGIN 16.0
#define LINKS_SHOWN 4 /* in a box */
#define SPARK 120
#define LINKS_LISTED 200

/* Mean load over the bins, and the highest. */
static void link_load(const struct ss_bins *b, int link, double *mean, double *most)
{
    *mean = *most = 0;
    for (int i = 0; i < b->n; i++) {
        double load = ss_bins_load(b, link, i);
        *mean += load / b->n;
        *most = fmax(*most, load);
    }
}

static const char *load_color(double load)
{
    return load < 0.25 ? "#2f9e6b" : load < 0.6 ? "#d9a21b" : "#d1493f";
}

/* The class whose traffic starts (or collectives run) on this link; -1: none. */
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
    int shown = 0;

    ss_markup(out,
              "<g class=\"node\"><rect x=\"%g\" y=\"%g\" width=\"%g\" height=\"%g\" rx=\"6\"/><text x=\"%g\" "
              "y=\"%g\" class=\"nodename\">%.14s</text>",
              x, y, BOX_W, BOX_H, x + 8, y + 16, page->program->classes[cls].name);
    for (int l = 0; l < page->program->nlinks && shown < LINKS_SHOWN; l++) {
        if (owner[l] != cls || !(page->bins->link_bytes[l] > 0))
            continue;
        link_load(page->bins, l, &mean, &most);
        double at = y + 25 + 12 * shown++;
        const char *name = page->program->links[l].name, *dot = strchr(name, '.');
        ss_markup(out,
                  "<g><title>%s: mean load %.1f %%, peak %.1f %%</title><text x=\"%g\" y=\"%g\" "
                  "class=\"linkname\">%.11s</text>"
                  "<text x=\"%g\" y=\"%g\" class=\"linkload\">%.1f %%</text><rect class=\"linkbg\" x=\"%g\" "
                  "y=\"%g\" width=\"26\" height=\"8\"/>"
                  "<rect x=\"%g\" y=\"%g\" width=\"%.1f\" height=\"8\" fill=\"%s\" stroke=\"none\"/></g>",
                  name, 100 * mean, 100 * most, x + 8, at + 8, dot ? dot + 1 : name, x + BOX_W - 8, at + 8,
                  100 * mean, x + 66, at, x + 66, at, 26 * fmin(1, mean), load_color(mean));
    }
    fputs("</g>\n", out);
}

/* Forward traffic curves above the boxes, backward below. */
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
    ss_markup(page->out,
              "<path class=\"edge\" d=\"M%.0f %.0fC%.0f %.0f %.0f %.0f %.0f %.0f\" stroke-width=\"%.1f\" "
              "stroke=\"%s\" "
              "marker-end=\"url(#arrow)\"><title>%s to %s: %d messages, %.4g GB</title></path>\n",
              x1 + (x2 > x1 ? 14 : -14), y1, x1, y1 - bend, x2, y2 - bend, x2 + (x2 > x1 ? -14 : 14),
              y2 + (forward ? -3 : 3), 1 + 3 * bytes / most, forward ? "#1f5fbf" : "#1d7a4c",
              page->program->classes[c->from].name, page->program->classes[c->to].name,
              page->bins->channel_messages[channel], bytes / 1e9);
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

/* Load over the window, as high as the link's own peak. */
static const char *spark(const struct ss_bins *b, int link, double peak, char *buf, size_t size)
{
    int n = snprintf(buf, size,
                     "<svg class=\"spark\" width=\"120\" height=\"18\" aria-hidden=\"true\"><path d=\"M0 18");

    for (int s = 0; s < SPARK; s++) {
        double most = 0;
        int first = s * b->n / SPARK, last = (s + 1) * b->n / SPARK;
        for (int i = first; i < last || i == first; i++)
            most = fmax(most, ss_bins_load(b, link, i));
        n +=
            snprintf(buf + n, size - (size_t)n, "L%d %.1f", s, 18 - 17 * fmin(1, peak > 0 ? most / peak : 0));
    }
    snprintf(buf + n, size - (size_t)n, "L120 18z\"/></svg>");
    return buf;
}

static int compare_bytes(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x < y) - (x > y);
}

/* Bytes that a link must have carried to be among the busiest, which the table lists. */
static double least_listed(const struct ss_page *page)
{
    size_t n = (size_t)page->program->nlinks;
    double *bytes = ss_calloc(n + 1, sizeof *bytes), least = 0;

    if (!bytes || n <= LINKS_LISTED) {
        free(bytes);
        return 0;
    }
    memcpy(bytes, page->bins->link_bytes, n * sizeof *bytes);
    qsort(bytes, n, sizeof *bytes, compare_bytes);
    least = bytes[LINKS_LISTED - 1];
    free(bytes);
    return least;
}

static void link_rows(struct ss_report_table *t, const void *of)
{
    const struct ss_page *page = of;
    const struct ss_program *p = page->program;
    const double *busy = page->timeline->iteration_s > 0 ? page->timeline->link_busy : NULL;
    double mean, most, least = least_listed(page);
    char picture[SPARK * 16 + 128];

    for (int l = 0, listed = 0; l < p->nlinks && listed < LINKS_LISTED; l++) {
        if (!(page->bins->link_bytes[l] > 0) || page->bins->link_bytes[l] < least)
            continue;
        listed++;
        link_load(page->bins, l, &mean, &most);
        SS_ROW(t, p->links[l].name, ss_link_kind_name(p->links[l].kind), p->links[l].bandwidth / 1e9,
               page->bins->link_bytes[l] / 1e9, mean, most,
               busy ? busy[l] / page->timeline->iteration_s : NAN,
               spark(page->bins, l, most, picture, sizeof picture));
    }
}

static void message_rows(struct ss_report_table *t, const void *of)
{
    const struct ss_page *page = of;
    const struct ss_program *p = page->program;

    for (int c = 0; c < p->nchannels; c++) {
        const int n = page->bins->channel_messages[c];
        const double bytes = page->bins->channel_bytes[c];
        SS_ROW(t, p->classes[p->channels[c].from].name, p->classes[p->channels[c].to].name,
               p->channels[c].tag, n, n ? bytes / n / 1e6 : 0.0, bytes / 1e9);
    }
}

void ss_html_network(const struct ss_page *page)
{
    struct ss_report_table links = {.columns = "Link:s|Kind:s|GB/s:.4g|GB an iteration:.4g|mean load:.2p %|"
                                               "peak load:.1p %|in use:.2p %|up to the peak, over time:h",
                                    .title = "Links; load is the share of the bandwidth"};
    struct ss_report_table messages = {.columns = "From:s|To:s|Tag:d|Messages:d|MB each:.4g|GB:.4g"};
    int *owner = ss_calloc((size_t)page->program->nlinks + 1, sizeof *owner);

    for (int l = 0; owner && l < page->program->nlinks; l++)
        owner[l] = link_class(page, l);
    if (owner)
        topology(page, owner);
    free(owner);
    if (page->run && ss_report_links_partial(page->run))
        links.title = "Links; load is the share of the bandwidth, without what tensor, context and expert "
                      "groups exchange (--level layer has it)";
    ss_report_table_write(&links, SS_FORM_PAGE, link_rows, page, page->out);
    if (page->program->nchannels == 0)
        return;
    fputs("<details><summary>Messages between classes</summary>", page->out);
    ss_report_table_write(&messages, SS_FORM_PAGE, message_rows, page, page->out);
    fputs("</details>\n", page->out);
}
