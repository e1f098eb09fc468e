/* SPDX-License-Identifier: Apache-2.0 */
/* One page that needs nothing but a browser: answer first, then where time, memory and bytes go. */
#include "report/html.h"

#include <jansson.h>

#include "report/common.h"
#include "report/html/parts.h"
#include "report/text.h"

/* Writes a value of a part of the inputs, which has no lists; null is an empty cell. */
static void put_value(FILE *out, const json_t *value)
{
    if (json_is_string(value))
        ss_xml_escape(out, json_string_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "yes" : "no", out);
    else if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, "%.6g", json_real_value(value));
}

static void put_rows(FILE *out, json_t *object, const char *prefix)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        char name[160];
        snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "." : "", key);
        if (json_is_object(value)) {
            put_rows(out, value, name);
            continue;
        }
        fputs("<tr><th scope=\"row\"><code>", out);
        ss_xml_escape(out, name);
        fputs("</code></th><td class=\"text\">", out);
        put_value(out, value);
        fputs("</td></tr>\n", out);
    }
}

/* 0 or SS_ERR_NOMEM */
static int html_inputs(const struct ss_page *page)
{
    char *text = ss_json_text(ss_json_inputs(page->run->plan, page->options));
    json_t *inputs = text ? json_loads(text, 0, NULL) : NULL, *part;
    const char *key;

    free(text);
    if (!inputs)
        return SS_ERR_NOMEM;
    fputs("<p class=\"lead\">Everything that the prediction read, resolved; figures in SI units.</p>\n",
          page->out);
    json_object_foreach(inputs, key, part)
    {
        if (!json_is_object(part)) /* the words and files that asked for the job */
            continue;
        fprintf(page->out,
                "<details%s><summary>%s</summary><div class=\"wide\"><table class=\"kv\"><tbody>\n",
                strcmp(key, "job") ? "" : " open", key);
        put_rows(page->out, part, "");
        fputs("</tbody></table></div></details>\n", page->out);
    }
    json_decref(inputs);
    return SS_OK;
}

/* ---- the page ---- */

static void section(const struct ss_page *page, const char *id, const char *title)
{
    fprintf(page->out, "</section>\n<section id=\"%s\" aria-labelledby=\"h-%s\">\n<h2 id=\"h-%s\">%s</h2>\n",
            id, id, id, title);
}

static void head(const struct ss_page *page)
{
    FILE *out = page->out;

    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; "
          "script-src 'unsafe-inline'; img-src data:\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n"
          "<link rel=\"icon\" href=\"data:,\">\n<title>",
          out);
    ss_xml_escape(out, page->program->name);
    fprintf(out, ": %.4g s an iteration</title>\n<style>\n%s%s", page->timeline->iteration_s,
            ss_page_ground_css, ss_page_style_css);
    ss_tones_css(SS_TONES_LABEL, out);
    fputs("</style>\n</head>\n<body>\n", out);
    fputs(
        "<a class=\"skip\" href=\"#breakdown\">Skip to the breakdown</a>\n<main>\n<section id=\"answer\">\n",
        out);
}

static void timeline(const struct ss_page *page)
{
    FILE *out = page->out;

    section(page, "timeline", "Timeline");
    fputs("<p class=\"lead\">A row for each class of equal ranks: its computation, and below it thin lanes "
          "for what it "
          "sends and for its collectives. Hatched is idle.",
          out);
    if (page->book->makespan > page->timeline->iteration_s * (1 + 1e-9))
        fputs(" No global barrier ends the iteration: ranks run on into the next one, so that it takes less "
              "time than "
              "the one drawn here, which begins with an empty pipeline.",
              out);
    if (page->book->nshown < page->program->nclasses)
        fprintf(out, " Shown are %d of %d classes, the first of each stage.", page->book->nshown,
                page->program->nclasses);
    fputs("</p>\n"
          "<div class=\"bar\" role=\"toolbar\" aria-label=\"Timeline\" aria-controls=\"tl\">\n"
          "<button type=\"button\" id=\"tl-in\">Zoom in</button><button type=\"button\" id=\"tl-out\">Zoom "
          "out</button>"
          "<button type=\"button\" id=\"tl-left\" aria-label=\"Earlier\">&#8592;</button>"
          "<button type=\"button\" id=\"tl-right\" aria-label=\"Later\">&#8594;</button>"
          "<button type=\"button\" id=\"tl-all\">All</button>\n"
          "<label>Colour <select id=\"tl-color\"><option value=\"phase\">phase and chunk</option>"
          "<option value=\"microbatch\">microbatch</option></select></label>\n"
          "<label><input type=\"checkbox\" id=\"tl-comm\" checked> communication lanes</label>\n"
          "<span id=\"tl-range\" class=\"range\"></span></div>\n"
          "<div id=\"tl-legend\" class=\"legend\"></div>\n"
          "<canvas id=\"tl-map\" aria-hidden=\"true\"></canvas>\n"
          "<div id=\"tl\" class=\"timeline\" tabindex=\"0\" role=\"application\" aria-label=\"Timeline of "
          "the iteration\" "
          "aria-describedby=\"tl-help\"><canvas></canvas></div>\n"
          "<p id=\"tl-status\" class=\"status\" role=\"status\" aria-live=\"polite\">Point at a box, or "
          "focus the "
          "timeline and use the arrow keys.</p>\n"
          "<p id=\"tl-help\" class=\"hint\">Drag to move, Ctrl + wheel to zoom (the wheel alone when the "
          "timeline has the "
          "focus), double click to zoom to a box. Keys: <kbd>+</kbd> <kbd>-</kbd> zoom, <kbd>Shift</kbd> + "
          "<kbd>&#8592;</kbd> <kbd>&#8594;</kbd> move, <kbd>&#8592;</kbd> <kbd>&#8594;</kbd> next box, "
          "<kbd>&#8593;</kbd> "
          "<kbd>&#8595;</kbd> next lane, <kbd>Enter</kbd> zooms to the box, <kbd>0</kbd> shows all.</p>\n"
          "<div id=\"tl-memory\" class=\"memory\"><h3 id=\"tl-memory-title\">Memory of the stage in the same "
          "window</h3><canvas role=\"img\" aria-labelledby=\"tl-memory-title\"></canvas></div>\n"
          "<details id=\"tl-list\"><summary>What is in view, as a table</summary><div "
          "class=\"wide\"></div></details>\n"
          "<noscript><p class=\"note\">The timeline needs JavaScript; all figures are in the "
          "tables.</p></noscript>\n"
          "<div id=\"tip\" hidden></div>\n",
          out);
}

static void notes(const struct ss_page *page, const struct ss_notes *list, const char *none)
{
    if (list->n == 0)
        fprintf(page->out, "<p>%s</p>\n", none);
    for (unsigned long i = 0; i < list->n; i++) {
        fputs(i == 0 ? "<ul>\n<li>" : "<li>", page->out);
        ss_xml_escape(page->out, list->text[i]);
        fputs(i + 1 == list->n ? "</li>\n</ul>\n" : "</li>\n", page->out);
    }
}

/* Names in one paragraph; no section where there are none. */
static void names(const struct ss_page *page, const struct ss_notes *list, const char *id, const char *title,
                  const char *lead)
{
    if (!list || list->n == 0)
        return;
    section(page, id, title);
    fprintf(page->out, "<p class=\"lead\">%s</p>\n<p>", lead);
    for (unsigned long i = 0; i < list->n; i++) {
        fputs(i ? ", " : "", page->out);
        ss_xml_escape(page->out, list->text[i]);
    }
    fputs("</p>\n", page->out);
}

static int all_assumed(const struct ss_page *page)
{
    const struct ss_request *r = page->options ? page->options->request : NULL;
    const struct ss_assumed *assumed = page->run->assumed;
    struct ss_notes list = {0};
    struct ss_assumption a;
    char text[512];
    int rc = SS_OK;

    for (size_t at = 0; r && !rc && ss_request_assumption(r, &at, &a);) {
        const struct ss_without *w = ss_assumed_thing(assumed, a.flag);
        rc = ss_notes_add(&list, "%s %s (%s)%s%s", a.flag, a.value, a.whence, w ? "; " : "",
                          w ? ss_text_without(w, text, sizeof text) : "");
    }
    if (list.n) {
        section(page, "assumed", "Assumed");
        fputs("<p class=\"lead\">Nobody said otherwise. What matters most was simulated without, too: all "
              "flags of a thing at "
              "once.</p>\n",
              page->out);
        notes(page, &list, "None.");
    }
    ss_notes_free(&list);
    return rc;
}

static int all_notes(const struct ss_page *page)
{
    static const struct ss_report_options none = {.wall_s = -1};
    struct ss_notes list = {0};
    int rc = SS_OK;

    if (!page->run)
        return SS_OK;
    SS_TRY(all_assumed(page));
    section(page, "warnings", "Warnings");
    rc = ss_report_warnings(page->run, page->options ? page->options : &none, &list);
    notes(page, &list, "None.");
    ss_notes_free(&list);
    if (rc)
        return rc;
    section(page, "guessed", "Assumed numbers");
    fputs("<p class=\"lead\">Not measured, or outside the range that was.</p>\n", page->out);
    rc = ss_report_guessed(page->run, &list);
    notes(page, &list, "None.");
    ss_notes_free(&list);
    if (page->options) {
        names(page, page->options->dropped, "dropped", "Left out",
              "What the real job has and --drop left out, whatever time and memory it takes.");
        names(page, page->options->ignored, "ignored", "Accepted without effect",
              "What time and memory do not depend on.");
    }
    return rc;
}

int ss_html_page(const struct ss_page *page, struct ss_error *err)
{
    head(page);
    int rc = ss_html_answer(page);
    section(page, "breakdown", "Where the time goes");
    ss_html_breakdown(page);
    ss_html_compute(page);
    timeline(page);
    section(page, "memory", "Memory");
    ss_html_memory(page);
    section(page, "network", "Network");
    SS_THEN(rc, ss_html_network(page));
    SS_THEN(rc, all_notes(page));
    if (!rc && page->run) {
        section(page, "inputs", "Configuration");
        rc = html_inputs(page);
    }
    SS_THEN(rc, ss_html_data(page));
    fprintf(page->out, "<script>\n\"use strict\";\n%s%s%s</script>\n</body>\n</html>\n", ss_page_data_js,
            ss_page_timeline_js, ss_page_charts_js);
    return rc ? ss_fail(err, rc, NULL, 0, "no memory for the page") : SS_OK;
}
