/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Changes inputs of fuzz_chain in their own grammar: flags of a job and options of the program come from their tables, names from the
 * lists of models, platforms, stacks, schedules and props, so that most of what it makes is read to the end.
 */

#include "base/base.h"
#include "cli/cli.h"
#include "common/bundle.h"

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed);
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, uint8_t *out,
                                 size_t most, unsigned seed);
/* libFuzzer's; without it nothing is mutated. */
size_t LLVMFuzzerMutate(uint8_t *data, size_t size, size_t most) __attribute__((weak));

#define MOST 4096
#define TEXT_SIZE 96

/* Words to choose from. */
struct cache {
    int n;
    char (*text)[TEXT_SIZE];
};
/* A flag or option and the placeholder of its value, "" of one that takes none. */
struct entry {
    char name[TEXT_SIZE], value[TEXT_SIZE * 2];
};
static struct {
    int n, nread; /* the first nread: options and flags that the prediction reads */
    struct entry entry[MOST];
    struct cache models, platforms, stacks, schedules, props;
} table;

static const char *const numbers[] =
    SS_VALUES("0", "1", "2", "3", "4", "5", "6", "7", "8", "12", "16", "24", "32", "48", "64", "100", "128",
              "256", "512", "1000", "1024", "4096", "0.1", "0.5", "0.9", "1.0", "1.5", "2.5", "-1", "1e-9",
              "1e9", "1e300", "99999999999999999999", "01", "2048", "8192", "1e-300", "nan", "inf", "0x10",
              "131072", "2147483647", "2147483648", "9223372036854775807");
static const char *const units[] = {"GBps", "us", "GiB", "Gbps",  "x", "W",
                                    "Tf",   "ms", "%",   "USD/h", "s", "MiB"};
static const char *const files[] = {"@platform.xml", "@schedule.csv", "@model.json",  "@stack.xml",
                                    "@placement",    "@job.args",     "@lengths.csv", "@loads.csv"};

/* ---- numbers of the seed ---- */
static uint64_t state;

static unsigned below(unsigned n)
{
    state = state * 6364136223846793005ULL + 1442695040888963407ULL;
    return n ? (unsigned)(state >> 33) % n : 0;
}

#define ANY(list) (list)[below((unsigned)(sizeof(list) / sizeof((list)[0])))]

/* ---- the tables ---- */

static void add_name(void *ctx, const char *name, const char *description)
{
    struct cache *s = ctx;

    (void)description;
    char(*more)[TEXT_SIZE] = realloc(s->text, ((size_t)s->n + 1) * sizeof *more);
    if (!more)
        abort();
    s->text = more;
    snprintf(s->text[s->n++], TEXT_SIZE, "%s", name);
}

static void add_entry(const char *name, const char *value)
{
    if (table.n == MOST)
        return;
    snprintf(table.entry[table.n].name, sizeof table.entry[0].name, "%s", name);
    snprintf(table.entry[table.n].value, sizeof table.entry[0].value, "%s", value ? value : "");
    table.n++;
}

static void add_options(void)
{
    const struct ss_option *o;

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (o->verbs >> CLI_RUN & 1 && !o->writes) {
            char words[TEXT_SIZE] = "";
            for (int k = 0; o->choice && o->choice(k); k++)
                snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", k ? "|" : "",
                         o->choice(k));
            add_entry(o->name, words[0] ? words : o->value);
        }
}

static void add_flags(int read)
{
    struct ss_flag_cursor at = {0};
    struct ss_flag_info flag;

    while (ss_flag_list(&at, &flag))
        if (flag.read == read)
            add_entry(flag.name, flag.values == '0' ? NULL : flag.value ? flag.value : "N");
}

static void fill_table(void)
{
    static const struct {
        const char *what;
        struct cache *cache;
    } lists[] = {{"models", &table.models},
                 {"platforms", &table.platforms},
                 {"stacks", &table.stacks},
                 {"schedules", &table.schedules},
                 {"props", &table.props}};

    if (table.n)
        return;
    add_options();
    add_flags(1);
    table.nread = table.n;
    add_flags(0);
    for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
        if (ss_list_names(lists[i].what, add_name, lists[i].cache, NULL))
            abort();
}

/* ---- values ---- */

static const char *one_of(const struct cache *s)
{
    return s->n ? s->text[below((unsigned)s->n)] : "";
}

static int is_word(const char *text)
{
    return (*text >= 'a' && *text <= 'z') || (*text >= '0' && *text <= '9');
}

/* One of "uniform|block"; 0: the placeholder lists no words. */
static int choose(const char *placeholder, char *out)
{
    int parts = 1, i = 0;

    for (const char *p = placeholder; *p; p++)
        parts += *p == '|';
    if (!is_word(placeholder))
        return 0;
    int chosen = (int)below((unsigned)parts);
    for (const char *p = placeholder; *p; p++) {
        if (i == chosen && *p != '|' && strlen(out) + 1 < TEXT_SIZE)
            out[strlen(out)] = *p;
        i += *p == '|';
    }
    return 1;
}

static void make_value(const struct entry *e, char out[TEXT_SIZE])
{
    const char *prop = one_of(&table.props);
    int bare = !strncmp(prop, "ss.", 3) ? 3 : 0;

    memset(out, 0, TEXT_SIZE);
    if (below(24) == 0)
        snprintf(out, TEXT_SIZE, "%s", ANY(files));
    else if (!strcmp(e->name, "--model"))
        snprintf(out, TEXT_SIZE, "%s", one_of(&table.models));
    else if (!strcmp(e->name, "--platform"))
        snprintf(out, TEXT_SIZE, "%s", one_of(&table.platforms));
    else if (!strcmp(e->name, "--stack"))
        snprintf(out, TEXT_SIZE, "%s", one_of(&table.stacks));
    else if (!strcmp(e->name, "--schedule") || !strcmp(e->name, "--pipeline-schedule"))
        snprintf(out, TEXT_SIZE, "%s", one_of(&table.schedules));
    else if (!strcmp(e->name, "--set"))
        snprintf(out, TEXT_SIZE, "%.60s=%s%s", prop, ANY(numbers), below(2) ? ANY(units) : "");
    else if (!strcmp(e->name, "--scale"))
        snprintf(out, TEXT_SIZE, "%.60s=%sx", prop + bare, ANY(numbers));
    else if (!strcmp(e->name, "--straggler"))
        snprintf(out, TEXT_SIZE, "%u:%s", below(16), ANY(numbers));
    else if (!strcmp(e->name, "--slow-link"))
        snprintf(out, TEXT_SIZE, "%s-%u-%u%s:%s", below(3) ? "nic" : "nvlink", below(4), below(9),
                 below(2) ? ".up" : "", below(3) ? ANY(numbers) : "failed");
    else if (!choose(e->value, out))
        snprintf(out, TEXT_SIZE, "%s%s", numbers[below(below(3) ? 22 : sizeof numbers / sizeof numbers[0])],
                 below(8) ? "" : ANY(units));
}

static const struct entry *any_entry(void)
{
    return &table.entry[below((unsigned)(below(8) ? table.nread : table.n))];
}

static const struct entry *entry_of(const char *name)
{
    for (int i = 0; i < table.n; i++)
        if (!strcmp(table.entry[i].name, name))
            return &table.entry[i];
    return NULL;
}

/* ---- words of an input ---- */

struct words {
    int n;
    char text[FUZZ_MOST_WORDS + 8][TEXT_SIZE];
};

static void read_words(struct words *w, const char *text, size_t size)
{
    w->n = 0;
    for (size_t at = 0; at < size && w->n < FUZZ_MOST_WORDS;) {
        size_t n = 0;
        while (at < size && strchr(" \t\r\n", text[at]))
            at++;
        while (at + n < size && text[at + n] && !strchr(" \t\r\n", text[at + n]))
            n++;
        if (n)
            snprintf(w->text[w->n++], TEXT_SIZE, "%.*s", (int)n, text + at);
        at += n ? n : 1;
    }
}

static void insert(struct words *w, int at, const char *text)
{
    if (w->n >= FUZZ_MOST_WORDS)
        return;
    memmove(w->text[at + 1], w->text[at], (size_t)(w->n - at) * TEXT_SIZE);
    snprintf(w->text[at], TEXT_SIZE, "%s", text);
    w->n++;
}

static void drop(struct words *w, int at)
{
    memmove(w->text[at], w->text[at + 1], (size_t)(w->n - at - 1) * TEXT_SIZE);
    w->n--;
}

/* A place where a flag stands, or the end. */
static int any_flag(const struct words *w)
{
    int at = (int)below((unsigned)w->n + 1);

    while (at < w->n && w->text[at][0] != '-')
        at++;
    return at;
}

static void add_flag(struct words *w)
{
    const struct entry *e = any_entry();
    char value[TEXT_SIZE];
    int at = any_flag(w);

    make_value(e, value);
    if (e->value[0])
        insert(w, at, value);
    insert(w, at, e->name);
}

static void change_value(struct words *w)
{
    int at = any_flag(w);
    const struct entry *e = at < w->n ? entry_of(w->text[at]) : NULL;

    if (e && e->value[0] && at + 1 < w->n)
        make_value(e, w->text[at + 1]);
}

/* Twice, half, one more or one less. */
static void change_number(struct words *w)
{
    char *text = w->n ? w->text[below((unsigned)w->n)] : NULL, *rest;
    char tail[TEXT_SIZE];
    long long n = text ? strtoll(text, &rest, 10) : 0;

    if (!text || rest == text)
        return;
    n = n % 1000000000000; /* as a number at the limit of its type is among the words */
    const long long changed[] = {n * 2, n / 2, n + 1, n - 1, -n, n * 10};
    snprintf(tail, sizeof tail, "%s", rest);
    snprintf(text, TEXT_SIZE, "%lld%.64s", ANY(changed), tail);
}

static void change_word(struct words *w)
{
    char *text = w->n ? w->text[below((unsigned)w->n)] : NULL;

    if (!text || !LLVMFuzzerMutate)
        return;
    size_t n = LLVMFuzzerMutate((uint8_t *)text, strlen(text), TEXT_SIZE - 1);
    text[n] = '\0';
    for (size_t i = 0; i < n; i++)
        if (!text[i] || strchr(" \t\r\n", text[i]))
            text[i] = '.';
}

static void drop_flag(struct words *w)
{
    int at = any_flag(w);

    if (at < w->n)
        drop(w, at);
    while (at < w->n && w->text[at][0] != '-')
        drop(w, at);
}

static void change_words(struct words *w)
{
    switch (below(10)) {
    case 0:
    case 1:
    case 2: add_flag(w); break;
    case 3:
    case 4: change_value(w); break;
    case 5:
    case 6: change_number(w); break;
    case 7: change_word(w); break;
    default: drop_flag(w);
    }
}

/* ---- files of an input ---- */

/* Writes words and files; returns the size. */
static size_t write_input(const struct words *w, const struct fuzz_bundle *b, uint8_t *out, size_t most)
{
    size_t n = 0;

    for (int i = 0; i < w->n; i++) {
        size_t len = strlen(w->text[i]);
        if (n + len + 1 > most)
            return n;
        memcpy(out + n, w->text[i], len);
        out[n + len] = i + 1 < w->n && w->text[i + 1][0] != '-' ? ' ' : '\n';
        n += len + 1;
    }
    for (int i = 0; i < b->nfiles; i++) {
        size_t head = strlen(b->file[i].name) + sizeof FUZZ_MARK, size = b->file[i].size;
        if (n + head + size + 2 > most)
            return n;
        n += (size_t)snprintf((char *)out + n, head + 1, FUZZ_MARK "%s\n", b->file[i].name);
        memcpy(out + n, b->file[i].text, size);
        n += size;
        if (size && out[n - 1] != '\n')
            out[n++] = '\n';
    }
    return n;
}

/* Changes one file into `made`, of `most` bytes. */
static void change_file(struct fuzz_file *f, uint8_t *made, size_t most)
{
    size_t n = f->size < most ? f->size : most;
    const char *digits = "0123456789";

    memcpy(made, f->text, n);
    if (below(2) && n) { /* one number becomes another */
        size_t at = below((unsigned)n);
        while (at < n && !strchr(digits, (char)made[at]))
            at++;
        for (int i = 0; i < 3 && at < n && made[at] && strchr(digits, (char)made[at]); i++, at++)
            made[at] = (uint8_t)digits[below(10)];
    } else if (LLVMFuzzerMutate) {
        n = LLVMFuzzerMutate(made, n, most);
    }
    f->text = (const char *)made;
    f->size = n;
}

size_t LLVMFuzzerCustomMutator(uint8_t *data, size_t size, size_t most, unsigned seed)
{
    static struct words w;
    static uint8_t made[1 << 16], old[1 << 16];
    struct fuzz_bundle b;

    state = seed;
    fill_table();
    if (size > sizeof old || (LLVMFuzzerMutate && below(20) == 0))
        return LLVMFuzzerMutate ? LLVMFuzzerMutate(data, size, most) : size;
    memcpy(old, data, size);
    read_words(&w, (const char *)old, fuzz_bundle_split((const char *)old, size, &b));
    if (b.nfiles && below(3) == 0)
        change_file(&b.file[below((unsigned)b.nfiles)], made, sizeof made);
    else
        for (unsigned n = below(2) ? 1 : 1 + below(3); n > 0; n--) /* most of more than one is refused */
            change_words(&w);
    return write_input(&w, &b, data, most);
}

/* The words of one with some flags of the other, and the files of either. */
size_t LLVMFuzzerCustomCrossOver(const uint8_t *a, size_t na, const uint8_t *b, size_t nb, uint8_t *out,
                                 size_t most, unsigned seed)
{
    static struct words w, other;
    struct fuzz_bundle files_a, files_b;

    state = seed;
    read_words(&w, (const char *)a, fuzz_bundle_split((const char *)a, na, &files_a));
    read_words(&other, (const char *)b, fuzz_bundle_split((const char *)b, nb, &files_b));
    for (int i = 0; i < other.n; i++) {
        if (other.text[i][0] != '-' || below(3))
            continue;
        insert(&w, w.n, other.text[i]);
        for (int k = i + 1; k < other.n && other.text[k][0] != '-'; k++)
            insert(&w, w.n, other.text[k]);
    }
    return write_input(&w, below(2) ? &files_a : &files_b, out, most);
}
