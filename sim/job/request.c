/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/request.h"

#include "base/arena.h"
#include "base/base.h"
#include "job/flags.h"
#include "job/job_internal.h"
#include "stepsim/flags.h"

void ss_request_init(struct ss_request *r)
{
    memset(r, 0, sizeof *r);
}

void ss_request_free(struct ss_request *r)
{
    ss_arena_free(&(struct ss_arena){r->texts});
    for (int i = 0; i < r->nplaces; i++) {
        SS_FREE(r->place[i].file, r->place[i].whence);
    }
    SS_FREE(r->word, r->place);
    ss_notes_free(&r->notes);
    ss_notes_free(&r->ignored);
    ss_notes_free(&r->behind);
    memset(r, 0, sizeof *r);
}

int ss_request_add_place(struct ss_request *r, const char *file, struct ss_error *err)
{
    char *copy = file ? strdup(file) : NULL;

    if ((file && !copy) || ss_grow(&r->place, &r->cap_places, (size_t)r->nplaces + 1, sizeof *r->place)) {
        free(copy);
        return ss_nomem(err);
    }
    r->place[r->nplaces++] = (struct ss_request_place){.file = copy};
    r->edited = 0;
    return SS_OK;
}

char *ss_request_keep_text(struct ss_request *r, const char *text)
{
    struct ss_arena arena = {r->texts};
    char *copy = ss_arena_text(&arena, text, strlen(text));

    r->texts = arena.blocks;
    return copy;
}

/* Adds a copy of the word at the last place. */
static int add_word(struct ss_request *r, struct ss_request_word word, struct ss_error *err)
{
    word.text = ss_request_keep_text(r, word.text);
    word.place = r->nplaces - 1;
    SS_NEED(word.text && !ss_grow(&r->word, &r->cap, r->n + 1, sizeof *r->word), err);
    r->word[r->n++] = word;
    return SS_OK;
}

int ss_request_add(struct ss_request *r, const char *text, int line, struct ss_error *err)
{
    struct ss_request_word word = {.text = (char *)text, .line = line, .setter = ss_flag_setter_of(text)};
    int rc = r->nplaces ? SS_OK : ss_request_add_place(r, NULL, err);

    word.group = word.setter ? NULL : ss_flag_group_of(text);
    return rc ? rc : add_word(r, word, err);
}

static int copy_place(struct ss_request *to, const struct ss_request_place *place, struct ss_error *err)
{
    int rc = ss_request_add_place(to, place->file, err);
    struct ss_request_place *copy = rc ? NULL : &to->place[to->nplaces - 1];

    if (rc)
        return rc;
    copy->how = place->how;
    copy->program = place->program;
    copy->whence = place->whence ? strdup(place->whence) : NULL;
    return place->whence && !copy->whence ? ss_nomem(err) : SS_OK;
}

int ss_request_append(struct ss_request *to, const struct ss_request *r, struct ss_error *err)
{
    int rc = SS_OK, place = -1;

    SS_NEED(!ss_grow(&to->word, &to->cap, to->n + r->n, sizeof *to->word), err);
    for (size_t i = 0; i < r->n && !rc; i++) {
        for (; place < r->word[i].place && !rc; place++)
            rc = copy_place(to, &r->place[place + 1], err);
        SS_THEN(rc, add_word(to, r->word[i], err));
    }
    for (place++; place < r->nplaces && !rc; place++)
        rc = copy_place(to, &r->place[place], err);
    to->edited = r->edited;
    SS_THEN(rc, ss_notes_add_all(&to->notes, &r->notes));
    SS_THEN(rc, ss_notes_add_all(&to->ignored, &r->ignored));
    SS_THEN(rc, ss_notes_add_all(&to->behind, &r->behind));
    return rc;
}

int ss_request_move(struct ss_request *to, struct ss_request *r, struct ss_error *err)
{
    const int places = to->nplaces;

    SS_NEED(!ss_grow(&to->place, &to->cap_places, (size_t)(places + r->nplaces), sizeof *to->place) &&
                !ss_grow(&to->word, &to->cap, to->n + r->n, sizeof *to->word),
            err);
    for (size_t i = 0; i < r->n; i++) {
        to->word[to->n] = r->word[i];
        to->word[to->n++].place += places;
    }
    for (int i = 0; i < r->nplaces; i++)
        to->place[to->nplaces++] = r->place[i];
    struct ss_arena texts = {to->texts};
    ss_arena_join(&texts, &(struct ss_arena){r->texts});
    to->texts = texts.blocks;
    to->edited = r->edited;
    to->notes = r->notes;
    to->ignored = r->ignored;
    to->behind = r->behind;
    SS_FREE(r->word, r->place);
    ss_request_init(r);
    return SS_OK;
}

int ss_request_copy(const struct ss_request *r, struct ss_request *copy, struct ss_error *err)
{
    ss_request_init(copy);
    int rc = ss_request_append(copy, r, err);
    if (rc)
        ss_request_free(copy);
    return rc;
}

int ss_request_set(struct ss_request *r, const char *flag, const char *value, struct ss_error *err)
{
    int rc = r->edited ? SS_OK : ss_request_add_place(r, NULL, err);

    SS_THEN(rc, ss_request_add(r, flag, 0, err));
    if (!rc && value)
        rc = ss_request_add(r, value, 0, err);
    r->edited = 1;
    return rc;
}

void ss_request_remove(struct ss_request *r, size_t i, size_t n)
{
    memmove(r->word + i, r->word + i + n, (r->n - i - n) * sizeof *r->word);
    r->n -= n;
}

int ss_request_flag(const struct ss_request *r, size_t i, struct ss_flag *out)
{
    const char *text = r->word[i].text;
    const int program = r->place[r->word[i].place].program;
    char name[128];

    if (r->word[i].setter && !program) {
        ss_flag_of_setter(r->word[i].setter, out);
        return 1;
    }
    if (r->word[i].group && !program) {
        ss_flag_of_group(r->word[i].group, text, out);
        return 1;
    }
    size_t n = strcspn(text, "=");
    if (!ss_is_flag(text) || n >= sizeof name)
        return 0;
    memcpy(name, text, n);
    name[n] = '\0';
    return program ? ss_flag_find_of_program(name, out) : ss_flag_find(name, out);
}

size_t ss_request_values(const struct ss_request *r, size_t i, char values)
{
    size_t end = i + 1;

    if (values == '0')
        return 0;
    while (end < r->n && r->word[end].place == r->word[i].place && !ss_is_flag(r->word[end].text) &&
           (values != '1' || end == i + 1))
        end++;
    return end - i - 1;
}

char ss_request_takes(const struct ss_request *r, size_t i, const struct ss_flag *f)
{
    int loose = f->treatment == SS_FLAG_NO_EFFECT && f->values == '1' && r->place[r->word[i].place].program;

    return loose ? '*' : f->values;
}

int ss_request_files(const struct ss_request *r, struct ss_files *files, struct ss_error *err)
{
    int rc = SS_OK;

    for (int i = 0; i < r->nplaces && !rc; i++)
        if (r->place[i].file)
            rc = ss_files_add(files, r->place[i].file, err);
    return rc;
}

/* Words of the flag at i, with its values. */
static size_t span_of(const struct ss_request *r, size_t i, char values)
{
    return strchr(r->word[i].text, '=') ? 1 : 1 + ss_request_values(r, i, values);
}

/* Returns what values the flag at i takes, where what it sets is known without its name; else 0. */
static char known_values(const struct ss_request *r, size_t i)
{
    const struct ss_request_word *w = &r->word[i];

    if (r->place[w->place].program)
        return 0;
    return w->setter ? w->setter->values : w->group ? w->group->values : 0;
}

size_t ss_request_span(const struct ss_request *r, size_t i)
{
    struct ss_flag f;
    const char values = known_values(r, i);

    if (values)
        return span_of(r, i, values);
    return ss_request_flag(r, i, &f) ? span_of(r, i, ss_request_takes(r, i, &f)) : 1;
}

size_t ss_request_extent(const struct ss_request *r, size_t i)
{
    struct ss_flag f;
    const char values = known_values(r, i);

    if (values)
        return span_of(r, i, values);
    if (ss_request_flag(r, i, &f))
        return span_of(r, i, ss_request_takes(r, i, &f));
    return ss_is_flag(r->word[i].text) && strchr(r->word[i].text, '=') ? 1 : 1 + ss_request_values(r, i, '*');
}

/* Short and long names of one thing. */
static int same_setter(const struct ss_flag_setter *x, const struct ss_flag_setter *y)
{
    if (x->kind == SS_FLAG_CALL && y->kind == SS_FLAG_CALL)
        return x->call == y->call;
    if (x->kind >= SS_FLAG_CALL || y->kind >= SS_FLAG_CALL) /* no field of a job */
        return x == y;
    return x->offset == y->offset;
}

static int same_thing(const struct ss_flag *a, const struct ss_flag *b)
{
    return a->setter && b->setter ? same_setter(a->setter, b->setter) : !strcmp(a->name, b->name);
}

int ss_flag_same(const char *a, const char *b)
{
    struct ss_flag x, y;

    return ss_flag_find(a, &x) && ss_flag_find(b, &y) && same_thing(&x, &y);
}

const char *ss_request_value_of(const struct ss_request *r, size_t i, const char *flag)
{
    const char *text = r->word[i].text;

    if (text[0] != '-' || text[1] != '-' || text[2] != flag[2]) /* which spares most of the looks */
        return NULL;
    const size_t n = strlen(flag);
    if (r->place[r->word[i].place].program)
        return NULL;
    if (!strncmp(text, flag, n) && text[n] == '=')
        return text + n + 1;
    return !strcmp(text, flag) && ss_request_span(r, i) > 1 ? r->word[i + 1].text : NULL;
}

static int gives(const struct ss_request *r, size_t i, const struct ss_flag *wanted)
{
    const struct ss_request_word *w = &r->word[i];
    struct ss_flag f;

    if (wanted->setter && known_values(r, i)) /* no name is in a group, too */
        return w->setter && same_setter(w->setter, wanted->setter);
    return ss_request_flag(r, i, &f) && same_thing(&f, wanted);
}

void ss_request_drop(struct ss_request *r, const char *flag)
{
    struct ss_flag wanted;

    if (!ss_flag_find(flag, &wanted))
        return;
    for (size_t i = 0, n; i < r->n; i += n) {
        n = ss_request_span(r, i);
        if (gives(r, i, &wanted)) {
            ss_request_remove(r, i, n);
            n = 0;
        }
    }
}

size_t ss_request_find(const struct ss_request *r, const char *flag)
{
    struct ss_flag wanted;

    if (!ss_flag_find(flag, &wanted))
        return r->n;
    for (size_t i = r->n; i-- > 0;) { /* no value looks like a flag */
        const struct ss_request_word *w = &r->word[i];
        int is = w->setter && wanted.setter && !r->place[w->place].program
                     ? same_setter(w->setter, wanted.setter)
                     : ss_is_flag(w->text) && gives(r, i, &wanted);
        if (is)
            return i;
    }
    return r->n;
}

int ss_request_is_beaten(const struct ss_request *r, size_t i)
{
    struct ss_flag f, later;

    if (r->word[i].place + 1 == r->nplaces) /* the last one */
        return 0;
    if (!ss_request_flag(r, i, &f) || (f.setter && f.setter->kind == SS_FLAG_PROP))
        return 0;
    for (size_t k = i; k < r->n; k += ss_request_span(r, k))
        if (r->word[k].place > r->word[i].place && ss_request_flag(r, k, &later) && same_thing(&f, &later))
            return 1;
    return 0;
}

void ss_request_locate(const struct ss_request *r, const char *flags, struct ss_error *err)
{
    for (const char *p = flags; r && err && !err->file[0] && *p; p += strspn(p, " ")) {
        char name[96];
        size_t n = strcspn(p, " "), at;
        snprintf(name, sizeof name, "%.*s", (int)n, p);
        p += n;
        at = ss_request_find(r, name);
        if (at == r->n)
            continue;
        if (r->place[r->word[at].place].file) {
            ss_copy(err->file, sizeof err->file, r->place[r->word[at].place].file);
            err->line = r->word[at].line;
        }
        break;
    }
}

void ss_request_blame(const struct ss_request *r, struct ss_error *err)
{
    char hint[sizeof err->hint];

    if (!err || err->code == SS_ERR_NOMEM || r->behind.n == 0)
        return;
    ss_copy(hint, sizeof hint, err->hint);
    for (unsigned long i = 0; i < r->behind.n; i++)
        if (!strstr(hint, r->behind.text[i]) &&
            (err->code == SS_ERR_INPUT ||
             !strstr(r->behind.text[i], ": not set, "))) /* which makes bad values */
            ss_append(hint, sizeof hint, "%s%s", hint[0] ? "; " : "", r->behind.text[i]);
    ss_hint(err, err->code, "%s", hint);
}

/* Appends text to buf[*used ..] and keeps the last byte free for the end. */
static void append(char *buf, size_t size, size_t *used, const char *text, size_t n)
{
    for (size_t i = 0; i < n && *used + 1 < size; i++)
        buf[(*used)++] = text[i];
}

char *ss_request_words(const struct ss_request *r, size_t first, size_t n, char *buf, size_t size)
{
    static const char plain[] = "abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789-_=+./,:@%^";
    size_t used = 0;

    for (size_t i = first; i < r->n && i - first < n; i++) {
        const char *text = r->word[i].text;
        int quoted = !text[0] || text[strspn(text, plain)];
        if (i > first)
            append(buf, size, &used, " ", 1);
        if (quoted)
            append(buf, size, &used, "'", 1);
        for (const char *c = text; *c; c++)
            append(buf, size, &used, *c == '\'' ? "'\\''" : c, *c == '\'' ? 4 : 1);
        if (quoted)
            append(buf, size, &used, "'", 1);
    }
    if (size)
        buf[used] = '\0';
    return buf;
}

char *ss_request_text(const struct ss_request *r, size_t first, char *buf, size_t size)
{
    return ss_request_words(r, first, r->n, buf, size);
}
