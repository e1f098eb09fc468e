/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules from files. The CSV is that of torch.distributed.pipelining: a row a rank, from rank 0, a cell an
 * action; empty cells are time steps without one. */
#include "base/base.h"
#include "schedule/file.h"

#define FILE_MAX ((size_t)256 << 20)

int ss_schedule_is_file(const char *name)
{
    if (!name)
        return 0;
    size_t n = strlen(name);
    return strchr(name, '/') || (n > 4 && !strcmp(name + n - 4, ".csv")) ||
           (n > 6 && !strcmp(name + n - 6, ".sched"));
}

static bool blank(char c)
{
    return c == ' ' || c == '\t' || c == '\r';
}

/* One cell [text, end): white space and one pair of quotes around it do not count. */
static int read_cell(struct ss_action_table *t, size_t rank, const char *text, const char *end, int line,
                     int column)
{
    struct ss_action a = {.kind = -1, .line = line, .column = column};
    for (int quotes = 0; quotes < 2; quotes++) {
        while (text < end && blank(*text))
            text++;
        while (text < end && blank(end[-1]))
            end--;
        if (!quotes && end - text >= 2 && *text == '"' && end[-1] == '"') {
            text++;
            end--;
        }
    }
    int rc = text < end ? ss_action_parse(t, text, (size_t)(end - text), &a) : SS_OK;
    return rc ? rc : ss_action_add(t, rank, &a);
}

static int read_csv(struct ss_action_table *t, const char *text, size_t len)
{
    const char *end = text + len;
    int line = 1, rc = SS_OK;
    while (end > text && (blank(end[-1]) || end[-1] == '\n'))
        end--; /* rows after the last action are no ranks */
    for (size_t rank = 0; text < end && !rc; rank++, line++) {
        const char *stop = memchr(text, '\n', (size_t)(end - text));
        int column = 1;
        SS_THEN(stop, end);
        if (rank > SS_ACTION_STAGE_MAX)
            return ss_fail(t->err, SS_ERR_INPUT, t->file, line, "more than %d ranks",
                           SS_ACTION_STAGE_MAX + 1);
        while (text <= stop && !rc) {
            const char *comma = text < stop ? memchr(text, ',', (size_t)(stop - text)) : NULL;
            rc = read_cell(t, rank, text, comma ? comma : stop, line, column++);
            text = (comma ? comma : stop) + 1;
        }
    }
    return rc;
}

static void take_name(struct ss_action_table *t, const char *path)
{
    const char *slash = strrchr(path, '/'), *base = slash ? slash + 1 : path, *dot = strrchr(base, '.');
    size_t n = dot && dot > base ? (size_t)(dot - base) : strlen(base), out = 0;
    for (size_t i = 0; i < n && out + 1 < sizeof t->name; i++)
        if ((unsigned char)base[i] > ' ' && base[i] != '#')
            t->name[out++] = base[i];
    if (!out)
        ss_copy(t->name, sizeof t->name, "file");
}

/* Our own form says so with its first word. */
static bool is_own_form(const char *text, size_t len)
{
    static const char word[] = "schedule";
    size_t i = 0;
    while (i < len && (blank(text[i]) || text[i] == '\n' || text[i] == '#'))
        if (text[i] == '#')
            while (i < len && text[i] != '\n')
                i++;
        else
            i++;
    return len - i >= sizeof word - 1 && !memcmp(text + i, word, sizeof word - 1);
}

int ss_schedule_parse(const char *text, unsigned long len, const char *name, struct ss_schedule **out,
                      struct ss_error *err)
{
    struct ss_action_table t = {.pipelines = 1, .p2p = SS_P2P_ASYNC, .err = err};
    ss_copy(t.file, sizeof t.file, name);
    take_name(&t, name);
    int rc;
    if (memchr(text, '\0', len))
        rc = ss_fail(err, SS_ERR_INPUT, name, 0, "this is no text");
    else
        rc = is_own_form(text, len) ? ss_action_read_text(&t, text, len) : read_csv(&t, text, len);
    SS_THEN(rc, ss_action_assemble(&t, out));
    for (size_t r = 0; r < t.rows; r++)
        free(t.row[r].action);
    SS_FREE(t.row, t.warmup);
    return rc;
}

int ss_schedule_load(const char *path, struct ss_schedule **out, struct ss_error *err)
{
    char *text = NULL;
    size_t len = 0;
    int rc = ss_file_read(path, FILE_MAX, &text, &len, err);
    SS_THEN(rc, ss_schedule_parse(text, len, strcmp(path, "-") ? path : "stdin", out, err));
    free(text);
    return rc;
}
