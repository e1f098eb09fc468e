/* SPDX-License-Identifier: Apache-2.0 */
/* Configurations that a launch script writes itself ("cat > ds.json <<END") and then gives to its launcher. */
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "import/import.h"
#include "import/sandbox.h"

/* Shorter lines, as "{", stand in many places. */
#define TELLING 8
/* Lines of a file that are looked for. */
#define MOST 20

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

static int add(struct ss_words *out, const char *name, const char *text, int line, int elsewhere)
{
    size_t n = strlen(text), blank = line > 0 ? (size_t)line - 1 : 0;

    if (ss_grow(&out->made, &out->made_cap, out->nmade + 1, sizeof *out->made))
        return SS_ERR_NOMEM;
    struct ss_made_file *file = &out->made[out->nmade];
    *file = (struct ss_made_file){strdup(name), malloc(blank + n + 1), elsewhere};
    out->nmade++;
    if (!file->name || !file->text)
        return SS_ERR_NOMEM;
    memset(file->text, '\n', blank);
    memcpy(file->text + blank, text, n + 1);
    for (char *p = file->text + blank; elsewhere && *p; p++)
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

/* A file of hosts has any name; configurations have these. */
static int is_hosts(const char *name)
{
    static const char *const others[] = {".json", ".yaml", ".yml", ".toml"};
    size_t n = strlen(name);

    for (size_t i = 0; i < SS_ARRAY_LEN(others); i++)
        if (n > strlen(others[i]) && !strcmp(name + n - strlen(others[i]), others[i]))
            return 0;
    return 1;
}

int ss_launch_files(struct ss_words *out, const char *script, const struct ss_calls *calls,
                    const struct ss_call *launcher)
{
    const struct ss_call *end = calls->call + calls->n;
    int rc = SS_OK;

    for (const struct ss_call *c = launcher + 1; c < end && c->kind == SS_CALL_FILE && !rc; c++) {
        int line = c->n == 2 ? line_of(script, c->word[1]) : 0;
        size_t n = c->n == 2 ? strlen(c->word[0]) : 0;
        if (line)
            rc = add(out, c->word[0], c->word[1], line, 0);
        else if (n > 5 && !strcmp(c->word[0] + n - 5, ".json")) /* whose lines mean nothing */
            rc = add(out, c->word[0], c->word[1], named_at(out, c->word[0]), 1);
        else if (n && is_hosts(c->word[0]))
            rc = add(out, c->word[0], c->word[1], 1, 0);
    }
    return rc;
}
