/* SPDX-License-Identifier: Apache-2.0 */
/* Files and sizes that a command names. */
#include <unistd.h>

#include "base/base.h"
#include "import/command.h"

#define MAX_FILE_BYTES (1u << 20)

int ss_import_find(const char *name, const char *from, char *path, size_t size, struct ss_error *err)
{
    const char *slash = from ? strrchr(from, '/') : NULL;
    bool found = false;

    if (ss_import_is_pasted(from)) {
        int rc = ss_data_is_path(name, ".args") || !strcmp(name, "-")
                     ? SS_OK
                     : ss_data_look("workloads/jobs", name, ".args", path, size, &found, err);
        if (rc || found)
            return rc;
        slash = strrchr(name, '/');
        return ss_fail(err, SS_ERR_INPUT, from, 0,
                       "it names the file %.100s, which is not at hand" SS_HINT
                       "paste its text, or leave the word out",
                       slash ? slash + 1 : name);
    }
    if (slash && name[0] != '/' && strcmp(name, "-")) {
        int n = snprintf(path, size, "%.*s/%s", (int)(slash - from), from, name);
        if (n > 0 && (size_t)n < size && access(path, R_OK) == 0)
            return SS_OK;
    }
    if (!strcmp(name, "-") || access(name, R_OK) == 0) {
        if (ss_copy(path, size, name))
            return SS_OK;
        return ss_fail(err, SS_ERR_IO, NULL, 0, "the path of a file of flags is too long");
    }
    return ss_data_find("workloads/jobs", name, ".args", path, size, err);
}

int ss_command_read(const struct ss_words *words, const char *name, const char *from, char *path, size_t size,
                    char **text, size_t *len, struct ss_error *err)
{
    const struct ss_made_file *made = NULL;

    for (size_t i = 0; words && i < words->nmade; i++)
        if (!strcmp(words->made[i].name, name))
            made = &words->made[i];
    if (made && made->text) {
        *text = strdup(made->text);
        ss_copy(path, size, made->path);
        return *text ? *len = strlen(*text), SS_OK : ss_nomem(err);
    }
    int rc = made ? SS_OK : ss_import_find(name, from, path, size, err);
    if (made && !ss_copy(path, size, made->path))
        return ss_fail(err, SS_ERR_IO, NULL, 0, "the path of a file that the script names is too long");
    return rc ? rc : ss_file_read(path, MAX_FILE_BYTES, text, len, err);
}

static int add_size(struct ss_request *r, const char *flag, int value, int line, struct ss_error *err)
{
    char text[16];

    snprintf(text, sizeof text, "%d", value);
    int rc = value ? ss_request_add(r, flag, line, err) : SS_OK;
    return rc || !value ? rc : ss_request_add(r, text, line, err);
}

void ss_command_tell(struct ss_notes *notes, const char *file, const struct ss_words *words)
{
    for (unsigned long i = 0; i < words->said.n; i++)
        ss_note(notes, "%s", words->said.text[i]);
    if (words->ungrouped)
        ss_note(notes,
                "%s: --num-query-groups is used, although Megatron-LM ignores it without "
                "--group-query-attention",
                file ? file : "command line");
}

int ss_command_add_sizes(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                         struct ss_error *err)
{
    int line = c->line ? c->line : words->w[c->first].line;
    int rc = c->nodes || c->gpus_per_node || c->processes || c->nset
                 ? ss_request_add_place(r, words->file, err)
                 : SS_OK;

    rc = rc ? rc : add_size(r, "--nodes", c->nodes, line, err);
    rc = rc ? rc : add_size(r, "--gpus-per-node", c->gpus_per_node, line, err);
    rc = rc ? rc : add_size(r, "--gpus", c->processes, line, err);
    for (size_t i = 0; i < c->nset && !rc; i++) {
        rc = ss_request_add(r, "--set", line, err);
        rc = rc ? rc : ss_request_add(r, c->set[i], line, err);
    }
    return rc;
}

int ss_command_locate(const struct ss_words *words, size_t i, struct ss_error *err)
{
    if (err && !err->file[0] && words->file) {
        ss_copy(err->file, sizeof err->file, words->file);
        err->line = words->w[i].line;
    }
    return err ? err->code : SS_ERR_IO;
}

const char *ss_command_value(const struct ss_words *words, size_t first, size_t end, const char *name)
{
    size_t n = strlen(name);

    for (size_t i = first; i < end; i++) {
        const char *text = words->w[i].text;
        if (!strncmp(text, name, n) && text[n] == '=')
            return text + n + 1;
        if (!strcmp(text, name) && i + 1 < end)
            return words->w[i + 1].text;
    }
    return NULL;
}

bool ss_begins_json(const char *text, size_t len)
{
    size_t i = ss_byte_order_mark(text, len);

    while (i < len && text[i] && strchr(" \t\r\n", text[i]))
        i++;
    return i < len && text[i] == '{';
}

bool ss_has_line(const char *text, size_t len, const char *begin, bool indented)
{
    size_t n = strlen(begin);

    for (const char *p = text, *end = text + len; p;
         p = memchr(p, '\n', (size_t)(end - p)), p = p ? p + 1 : NULL) {
        while (indented && p < end && (*p == ' ' || *p == '\t'))
            p++;
        if ((size_t)(end - p) >= n && !memcmp(p, begin, n))
            return true;
    }
    return false;
}
