/* SPDX-License-Identifier: Apache-2.0 */
/* The one writer of tables for people, which keeps to the columns that there are (report/row.h). */
#include "base/base.h"
#include "report/row.h"
#include "report/text.h"

#define MOST 32      /* columns */
#define NARROWEST 18 /* columns of the terminal that a folded text keeps */
#define LONGEST 36   /* columns that a word keeps; a longer one, such as the name of a run, is broken */

/* Cells of the first columns, and the text behind them; without cells the text is a line between rows. */
struct ss_grid_row {
    const char **cell;
    size_t n;
    const char *text; /* NULL: none */
};

/* What is shown of a table: a column of width 0 is not. */
struct layout {
    size_t width[MOST], least[MOST], natural[MOST], gap, all;
    bool two; /* heads stand in two lines */
};

static const char *const color_off = "\033[0m", *const color_of[SS_OUTCOME_COUNT] = {
                                                    [SS_OUTCOME_FITS] = "\033[1;32m",
                                                    [SS_OUTCOME_NEAR_LIMIT] = "\033[1;33m",
                                                    [SS_OUTCOME_TOO_LARGE] = "\033[1;31m",
                                                    [SS_OUTCOME_REFUSED] = "\033[1;31m"};

void ss_put_verdict(const char *text, const struct ss_display *view, FILE *out)
{
    for (int o = 0; view && view->color && o < SS_OUTCOME_COUNT; o++) {
        const size_t n = strlen(ss_outcome_word(o));
        if (!strncmp(text, ss_outcome_word(o), n) && (!text[n] || strchr(",: ", text[n]))) {
            fprintf(out, "%s%.*s%s", color_of[o], (int)n, text, color_off);
            text += n;
            break;
        }
    }
    fputs(text, out);
}

void ss_grid_begin(struct ss_grid *g, const struct ss_column *columns, size_t n)
{
    *g = (struct ss_grid){.columns = columns, .n = n, .lost = n > MOST};
}

/* Keeps a text, without the blanks behind it. */
static const char *keep(struct ss_grid *g, const char *text)
{
    size_t n = strlen(text);

    while (n && text[n - 1] == ' ')
        n--;
    const char *kept = ss_arena_text(&g->texts, text, n);
    g->lost |= !kept;
    return kept ? kept : "";
}

static const char *keep_cell(struct ss_grid *g, const struct ss_column *c, struct ss_cell cell)
{
    const double value = c->scale * ss_cell_value(cell);
    char text[400], time[32];

    if (cell.kind == SS_CELL_TEXT)
        return keep(g, cell.text);
    if (!isfinite(value))
        return "-";
    if (strchr(c->format, '%')[1 + strspn(strchr(c->format, '%') + 1, "-+.0123456789")] == 's')
        return keep(g, ss_text_time(value, time, sizeof time));
    snprintf(text, sizeof text, c->format, value);
    return keep(g, text);
}

static struct ss_grid_row *new_row(struct ss_grid *g)
{
    if (g->lost || ss_grow(&g->rows, &g->room, g->nrows + 1, sizeof *g->rows)) {
        g->lost = true;
        return NULL;
    }
    struct ss_grid_row *row = &g->rows[g->nrows];
    *row = (struct ss_grid_row){.cell = ss_arena_take(&g->texts, g->n * sizeof *row->cell, sizeof(void *))};
    g->lost = !row->cell;
    return g->lost ? NULL : &g->rows[g->nrows++];
}

/* Adds the cells of a row before the column of that key; NULL: all. */
static struct ss_grid_row *add_cells(struct ss_grid *g, const struct ss_row *r, const char *key)
{
    struct ss_grid_row *row = new_row(g);
    size_t at = 0;

    for (size_t i = 0; row && i < g->n && !(key && !strcmp(g->columns[i].key, key)); i++)
        row->cell[row->n++] =
            g->columns[i].format ? keep_cell(g, &g->columns[i], ss_row_find(r, g->columns[i].key, &at)) : "";
    return row;
}

void ss_grid_row(struct ss_grid *g, const struct ss_row *r)
{
    add_cells(g, r, NULL);
}

static void add_text(struct ss_grid *g, struct ss_grid_row *row, const char *fmt, va_list ap)
{
    char *text = NULL;

    if (!row)
        return;
    g->lost |= vasprintf(&text, fmt, ap) < 0;
    row->text = g->lost ? "" : row->n ? keep(g, text) : ss_arena_text(&g->texts, text, strlen(text));
    g->lost |= !row->text;
    free(text);
}

void ss_grid_span(struct ss_grid *g, const struct ss_row *r, const char *key, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_text(g, add_cells(g, r, key), fmt, ap);
    va_end(ap);
}

void ss_grid_line(struct ss_grid *g, const char *fmt, ...)
{
    va_list ap;

    va_start(ap, fmt);
    add_text(g, new_row(g), fmt, ap);
    va_end(ap);
}

/* ---- layout ---- */

static size_t columns_of(const char *text)
{
    return ss_text_columns(text, strlen(text));
}

static bool is_text(const struct ss_column *c)
{
    const char *percent = strchr(c->format, '%');

    return percent[1] == '-' || percent[1] == 's';
}

/* Writes the part of a column's head that stands in a line, 0 or 1; where heads have one line, it is the second. Returns buf. */
static const char *head_of(const struct ss_column *c, bool two, int line, char buf[64])
{
    const char *head = c->head ? c->head : "", *second = strchr(head, '\n');
    const int first = second ? (int)(second - head) : 0;

    if (two && second)
        snprintf(buf, 64, "%.*s", line ? 63 : first, line ? second + 1 : head);
    else
        snprintf(buf, 64, "%.*s%s%s", line ? first : 0, head,
                 line && first && second[1] && second[1] != '/' && second[-1] != '-' ? " " : "",
                 !line    ? ""
                 : second ? second + 1
                          : head);
    return buf;
}

static size_t longest_word(const char *text)
{
    size_t most = 0;

    for (size_t n; *text; text += n + strspn(text + n, " ")) {
        n = strcspn(text, " ");
        const size_t columns = ss_text_columns(text, n);
        most = columns > most ? columns : most;
    }
    return most;
}

/* Finds the widths that a column's cells and its head take, and the least that its words take when they are folded. */
static void measure(const struct ss_grid *g, size_t i, struct layout *l)
{
    const struct ss_column *c = &g->columns[i];
    char head[64];
    size_t most = columns_of(head_of(c, l->two, 1, head)), word;

    if (columns_of(head_of(c, l->two, 0, head)) > most)
        most = columns_of(head);
    word = most;
    for (size_t r = 0; r < g->nrows; r++) {
        const struct ss_grid_row *row = &g->rows[r];
        if (i >= row->n)
            continue;
        const size_t columns = columns_of(row->cell[i]), longest = longest_word(row->cell[i]);
        if (row->text && i + 1 == row->n && columns > NARROWEST)
            continue;
        most = columns > most ? columns : most;
        word = longest > word ? longest : word;
    }
    l->natural[i] = l->width[i] = most;
    word = word > LONGEST ? LONGEST : word > NARROWEST ? word : NARROWEST;
    l->least[i] = is_text(c) && word < most ? word : most;
}

static size_t width_of(const struct ss_grid *g, const struct layout *l, const size_t *of)
{
    size_t all = 0;

    for (size_t i = 0; i < g->n; i++)
        all += l->width[i] ? of[i] + (all ? l->gap : 0) : 0;
    return all;
}

/* Returns the one value that a column has in all rows; NULL: several, or there is one row alone. */
static const char *same(const struct ss_grid *g, size_t i)
{
    const char *value = NULL;
    int n = 0;

    for (size_t r = 0; r < g->nrows; r++) {
        const struct ss_grid_row *row = &g->rows[r];
        if (i >= row->n)
            continue;
        if (value && strcmp(value, row->cell[i]) != 0)
            return NULL;
        value = row->cell[i];
        n++;
    }
    return n > 1 ? value : NULL;
}

/* Takes away the column of the largest weight, of at least `weight`; with `told` of those that are the same in all rows. */
static bool take_away(const struct ss_grid *g, struct layout *l, int weight, bool told)
{
    size_t most = MOST;

    for (size_t i = 0; i < g->n; i++)
        if (l->width[i] && g->columns[i].weight >= weight && (!told || same(g, i)) &&
            (most == MOST || g->columns[i].weight > g->columns[most].weight))
            most = i;
    if (most == MOST)
        return false;
    l->width[most] = 0;
    return true;
}

/* Folds texts, the last one first, until the table is narrow enough. */
static void fold(const struct ss_grid *g, struct layout *l)
{
    size_t all = width_of(g, l, l->width);

    for (size_t i = g->n; i-- > 0 && all > l->all;) {
        const size_t room = l->width[i] > l->least[i] ? l->width[i] - l->least[i] : 0;
        const size_t less = all - l->all < room ? all - l->all : room;
        l->width[i] -= less;
        all -= less;
    }
}

static void arrange(const struct ss_grid *g, const struct ss_display *view, struct layout *l)
{
    *l = (struct layout){.gap = 2, .all = view && view->width > 0 ? (size_t)view->width : SS_TEXT_WIDTH};
    for (int two = 0; two < 2; two++) {
        l->two = two;
        for (size_t i = 0; i < g->n; i++)
            if (g->columns[i].format)
                measure(g, i, l);
        if (width_of(g, l, l->natural) <= l->all)
            return;
    }
    if (width_of(g, l, l->natural) > l->all)
        l->gap = 1;
    while (width_of(g, l, l->natural) > l->all && take_away(g, l, 1, true)) {
    }
    while (width_of(g, l, l->natural) > l->all && take_away(g, l, 2, false)) {
    }
    while (width_of(g, l, l->least) > l->all && take_away(g, l, 1, false)) {
    }
    fold(g, l);
    l->two = false;
    for (size_t i = 0; i < g->n; i++)
        l->two |= l->width[i] && g->columns[i].head && strchr(g->columns[i].head, '\n');
}

/* ---- lines ---- */

/* Returns where a word that is longer than a line is broken: behind its last mark that fits, else where the line ends. */
static size_t word_break(const char *word, size_t n, size_t width)
{
    size_t at = n;

    while (at > 1 && ss_text_columns(word, at) > width)
        at--;
    for (size_t i = at; at < n && i > width / 2; i--)
        if (strchr("-_/.", word[i - 1]))
            return i;
    while (at < n && at > 1 && ((unsigned char)word[at] & 0xc0) == 0x80) /* within a character */
        at--;
    return at;
}

/* Returns how many bytes of a text its next line takes, in `width` columns, broken at a blank, or within a word where the column
 * is narrower than the word. */
static size_t line_of(const char *text, size_t width)
{
    const size_t n = strlen(text), first = 1 + strspn(text, " ");
    bool command;
    size_t at = ss_text_columns(text, n) > width ? ss_text_break(text, n, first, width, &command) : 0;

    at = at ? at : n;
    return width >= LONGEST && ss_text_columns(text, at) > width ? word_break(text, at, width) : at;
}

static void put_text(const char *text, size_t n, const struct ss_display *view, FILE *out)
{
    char part[1024];

    n = n < sizeof part ? n : sizeof part - 1;
    if (view && view->color) {
        memcpy(part, text, n);
        part[n] = '\0';
        ss_put_verdict(part, view, out);
    } else {
        fwrite(text, 1, n, out);
    }
}

/* Writes blanks only before what is written: no line ends in them. */
static void put_cell(size_t *blanks, const char *text, size_t n, size_t width, bool left, size_t gap,
                     const struct ss_display *view, FILE *out)
{
    const size_t columns = ss_text_columns(text, n), rest = width > columns ? width - columns : 0;

    if (n) {
        for (*blanks += left ? 0 : rest; *blanks; --*blanks)
            putc_unlocked(' ', out);
        put_text(text, n, view, out);
    } else {
        *blanks += left ? 0 : rest;
    }
    *blanks += (left ? rest : 0) + gap;
}

/* Writes a row: as many lines as its longest cell has. What a text stands for is a cell up to the end of the line. */
static void put_row(const struct ss_grid *g, const struct layout *l, const struct ss_grid_row *row,
                    const struct ss_display *view, FILE *out)
{
    const char *rest[MOST];
    bool more = true;

    if (!row->n) {
        fprintf(out, "%s\n", row->text);
        return;
    }
    for (size_t i = 0; i < row->n; i++)
        rest[i] = row->cell[i];
    for (const char *text = row->text; more;) {
        size_t blanks = 0, used = 0;
        more = false;
        for (size_t i = 0; i < row->n; i++) {
            if (!l->width[i])
                continue;
            const bool open =
                row->text && i + 1 == row->n; /* wider than its column, as the name of a refused row */
            const size_t n = open ? strlen(rest[i]) : line_of(rest[i], l->width[i]);
            put_cell(&blanks, rest[i], n, l->width[i], is_text(&g->columns[i]), l->gap, view, out);
            const size_t columns = ss_text_columns(rest[i], n);
            used += (columns > l->width[i] ? columns : l->width[i]) + l->gap;
            rest[i] += n;
            rest[i] += strspn(rest[i], " ");
            more |= *rest[i] != '\0';
        }
        if (text && *text) {
            const size_t n = line_of(text, l->all > used + NARROWEST ? l->all - used : NARROWEST);
            put_cell(&blanks, text, n, n, true, 0, view, out);
            text += n + strspn(text + n, " ");
            more |= *text != '\0';
        }
        fputc('\n', out);
    }
}

static void put_heads(const struct ss_grid *g, const struct layout *l, FILE *out)
{
    char head[64];

    for (int line = !l->two; line < 2; line++) {
        size_t blanks = 0;
        for (size_t i = 0; i < g->n; i++)
            if (l->width[i]) {
                head_of(&g->columns[i], l->two, line, head);
                put_cell(&blanks, head, strlen(head), l->width[i], is_text(&g->columns[i]), l->gap, NULL,
                         out);
            }
        fputc('\n', out);
    }
}

/* Writes "GPUs 64", or the head alone, of each column that is not shown: of those that are the same in all rows, or of the others.
 * A column in which no row has a value is not told. */
static int put_hidden(const struct ss_grid *g, const struct layout *l, bool told, FILE *out)
{
    int n = 0;

    for (size_t i = 0; i < g->n; i++) {
        const char *value = same(g, i);
        char head[64];
        if (l->width[i] || !l->natural[i] || (value != NULL) != told || (value && !strcmp(value, "-")))
            continue;
        fprintf(out, "%s%s%s%s",
                n++    ? ", "
                : told ? "in all rows: "
                       : "(no room for ",
                head_of(&g->columns[i], false, 1, head), told ? " " : "", told ? value : "");
    }
    if (n)
        fputs(told ? "\n" : "; a wider terminal and --json have all)\n", out);
    return n;
}

void ss_grid_free(struct ss_grid *g)
{
    ss_arena_free(&g->texts);
    free(g->rows);
    g->rows = NULL;
}

int ss_grid_end(struct ss_grid *g, const struct ss_display *view, FILE *out)
{
    struct layout l;

    if (!g->lost) {
        arrange(g, view, &l);
        put_hidden(g, &l, true, out);
        if (g->n && g->columns[0].head)
            put_heads(g, &l, out);
        for (size_t r = 0; r < g->nrows; r++)
            put_row(g, &l, &g->rows[r], view, out);
        put_hidden(g, &l, false, out);
    }
    ss_grid_free(g);
    return g->lost ? SS_ERR_NOMEM : SS_OK;
}
