/* SPDX-License-Identifier: Apache-2.0 */
/* Files that a launch script gives to its launcher: it may write them itself ("cat > ds.json <<END"). */
#include "base/base.h"
#include "import/import.h"
#include "import/sandbox.h"

/* Shorter lines, as "{", stand in many places. */
#define TELLING 8
/* Lines of a file that are looked for. */
#define MOST 20
/* Bytes that a launcher reads of a file, and the most that a file of the machine is compared with. */
#define SEEN 65536
#define MAX_BYTES (1u << 20)

/* The line of the script, from 1, in which the text begins; 0: the script does not write it as it stands. */
static int line_of(const char *script, const char *text)
{
    int before = 0;

    for (const char *line = text; *line && before < MOST;
         line += strcspn(line, "\n"), line += *line == '\n', before++) {
        size_t n = strcspn(line, "\n");
        int number = 1;
        for (const char *p = script; n >= TELLING && *p; p += strcspn(p, "\n"), p += *p == '\n', number++)
            if (strcspn(p, "\n") == n && !strncmp(p, line, n))
                return number > before ? number - before : 0;
    }
    return 0;
}

/* Adds a file of which `text` is known, or NULL. line: that of the script where it begins; one_line: it has no lines of its own. */
static int add(struct ss_words *out, const char *name, const char *path, const char *text, int line,
               int one_line)
{
    size_t n = text ? strlen(text) : 0, blank = line > 0 ? (size_t)line - 1 : 0;

    if (ss_grow(&out->made, &out->made_cap, out->nmade + 1, sizeof *out->made))
        return SS_ERR_NOMEM;
    struct ss_made_file *file = &out->made[out->nmade];
    *file = (struct ss_made_file){strdup(name), text ? malloc(blank + n + 1) : NULL, strdup(path)};
    out->nmade++;
    if (!file->name || !file->path || (text && !file->text))
        return SS_ERR_NOMEM;
    if (!text)
        return SS_OK;
    memset(file->text, '\n', blank);
    memcpy(file->text + blank, text, n + 1);
    for (char *p = file->text + blank; one_line && *p; p++)
        *p = *p == '\n' ? ' ' : *p;
    return SS_OK;
}

/* The line of the script that gives the launcher this file; 0: none does. */
static int named_at(const struct ss_words *words, const char *name)
{
    for (size_t i = 0; i < words->n; i++)
        if (strstr(words->w[i].text, name))
            return words->w[i].line;
    return 0;
}

/* Whether the machine has this text at the path. */
static int is_there(const char *path, const char *text)
{
    char *now;
    size_t len;

    if (ss_file_read(path, MAX_BYTES, &now, &len, NULL))
        return 0;
    int same = strlen(text) < SEEN ? !strcmp(now, text) : !strncmp(now, text, strlen(text));
    free(now);
    return same;
}

int ss_launch_files(struct ss_words *out, const char *script, const struct ss_calls *calls,
                    const struct ss_call *launcher)
{
    const struct ss_call *end = calls->call + calls->n;
    int rc = SS_OK;

    for (const struct ss_call *c = launcher + 1; c < end && c->kind == SS_CALL_FILE && !rc; c++) {
        if (c->n != 3)
            continue;
        const char *name = c->word[0], *text = c->word[1], *path = c->word[2];
        size_t n = strlen(name), above = calls->above ? strlen(calls->above) : 0;
        path += above && !strncmp(path, calls->above, above) ? above : 0;
        int line = line_of(script, text);
        if (is_there(path, text))
            rc = add(out, name, path, NULL, 0, 0);
        else if (line)
            rc = add(out, name, out->file ? out->file : name, text, line, 0);
        else if (n > 5 && !strcmp(name + n - 5, ".json")) /* whose lines mean nothing */
            rc = add(out, name, out->file ? out->file : name, text, named_at(out, name), 1);
        else
            rc = add(out, name, path, text, 0, 0);
    }
    return rc;
}
