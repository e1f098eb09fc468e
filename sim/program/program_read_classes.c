/* SPDX-License-Identifier: Apache-2.0 */
/* Reads templates, classes and their events of a program text. */
#include "program/program_text.h"

/* ---- events ---- */

struct events {
    struct ss_event *event;
    int *line;
    size_t n, cap, line_cap;
};

static void free_events(struct events *e)
{
    SS_FREE(e->event, e->line);
    *e = (struct events){0};
}

static int event_kind(const struct ss_word *word)
{
    for (int i = 0; i < SS_EVENT_COUNT; i++)
        if (!word->quoted && !strcmp(word->text, ss_event_name(i)))
            return i;
    return -1;
}

static int read_compute(struct ss_reader *r, struct ss_event *ev)
{
    int label, rc = ss_read_unit(r, 1, "duration", SS_UNIT_TIME, &ev->amount);
    if (rc)
        return rc;
    const char *mix = r->in.nwords > 2 ? r->in.words[2].text : ss_label_name(SS_LABEL_COMPUTE);
    ev->index = ss_names_find(&r->mixes, mix);
    if (ev->index >= 0)
        return SS_OK;
    if ((label = ss_read_label(mix)) >= 0)
        return ss_read_pure_mix(r, label, &ev->index);
    return ss_read_ref(r, 2, "mix", &r->mixes, &ev->index);
}

static int read_stream(struct ss_reader *r, size_t word, struct ss_event *ev)
{
    if (r->in.nwords <= word)
        return SS_OK;
    if (strcmp(r->in.words[word].text, "stream") != 0)
        return ss_read_fail(r, "unexpected '%.60s'; 'stream NUMBER' may stand here", r->in.words[word].text);
    return ss_read_int(r, word + 1, "stream", 0, SS_STREAMS_MAX - 1, &ev->aux);
}

static int read_memory_event(struct ss_reader *r, struct ss_event *ev)
{
    for (ev->index = 0; r->in.nwords > 1 && ev->index < SS_MEM_COUNT; ev->index++)
        if (!strcmp(r->in.words[1].text, ss_mem_name(ev->index)))
            return ss_read_unit(r, 2, "bytes", SS_UNIT_BYTES, &ev->amount);
    return ss_hint(r->err, ss_read_fail(r, "'%s' needs a class of memory and bytes", r->in.words[0].text),
                   "classes are weights, gradients, optimizer, activations, logits and other");
}

static int read_event(struct ss_reader *r, int kind, struct events *out)
{
    /* Words that a line of each kind has at most. */
    static const size_t most[] = {3, 3, 2, 2, 2, 4, 3, 3, 3};
    struct ss_event ev = {.kind = kind};
    int rc;
    switch (kind) {
    case SS_EV_COMPUTE: rc = read_compute(r, &ev); break;
    case SS_EV_SEND:
        rc = ss_read_ref(r, 1, "channel", &r->channels, &ev.index);
        rc = rc ? rc : ss_read_unit(r, 2, "bytes", SS_UNIT_BYTES, &ev.amount);
        break;
    case SS_EV_POST:
        rc = ss_read_ref(r, 1, "collective", &r->collectives, &ev.index);
        rc = rc ? rc : read_stream(r, 2, &ev);
        break;
    case SS_EV_WAIT: rc = read_stream(r, 1, &ev); break;
    case SS_EV_ALLOC:
    case SS_EV_FREE: rc = read_memory_event(r, &ev); break;
    default: rc = ss_read_ref(r, 1, "channel", &r->channels, &ev.index);
    }
    if (!rc && r->in.nwords > most[kind])
        rc = ss_read_fail(r, "unexpected '%.60s' behind '%s'", r->in.words[most[kind]].text,
                          r->in.words[0].text);
    if (!rc && (ss_grow(&out->event, &out->cap, out->n + 1, sizeof ev) ||
                ss_grow(&out->line, &out->line_cap, out->n + 1, sizeof *out->line)))
        rc = ss_nomem(r->err);
    SS_TRY(rc);
    out->line[out->n] = r->in.line;
    out->event[out->n++] = ev;
    return SS_OK;
}

static int unknown_word(struct ss_reader *r, const char *where)
{
    const char *names[SS_EVENT_COUNT + 2] = {"slot", "memory"};
    for (int i = 0; i < SS_EVENT_COUNT; i++)
        names[i + 2] = ss_event_name(i);
    int rc = ss_read_fail(r, "unknown word '%.60s' in a %s", r->in.words[0].text, where);
    const char *near = ss_nearest(r->in.words[0].text, names, SS_ARRAY_LEN(names));
    return near ? ss_hint(r->err, rc, "did you mean '%s'?", near) : rc;
}

static bool is_close(const struct ss_reader *r)
{
    return r->in.nwords == 1 && !r->in.words[0].quoted && !strcmp(r->in.words[0].text, "}");
}

/* Takes the '{' off the end of the line. */
static bool opens(struct ss_reader *r)
{
    const struct ss_word *last = &r->in.words[r->in.nwords - 1];
    if (r->in.nwords < 2 || last->quoted || strcmp(last->text, "{") != 0)
        return false;
    r->in.nwords--;
    return true;
}

/* Events up to the closing brace. */
static int read_block(struct ss_reader *r, const char *what, struct events *out)
{
    int more, first = r->in.line;
    while ((more = ss_lines_next(&r->in)) == 1) {
        int kind = event_kind(&r->in.words[0]);
        if (is_close(r))
            return out->n ? SS_OK : ss_read_fail(r, "the %s has no events", what);
        if (kind < 0)
            return unknown_word(r, what);
        SS_TRY(read_event(r, kind, out));
    }
    return more < 0 ? more : ss_read_fail(r, "the '}' of the %s of line %d is missing", what, first);
}

/* ---- templates ---- */

/* `name` must live as long as the reader. Takes the events over. */
static int add_template(struct ss_reader *r, const char *name, int line, struct events *e, int *index)
{
    struct ss_template t = {.nevents = (int)e->n, .events = e->event};
    *index = r->p->ntemplates;
    if (!ss_copy(t.name, sizeof t.name, name))
        return ss_read_fail(r, "the name of a template is longer than %zu bytes", sizeof t.name - 1);
    SS_NEED(!ss_grow(&r->p->templates, &r->template_cap, (size_t)*index + 1, sizeof t) &&
                !ss_grow(&r->source->event, &r->event_cap, (size_t)*index + 1, sizeof *r->source->event),
            r->err);
    int rc = ss_read_line_of(r, &r->source->template_line, &r->template_lines, *index, line);
    if (!rc && (rc = ss_names_add(&r->templates, name)) != SS_OK)
        rc = rc == SS_ERR_NOMEM ? ss_nomem(r->err) : ss_read_fail(r, "a second template '%s'", t.name);
    if (rc)
        return rc;
    r->p->templates[*index] = t;
    r->source->event[*index] = e->line;
    r->p->ntemplates++;
    *e = (struct events){0};
    return SS_OK;
}

int ss_read_template(struct ss_reader *r)
{
    struct events e = {0};
    int index, line = r->in.line;
    if (r->in.nwords != 3 || !opens(r))
        return ss_read_fail(r, "a template starts with 'template NAME {'");
    const char *name = r->in.words[1].text;
    int rc = read_block(r, "template", &e);
    SS_THEN(rc, add_template(r, name, line, &e, &index));
    free_events(&e);
    return rc;
}

static bool same_events(const struct ss_template *t, const struct events *e)
{
    if ((size_t)t->nevents != e->n)
        return false;
    for (size_t i = 0; i < e->n; i++) {
        const struct ss_event *a = &t->events[i], *b = &e->event[i];
        if (a->kind != b->kind || a->index != b->index || a->aux != b->aux || a->amount != b->amount)
            return false;
    }
    return true;
}

/* A name for events that have none: "CLASS.SLOT", longer if that is taken. */
static int made_name(struct ss_reader *r, const char *cls, int slot, const char **out)
{
    char name[40];
    for (int n = 0;; n++) {
        if (n)
            snprintf(name, sizeof name, "%.17s.%d.%d", cls, slot, n);
        else
            snprintf(name, sizeof name, "%.27s.%d", cls, slot);
        if (ss_names_find(&r->templates, name) < 0)
            break;
    }
    if (ss_grow(&r->made, &r->made_cap, r->nmade + 1, sizeof *r->made) || !(r->made[r->nmade] = strdup(name)))
        return ss_nomem(r->err);
    *out = r->made[r->nmade++];
    return SS_OK;
}

/* ---- classes ---- */

struct class_reader {
    struct ss_reader *r;
    int index;
    size_t slot_cap, line_cap;
    struct events loose; /* events that stand in the class itself */
    int top_stream, streams_given;
};

static struct ss_program_class *the_class(struct class_reader *c)
{
    return &c->r->p->classes[c->index];
}

static int add_slot(struct class_reader *c, struct ss_program_slot slot, int line)
{
    struct ss_program_class *k = the_class(c);
    const struct ss_template *t = &c->r->p->templates[slot.template_index];
    SS_NEED(!ss_grow(&k->slots, &c->slot_cap, (size_t)k->nslots + 1, sizeof slot), c->r->err);
    SS_TRY(ss_read_line_of(c->r, &c->r->source->slot[c->index], &c->line_cap, k->nslots, line));
    k->slots[k->nslots++] = slot;
    for (int i = 0; i < t->nevents && !c->streams_given; i++)
        if ((t->events[i].kind == SS_EV_POST || t->events[i].kind == SS_EV_WAIT) &&
            t->events[i].aux >= c->top_stream)
            c->top_stream = t->events[i].aux + 1;
    return SS_OK;
}

static int close_loose(struct class_reader *c)
{
    const char *name;
    struct ss_program_slot slot = {0, -1, -1, -1};
    if (!c->loose.n)
        return SS_OK;
    int line = c->loose.line[0], rc = made_name(c->r, the_class(c)->name, the_class(c)->nslots, &name);
    SS_THEN(rc, add_template(c->r, name, line, &c->loose, &slot.template_index));
    return rc ? rc : add_slot(c, slot, line);
}

/* Events of a slot that brings its own: a new template, or one more use of a known one. */
static int slot_events(struct class_reader *c, const char *name, int line, int *index)
{
    struct ss_reader *r = c->r;
    struct events e = {0};
    int rc = read_block(r, "slot", &e), known = name ? ss_names_find(&r->templates, name) : -1;
    if (!rc && known >= 0) {
        *index = known;
        if (!same_events(&r->p->templates[known], &e))
            rc = ss_read_fail(r, "the slot of line %d has other events than template '%s' of line %d", line,
                              name, r->source->template_line[known]);
    } else if (!rc) {
        if (!name)
            rc = made_name(r, the_class(c)->name, the_class(c)->nslots, &name);
        SS_THEN(rc, add_template(r, name, line, &e, index));
    }
    free_events(&e);
    return rc;
}

static int read_slot(struct class_reader *c)
{
    struct ss_reader *r = c->r;
    struct ss_program_slot slot = {-1, -1, -1, -1};
    int line = r->in.line, rc = close_loose(c);
    bool own = opens(r);
    if (rc)
        return rc;
    if (r->in.nwords != 2 && r->in.nwords != 5)
        return ss_read_fail(r,
                            "a slot is 'slot TEMPLATE [PHASE CHUNK MICROBATCH]', or with '{' and its events");
    const struct ss_word name = r->in.words[1];
    if (r->in.nwords == 5) {
        for (slot.phase = 0; slot.phase < SS_PHASE_COUNT; slot.phase++)
            if (!strcmp(r->in.words[2].text, ss_phase_name(slot.phase)))
                break;
        if (slot.phase == SS_PHASE_COUNT)
            return ss_read_fail(r, "a phase is F, B, I, W or FB, not '%.20s'", r->in.words[2].text);
        rc = ss_read_int(r, 3, "chunk", 0, 1 << 28, &slot.chunk);
        rc = rc ? rc : ss_read_int(r, 4, "microbatch", 0, 1 << 28, &slot.microbatch);
    }
    bool anonymous = !name.quoted && !strcmp(name.text, "-");
    if (!rc && own)
        rc = slot_events(c, anonymous ? NULL : name.text, line, &slot.template_index);
    else if (!rc)
        rc = ss_read_ref(r, 1, "template", &r->templates, &slot.template_index);
    return rc ? rc : add_slot(c, slot, line);
}

static int read_memory(struct class_reader *c)
{
    const char *names[SS_MEM_COUNT];
    for (int i = 0; i < SS_MEM_COUNT; i++)
        names[i] = ss_mem_name(i);
    struct ss_pairs pairs = {c->r, 1, names, SS_MEM_COUNT, 0};
    int key, rc = SS_OK;
    while (!rc && (key = ss_pairs_next(&pairs)) != -1)
        rc = key < -1
                 ? key + 1
                 : ss_read_unit(c->r, pairs.at - 1, names[key], SS_UNIT_BYTES, &the_class(c)->memory[key]);
    return rc;
}

static int read_class_line(struct class_reader *c)
{
    struct ss_reader *r = c->r;
    const struct ss_word *first = &r->in.words[0];
    int kind = event_kind(first);
    if (kind >= 0)
        return read_event(r, kind, &c->loose);
    if (!first->quoted && !strcmp(first->text, "slot"))
        return read_slot(c);
    if (!first->quoted && !strcmp(first->text, "memory"))
        return read_memory(c);
    return unknown_word(r, "class");
}

static int read_class_head(struct class_reader *c)
{
    enum { STAGE, RANKS, FIRST, STREAMS };
    static const char *const keys[] = {"stage", "ranks", "first", "streams"};
    struct ss_reader *r = c->r;
    struct ss_program_class *k = the_class(c);
    struct ss_pairs pairs = {r, 2, keys, SS_ARRAY_LEN(keys), 0};
    if (!opens(r))
        return ss_read_fail(r,
                            "a class starts with 'class NAME [stage N] [ranks N] [first N] [streams N] {'");
    int key, rc = ss_read_name(r, 1, "class", k->name, sizeof k->name);
    if (!rc && (rc = ss_names_add(&r->classes, r->in.words[1].text)) != SS_OK)
        rc = rc == SS_ERR_NOMEM ? ss_nomem(r->err) : ss_read_fail(r, "a second class '%s'", k->name);
    while (!rc && (key = ss_pairs_next(&pairs)) != -1) {
        if (key < -1)
            return key + 1;
        int *field[] = {&k->stage, &k->count, &k->first_rank, &k->nstreams};
        int top = key == STREAMS ? SS_STREAMS_MAX : 1 << 28;
        rc = ss_read_int(r, pairs.at - 1, keys[key], key == RANKS, top, field[key]);
    }
    c->streams_given = (pairs.seen & 1u << STREAMS) != 0;
    return rc;
}

static int append_class(struct ss_reader *r, struct class_reader *c)
{
    size_t need = (size_t)c->index + 1;
    SS_NEED(!ss_grow(&r->p->classes, &r->class_cap, need, sizeof *r->p->classes) &&
                !ss_grow(&r->source->slot, &r->slot_cap, need, sizeof *r->source->slot),
            r->err);
    const struct ss_program_class *before = c->index ? &r->p->classes[c->index - 1] : NULL;
    int64_t first = before ? (int64_t)before->first_rank + before->count : 0;
    r->p->classes[c->index] = (struct ss_program_class){
        .stage = c->index, .count = 1, .first_rank = first < 1 << 28 ? (int)first : 0};
    r->source->slot[c->index] = NULL;
    r->p->nclasses++;
    return ss_read_line_of(r, &r->source->class_line, &r->class_lines, c->index, r->in.line);
}

int ss_read_class(struct ss_reader *r)
{
    struct class_reader c = {.r = r, .index = r->p->nclasses};
    int more = 0, first = r->in.line, rc = append_class(r, &c);
    bool closed = false;
    SS_THEN(rc, read_class_head(&c));
    while (!rc && !closed && (more = ss_lines_next(&r->in)) == 1) {
        closed = is_close(r);
        rc = closed ? close_loose(&c) : read_class_line(&c);
    }
    free_events(&c.loose);
    if (rc || more < 0)
        return rc ? rc : more;
    if (!closed)
        return ss_read_fail(r, "the '}' of the class of line %d is missing", first);
    if (!c.streams_given)
        the_class(&c)->nstreams = c.top_stream;
    return SS_OK;
}
