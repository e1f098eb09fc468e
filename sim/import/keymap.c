/* SPDX-License-Identifier: Apache-2.0 */
/* Keymaps: their files. */
#include "import/keymap.h"

#include "base/base.h"

#define FOLDER "workloads/importers"
#define MAX_BYTES (1u << 20)
#define MAX_DEPTH 4    /* of files that include one another */
#define MAX_ITEMS 8192 /* rows, cases and blocks */

struct parser {
    struct ss_keymap *map;
    const struct ss_key_code *code;
    const char *file;
    int line, depth;
    const char *prefix;  /* what paths of this file are below: "model.config", "" the root */
    const char *section; /* from the root */
    int block;           /* index of the innermost one that is open; -1: none */
    struct ss_error *err;
};
static int parse(struct parser *p, const char *text, size_t len);

#define WRONG(p, ...) ss_fail((p)->err, SS_ERR_INPUT, (p)->file, (p)->line, __VA_ARGS__)

/* Returns the next word of a line, which may be changed; *rest points behind it. "": no more words. */
static char *next_word(char **rest)
{
    char *word = *rest + strspn(*rest, " \t"), *end = word + strcspn(word, " \t");

    *rest = end + strspn(end, " \t");
    if (*end)
        *end = '\0';
    return word;
}

static int copy(struct parser *p, const char *text, size_t len, const char **out)
{
    *out = ss_arena_text(&p->map->arena, text, len);
    return *out ? SS_OK : ss_nomem(p->err);
}

/* Joins "section.name", without a dot where one of them is empty; "/name" is from the root. */
static int join(struct parser *p, const char *section, const char *name, size_t len, const char **out)
{
    char path[SS_KEY_PATH];

    if (len && *name == '/') {
        section = "";
        name++, len--;
    }
    size_t n = strlen(section), dot = n && len;
    if (n + dot + len >= sizeof path)
        return WRONG(p, "a path of more than %d bytes", SS_KEY_PATH - 1);
    memcpy(path, section, n);
    path[n] = '.';
    memcpy(path + n + dot, name, len);
    return copy(p, path, n + dot + len, out);
}

static int room(struct parser *p, void *array, size_t *cap, size_t n, size_t size)
{
    if (n >= MAX_ITEMS)
        return WRONG(p, "more than %d rows, cases or blocks", MAX_ITEMS);
    return ss_grow(array, cap, n + 1, size) ? ss_nomem(p->err) : SS_OK;
}

/* ---- rows ---- */

static int add_path(struct parser *p, const char *text)
{
    struct ss_keymap *m = p->map;
    uint64_t hash = ss_hash(SS_HASH_INIT, text, strlen(text));

    if (ss_map_get(&m->index, hash) >= 0)
        return SS_OK;
    int rc = room(p, &m->path, &m->path_cap, m->npaths, sizeof *m->path);
    if (!rc && ss_map_put(&m->index, hash, (int)m->npaths) < 0)
        rc = ss_nomem(p->err);
    if (!rc)
        m->path[m->npaths++] = (struct ss_key_path){text, m->n};
    return rc;
}

/* All names of a key from the root, with bars between: *out. */
static int make_key(struct parser *p, const char *key, const char **out)
{
    char all[2 * SS_KEY_PATH] = "";
    const char *path;
    int rc = SS_OK;

    *out = "";
    for (const char *name = key; *name && strcmp(key, "-") && !rc; name += *name == '|') {
        size_t len = strcspn(name, "|");
        rc = join(p, p->section, name, len, &path);
        rc = rc || *name == '*' ? rc : add_path(p, path);
        *out = path;
        if (!all[0] && !name[len]) /* the only one */
            return rc;
        if (!rc && !ss_append(all, sizeof all, "%s%s", all[0] ? "|" : "", path))
            return WRONG(p, "more names of a key than can be read");
        name += len;
    }
    return rc || !all[0] ? rc : copy(p, all, strlen(all), out);
}

static const struct {
    const char *word;
    enum { FLAG, WORDS, ELSE, WHY, PATH, NOTHING, NAME } behind;
} kinds[] = {
#define X(kind, word, behind) {#word, behind},
    SS_KEY_KINDS(X)
#undef X
};

static bool has_code(const struct parser *p, const char *name)
{
    const struct ss_key_code *c = p->code;

    while (c && c->name && strcmp(c->name, name) != 0)
        c++;
    return !c || c->name || !name[0];
}

/* Returns what is wrong with the text behind the kind of a row; NULL: nothing. */
static const char *complaint(const struct parser *p, int behind, const char *text)
{
    bool flag = !strncmp(text, "--", 2);

    switch (behind) {
    case FLAG: return flag ? NULL : "a flag is asked, \"--name\"";
    case WORDS: return flag || !text[0] ? NULL : "flags are asked, \"--name\", or nothing";
    case ELSE: return !text[0] || !strncmp(text, "else ", 5) ? NULL : "\"else VALUE\" is asked, or nothing";
    case WHY: return text[0] ? NULL : "a reason is asked";
    case PATH: return text[0] && !strpbrk(text, " \t|") ? NULL : "one path is asked";
    case NAME: return has_code(p, text) ? NULL : "there is no function of this name";
    default: return text[0] ? "nothing may stand behind it" : NULL;
    }
}

/* Whether a row says something where no key is: all others are about a key's value. */
static bool may_lack_key(enum ss_key_kind kind)
{
    return kind == SS_KEY_ADD || kind == SS_KEY_ASSUME || kind == SS_KEY_REFUSE || kind == SS_KEY_CODE;
}

static int add_row(struct parser *p, const char *key, char *rest)
{
    struct ss_keymap *m = p->map;
    const char *word = next_word(&rest), *full = NULL;
    size_t kind = 0;

    while (kind < SS_ARRAY_LEN(kinds) && strcmp(kinds[kind].word, word) != 0)
        kind++;
    if (kind == SS_ARRAY_LEN(kinds))
        return WRONG(p, "\"%.40s\" is no kind of row: README.md of this folder has them", word);
    const char *why = complaint(p, kinds[kind].behind, rest);
    if (!why && (kind == SS_KEY_NAMES) != !strcmp(key, "*"))
        why = "\"*\" is the key of names, and of nothing else";
    if (!why && !strcmp(key, "-") && !may_lack_key((enum ss_key_kind)kind))
        why = "a key is asked: only add, assume, refuse and code may stand behind \"-\"";
    if (why)
        return WRONG(p, "%.60s %.20s: %s", key, word, why);
    int rc = room(p, &m->row, &m->row_cap, m->n, sizeof *m->row);
    SS_TRY(rc ? rc : make_key(p, key, &full));
    m->row[m->n++] = (struct ss_key_row){.key = full,
                                         .kind = (enum ss_key_kind)kind,
                                         .block = p->block,
                                         .file = p->file,
                                         .line = p->line,
                                         .text = rest,
                                         .section = p->section,
                                         .first = m->nchoices};
    return SS_OK;
}

/* Adds "value value = words; assume text"; `equal` points to its "=". */
static int add_case(struct parser *p, char *line, char *equal)
{
    struct ss_keymap *m = p->map;
    struct ss_key_row *row = m->n ? &m->row[m->n - 1] : NULL;
    char *words = equal + 1 + strspn(equal + 1, " \t"), *more = strstr(words, "; assume ");

    if (!row || (row->kind != SS_KEY_PICK && row->kind != SS_KEY_TABLE))
        return WRONG(p, "a value stands below a row of the kind pick or table");
    SS_TRY(room(p, &m->choice, &m->choice_cap, m->nchoices, sizeof *m->choice));
    *equal = '\0';
    if (more) {
        *more = '\0';
        more += strlen("; assume ");
    }
    if (row->kind == SS_KEY_PICK && words[0] && strncmp(words, "--", 2) && strncmp(words, "refuse ", 7))
        return WRONG(p, "flags, or \"refuse WHY\", are asked behind \"=\"");
    m->choice[m->nchoices++] = (struct ss_key_case){line, words, more};
    row->ncases++;
    return SS_OK;
}

/* ---- blocks, sections and other files ---- */

static int open_block(struct parser *p, const char *condition, bool negated)
{
    struct ss_keymap *m = p->map;

    SS_TRY(condition[0] ? room(p, &m->block, &m->block_cap, m->nblocks, sizeof *m->block)
                        : WRONG(p, "a condition is asked"));
    m->block[m->nblocks] = (struct ss_key_block){p->block, negated, condition, p->section};
    p->block = (int)m->nblocks++;
    return SS_OK;
}

/* `least`: the block that is not of this file. */
static int close_block(struct parser *p, int least, bool again)
{
    if (p->block == least)
        return WRONG(p, "no block is open");
    const struct ss_key_block b = p->map->block[p->block];
    p->block = b.outer;
    return again ? open_block(p, b.condition, !b.negated) : SS_OK;
}

static int include(struct parser *p, char *rest)
{
    const char *name = next_word(&rest), *below = next_word(&rest);
    char path[4096], *text;
    size_t len;

    if (!name[0] || strchr(name, '/'))
        return WRONG(p, "the name of a keymap is asked");
    if (p->depth >= MAX_DEPTH)
        return WRONG(p, "keymaps include one another more than %d deep", MAX_DEPTH);
    struct parser inner = {
        .map = p->map, .code = p->code, .depth = p->depth + 1, .block = p->block, .err = p->err};
    int rc = join(p, p->section, below, strlen(below), &inner.section);
    rc = rc ? rc : ss_data_find(FOLDER, name, ".map", path, sizeof path, p->err);
    rc = rc ? rc : copy(p, path, strlen(path), &inner.file);
    SS_TRY(rc ? rc : ss_file_read(path, MAX_BYTES, &text, &len, p->err));
    inner.prefix = inner.section;
    rc = parse(&inner, text, len);
    free(text);
    return rc;
}

static int open_section(struct parser *p, char *line)
{
    size_t n = strlen(line);

    if (line[n - 1] != ']')
        return WRONG(p, "\"]\" is missing");
    return join(p, p->prefix, line + 1, n - 2, &p->section);
}

static int set_rest(struct parser *p, const char *word)
{
    p->map->strict = !strcmp(word, "refused");
    p->map->renamed = !strcmp(word, "refused, names of releases");
    p->map->strict |= p->map->renamed;
    return p->map->strict || !strcmp(word, "told") ? SS_OK
                                                   : WRONG(p, "\"rest told\" or \"rest refused\" is asked");
}

/* The "=" that stands alone; NULL: there is none. */
static char *equal_of(char *line)
{
    char *at = strstr(line, " = ");
    size_t n = strlen(line);

    return at ? at + 1 : n > 1 && !strcmp(line + n - 2, " =") ? line + n - 1 : NULL;
}

static int parse_line(struct parser *p, char *line, int least)
{
    char *equal = equal_of(line), *rest = line;

    if (line[0] == '[')
        return open_section(p, line);
    if (equal)
        return add_case(p, line, equal);
    const char *word = next_word(&rest);
    if (!strcmp(word, "when") || !strcmp(word, "unless"))
        return open_block(p, rest, word[0] == 'u');
    if (!strcmp(word, "else") || !strcmp(word, "end"))
        return rest[0] ? WRONG(p, "nothing may stand behind \"%s\"", word)
                       : close_block(p, least, word[1] == 'l');
    if (!strcmp(word, "include"))
        return include(p, rest);
    return strcmp(word, "rest") ? add_row(p, word, rest) : set_rest(p, rest);
}

static int parse(struct parser *p, const char *text, size_t len)
{
    int least = p->block, rc = SS_OK;

    for (const char *at = text, *end = text + len; at < end && !rc; at++) {
        const char *newline = memchr(at, '\n', (size_t)(end - at)), *last = newline ? newline : end;
        const char *note = at;
        p->line++;
        while (note < last && !(*note == '#' && (note == at || isspace((unsigned char)note[-1]))))
            note++;
        while (at < note && isspace((unsigned char)*at))
            at++;
        while (note > at && isspace((unsigned char)note[-1]))
            note--;
        if (memchr(at, '\0', (size_t)(note - at)))
            return WRONG(p, "a zero byte");
        char *line = note > at ? ss_arena_text(&p->map->arena, at, (size_t)(note - at)) : NULL;
        if (note > at)
            rc = line ? parse_line(p, line, least) : ss_nomem(p->err);
        at = last;
    }
    return rc || p->block == least ? rc : WRONG(p, "a block has no \"end\"");
}

/* ---- the whole ---- */

static const struct ss_key_row *row_at(const struct ss_keymap *map, const char *path)
{
    int i = ss_map_get(&map->index, ss_hash(SS_HASH_INIT, path, strlen(path)));

    return i >= 0 && !strcmp(map->path[i].text, path) ? &map->row[map->path[i].row] : NULL;
}

/* ss_keymap_find; own: whether the path's own row is looked for. */
static const struct ss_key_row *find(const struct ss_keymap *map, const char *path, bool own)
{
    char above[SS_KEY_PATH];
    const struct ss_key_row *row = own ? row_at(map, path) : NULL;

    if (!ss_copy(above, sizeof above, path))
        return row;
    for (char *dot; !row && (dot = strrchr(above, '.')) != NULL;) {
        *dot = '\0';
        row = row_at(map, above);
        row = row && ss_key_becomes_nothing(row->kind) ? row : NULL;
    }
    return row;
}

const struct ss_key_row *ss_keymap_find(const struct ss_keymap *map, const char *path)
{
    return find(map, path, true);
}

bool ss_keymap_is_section(const struct ss_keymap *map, const char *path)
{
    size_t n = strlen(path);

    for (size_t i = 0; i < map->npaths; i++)
        if (!strncmp(map->path[i].text, path, n) && map->path[i].text[n] == '.')
            return true;
    return false;
}

/* Rows below what another row has as a whole, and picks without values. */
static int check(const struct ss_keymap *m, struct ss_error *err)
{
    for (size_t i = 0; i < m->npaths; i++) {
        const struct ss_key_row *row = &m->row[m->path[i].row], *whole = find(m, m->path[i].text, false);
        if (whole && whole->block < 0)
            return ss_fail(err, SS_ERR_INPUT, row->file, row->line,
                           "%.100s is below %.100s, which a row has as a whole: give each key of it a row",
                           m->path[i].text, whole->key);
    }
    for (size_t i = 0; i < m->n; i++)
        if ((m->row[i].kind == SS_KEY_PICK || m->row[i].kind == SS_KEY_TABLE) && !m->row[i].ncases)
            return ss_fail(err, SS_ERR_INPUT, m->row[i].file, m->row[i].line,
                           "%.100s: no value stands below it", m->row[i].key);
    return SS_OK;
}

int ss_keymap_parse(const char *text, size_t len, const char *file, const struct ss_key_code *code,
                    struct ss_keymap **out, struct ss_error *err)
{
    struct ss_keymap *map = ss_calloc(1, sizeof *map);
    struct parser p = {.map = map, .code = code, .prefix = "", .section = "", .block = -1, .err = err};

    SS_NEED(map, (&p)->err);
    int rc = copy(&p, file, strlen(file), &p.file);
    map->file = p.file;
    rc = rc ? rc : parse(&p, text, len);
    rc = rc ? rc : check(map, err);
    SS_HAND(rc, map, out, ss_keymap_free);
}

int ss_keymap_load(const char *name, const struct ss_key_code *code, struct ss_keymap **out,
                   struct ss_error *err)
{
    char path[4096], *text;
    size_t len;
    int rc = ss_data_find(FOLDER, name, ".map", path, sizeof path, err);

    SS_TRY(rc ? rc : ss_file_read(path, MAX_BYTES, &text, &len, err));
    rc = ss_keymap_parse(text, len, path, code, out, err);
    free(text);
    return rc;
}

void ss_keymap_free(struct ss_keymap *map)
{
    if (!map)
        return;
    SS_FREE(map->row, map->choice, map->block, map->path);
    ss_map_free(&map->index);
    ss_arena_free(&map->arena);
    free(map);
}
