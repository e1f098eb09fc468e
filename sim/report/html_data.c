/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the numbers that the page's scripts draw. Times are whole nanoseconds, each box relative to the
 * box before it, so that the numbers pack well. */
#include "base/base64.h"
#include "base/gzip.h"
#include "report/common.h"
#include "report/html.h"
#include "report/names.h"

static void put_text(FILE *out, const char *key, const char *text)
{
    fprintf(out, "\"%s\":", key);
    ss_put_json_text(text, out);
    fputc(',', out);
}

static void put_value(FILE *out, const char *key, double value)
{
    fprintf(out, "\"%s\":%.12g,", key, value);
}

/* Returns what a box refers to: a computation or message to its phase and chunk, other boxes to their
 * label or collective. */
static int reference(const struct ss_program *p, int cls, const struct ss_box *b)
{
    if (b->kind == SS_BOX_WAIT)
        return b->label;
    if (b->kind == SS_BOX_COLLECTIVE)
        return b->index;
    if (b->slot < 0)
        return -1;
    const struct ss_program_slot *s = &p->classes[cls].slots[b->slot];
    if (b->mixed)
        return -2;
    /* phase and chunk in one number; outside the schedule: the template, below -2 */
    return s->phase >= 0 ? s->phase + SS_PHASE_COUNT * s->chunk : -3 - s->template_index;
}

/* Writes, for each box: start (relative to the last box), length, kind, reference, microbatch, bytes
 * (relative to the last box), count. */
static void put_boxes(const struct ss_page *page, const struct ss_lane *lane, FILE *out)
{
    const struct ss_program *p = page->program;
    double last_bytes = 0, last = 0;

    fputs("\"boxes\":[", out);
    for (size_t i = 0; i < lane->n; i++) {
        const struct ss_box *b = &lane->boxes[i];
        /* Doubles: whole numbers as large as SS_LONGEST_S makes them do not fit in 64 bits. */
        double start = round(b->start * 1e9), end = round(b->end * 1e9);
        int microbatch = b->slot < 0 ? -1 : p->classes[lane->cls].slots[b->slot].microbatch;
        fprintf(out, "%s%.0f,%.0f,%d,%d,%d,%.0f,%d", i ? "," : "", start - last, end - start, b->kind,
                reference(p, lane->cls, b), microbatch, b->bytes - last_bytes, b->count);
        last = start;
        last_bytes = b->bytes;
    }
    fputc(']', out);
}

static void put_lane(const struct ss_page *page, const struct ss_lane *lane, FILE *out)
{
    char name[96];

    fputc('{', out);
    put_text(out, "name", ss_lane_name(page->program, lane, name, sizeof name));
    fprintf(out, "\"kind\":%d,", lane->kind);
    put_boxes(page, lane, out);
    fputc('}', out);
}

/* Writes the bins of a class of memory, MiB; nothing where it never changes. */
static void put_dynamic(const struct ss_page *page, int cls, int m, FILE *out)
{
    const struct ss_bins *b = page->bins;
    double(*at)[SS_MEM_COUNT] = b->memory + (size_t)cls * (size_t)b->n;
    double most = 0;

    for (int i = 0; i < b->n; i++)
        most = fmax(most, at[i][m]);
    fputs(m ? ",[" : "[", out);
    for (int i = 0; i < b->n && most > 0; i++)
        fprintf(out, "%s%.5g", i ? "," : "", at[i][m] / SS_MIB);
    fputc(']', out);
}

static void put_class(const struct ss_page *page, int cls, FILE *out)
{
    const struct ss_program_class *c = &page->program->classes[cls];
    const struct ss_record_book *book = page->book;
    char label[96];

    fputc('{', out);
    put_text(out, "name", c->name);
    put_text(out, "label", ss_class_name(page->program, cls, label, sizeof label));
    put_value(out, "overhead", page->extra->overhead[cls] / SS_MIB);
    fputs("\"fixed\":[", out);
    for (int m = 0; m < SS_MEM_COUNT; m++)
        fprintf(out, "%s%.6g", m ? "," : "", c->memory[m] / SS_MIB);
    fputs("],\"dynamic\":[", out);
    for (int m = 0; m < SS_MEM_COUNT; m++)
        put_dynamic(page, cls, m, out);
    fputs("],\"lanes\":[", out);
    for (int l = book->first_lane[cls], first = 1; l < book->first_lane[cls + 1]; l++) {
        if (book->lanes[l].kind != SS_LANE_COMPUTE && book->lanes[l].n == 0)
            continue;
        fputs(first ? "" : ",", out);
        put_lane(page, &book->lanes[l], out);
        first = 0;
    }
    fputs("]}", out);
}

static void put_names(FILE *out, const char *key, const char *(*name)(int), const char *(*color)(int), int n)
{
    fprintf(out, "\"%s\":[", key);
    for (int i = 0; i < n; i++) {
        fprintf(out, "%s[\"%s\"", i ? "," : "", name(i));
        fprintf(out, ",\"%s\"]", color ? color(i) : "");
    }
    fputs("],", out);
}

static const char *label_color(int label)
{
    return ss_tone(SS_TONES_LABEL, label)->color;
}

static const char *memory_color(int mem)
{
    return ss_tone(SS_TONES_MEMORY, mem)->color;
}

/* Writes of each phase its letter, the colours of its first and last chunk, its words, and which part of a row it fills. */
static void put_phases(FILE *out)
{
    char from[8], to[8];
    double top, bottom;

    for (int i = 0; i < SS_PHASE_COUNT; i++) {
        ss_phase_part(i, &top, &bottom);
        fprintf(out, "%s[\"%s\",\"%s %s\",\"%s\",%g,%g]", i ? "," : "\"phases\":[", ss_phase_name(i),
                ss_color_phase(i, 0, 2, from), ss_color_phase(i, 1, 2, to), ss_phase_words(i), top, bottom);
    }
    fputs("],\"series\":[", out);
    for (int i = 0; i < ss_tones_n(SS_TONES_SERIES); i++)
        fprintf(out, "%s\"%s\"", i ? "," : "", ss_tone(SS_TONES_SERIES, i)->color);
    fprintf(out, "],\"outside\":\"%s\",", ss_color_phase(-1, 0, 1, from));
}

static void put_document(const struct ss_page *page, FILE *out)
{
    const struct ss_program *p = page->program;

    fputc('{', out);
    put_value(out, "iteration", page->timeline->iteration_s);
    if (page->run && page->run->result)
        put_text(out, "verdict", ss_outcome_word(page->run->summary.outcome));
    put_value(out, "start", page->book->start);
    put_value(out, "end", page->book->end);
    put_value(out, "quantum", page->book->quantum);
    put_value(out, "capacity", page->extra->capacity / SS_MIB);
    put_value(out, "bins", page->bins->n);
    put_phases(out);
    put_names(out, "labels", ss_label_words, label_color, SS_LABEL_COUNT);
    put_names(out, "memory", ss_mem_name, memory_color, SS_MEM_COUNT + 1);
    fputs("\"collectives\":[", out);
    for (int i = 0; i < p->ncollectives; i++) {
        fputs(i ? ",[" : "[", out);
        ss_put_json_text(p->collectives[i].name, out);
        fprintf(out, ",%d]", p->collectives[i].label);
    }
    fputs("],\"templates\":[", out);
    for (int i = 0; i < p->ntemplates; i++) {
        fputs(i ? "," : "", out);
        ss_put_json_text(p->templates[i].name, out);
    }
    fputs("],\"classes\":[", out);
    for (int c = 0, n = 0; c < p->nclasses; c++)
        if (page->book->shown[c]) {
            fputs(n++ ? ",\n" : "", out);
            put_class(page, c, out);
        }
    fputs("]}\n", out);
}

int ss_html_data(const struct ss_page *page)
{
    FILE *text, *packed = NULL;

    fprintf(page->out, "</section>\n</main>\n<footer>stepsim %s, %s engine</footer>\n", ss_version(),
            ss_engine_name(page->engine));
    fputs("<script type=\"application/octet-stream\" id=\"data\">", page->out);
    text = ss_base64_open(page->out);
    if (text)
        packed = ss_gzip_open(text);
    if (packed) {
        put_document(page, packed);
        fclose(packed); /* a failure shows as an error of page->out */
    }
    if (text)
        fclose(text);
    fputs("</script>\n", page->out);
    return packed ? SS_OK : SS_ERR_NOMEM;
}
