/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The table of options ("stepsim help --options") is held: every verb refuses each option that it does not have with status 2 and one line on
 * stderr that names it, reads each that it has, wants its value, and takes none where there is none.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "stepsim/stepsim.h"

#define MOST_ROWS 2048
#define MOST_WORDS 32
#define MOST_TEXT 128
#define LEAST_ASKED 3000

enum column { COMMAND, VERB, FORM, OPTION, ALIAS, VALUE, KIND, SEVERAL, NCOLUMNS };

struct row {
    char *cell[NCOLUMNS];
};

static const char *const job[] = {"--platform",  "h800",   "--nodes", "1",    "--model",
                                  "llama3.1-8b", "--bf16", "--seq",   "4096", "--mbs",
                                  "1",           "--gbs",  "8"};

static struct row rows[MOST_ROWS];
static int nrows, asked, bad;
static FILE *told;

static void read_rows(void)
{
    char *words[] = {"stepsim", "help", "--options", NULL};
    struct driver_answer a = driver_run(3, words, NULL);
    char *text = strdup(driver_text(1, a.nout)), *rest = text;

    for (char *line; text && (line = strsep(&rest, "\n")) && *line && nrows < MOST_ROWS; nrows++)
        for (int c = 0; c < NCOLUMNS; c++)
            if (!(rows[nrows].cell[c] = strsep(&line, "\t"))) {
                fprintf(told, "help --options: line %d has %d columns\n", nrows + 1, c);
                exit(1);
            }
}

static int same_verb(const struct row *a, const struct row *b)
{
    return !strcmp(a->cell[COMMAND], b->cell[COMMAND]) && !strcmp(a->cell[VERB], b->cell[VERB]) &&
           !strcmp(a->cell[FORM], b->cell[FORM]);
}

/* Row i is the first of its verb, or of its option. */
static int is_first_of_verb(int i)
{
    for (int k = 0; k < i; k++)
        if (same_verb(&rows[k], &rows[i]))
            return 0;
    return 1;
}

static int is_first_of_option(int i)
{
    for (int k = 0; k < i; k++)
        if (!strcmp(rows[k].cell[OPTION], rows[i].cell[OPTION]))
            return 0;
    return 1;
}

/* Whether some verb wants a value of the option. */
static int takes_value(const char *option)
{
    for (int i = 0; i < nrows; i++)
        if (!strcmp(rows[i].cell[OPTION], option) && strcmp(rows[i].cell[VALUE], "-"))
            return 1;
    return 0;
}

static const struct row *own_row(const struct row *verb, const char *option)
{
    for (int i = 0; i < nrows; i++)
        if (same_verb(&rows[i], verb) && !strcmp(rows[i].cell[OPTION], option))
            return &rows[i];
    return NULL;
}

/* What was said where one error is to be: the line on stderr, or with --json, which may be what is refused, the object on stdout. NULL: something
 * else was said. */
static const char *said(const char *option, const struct driver_answer *a)
{
    const char *out = driver_text(1, a->nout), *err = driver_text(2, a->nerr), *end = strchr(err, '\n');

    if (!strcmp(option, "--json") && a->nout && !a->nerr)
        return strstr(out, "\"message\"");
    return a->nout || !end || end[1] ? NULL : err;
}

/* Runs the words of the verb and up to four more, which must be refused by a line that says `names`. */
static void ask(const char *what, const struct row *verb, const char *option, const char *names,
                char *const more[4])
{
    char *words[MOST_WORDS] = {"stepsim", verb->cell[COMMAND]};
    int n = 2;

    if (strcmp(verb->cell[VERB], "-"))
        words[n++] = verb->cell[VERB];
    if (strcmp(verb->cell[FORM], "-"))
        for (size_t i = 0; i < sizeof job / sizeof job[0]; i++)
            words[n++] = (char *)job[i];
    for (int i = 0; i < 4 && more[i]; i++)
        words[n++] = more[i];
    struct driver_answer a = driver_run(n, words, NULL);
    const char *text = said(option, &a);
    asked++;
    if (a.status == 2 && text && strstr(text, names) && !a.leaked && !a.open)
        return;
    bad++;
    fprintf(told, "%s %s ... %s: %s: status %d%s%s\n%s", verb->cell[COMMAND], verb->cell[VERB], more[0], what,
            a.status, a.leaked ? ", memory is left" : "", a.open ? ", a file is left open" : "",
            driver_text(2, a.leaked ? a.nerr + 4096 : a.nerr));
}

/* A value that the first of two options may have. */
static const char *value_of(const struct row *own)
{
    static const char *const figures[][2] = {{"--cap", "71GiB"},
                                             {"--jitter", "0.1"},
                                             {"--nic", "400Gbps"},
                                             {"--nvlink", "450GBps"},
                                             {"--price", "2USD/h"},
                                             {"--width", "600"},
                                             {"--window", "0s:1s"},
                                             {"--memory", "71GiB"},
                                             {"--mfu", "41%"},
                                             {"--tflops", "411"},
                                             {"--tokens-per-second", "56000"},
                                             {"--samples-per-second", "12.5"},
                                             {"--tokens", "1T"},
                                             {"--deadline", "54d"},
                                             {"--budget", "5e6"}};

    if (!strcmp(own->cell[VALUE], "X") && !strcmp(own->cell[OPTION], "--cap"))
        return "1.5";
    for (size_t i = 0; i < sizeof figures / sizeof *figures; i++)
        if (!strcmp(own->cell[OPTION], figures[i][0]))
            return figures[i][1];
    return strcmp(own->cell[KIND], "number") && strcmp(own->cell[KIND], "form") ? "a.svg" : "1";
}

/* Misuse of an option that the verb has. */
static void misuse(const struct row *verb, const struct row *own)
{
    char *option = own->cell[OPTION], *kind = own->cell[KIND];
    char text[MOST_TEXT], again[MOST_TEXT];

    if (!strcmp(kind, "flag")) {
        snprintf(text, sizeof text, "%s=1", option);
        ask("a value of an option without one", verb, option, option, (char *[4]){text});
        return;
    }
    snprintf(text, sizeof text, "%s=", option);
    if (!strcmp(kind, "file") || !strcmp(kind, "text"))
        ask("an empty value", verb, option, option, (char *[4]){text});
    else
        ask("a bad value", verb, option, option, (char *[4]){option, "no:such"});
    ask("no value", verb, option, option, (char *[4]){option});
    if (strcmp(own->cell[SEVERAL], "once"))
        return;
    snprintf(again, sizeof again, "%s is given twice", option);
    char value[MOST_TEXT];
    const char *choices = strcmp(own->cell[KIND], "choice") ? value_of(own) : own->cell[VALUE];
    snprintf(value, sizeof value, "%.*s", (int)strcspn(choices, "|"), choices);
    ask("given twice", verb, option, again, (char *[4]){option, value, option, value});
}

/* With a job these two verbs have another form, which --job and --platform choose. */
static int chooses_form(const struct row *verb, const char *option)
{
    return !strcmp(verb->cell[COMMAND], "schedule") &&
           (!strcmp(verb->cell[VERB], "compare") || !strcmp(verb->cell[VERB], "search")) &&
           (!strcmp(option, "--job") || !strcmp(option, "--platform"));
}

static void ask_verb(const struct row *verb)
{
    for (int i = 0; i < nrows; i++) {
        char *option = rows[i].cell[OPTION];
        const struct row *own = is_first_of_option(i) ? own_row(verb, option) : NULL;
        if (!is_first_of_option(i))
            continue;
        if (own && strcmp(option, "--help") && strcmp(option, "--complete"))
            misuse(verb, own);
        if (own || chooses_form(verb, option) || (strcmp(verb->cell[FORM], "-") && ss_flag_known(option)))
            continue;
        ask("not of this verb", verb, option, option, (char *[4]){option, takes_value(option) ? "1" : NULL});
    }
}

int main(int argc, char **argv)
{
    told = driver_begin();
    if (argc == 2 && !strcmp(argv[1], "--misbehave")) /* self.py */
        driver_run(3, (char *[4]){"stepsim", argv[1], "abort"}, NULL);
    read_rows();
    for (int i = 0; i < nrows; i++)
        if (is_first_of_verb(i))
            ask_verb(&rows[i]);
    fprintf(told, "%d times refused, %d wrong\n", asked, bad);
    return bad || asked < LEAST_ASKED;
}
