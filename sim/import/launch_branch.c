/* SPDX-License-Identifier: Apache-2.0 */
/* What a launch script makes of a value or a branch, by its text: whether a flag that decides something follows from it. */
#include "base/base.h"
#include "import/import.h"
#include "import/sandbox.h"
#include "stepsim/flags.h"

/* Bytes of a script that is looked at. */
#define MAX_FILE (1u << 20)

/* Whether an option of a launcher counts nodes or processes: "--nproc_per_node", not "--rdzv_endpoint". */
static int counts(const char *name)
{
    static const char *const parts[] = {"nodes", "nproc", "num_", "num-", "ntasks", "gpus"};

    for (size_t i = 0; i < SS_ARRAY_LEN(parts); i++)
        if (strstr(name, parts[i]))
            return 1;
    return ss_has_word("-n -np -N -ppn", name);
}

int ss_launch_decides(const char *flag)
{
    enum ss_flag_effect effect = ss_flag_effect(flag, NULL);

    return flag[0] == '-' &&
           (effect == SS_FLAG_IS_UNKNOWN ? counts(flag) : effect != SS_FLAG_IS_WITHOUT_EFFECT);
}

int ss_launch_flag_of(const char *line, const char *at, char name[96])
{
    const char *flag = at, *begin;

    while (flag > line && !isspace((unsigned char)flag[-1]))
        flag--;
    for (begin = flag; *flag != '-' && begin > line && isspace((unsigned char)begin[-1]);)
        begin--;
    while (*flag != '-' && begin > line && !isspace((unsigned char)begin[-1]))
        begin--;
    begin = *flag == '-' ? flag : begin;
    const char *before = begin;
    while (before > line && isspace((unsigned char)before[-1]))
        before--;
    if (begin[1] != '-' && before > line && strchr("[!&|(t", before[-1])) /* "[ -n $X ]", "test -n $X" */
        return 0;
    begin += strspn(begin, "(\"'");
    snprintf(name, 96, "%.*s", (int)strcspn(begin, "= \t\n\"'$"), begin);
    return ss_launch_decides(name);
}

/* Whether a flag of the script that decides something has the variable, or one that is made of it. */
static int matters(const char *text, const char *name, size_t n, int depth)
{
    const char *line = text;
    char flag[96];

    for (const char *p = text; *p; p++) {
        line = p > text && p[-1] == '\n' ? p : line;
        if (*p != '$' || strncmp(p + 1 + (p[1] == '{'), name, n) != 0)
            continue;
        const char *behind = p + 1 + (p[1] == '{') + n;
        if (isalnum((unsigned char)*behind) || *behind == '_')
            continue;
        const char *made = line + strspn(line, " \t");
        size_t m = strspn(made, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
        if (ss_launch_flag_of(line, p, flag) ||
            (depth > 0 && m && made[m] == '=' && (m != n || strncmp(made, name, n) != 0) &&
             matters(text, made, m, depth - 1)))
            return 1;
    }
    return 0;
}

/* Whether the line begins a block that a condition decides: "if [ ... ]", "case $X in"; then "end" is the word that ends it. */
static const char *block_end(const char *line)
{
    static const char *const words[][2] = {
        {"if ", "fi"}, {"elif ", "fi"}, {"case ", "esac"}, {"while ", "done"}, {"until ", "done"}};

    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++)
        if (!strncmp(line, words[i][0], strlen(words[i][0])))
            return words[i][1];
    return NULL;
}

/* Whether text of this length gives a flag that decides something, or a variable that does; loose: a variable alone. */
static int gives(const char *text, const char *p, size_t n, int loose)
{
    char flag[96];

    for (const char *end = p + n; p < end; p++) {
        if (p > text && !isspace((unsigned char)p[-1]) && !strchr("(\"';{&|=", p[-1]))
            continue;
        size_t m = strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
        snprintf(flag, sizeof flag, "%.*s", (int)strcspn(p, "= \t\n\"')$;&|"), p);
        const char *value = p + m + (p[m] == '+');
        int assigns = m && *value == '=';
        value += assigns ? 1 + strspn(value + 1, "(\"' ") : 0; /* flags in it are looked at by themselves */
        if (*p == '-'
                ? p[1] == '-' && (!loose || (p > text && strchr("=\"'(", p[-1]))) && ss_launch_decides(flag)
                : assigns && *value != '-' && matters(text, p, m, 3))
            return 1;
    }
    return 0;
}

/* Whether the branch that the line at p decides gives flags, or variables of them, that decide something: up to the end of a block, which may
 * have others, else to the end of the command. */
static int branch_gives(const char *text, const char *p, int loose)
{
    const char *end = block_end(p + strspn(p, " \t")), *to = p;

    if (!end) {
        while (*(to += strcspn(to, "\n")) && to > p && (to[-1] == '\\' || to[-1] == '&' || to[-1] == '|'))
            to++;
        return gives(text, p, (size_t)(to - p), loose);
    }
    const char *opens = !strcmp(end, "fi") ? "then" : !strcmp(end, "esac") ? " in " : "; do";
    int depth = 0;
    for (const char *line = p; *line; line = to + (*to == '\n')) {
        const char *begin = line + strspn(line, " \t"), *own = block_end(begin);
        to = line + strcspn(line, "\n");
        size_t n = strlen(end);
        const char *last = memmem(begin, (size_t)(to - begin), end, n);
        depth += own && !strcmp(own, end) && (line == p || strncmp(begin, "elif", 4) != 0);
        while (last && last + n < to &&
               (isalnum((unsigned char)last[n]) || (last > begin && !strchr("; \t", last[-1]))))
            last = memmem(last + 1, (size_t)(to - last - 1), end, n);
        depth -= last != NULL;
        const char *then = line > p ? line : memmem(line, (size_t)(to - line), opens, 4);
        if (then && gives(text, then, (size_t)(to - then), 0))
            return 1;
        if (depth <= 0)
            return 0;
    }
    return 0;
}

/* Whether the variable stands in what the line decides: between the words of a condition. */
static int is_condition(const char *line, size_t n)
{
    const char *begin = line + strspn(line, " \t");

    return block_end(begin) != NULL ||
           ((memmem(line, n, "[ ", 2) || memmem(line, n, "test ", 5) || memmem(line, n, "((", 2)) &&
            (memmem(line, n, "&&", 2) || memmem(line, n, "||", 2)));
}

/* The line, from 1, of the first branch by the variable, or of the line `at` itself where there is none. */
static int find_branch(const char *text, const char *name, size_t n, int at, int loose)
{
    int number = 1;

    for (const char *line = text; *line; line += strcspn(line, "\n"), line += *line == '\n', number++) {
        size_t len = strcspn(line, "\n");
        int has = number == at && !n;
        for (const char *p = line; n && p + n < line + len && !has; p++) {
            const char *begin = p + 1 + (p[1] == '{');
            has =
                *p == '$' && !strncmp(begin, name, n) && !isalnum((unsigned char)begin[n]) && begin[n] != '_';
        }
        int joins = loose && (memmem(line, len, "&&", 2) || memmem(line, len, "||", 2));
        if (has && line[strspn(line, " \t")] != '#' && (is_condition(line, len) || joins) &&
            branch_gives(text, line, loose))
            return number;
    }
    return 0;
}

int ss_launch_branch(const char *script, const char *text, const struct ss_calls *calls,
                     const struct ss_call *call)
{
    const char *file = call->word[2], *outer = call->word[1];
    size_t above = calls->above ? strlen(calls->above) : 0, n, len;
    char *own = NULL;

    file += above && !strncmp(file, calls->above, above) ? above : 0;
    if (strcmp(file, script) != 0 && !ss_file_read(file, MAX_FILE, &own, &len, NULL))
        text = own;
    static const char *const before[] = {"export ", "local ", "declare ", "readonly "};
    for (size_t i = 0; i < SS_ARRAY_LEN(before); i++)
        outer += strncmp(outer, before[i], strlen(before[i])) ? 0 : strlen(before[i]);
    n = strspn(outer, "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz_0123456789");
    n = outer[n] == '=' || !strncmp(outer + n, "+=", 2) ? n : 0;
    static const char *const conditions[] = {"[ ", "[[ ", "test ", "((", "case "};
    int piped = !strcmp(outer, "a pipe");
    int loose =
        piped || (call->kind == SS_CALL_TESTED && call->n > 4 && !strncmp(call->word[4], "status", 6));
    int own_condition = n > 0 || piped || call->kind == SS_CALL_TESTED;
    for (size_t i = 0; i < SS_ARRAY_LEN(conditions); i++)
        own_condition |= !strncmp(outer, conditions[i], strlen(conditions[i]));
    int line = !own_condition ? 0 : find_branch(text, outer, n, atoi(call->word[3]), loose);
    free(own);
    return line;
}

/* Whether a file lies with the script, by a path of its own or from the script's folder. Other files may be there
 * where the script runs: what sets up modules and environments, on file systems of a cluster. */
static int is_beside(const char *file)
{
    file += strspn(file, "\"'");
    return !strchr("/~$`", file[0]) || strstr(file, "dirname") || strstr(file, "BASH_SOURCE");
}

/* Whether a command that stops the script decides something: a value of a flag, a file that sets values, a count. */
static int is_needed(const char *text, const char *command)
{
    static const char *const takers[] = {"read ", "mapfile ", "readarray "};

    if (!strncmp(command, "((", 2))
        return 1;
    if (!strncmp(command, "source ", 7) || !strncmp(command, ". ", 2)) {
        const char *file = strchr(command, ' ') + 1;
        return is_beside(file) && !ss_launch_sets_up(file, strcspn(file, " "));
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(takers); i++)
        if (!strncmp(command, takers[i], strlen(takers[i]))) {
            for (const char *p = command + strlen(takers[i]); *p && *p != '<';
                 p += strcspn(p, " "), p += *p == ' ')
                if (*p != '-' && matters(text, p, strcspn(p, " <"), 3))
                    return 1;
            return 0;
        }
    return matters(text, command, strcspn(command, "+="), 3);
}

const struct ss_call *ss_launch_failed(const struct ss_calls *calls, const char *text, int stops)
{
    for (size_t i = 0; i < calls->n; i++) {
        const struct ss_call *c = &calls->call[i];
        if (c->kind == SS_CALL_FAILED && c->n == 4 && (c->word[3][0] == '1') == stops &&
            is_needed(text, c->word[0]))
            return c;
    }
    return NULL;
}
