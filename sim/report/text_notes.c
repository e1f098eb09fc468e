/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of notes: what was assumed, left out, or has no effect. */
#include "base/base.h"
#include "report/text.h"

void ss_text_notes(const char *title, const struct ss_notes *notes, unsigned long most, FILE *out)
{
    if (notes->n == 0)
        return;
    fprintf(out, "\n%s\n", title);
    for (unsigned long i = 0; i < notes->n && i < most; i++)
        fprintf(out, "  - %s\n", notes->text[i]);
    if (notes->n > most)
        fprintf(out, "  - and %lu more (--json lists all)\n", notes->n - most);
}

/* Names as one paragraph below "title: how many". */
static int names(const char *title, const struct ss_notes *ignored, FILE *out)
{
    char *text = NULL;
    size_t size;

    if (!ignored || ignored->n == 0)
        return SS_OK;
    FILE *list = open_memstream(&text, &size);
    if (!list)
        return SS_ERR_NOMEM;
    for (unsigned long i = 0; i < ignored->n; i++)
        fprintf(list, "%s%s", i ? ", " : "", ignored->text[i]);
    int rc = fclose(list) ? SS_ERR_NOMEM : SS_OK;
    if (!rc) {
        fprintf(out, "\n%s: %lu\n  - %s\n", title, ignored->n, text);
    }
    free(text);
    return rc;
}

char *ss_text_without(const struct ss_without *w, char *buf, size_t size)
{
    char time[32];

    if (w->outcome == SS_OUTCOME_REFUSED)
        snprintf(buf, size, "without: no such job (%s)", w->reason);
    else
        snprintf(buf, size, "%s%s: %s (%+.1f %%), %.1f GiB%s", w->instead[0] ? "with " : "without",
                 w->instead, ss_text_time(w->iteration_s, time, sizeof time), w->time_pct,
                 w->peak_device / SS_GIB, w->outcome == SS_OUTCOME_TOO_LARGE ? ", too large" : "");
    return buf;
}

/* What it would be without the things that matter most, and the names of those without which there is no job. */
static void list_without(const struct ss_assumed *a, struct ss_notes *lines)
{
    char text[512], refused[2048] = "";

    for (int i = 0; a && i < a->n; i++) {
        const struct ss_without *w = &a->things[i];
        if (i < a->shown)
            ss_note(lines, "%s: %s", w->flags, ss_text_without(w, text, sizeof text));
        else if (w->outcome == SS_OUTCOME_REFUSED)
            ss_append(refused, sizeof refused, "%s %.*s", refused[0] ? "," : "", (int)strcspn(w->flags, " "),
                      w->flags);
    }
    if (refused[0])
        ss_note(lines, "no such job without:%s", refused);
}

void ss_text_assumed(const struct ss_request *r, const struct ss_assumed *assumed, FILE *out)
{
    struct ss_notes lines = {0};

    ss_request_list_assumed(r, "", &lines);
    ss_text_notes("Assumed, for nobody said otherwise (--recipe none leaves recipes out)", &lines, 20, out);
    ss_notes_free(&lines);
    list_without(assumed, &lines);
    ss_text_notes("Without what matters most of it, each simulated", &lines, 20, out);
    ss_notes_free(&lines);
}

int ss_text_ignored(const struct ss_report_options *opt, FILE *out)
{
    SS_TRY(names("Left out by --drop, whatever time and memory it takes", opt->dropped, out));
    return names("Accepted without effect on time or memory", opt->ignored, out);
}
