/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"
#include "cli/verbs.h"

/* Returns the name that other programs have for a command; NULL: not known. */
static const char *other_name(const char *name)
{
    static const char *const known[][2] = {{"cost", "capacity"},      {"budget", "capacity"},
                                           {"days", "capacity"},      {"energy", "capacity"},
                                           {"predict", "run"},        {"simulate", "run"},
                                           {"estimate", "run"},       {"launch", "run --launch SCRIPT"},
                                           {"convert", "import"},     {"tune", "search"},
                                           {"autotune", "search"},    {"optimize", "search"},
                                           {"diff", "compare"},       {"memory", "run"},
                                           {"models", "list models"}, {"platforms", "list platforms"},
                                           {"stacks", "list stacks"}, {"trace", "run --trace FILE.json"}};

    for (size_t i = 0; i < sizeof known / sizeof known[0]; i++)
        if (!strcmp(name, known[i][0]))
            return known[i][1];
    return NULL;
}

int cli_unknown_command(const char *name, struct ss_error *err)
{
    const char *names[32];
    const struct cli_command *c;
    size_t n = 0;
    const char *ours = other_name(name);

    if (ours)
        return cli_usage(err, "", "unknown command \"%.60s\": take \"stepsim %s\"", name, ours);
    for (int i = 0; (c = cli_command_at(i)) != NULL && n < 32; i++)
        names[n++] = c->name;
    return cli_unknown(err, "command", name, names, n, "\"stepsim help\" lists the commands");
}

/* Lists the names of a command's verbs, and returns how many there are. */
static size_t names_of_verbs(const char *command, const char **names, size_t most)
{
    size_t n = 0;

    for (int v = 0; v < CLI_VERB_COUNT && n < most; v++)
        if (!strcmp(cli_verb_command(v), command) && (n == 0 || strcmp(names[n - 1], cli_verb_name(v)) != 0))
            names[n++] = cli_verb_name(v);
    return n;
}

int cli_unknown_verb(const char *command, const char *name, struct ss_error *err)
{
    const char *names[32];
    size_t n = names_of_verbs(command, names, 32);
    char hint[256] = "say ";

    for (size_t i = 0; i < n; i++) {
        size_t used = strlen(hint);
        snprintf(hint + used, sizeof hint - used, "%s%s", i == 0 ? "" : i + 1 < n ? ", " : " or ", names[i]);
    }
    size_t used = strlen(hint);
    snprintf(hint + used, sizeof hint - used, "; --help shows examples");
    if (!name)
        return cli_usage(err, hint, "no verb given");
    return cli_unknown(err, "verb", name, names, n, hint);
}

static int print_help(int n, char *const *words, struct ss_error *err)
{
    const struct cli_command *c = n > 0 ? cli_command_find(words[0]) : NULL;
    int verb = -1, all = n > 0 && !strcmp(words[n - 1], "all");

    n -= all;
    if (n > 0 && !c)
        return cli_unknown_command(words[0], err);
    if (n > 2 || (n == 2 && !*cli_verb_name(cli_verb_find(c->name, NULL))))
        return cli_usage(err, "name a command, or a command and a verb", "\"%.60s\": nothing to help with",
                         words[n - 1]);
    if (n == 2 && (verb = cli_verb_find(words[0], words[1])) < 0)
        return cli_unknown_verb(words[0], words[1], err);
    cli_help_write(c, verb, all, stdout);
    return SS_OK;
}

static int print_man(int n, char *const *words, struct ss_error *err)
{
    const struct cli_command *c = n > 0 ? cli_command_find(words[0]) : NULL;

    if (n > 0 && !c)
        return cli_unknown_command(words[0], err);
    if (n > 1)
        return cli_usage(err, "a page has all verbs of a command", "--man of more than one command");
    cli_man_write(c, stdout);
    return SS_OK;
}

int cmd_help(struct cli_flags *f, struct ss_error *err)
{
    int n;

    /* Words behind -- are the command line to complete, not options of this command. */
    for (int i = 0; i + 1 < f->n; i++)
        if (!strcmp(f->words[i], "--complete") && !strcmp(f->words[i + 1], "--")) {
            cli_complete(f->n - i - 2, f->words + i + 2, stdout);
            return SS_OK;
        }
    SS_TRY(cli_words(f, f->n, f->words, &n, err));
    if (f->line)
        return cli_usage(err, "", "write it as --complete -- WORD...");
    int script = cli_given(f, "--completion");
    if (n && (f->list_options || script))
        return cli_usage(err, "", "\"%.60s\": not beside this option", f->words[0]);
    if (f->list_options)
        cli_options_write(stdout);
    else if (script)
        fputs(cli_completion_script(f->shell), stdout);
    else
        return (f->man ? print_man : print_help)(n, f->words, err);
    return SS_OK;
}

int cmd_version(struct cli_flags *f, struct ss_error *err)
{
    if (f->n)
        return cli_usage(err, "", "version takes no words");
    if (f->json)
        printf("{\n  \"schema_version\": %d,\n  \"version\": \"%s\"\n}\n", SS_SCHEMA_VERSION, ss_version());
    else
        printf("stepsim %s\n", ss_version());
    return SS_OK;
}
