/* SPDX-License-Identifier: Apache-2.0 */
/* Tells what kernels compute, which are the heaviest, and which stage has more of them: as text, JSON
 * and on the page. */
#include "stepsim/compute.h"
#include "stepsim/precision.h"

#include "report/common.h"
#include "report/html.h"
#include "report/text.h"

#define WIDTH 80
#define SHOWN 1e-6  /* share of the kernels' time: texts leave out smaller parts */
#define LONGER 0.01 /* share by which a stage has to be longer to be told */
#define BEHIND 0.05 /* share of an iteration that the GPU has to wait for the host to be told */

/* The key of time that comes from kernels slowing each other down, or from microbatches that differ. */
#define REST_KEY "beside_others"
#define REST_WORDS "beside others"

/* A figure of a list that texts show in order of size. */
struct item {
    const char *words;
    double value;
};

static int by_value(const void *pa, const void *pb)
{
    const struct item *a = pa, *b = pb;

    return a->value != b->value ? (a->value < b->value) - (a->value > b->value) : strcmp(a->words, b->words);
}

static const struct ss_compute_stage *critical(const struct ss_run *run)
{
    return &run->compute->stages[run->result->critical_stage];
}

/* Lists the seconds of the critical stage's kernels, largest first. Returns how many matter. */
static int list_parts(const struct ss_run *run, struct item items[SS_PARTS + 1])
{
    const struct ss_compute_stage *s = critical(run);
    const double *labels = run->result->stages[run->result->critical_stage].breakdown;
    double least = SHOWN * (labels[SS_LABEL_COMPUTE] + labels[SS_LABEL_RECOMPUTE]);
    int n = 0;

    for (int i = 0; i < SS_PARTS; i++)
        items[i] = (struct item){ss_part_words(i), s->compute[i] + s->recompute[i]};
    items[SS_PARTS] = (struct item){REST_WORDS, s->compute_rest + s->recompute_rest};
    qsort(items, SS_PARTS + 1, sizeof items[0], by_value);
    while (n <= SS_PARTS && items[n].value > least)
        n++;
    return n;
}

/* Writes which stage has longer kernels: "stage 7 computes 16.0 % longer than the others, all of it in logits and loss",
 * "stage 8 (and 13 more alike) computes ..."; "": no stage has. */
static const char *longest_text(const struct ss_compute *c, char *buf, size_t size)
{
    struct item items[SS_PARTS];
    char alike[64] = "";
    int n;

    buf[0] = '\0';
    if (c->longer < LONGER)
        return buf;
    for (int i = 0; i < SS_PARTS; i++)
        items[i] = (struct item){ss_part_words(i), c->more[i]};
    qsort(items, SS_PARTS, sizeof items[0], by_value);
    if (c->alike > 0)
        snprintf(alike, sizeof alike, " (and %d more alike)", c->alike);
    n = snprintf(buf, size, "stage %d%s computes %.1f %% longer than the others", c->longest, alike,
                 100 * c->longer);
    if (items[0].value > 0.95 * c->longer && items[0].value < 1.05 * c->longer &&
        items[1].value < c->longer / 10) {
        snprintf(buf + n, size - (size_t)n, ", all of it in %s", items[0].words);
        return buf;
    }
    n += snprintf(buf + n, size - (size_t)n, ":");
    for (int i = 0; i < 3 && items[i].value > c->longer / 10 && n > 0 && (size_t)n < size; i++)
        n += snprintf(buf + n, size - (size_t)n, "%s %s %+.1f %%", i ? "," : "", items[i].words,
                      100 * items[i].value);
    return buf;
}

/* Lists the seconds of what the host issues on the critical stage, largest first. Returns how many matter: 0
 * where the GPU hardly waits for the host. */
static int list_launches(const struct ss_run *run, struct item items[SS_LAUNCHES])
{
    const struct ss_compute_stage *s = critical(run);
    double waited = run->result->stages[run->result->critical_stage].breakdown[SS_LABEL_OTHER];
    int n = 0;

    for (int i = 0; i < SS_LAUNCHES; i++)
        items[i] = (struct item){ss_launch_kind_words(i), s->launches[i]};
    qsort(items, SS_LAUNCHES, sizeof items[0], by_value);
    while (n < SS_LAUNCHES && waited > BEHIND * run->result->iteration_s && items[n].value > SHOWN * waited)
        n++;
    return n;
}

/* ---- text ---- */

/* Writes "TITLE a 1.2, b 0.7", as many lines as it takes. */
static void write_items(const char *title, const struct item *items, int n, FILE *out)
{
    int column = fprintf(out, "%s", title);
    char word[64];

    for (int i = 0; i < n; i++) {
        int length = snprintf(word, sizeof word, " %s %.1f%s", items[i].words, 1e3 * items[i].value,
                              i + 1 < n ? "," : "");
        if (column + length > WIDTH)
            column = fprintf(out, "\n ") - 1;
        column += fprintf(out, "%s", word);
    }
    fputc('\n', out);
}

void ss_text_parts(const struct ss_run *run, FILE *out)
{
    struct item items[SS_PARTS + 1], launches[SS_LAUNCHES];
    char text[256];
    int n;

    if (!run->compute)
        return;
    n = list_parts(run, items);
    write_items("Kernels, ms:", items, n, out);
    n = list_launches(run, launches);
    if (n > 0)
        write_items("The host's launches, ms, which the GPU waits for (other):", launches, n, out);
    if (longest_text(run->compute, text, sizeof text)[0])
        fprintf(out, "%c%s\n", text[0] - 'a' + 'A', text + 1);
}

static const char *pass_of(const struct ss_kernel_use *u)
{
    if (u->again)
        return "recompute";
    return u->phase == SS_PHASE_F ? "forward" : u->phase == SS_PHASE_W ? "weights" : "backward";
}

int ss_text_kernels(const struct ss_run *run, const struct ss_display *view, FILE *out)
{
    static const struct ss_column columns[] = {
        {"kernel", "kernel", "%-s", 1, 0},   {"pass", "pass", "%-s", 1, 0},
        {"calls", "calls", "%.0f", 1, 1},    {"ms", "ms", "%.1f", 1, 0},
        {"tflops", "TFLOP/s", "%.1f", 1, 0}, {"flops_share", "peak %", "%.1f", 100, 0},
        {"gbps", "GB/s", "%.0f", 1, 0},      {"bytes_share", "HBM %", "%.1f", 100, 0}};
    const struct ss_compute *c = run->compute;
    struct ss_grid grid;

    if (!c || !c->nkernels)
        return SS_OK;
    fprintf(out, "\nHeaviest kernels, stage %d\n", run->result->critical_stage);
    ss_grid_begin(&grid, columns, SS_ARRAY_LEN(columns));
    for (int i = 0; i < c->nkernels; i++) {
        const struct ss_kernel_use *u = &c->kernels[i];
        struct ss_row r = {0};
        SS_ADD(&r, SS_KEY("kernel", u->op), SS_KEY("pass", pass_of(u)), SS_SAME(u, calls),
               SS_KEY("ms", 1e3 * u->seconds), SS_KEY("tflops", u->flops / u->seconds / 1e12),
               SS_SAME(u, flops_share), SS_KEY("gbps", u->bytes / u->seconds / 1e9), SS_SAME(u, bytes_share));
        ss_grid_row(&grid, &r);
    }
    return ss_grid_end(&grid, view, out);
}

/* ---- JSON ---- */

static void add_row(struct ss_json *rows, const char *part, int label, double seconds)
{
    SS_ITEM(rows, SS_OBJECT(SS_KEY("part", part), SS_KEY("label", ss_label_name(label)),
                            SS_KEY("ms", 1e3 * seconds)));
}

static struct ss_json *rows_of(const struct ss_run *run)
{
    const struct ss_compute_stage *s = critical(run);
    const double *labels = run->result->stages[run->result->critical_stage].breakdown;
    struct ss_json *rows = ss_json_begin_list();

    for (int i = 0; i < SS_PARTS; i++) {
        if (s->compute[i] > 0)
            add_row(rows, ss_part_key(i), SS_LABEL_COMPUTE, s->compute[i]);
        if (s->recompute[i] > 0)
            add_row(rows, ss_part_key(i), SS_LABEL_RECOMPUTE, s->recompute[i]);
    }
    add_row(rows, REST_KEY, SS_LABEL_COMPUTE, s->compute_rest);
    if (labels[SS_LABEL_RECOMPUTE] > 0)
        add_row(rows, REST_KEY, SS_LABEL_RECOMPUTE, s->recompute_rest);
    add_row(rows, "optimizer", SS_LABEL_OPTIMIZER, labels[SS_LABEL_OPTIMIZER]);
    add_row(rows, "launch", SS_LABEL_OTHER, labels[SS_LABEL_OTHER]);
    return rows;
}

static struct ss_json *launches_of(const struct ss_compute_stage *s)
{
    struct ss_json *by = ss_json_begin_object();

    for (int i = 0; i < SS_LAUNCHES; i++)
        if (s->launches[i] > 0)
            SS_PUT(by, SS_KEY(ss_launch_kind_key(i), 1e3 * s->launches[i]));
    return by;
}

static struct ss_json *kernel_of(const void *use)
{
    const struct ss_kernel_use *u = use;

    return SS_OBJECT(SS_KEY("operator", u->op), SS_KEY("kind", u->op_kind),
                     SS_KEY("part", ss_part_key(u->part)), SS_KEY("pass", pass_of(u)),
                     SS_KEY("peak_of", ss_precision_name(u->precision)), SS_SAME(u, calls),
                     SS_KEY("ms", 1e3 * u->seconds), SS_KEY("tflops", u->flops / u->seconds / 1e12),
                     SS_KEY("peak_share", u->flops_share), SS_KEY("gbps", u->bytes / u->seconds / 1e9),
                     SS_KEY("hbm_share", u->bytes_share), SS_KEY("bound", ss_kernel_bound(u)));
}

static struct ss_json *stage_of(const struct ss_compute_stage *s, int stage)
{
    struct ss_json *parts = ss_json_begin_object();

    for (int i = 0; i < SS_PARTS; i++)
        if (s->compute[i] + s->recompute[i] > 0)
            SS_PUT(parts, SS_KEY(ss_part_key(i), 1e3 * (s->compute[i] + s->recompute[i])));
    return SS_OBJECT(SS_KEY("stage", stage), SS_KEY("parts_ms", parts));
}

struct ss_json *ss_json_compute(const struct ss_run *run)
{
    const struct ss_compute *c = run->compute;
    struct ss_json *stages = ss_json_begin_list(), *more = ss_json_begin_object();

    for (int s = 0; s < c->nstages; s++)
        SS_ITEM(stages, stage_of(&c->stages[s], s));
    for (int i = 0; i < SS_PARTS; i++)
        if (c->more[i] != 0)
            SS_PUT(more, SS_KEY(ss_part_key(i), 100 * c->more[i]));
    return SS_OBJECT(SS_KEY("rows", rows_of(run)), SS_KEY("launches_ms", launches_of(critical(run))),
                     SS_KEY("kernels", SS_LIST(kernel_of, c->kernels, c->nkernels)), SS_KEY("stages", stages),
                     SS_KEY("longest_stage", c->longest), SS_KEY("longer_pct", 100 * c->longer),
                     SS_KEY("more_pct", more));
}

/* ---- page ---- */

/* Writes a table of seconds and of their shares of `all`. */
static void html_items(const char *caption, const char *head, const struct item *items, int n, double all,
                       FILE *out)
{
    fprintf(out,
            "<div class=\"wide\"><table><caption>%s</caption>\n"
            "<thead><tr><th scope=\"col\">%s</th><th scope=\"col\">ms</th><th scope=\"col\">%%</th>"
            "</tr></thead>\n<tbody>\n",
            caption, head);
    for (int i = 0; i < n; i++)
        fprintf(out, "<tr><th scope=\"row\">%s</th><td>%.1f</td><td>%.1f</td></tr>\n", items[i].words,
                1e3 * items[i].value, 100 * items[i].value / all);
    fputs("</tbody></table></div>\n", out);
}

static void html_parts(const struct ss_run *run, FILE *out)
{
    struct item items[SS_PARTS + 1];
    const double *labels = run->result->stages[run->result->critical_stage].breakdown;
    char caption[80];

    snprintf(caption, sizeof caption, "Kernels of stage %d, with those that are recomputed",
             run->result->critical_stage);
    int n = list_parts(run, items);
    html_items(caption, "Kernels", items, n, labels[SS_LABEL_COMPUTE] + labels[SS_LABEL_RECOMPUTE], out);
}

static void html_launches(const struct ss_run *run, FILE *out)
{
    struct item items[SS_LAUNCHES];
    int n = list_launches(run, items);
    double all = 0;

    for (int i = 0; i < n; i++)
        all += items[i].value;
    if (n > 0)
        html_items("The host's launches, which the GPU waits for (other)", "Launches", items, n, all, out);
}

static void html_kernels(const struct ss_run *run, FILE *out)
{
    const struct ss_compute *c = run->compute;

    fprintf(out,
            "<div class=\"wide\"><table><caption>Its heaviest kernels, and the shares of the card's peaks "
            "that they "
            "reach</caption>\n<thead><tr><th scope=\"col\">Kernel</th><th scope=\"col\">pass</th>"
            "<th scope=\"col\">calls</th><th scope=\"col\">ms</th><th scope=\"col\">TFLOP/s</th>"
            "<th scope=\"col\">%% of peak</th><th scope=\"col\">GB/s</th><th scope=\"col\">%% of HBM</th>"
            "<th scope=\"col\">nearer to</th></tr></thead>\n<tbody>\n");
    for (int i = 0; i < c->nkernels; i++) {
        const struct ss_kernel_use *u = &c->kernels[i];
        fprintf(out,
                "<tr><th scope=\"row\">%s</th><td>%s</td><td>%.0f</td><td>%.1f</td><td>%.1f</td><td>%.1f</td>"
                "<td>%.0f</td><td>%.1f</td><td>%s</td></tr>\n",
                u->op, pass_of(u), u->calls, 1e3 * u->seconds, u->flops / u->seconds / 1e12,
                100 * u->flops_share, u->bytes / u->seconds / 1e9, 100 * u->bytes_share, ss_kernel_bound(u));
    }
    fputs("</tbody></table></div>\n", out);
}

void ss_html_compute(const struct ss_page *page)
{
    char text[256];

    if (!page->run || !page->run->compute)
        return;
    html_parts(page->run, page->out);
    if (longest_text(page->run->compute, text, sizeof text)[0])
        fprintf(page->out, "<p>%c%s.</p>\n", text[0] - 'a' + 'A', text + 1);
    html_launches(page->run, page->out);
    html_kernels(page->run, page->out);
}
