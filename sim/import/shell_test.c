/* SPDX-License-Identifier: Apache-2.0 */
/* Conditions of a shell: [ ... ], [[ ... ]] and test. */
#include <fnmatch.h>

#include "base/base.h"
#include "import/shell.h"

int ss_shell_ask(struct ss_shell *s, const char *text)
{
    const char *gap = strchr(text, SS_GAP);
    char name[100];

    if (!gap)
        return 0;
    snprintf(name, sizeof name, "%.*s", (int)strcspn(gap + 1, "\2"), gap + 1);
    if (name[0] != '?')
        ss_note(&s->asked, "%s", name);
    return 1;
}

static int is_number_test(const char *op)
{
    return ss_has_word("-eq -ne -lt -le -gt -ge", op);
}

static int compare(struct ss_shell *s, const char *a, const char *op, const char *b)
{
    if (!is_number_test(op) && (strchr(a, '/') || strchr(b, '/')) && (strchr(a, SS_GAP) || strchr(b, SS_GAP)))
        return !strcmp(op, "!="); /* a path of this machine is no word */
    if (ss_shell_ask(s, a) || ss_shell_ask(s, b))
        return 0;
    if (is_number_test(op)) {
        long x = strtol(a, NULL, 10), y = strtol(b, NULL, 10);
        return !strcmp(op, "-eq")   ? x == y
               : !strcmp(op, "-ne") ? x != y
               : !strcmp(op, "-lt") ? x < y
               : !strcmp(op, "-le") ? x <= y
               : !strcmp(op, "-gt") ? x > y
                                    : x >= y;
    }
    if (!strcmp(op, "<") || !strcmp(op, ">"))
        return (strcmp(a, b) < 0) == (op[0] == '<');
    return !fnmatch(b, a, 0) == (strcmp(op, "!=") != 0);
}

/* One test without "-a" and "-o": of unset names -z and -n tell that they are unset; no file is there. */
static int test_one(struct ss_shell *s, const struct ss_word *w, size_t n)
{
    int no = n > 0 && !strcmp(w[0].text, "!");

    w += no;
    n -= (size_t)no;
    int holds = n == 1                               ? w[0].text[0] && w[0].text[0] != SS_GAP
                : n == 2 && !strcmp(w[0].text, "-z") ? !w[1].text[0] || w[1].text[0] == SS_GAP
                : n == 2 && !strcmp(w[0].text, "-n") ? w[1].text[0] && w[1].text[0] != SS_GAP
                : n == 3                             ? compare(s, w[0].text, w[1].text, w[2].text)
                                                     : 0;
    return no ? !holds : holds;
}

int ss_shell_test(struct ss_shell *s, const struct ss_words *words, size_t first, size_t end)
{
    int any = 0, all = 1;

    for (size_t i = first, from = first; i <= end; i++) {
        const char *text = i < end ? words->w[i].text : "-o";
        int is_or = !strcmp(text, "-o") || !strcmp(text, "||"),
            is_and = !strcmp(text, "-a") || !strcmp(text, "&&");
        if (!is_or && !is_and)
            continue;
        all = all && test_one(s, words->w + from, i - from);
        from = i + 1;
        if (is_or) {
            any |= all;
            all = 1;
        }
    }
    return any;
}
