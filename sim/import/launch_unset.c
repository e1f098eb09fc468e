/* SPDX-License-Identifier: Apache-2.0 */
/* Which variables a launch script reads that nobody sets. */
#include "base/base.h"
#include "import/import.h"
#include "import/sandbox.h"

static size_t name_length(const char *p)
{
    size_t n = 0;

    while (isalnum((unsigned char)p[n]) || p[n] == '_')
        n++;
    return isdigit((unsigned char)*p) ? 0 : n;
}

/* Whether the name at p stands behind a word of the shell that gives names a value, in the same command. */
static int is_told_to(const char *text, const char *p)
{
    static const char *const words[] = {"for ",     "read ",      "mapfile ", "readarray ",
                                        "getopts ", "printf -v ", "local -n "};
    const char *begin = p;

    if (p > text && p[-1] == '$')
        return 0;
    while (begin > text && !strchr("\n;|&(", begin[-1]))
        begin--;
    for (; begin < p; begin++)
        for (size_t i = 0; i < SS_ARRAY_LEN(words); i++)
            if (!strncmp(begin, words[i], strlen(words[i])) &&
                (begin == text || isspace((unsigned char)begin[-1]) || strchr(";|&(", begin[-1])))
                return 1;
    return 0;
}

/* "NAME=", "${NAME:=", "for NAME in", "read -r NAME": the script gives it a value somewhere. */
static int is_assigned(const char *text, const char *name, size_t n)
{
    for (const char *p = text; (p = strstr(p, "=")) != NULL; p++) {
        const char *begin = p - (p > text && p[-1] == '+');
        if (begin >= text + n && !strncmp(begin - n, name, n) &&
            (begin == text + n ||
             !(isalnum((unsigned char)begin[-1 - (long)n]) || strchr("_$-{", begin[-1 - (long)n]))))
            return 1;
    }
    for (const char *p = text; (p = strstr(p, name)) != NULL; p += n) {
        int inside = p > text && (isalnum((unsigned char)p[-1]) || p[-1] == '_');
        if (!inside && !name_length(p + n) &&
            (p > text && p[-1] == '{' ? !strncmp(p + n, ":=", 2) || p[n] == '=' : is_told_to(text, p)))
            return 1;
    }
    return 0;
}

static int is_given(const struct ss_words *environment, const char *name, size_t n)
{
    static const char own[] =
        "PATH HOME USER PWD OLDPWD HOSTNAME RANDOM SECONDS LINENO UID EUID SHLVL IFS "
        "OSTYPE HOSTTYPE MACHTYPE BASH BASHPID PPID SRANDOM EPOCHSECONDS EPOCHREALTIME BASH_REMATCH "
        "BASH_SOURCE FUNCNAME BASH_VERSION LANG LC_ALL PYTHONPATH LD_LIBRARY_PATH REPLY PIPESTATUS OPTARG "
        "OPTIND";
    char word[64];

    if (n >= sizeof word)
        return 1;
    snprintf(word, sizeof word, "%.*s", (int)n, name);
    for (size_t i = 0; i < environment->n; i++)
        if (!strncmp(environment->w[i].text, word, n) && environment->w[i].text[n] == '=')
            return 1;
    return ss_has_word(own, word);
}

/* Whether a shell of the script had it at its end: a file that was read may set it. */
static int is_set(const struct ss_calls *calls, const char *name)
{
    for (size_t i = 0; i < calls->n; i++)
        for (size_t k = 0; k < calls->call[i].n && calls->call[i].kind == SS_CALL_SET; k++)
            if (!strcmp(calls->call[i].word[k], name))
                return 1;
    return 0;
}

/* Where text goes on behind a part that a shell leaves alone or that is of a function: a comment, single quotes, "f() { ... }". */
static const char *skip(const char *text, const char *p)
{
    int begins = p == text || isspace((unsigned char)p[-1]) || strchr(";(", p[-1]);

    if (*p == '#' && begins)
        return p + strcspn(p, "\n");
    if (*p == '\'' && (p == text || p[-1] != '\\')) {
        const char *end = strchr(p + 1, '\'');
        return end ? end + 1 : p + 1;
    }
    if (!strncmp(p, "()", 2)) {
        const char *end = strstr(p, "\n}");
        const char *line = p + strcspn(p, "\n");
        return end && memchr(p, '{', (size_t)(line + 2 < end ? line + 2 - p : end - p)) ? end + 2 : line;
    }
    return p;
}

int ss_launch_arguments(const char *text)
{
    int last = 0;

    if (strstr(text, "$#"))
        return 0;
    for (const char *p = text, *next; *p; p = next > p ? next : p + 1) {
        next = skip(text, p);
        int brace = p[0] == '$' && p[1] == '{';
        if (next > p || *p != '$' || (p > text && p[-1] == '\\') || !isdigit((unsigned char)p[1 + brace]))
            continue;
        int n = p[1 + brace] - '0';
        if (n > last && !(brace && strchr(":-=+", p[3])) && !(brace && isdigit((unsigned char)p[3])))
            last = n;
    }
    return strstr(text, "shift") && last > 1 ? 1 : last;
}

/* Names in arithmetic, "$((NODES * 8))", have no "$". */
static void add_arithmetic(const char *p, const char *text, const struct ss_words *environment,
                           const struct ss_calls *calls, struct ss_notes *names)
{
    const char *end = strstr(p, "))");

    if (end && memmem(p, (size_t)(end - p), "$(", 2)) /* whose words are programs */
        return;

    for (size_t n = 1; end && p < end; p += n) {
        n = name_length(p);
        int brace = p[-1] == '{', skipped = n == 0 || p[-1] == '$' || brace || isalnum((unsigned char)p[-1]);
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)n, p);
        if (!skipped && !is_given(environment, word, n) && !is_assigned(text, word, n) &&
            !is_set(calls, word))
            ss_notes_add(names, "%s", word);
        n += n == 0;
    }
}

void ss_launch_unset(const char *text, const struct ss_words *environment, const struct ss_calls *calls,
                     char *out, size_t size)
{
    struct ss_notes names = {0};

    out[0] = 0;
    for (const char *p = text; *p; p++) {
        if (*p == '#' && (p == text || isspace((unsigned char)p[-1]))) {
            p += strcspn(p, "\n");
            if (!*p)
                break;
        }
        if (*p != '$' || (p > text && p[-1] == '\\'))
            continue;
        if (!strncmp(p, "$((", 3))
            add_arithmetic(p + 3, text, environment, calls, &names);
        int brace = p[1] == '{';
        const char *name = p + 1 + brace;
        size_t n = name_length(name);
        if (n == 0 || (brace && strchr(":-=+", name[n])) || is_given(environment, name, n))
            continue;
        char word[64];
        snprintf(word, sizeof word, "%.*s", (int)n, name);
        if (!is_assigned(text, word, n) && !is_set(calls, word))
            ss_notes_add(&names, "%s", word);
    }
    for (unsigned long i = 0; i < names.n; i++)
        ss_append(out, size, "%s%s", i ? ", " : "", names.text[i]);
    ss_notes_free(&names);
}
