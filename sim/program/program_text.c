/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the text form of a program. Names that the program does not have (of paths, mixes, channels)
 * are made from what the thing is, so that the same program always gives the same text. */

#include "program/program_text.h"
#include "stepsim/text.h"

#define KNOWN_NUMBERS 4096

/* Shortest decimals are dear to find and the same few come up again and again. */
struct known_number {
    double value;
    int unit; /* + 1; 0: empty */
    char text[48];
};

struct writer {
    const struct ss_program *p;
    FILE *out;
    struct known_number *known;
    unsigned char *own_name;  /* [collective]: its name is its key */
    int pure[SS_LABEL_COUNT]; /* mix that is all this label, or -1 */
    bool tagged;              /* channels are keyed by class names */
};

static void number(struct writer *w, double value, enum ss_unit unit)
{
    size_t at = (size_t)ss_hash(SS_HASH_INIT + unit, &value, sizeof value) % KNOWN_NUMBERS;
    struct known_number *k = &w->known[at];
    if (k->unit != (int)unit + 1 || memcmp(&k->value, &value, sizeof value) != 0) {
        k->unit = (int)unit + 1;
        k->value = value;
        ss_unit_format(value, unit, k->text, sizeof k->text);
    }
    fputs(k->text, w->out);
}

/* ---- keys ---- */

static void mix_key(struct writer *w, int mix)
{
    for (int i = 0; i < SS_LABEL_COUNT; i++)
        if (w->pure[i] == mix) {
            fputs(ss_label_name(i), w->out);
            return;
        }
    fprintf(w->out, "m%d", mix);
}

static void channel_key(struct writer *w, int channel)
{
    const struct ss_channel *c = &w->p->channels[channel];
    char name[128];
    if (w->tagged)
        snprintf(name, sizeof name, "%s>%s.%d", w->p->classes[c->from].name, w->p->classes[c->to].name,
                 c->tag);
    else
        snprintf(name, sizeof name, "c%d", channel);
    ss_word_write(name, w->out);
}

static void collective_key(struct writer *w, int collective)
{
    if (w->own_name[collective])
        ss_word_write(w->p->collectives[collective].name, w->out);
    else
        fprintf(w->out, "k%d", collective);
}

static int compare_collectives(const void *a, const void *b)
{
    return strcmp((*(const struct ss_collective *const *)a)->name,
                  (*(const struct ss_collective *const *)b)->name);
}

/* Like the keys that are made for the others. */
static bool looks_made(const char *name)
{
    if (name[0] != 'k' || !name[1])
        return false;
    return name[1 + strspn(name + 1, "0123456789")] == '\0';
}

static int prepare(struct writer *w)
{
    const struct ss_program *p = w->p;
    size_t n = (size_t)p->ncollectives;
    const struct ss_collective **sorted = ss_calloc(n, sizeof *sorted);
    w->known = ss_calloc(KNOWN_NUMBERS, sizeof *w->known);
    w->own_name = ss_calloc(n, 1);
    if (!sorted || !w->known || !w->own_name) {
        free(sorted);
        return SS_ERR_NOMEM;
    }
    for (size_t i = 0; i < n; i++)
        sorted[i] = &p->collectives[i];
    qsort(sorted, n, sizeof *sorted, compare_collectives);
    for (size_t i = 0; i < n; i++) {
        bool alone = (i == 0 || compare_collectives(&sorted[i - 1], &sorted[i]) != 0) &&
                     (i + 1 == n || compare_collectives(&sorted[i], &sorted[i + 1]) != 0);
        w->own_name[sorted[i] - p->collectives] = alone && sorted[i]->name[0] && !looks_made(sorted[i]->name);
    }
    free(sorted);
    for (int i = 0; i < SS_LABEL_COUNT; i++) {
        w->pure[i] = -1;
        for (int m = p->nmixes - 1; m >= 0; m--)
            if (p->mixes[m].fraction[i] == 1)
                w->pure[i] = m;
    }
    w->tagged = true;
    for (int i = 0; i < p->nclasses; i++)
        w->tagged = w->tagged && !strchr(p->classes[i].name, '>');
    return SS_OK;
}

/* ---- tables ---- */

static void write_links(struct writer *w)
{
    for (int i = 0; i < w->p->nlinks; i++) {
        const struct ss_link *l = &w->p->links[i];
        fputs("link ", w->out);
        ss_word_write(l->name, w->out);
        fputs(" bandwidth ", w->out);
        number(w, l->bandwidth, SS_UNIT_BANDWIDTH);
        fputs(" latency ", w->out);
        number(w, l->latency, SS_UNIT_TIME);
        fprintf(w->out, " kind %s\n", ss_link_kind_words[l->kind]);
    }
    for (int i = 0; i < w->p->npaths; i++) {
        const struct ss_path *path = &w->p->paths[i];
        fprintf(w->out, "path p%d", i);
        for (int k = 0; k < path->nlinks; k++) {
            fputc(' ', w->out);
            ss_word_write(w->p->links[path->link[k]].name, w->out);
            if (path->weight[k] != 1) {
                fputs(" *", w->out);
                number(w, path->weight[k], SS_UNIT_NONE);
            }
        }
        fputc('\n', w->out);
    }
}

static void write_mixes(struct writer *w)
{
    for (int i = 0; i < w->p->nmixes; i++) {
        fputs("mix ", w->out);
        mix_key(w, i);
        for (int k = 0; k < SS_LABEL_COUNT; k++)
            if (w->p->mixes[i].fraction[k] != 0) {
                fprintf(w->out, " %s ", ss_label_name(k));
                number(w, w->p->mixes[i].fraction[k], SS_UNIT_FRACTION);
            }
        fputc('\n', w->out);
    }
}

static void write_channels(struct writer *w)
{
    for (int i = 0; i < w->p->nchannels; i++) {
        const struct ss_channel *c = &w->p->channels[i];
        fputs("channel ", w->out);
        channel_key(w, i);
        fputs(" from ", w->out);
        ss_word_write(w->p->classes[c->from].name, w->out);
        fputs(" to ", w->out);
        ss_word_write(w->p->classes[c->to].name, w->out);
        fprintf(w->out, " path p%d tag %d latency ", c->path, c->tag);
        number(w, c->latency, SS_UNIT_TIME);
        fprintf(w->out, " rendezvous %s sm-share ", c->rendezvous ? "yes" : "no");
        number(w, c->sm_share, SS_UNIT_FRACTION);
        fputc('\n', w->out);
    }
}

static void write_members(struct writer *w, const struct ss_collective *k)
{
    for (int i = 0; i < k->nmembers; i++) {
        if (i % 8 == 0)
            fputs(i ? "\n    members" : "    members", w->out);
        fputc(' ', w->out);
        ss_word_write(w->p->classes[k->members[i]].name, w->out);
    }
    fputc('\n', w->out);
}

static void write_collectives(struct writer *w)
{
    for (int i = 0; i < w->p->ncollectives; i++) {
        const struct ss_collective *k = &w->p->collectives[i];
        fputs("collective ", w->out);
        collective_key(w, i);
        if (!w->own_name[i] && k->name[0]) {
            fputs(" name ", w->out);
            ss_word_write(k->name, w->out);
        }
        fprintf(w->out, " label %s bytes ", ss_label_name(k->label));
        number(w, k->bytes, SS_UNIT_BYTES);
        fputs(" sm-share ", w->out);
        number(w, k->sm_share, SS_UNIT_FRACTION);
        fputs(" {\n", w->out);
        write_members(w, k);
        for (int f = 0; f < k->nphases; f++) {
            fputs("    phase latency ", w->out);
            number(w, k->phases[f].latency, SS_UNIT_TIME);
            fputc('\n', w->out);
            for (int n = 0; n < k->phases[f].nflows; n++) {
                fprintf(w->out, "    flow p%d ", k->phases[f].flows[n].path);
                number(w, k->phases[f].flows[n].bytes, SS_UNIT_BYTES);
                fputc('\n', w->out);
            }
        }
        fputs("}\n", w->out);
    }
}

/* ---- events ---- */

static void write_event(struct writer *w, const struct ss_event *ev)
{
    fputs(ss_event_name(ev->kind), w->out);
    if (ev->kind != SS_EV_WAIT)
        fputc(' ', w->out);
    switch (ev->kind) {
    case SS_EV_COMPUTE:
        number(w, ev->amount, SS_UNIT_TIME);
        fputc(' ', w->out);
        mix_key(w, ev->index);
        break;
    case SS_EV_SEND:
        channel_key(w, ev->index);
        fputc(' ', w->out);
        number(w, ev->amount, SS_UNIT_BYTES);
        break;
    case SS_EV_POST:
        collective_key(w, ev->index);
        fprintf(w->out, " stream %d", ev->aux);
        break;
    case SS_EV_WAIT: fprintf(w->out, " stream %d", ev->aux); break;
    case SS_EV_ALLOC:
    case SS_EV_FREE:
        fprintf(w->out, "%s ", ss_mem_name(ev->index));
        number(w, ev->amount, SS_UNIT_BYTES);
        break;
    default: channel_key(w, ev->index);
    }
    fputc('\n', w->out);
}

static void write_events(struct writer *w, const struct ss_template *t, const char *indent)
{
    for (int i = 0; i < t->nevents; i++) {
        fputs(indent, w->out);
        write_event(w, &t->events[i]);
    }
}

static void write_template(struct writer *w, const struct ss_template *t)
{
    fputs("template ", w->out);
    ss_word_write(t->name, w->out);
    fputs(" {\n", w->out);
    write_events(w, t, "    ");
    fputs("}\n", w->out);
}

/* Writes templates. Compact: all of them. Expanded: those that no slot brings along. */
static int write_templates(struct writer *w, int expanded)
{
    char *used = ss_calloc((size_t)w->p->ntemplates, 1);
    if (!used)
        return SS_ERR_NOMEM;
    for (int c = 0; expanded && c < w->p->nclasses; c++)
        for (int i = 0; i < ss_program_stored(&w->p->classes[c]); i++)
            used[w->p->classes[c].slots[i].template_index] = 1;
    for (int t = 0; t < w->p->ntemplates; t++)
        if (!used[t])
            write_template(w, &w->p->templates[t]);
    free(used);
    return SS_OK;
}

static void write_slot(struct writer *w, const struct ss_program_slot *slot, int expanded)
{
    const struct ss_template *t = &w->p->templates[slot->template_index];
    fputs("    slot ", w->out);
    ss_word_write(t->name, w->out);
    if (slot->phase >= 0)
        fprintf(w->out, " %s %d %d", ss_phase_name(slot->phase), slot->chunk, slot->microbatch);
    if (expanded) {
        fputs(" {\n", w->out);
        write_events(w, t, "        ");
        fputs("    }", w->out);
    }
    fputc('\n', w->out);
}

static void write_class(struct writer *w, const struct ss_program_class *k, int expanded)
{
    bool any = false;
    fputs("class ", w->out);
    ss_word_write(k->name, w->out);
    fprintf(w->out, " stage %d ranks %d first %d streams %d {\n", k->stage, k->count, k->first_rank,
            k->nstreams);
    for (int i = 0; i < SS_MEM_COUNT; i++) {
        if (k->memory[i] == 0)
            continue;
        fprintf(w->out, "%s %s ", any ? "" : "    memory", ss_mem_name(i));
        number(w, k->memory[i], SS_UNIT_BYTES);
        any = true;
    }
    if (any)
        fputc('\n', w->out);
    for (int i = 0; i < k->nslots; i++) {
        const struct ss_program_slot slot = ss_program_slot_at(k, i);
        write_slot(w, &slot, expanded);
    }
    fputs("}\n", w->out);
}

int ss_program_write(const struct ss_program *p, int expanded, FILE *out, struct ss_error *err)
{
    struct writer w = {.p = p, .out = out};
    int rc = prepare(&w);
    if (!rc) {
        fputs("program ", out);
        ss_word_write(p->name[0] ? p->name : "program", out);
        fprintf(out, " version %d\nmemory-overhead ", SS_PROGRAM_VERSION);
        number(&w, p->memory_overhead_factor, SS_UNIT_NONE);
        fputc('\n', out);
        write_links(&w);
        write_mixes(&w);
        write_channels(&w);
        write_collectives(&w);
        rc = write_templates(&w, expanded);
        for (int i = 0; i < p->nclasses; i++)
            write_class(&w, &p->classes[i], expanded);
    }
    SS_FREE(w.known, w.own_name);
    if (rc)
        return ss_fail(err, rc, NULL, 0, "no memory to write the program");
    return ss_text_written(out, "the program", err);
}
