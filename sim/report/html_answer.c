/* SPDX-License-Identifier: Apache-2.0 */
/* The page's static parts: answer, breakdown, memory, inputs. Readable without scripts. */
#include "base/base64.h"
#include "report/card.h"
#include "report/common.h"
#include "report/html.h"
#include "report/names.h"
#include "report/text.h"
#include "stepsim/job.h"

static void tile(FILE *out, const char *name, const char *value, const char *note, const char *kind)
{
    fprintf(out, "<div class=\"tile %s\"><dt>%s</dt><dd>%s", kind, name, value);
    if (note[0])
        fprintf(out, "<small>%s</small>", note);
    fputs("</dd></div>\n", out);
}

static void time_tile(const struct ss_page *page)
{
    const struct ss_report_options *opt = page->options;
    char value[128], note[160] = "", time[32];
    int n = 0;

    if (page->run && page->run->result->sensitivity.sensitive)
        ss_text_iteration(page->run->result, value, sizeof value);
    else
        ss_text_time(page->timeline->iteration_s, value, sizeof value);
    if (opt && opt->measured_s > 0)
        n = snprintf(note, sizeof note, "measured %s, %+.1f %%",
                     ss_text_time(opt->measured_s, time, sizeof time),
                     ss_error_pct(page->timeline->iteration_s, opt->measured_s));
    if (opt && page->run && page->run->summary.band_pct > 0 && page->run->summary.weighed)
        snprintf(note + n, sizeof note - (size_t)n, "%s%+.1f to %+.1f %% in 90 %% of such jobs",
                 n ? "; " : "", page->run->summary.time_low_pct, page->run->summary.time_high_pct);
    else if (opt && page->run && page->run->summary.band_pct > 0)
        snprintf(note + n, sizeof note - (size_t)n, "%s&plusmn;%.*f %% of the measured in 90 %% of such jobs",
                 n ? "; " : "", page->run->summary.band_pct < 10, page->run->summary.band_pct);
    tile(page->out, "Iteration", value, note, "");
}

static void memory_tile(const struct ss_page *page, const struct ss_result *r)
{
    const struct ss_report_options *opt = page->options;
    static const char *const kinds[SS_OUTCOME_COUNT] = {"good", "warn", "bad", "bad"};
    const struct ss_summary *u = &page->run->summary;
    char name[32], value[64], note[200];
    int n;

    snprintf(value, sizeof value, "%.1f of %.1f GiB", r->peak_device / SS_GIB, r->capacity / SS_GIB);
    n = snprintf(note, sizeof note, "on stage %d", r->peak_stage);
    if (u->outcome == SS_OUTCOME_NEAR_LIMIT && r->peak_device > r->capacity)
        n += snprintf(note + n, sizeof note - (size_t)n, ", %.1f without what the allocator caches",
                      ss_result_least(&r->stages[r->peak_stage]) / SS_GIB);
    if (opt && opt->measured_bytes > 0)
        n += snprintf(note + n, sizeof note - (size_t)n, "; measured %.1f, %+.1f %%",
                      opt->measured_bytes / SS_GIB, ss_error_pct(r->peak_device, opt->measured_bytes));
    if (isfinite(u->memory_low_pct))
        snprintf(note + n, sizeof note - (size_t)n, "; %+.1f to %+.1f %% in 90 %% of such jobs",
                 u->memory_low_pct, u->memory_high_pct);
    snprintf(name, sizeof name, "Memory: %s", ss_outcome_word(u->outcome));
    tile(page->out, name, value, note, kinds[u->outcome]);
}

/* Says how unlike the experts' loads are. */
static void load_tile(const struct ss_page *page)
{
    const struct ss_load_figures *l = &page->run->plan->load;
    char value[64], note[160];
    int n;

    if (!ss_report_shows_load(page->run->plan))
        return;
    snprintf(value, sizeof value, "%.2f", l->rank.mean);
    n = snprintf(note, sizeof note, "times an even share, p99 %.2f; hottest expert %.2f", l->rank.p99,
                 l->expert.mean);
    if (ss_report_shows_dropped(l))
        snprintf(note + n, sizeof note - (size_t)n, "; %.2f %% of copies dropped", 100 * l->dropped);
    tile(page->out, "Hottest rank of experts", value, note, "");
}

/* Says how long GPUs wait in the pipeline: the mean over the stages, of which the busiest alone hardly waits. */
static void idle_tile(const struct ss_page *page, const struct ss_result *r)
{
    double bubble = 0, stages = 0, whole = r->nstages * r->iteration_s;
    char value[64], note[96];

    for (int s = 0; s < r->nstages; s++) {
        bubble += r->stages[s].breakdown[SS_LABEL_BUBBLE];
        stages += r->stages[s].breakdown[SS_LABEL_IMBALANCE];
    }
    snprintf(value, sizeof value, "%.1f %%", 100 * (bubble + stages) / whole);
    snprintf(note, sizeof note, "of GPU time: %s %.1f, %s %.1f", ss_label_words(SS_LABEL_IMBALANCE),
             100 * stages / whole, ss_label_words(SS_LABEL_BUBBLE), 100 * bubble / whole);
    tile(page->out, "Idle in the pipeline", value, note, "");
}

static void result_tiles(const struct ss_page *page, const struct ss_result *r)
{
    const struct ss_summary *u = &page->run->summary;
    char value[64], note[160];

    memory_tile(page, r);
    snprintf(value, sizeof value, "%.0f TFLOP/s", u->tflops_logged_per_gpu);
    snprintf(note, sizeof note, "%s%s%sMFU %.1f %%, causal %.1f %%, HFU %.1f %%",
             u->logged_by[0] ? "as " : "", u->logged_by, u->logged_by[0] ? " logs it; " : "", 100 * u->mfu,
             100 * ss_text_causal_mfu(u), 100 * u->hfu);
    tile(page->out, "Each GPU", value, note, "");
    snprintf(value, sizeof value, "%.0f tokens/s", u->tokens_per_s_per_gpu);
    tile(page->out, "Throughput", value, "a GPU", "");
    if (r->nstages > 1) {
        idle_tile(page, r);
    }
    load_tile(page);
}

static void fixes(const struct ss_page *page, const struct ss_result *r)
{
    const struct ss_report_options *opt = page->options;
    char time[32];

    if (r->fits || !opt)
        return;
    fprintf(
        page->out,
        "<h2>What makes it fit</h2>\n<p>Stage %d needs %.1f GiB more than the card has; most is %s.</p>\n",
        r->peak_stage, (r->peak_device - r->capacity) / SS_GIB,
        ss_mem_name(ss_result_largest(r, r->peak_stage)));
    if (opt->smallest && opt->smallest->gpus > 0)
        fprintf(
            page->out,
            "<p>At least %d GPU%s (1, 2, 4, ... were tried) must hold the weights, gradients and optimizer "
            "states, %.1f GiB on each, for example with: <code>%s</code></p>\n",
            opt->smallest->gpus, ss_plural(opt->smallest->gpus), opt->smallest->bytes / SS_GIB,
            opt->smallest->flags);
    if (opt->nfixes == 0)
        fputs("<p>No change that was tried, alone or up to three together, makes it fit.</p>\n", page->out);
    for (int i = 0; i < opt->nfixes; i++) {
        const struct ss_fix *f = &opt->fixes[i];
        fputs(i ? "<li><code>" : "<ol>\n<li><code>", page->out);
        ss_xml_escape(page->out, f->change);
        fprintf(page->out, "</code>: %s an iteration (%+.1f %%), %.1f GiB, %s</li>\n%s",
                ss_text_time(f->summary.iteration_s, time, sizeof time),
                100 * (f->summary.iteration_s / ss_report_undisturbed_s(r) - 1),
                f->summary.peak_device / SS_GIB, ss_outcome_word(f->summary.outcome),
                i + 1 == opt->nfixes ? "</ol>\n" : "");
    }
}

static void describe_job(const struct ss_plan *plan, FILE *out)
{
    const struct ss_job *job = plan->job;
    char parameters[128], layout[96], precision[32];
    int nodes = plan->world_size / ss_platform_file_gpus(plan->platform);

    ss_xml_escape(out, job->model.name[0] ? job->model.name : "model");
    fprintf(
        out, " (%s, %s) on %d node%s of ",
        ss_report_parameters(&job->model, plan->padded_vocab, " parameters", parameters, sizeof parameters),
        ss_report_precision(job, precision, sizeof precision), nodes, ss_plural(nodes));
    ss_xml_escape(out, ss_platform_name(plan->platform));
    fprintf(out, ", %d &times; ", plan->world_size);
    ss_xml_escape(out, ss_platform_card(plan->platform)->name);
    fprintf(out, "<br>%s, %s, %d microbatch%s of %d, sequence %d, stack ",
            ss_report_layout(plan, layout, sizeof layout), plan->schedule->name, plan->microbatches,
            plan->microbatches == 1 ? "" : "es", job->micro_batch, job->seq_length);
    ss_xml_escape(out, plan->stack->name);
}

/* Embeds the card as an image, so that its names and styles are its own. */
static int card(const struct ss_page *page)
{
    char title[256];
    FILE *svg;
    int rc = SS_ERR_NOMEM;

    fprintf(page->out,
            "<div class=\"wide\"><img class=\"card\" width=\"%.0f\" alt=\"One iteration, explained: ",
            page->width > 0 ? page->width : 1200);
    ss_xml_escape(page->out, ss_picture_title(page->program, page->timeline, page->run, title, sizeof title));
    fputs("; the tables below have its figures\" src=\"data:image/svg+xml;base64,", page->out);
    svg = ss_base64_open(page->out);
    if (svg) {
        rc = ss_card_write(page->gantt, page->run, page->steps, page->width, svg);
        fclose(svg); /* a failure shows as an error of page->out */
    }
    fputs("\"></div>\n", page->out);
    return rc;
}

int ss_html_answer(const struct ss_page *page)
{
    const struct ss_result *r = page->run ? page->run->result : NULL;
    FILE *out = page->out;
    const char *verdict = r ? ss_outcome_word(page->run->summary.outcome) : "";
    char time[32];
    int rc = SS_OK;

    fprintf(out,
            "<p class=\"eyebrow\">Predicted training iteration</p>\n<h1>%s an iteration%s%s</h1>\n<p "
            "class=\"lead\">",
            ss_text_time(page->timeline->iteration_s, time, sizeof time), r ? ", " : "", verdict);
    if (page->run && page->run->plan)
        describe_job(page->run->plan, out);
    else {
        fputs("program ", out);
        ss_xml_escape(out, page->program->name);
        fprintf(out, ", %d class%s of equal ranks", page->program->nclasses,
                page->program->nclasses == 1 ? "" : "es");
    }
    fputs("</p>\n<dl class=\"tiles\">\n", out);
    time_tile(page);
    if (r)
        result_tiles(page, r);
    fputs("</dl>\n", out);
    if (r && page->steps)
        rc = card(page);
    if (r)
        fixes(page, r);
    return rc;
}

/* ---- where the time goes ---- */

static const double *row_labels(const struct ss_page *page, int row)
{
    return page->run && page->run->result ? page->run->result->stages[row].breakdown
                                          : page->timeline->spent[row];
}

static int row_count(const struct ss_page *page)
{
    return page->run && page->run->result ? page->run->result->nstages : page->program->nclasses;
}

/* Where there are very many classes, only the timeline's are listed. */
static int row_shown(const struct ss_page *page, int row)
{
    return (page->run && page->run->result) || page->book->shown[row];
}

static unsigned used_labels(const struct ss_page *page)
{
    unsigned used = 0;

    for (int r = 0; r < row_count(page); r++)
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            used |= (unsigned)(row_labels(page, r)[l] > 1e-9 * page->timeline->iteration_s) << l;
    return used;
}

static void row_name(const struct ss_page *page, int row)
{
    if (page->run && page->run->result)
        fprintf(page->out, "stage %d%s", row, row == page->run->result->critical_stage ? " (busiest)" : "");
    else
        ss_xml_escape(page->out, page->program->classes[row].name);
}

static const char *fill_of(int label, char buf[160])
{
    return ss_tone_css(ss_tone(SS_TONES_LABEL, label), buf);
}

static void bars(const struct ss_page *page)
{
    FILE *out = page->out;
    double whole = page->timeline->iteration_s;
    char css[160];

    fputs("<div class=\"bars\" aria-hidden=\"true\">\n", out);
    for (int r = 0; r < row_count(page); r++) {
        if (!row_shown(page, r))
            continue;
        fputs("<div class=\"row\"><span class=\"name\">", out);
        row_name(page, r);
        fputs("</span><span class=\"track\">", out);
        for (int l = 0; l < SS_LABEL_COUNT && whole > 0; l++) {
            double share = 100 * row_labels(page, r)[l] / whole;
            if (share < 0.005)
                continue;
            fprintf(out, "<i style=\"width:%.3f%%;background:%s\" title=\"%s: %.4g ms, %.2f %%\"></i>", share,
                    fill_of(l, css), ss_label_words(l), 1e3 * row_labels(page, r)[l], share);
        }
        fputs("</span></div>\n", out);
    }
    fputs("</div>\n", out);
}

void ss_html_breakdown(const struct ss_page *page)
{
    FILE *out = page->out;
    unsigned used = used_labels(page);
    char css[160];

    fputs("<div class=\"legend\" aria-hidden=\"true\">", out);
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        if (used & 1u << l)
            fprintf(out, "<span><i style=\"background:%s\"></i>%s</span>", fill_of(l, css),
                    ss_label_words(l));
    fputs("</div>\n", out);
    bars(page);
    fputs("<div class=\"wide\"><table><caption>Milliseconds of one iteration; every row sums to "
          "it</caption>\n<thead><tr>"
          "<th scope=\"col\">Stage</th>",
          out);
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        if (used & 1u << l)
            fprintf(out, "<th scope=\"col\">%s</th>", ss_label_words(l));
    fputs("</tr></thead>\n<tbody>\n", out);
    for (int r = 0; r < row_count(page); r++) {
        if (!row_shown(page, r))
            continue;
        fputs("<tr><th scope=\"row\">", out);
        row_name(page, r);
        fputs("</th>", out);
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            if (used & 1u << l)
                fprintf(out, "<td>%.1f</td>", 1e3 * row_labels(page, r)[l]);
        fputs("</tr>\n", out);
    }
    fputs("</tbody></table></div>\n", out);
}

/* ---- memory ---- */

static void memory_row(const struct ss_page *page, int cls)
{
    const struct ss_program_class *c = &page->program->classes[cls];
    double total = page->extra->overhead[cls];
    char slot[64] = "";

    fputs("<tr><th scope=\"row\">", page->out);
    ss_xml_escape(page->out, c->name);
    fprintf(page->out, "</th><td>%d</td>", c->count);
    for (int m = 0; m < SS_MEM_COUNT; m++) {
        double bytes = c->memory[m] + page->timeline->dynamic_peak[cls][m];
        total += bytes;
        fprintf(page->out, "<td>%.2f</td>", bytes / SS_GIB);
    }
    if (c->nslots > 0)
        ss_slot_name(page->program, cls, page->timeline->peak_slot[cls], slot, sizeof slot);
    fprintf(page->out, "<td>%.2f</td><td><strong>%.2f</strong></td><td class=\"text\">%.4g ms, ",
            page->extra->overhead[cls] / SS_GIB, total / SS_GIB, 1e3 * page->timeline->peak_time[cls]);
    ss_xml_escape(page->out, slot);
    fputs("</td></tr>\n", page->out);
}

void ss_html_memory(const struct ss_page *page)
{
    FILE *out = page->out;

    fputs("<div class=\"wide\">\n", out);
    ss_svg_memory(page->gantt, page->timeline, page->extra, page->memory_title, page->width, out);
    fputs("</div>\n<div class=\"wide\"><table><caption>GiB on one GPU at the peak</caption>\n<thead><tr><th "
          "scope=\"col\">Class</th><th scope=\"col\">Ranks</th>",
          out);
    for (int m = 0; m < SS_MEM_COUNT; m++)
        fprintf(out, "<th scope=\"col\">%s</th>", ss_mem_name(m));
    fputs("<th scope=\"col\">", out);
    ss_xml_escape(out, page->extra->name);
    fputs(
        "</th><th scope=\"col\">total</th><th scope=\"col\" class=\"text\">when</th></tr></thead>\n<tbody>\n",
        out);
    for (int c = 0; c < page->program->nclasses; c++)
        if (page->book->shown[c])
            memory_row(page, c);
    fputs("</tbody></table></div>\n", out);
}
