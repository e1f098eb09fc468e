/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The help of every verb ("stepsim help --options" lists them) is 80 columns wide and two screens long, with an example and how long the
 * command takes. "--help all" has every option, and every flag of a job that the prediction reads.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "stepsim/stepsim.h"

#define COLUMNS 80
#define LINES 60
#define MOST_TEXT 262144

static int bad, nverbs;
static FILE *told;

static void wrong(const char *command, const char *verb, const char *what, const char *text, int n)
{
    bad++;
    fprintf(told, "%s %s --help: %s: %.*s\n", command, verb, what, n, text);
}

/* Copies what the words print on stdout. */
static const char *help_of(const char *command, const char *verb, int all, char *out)
{
    char *words[6] = {"stepsim", (char *)command};
    int of_help = !strcmp(command, "help"), n = 2;

    if (strcmp(verb, "-"))
        words[n++] = (char *)verb;
    words[n++] = of_help ? "help" : "--help"; /* "help --help" is that of all commands */
    if (all)
        words[n++] = "all";
    struct driver_answer a = driver_run(n, words, NULL);
    if (a.status || a.nerr)
        wrong(command, verb, "ends so", driver_text(2, a.nerr), 80);
    snprintf(out, MOST_TEXT, "%s", driver_text(1, a.nout));
    return out;
}

static void measure(const char *command, const char *verb, const char *text, int most)
{
    int lines = 0;

    for (const char *p = text, *end; (end = strchr(p, '\n')) != NULL; p = end + 1, lines++)
        if (end - p > COLUMNS)
            wrong(command, verb, "a line is too long", p, (int)(end - p));
    if (lines > most)
        wrong(command, verb, "more than two screens", text, 80);
    if (!strstr(text, "\nexample:\n"))
        wrong(command, verb, "no example", text, 80);
    if (!strstr(text, "\nTakes ") && strcmp(command, "help") && strcmp(command, "version"))
        wrong(command, verb, "does not say how long it takes", text, 80);
}

/* Whether a line of the text begins with the name, behind spaces. */
static int has_line(const char *text, const char *name)
{
    size_t n = strlen(name);

    for (const char *p = text; (p = strstr(p, name)) != NULL; p += n) {
        const char *before = p;
        while (before > text && before[-1] == ' ')
            before--;
        if (before > text && before[-1] == '\n' && before < p && strchr(" ,\n", p[n]))
            return 1;
    }
    return 0;
}

static void job_flags(const char *all)
{
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;

    while (ss_flag_list(&at, &info))
        if ((info.own || info.read) && !has_line(all, info.name))
            wrong("run", "all", "lacks a flag", info.name, (int)strlen(info.name));
}

/* Each flag of a job that the short help names is one. */
static void named_flags(const char *text)
{
    const char *end = strstr(text, "\noptions:");

    for (const char *p = strstr(text, "JOB-OPTION, "); p && p < end; p++) {
        char name[64];
        int n = (int)strspn(p, "-abcdefghijklmnopqrstuvwxyz0123456789");
        snprintf(name, sizeof name, "%.*s", n, p);
        if (!strncmp(p, "--", 2) && !ss_flag_known(name))
            wrong("run", "-", "no flag of a job", p, n);
        p += n;
    }
    if (!end || !strstr(text, "--moe-token-dispatcher-type") || !strstr(text, "--measured-memory VALUE\n"))
        wrong("run", "-", "flags are missing", text, 80);
}

int main(void)
{
    static char text[MOST_TEXT], all[MOST_TEXT], before[128];
    char *words[] = {"stepsim", "help", "--options", NULL};

    told = driver_begin();
    struct driver_answer a = driver_run(3, words, NULL);
    char *rows = strdup(driver_text(1, a.nout)), *rest = rows;
    for (char *line; rows && (line = strsep(&rest, "\n")) && *line;) {
        const char *command = strsep(&line, "\t"), *verb = strsep(&line, "\t");
        char name[128];
        strsep(&line, "\t");
        const char *option = strsep(&line, "\t");
        snprintf(name, sizeof name, "%s %s", command, verb);
        if (strcmp(name, before)) {
            snprintf(before, sizeof before, "%s", name);
            measure(command, verb, help_of(command, verb, 0, text), LINES);
            measure(command, verb, help_of(command, verb, 1, all), 10000);
            nverbs++;
        }
        if (!has_line(all, option))
            wrong(command, verb, "all lacks an option", option, (int)strlen(option));
    }
    free(rows);
    job_flags(help_of("run", "-", 1, all));
    named_flags(help_of("run", "-", 0, text));
    fprintf(told, "help of %d verbs, %d wrong\n", nverbs, bad);
    return bad || nverbs < 30;
}
