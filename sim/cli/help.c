/* SPDX-License-Identifier: Apache-2.0 */
/* Help as text for a terminal. */
#include "cli/verbs.h"

#define WIDTH 80
#define COLUMN 26 /* column in which the descriptions begin */

void cli_fill(FILE *out, const char *text, int at, int indent)
{
    int fresh = 1; /* 1: no space goes before the next word */

    for (const char *p = text; *p;) {
        if (*p == '\n') {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            fresh = 1;
            p++;
            continue;
        }
        int n = (int)strcspn(p, " \n");
        if (!fresh && at + 1 + n > WIDTH) {
            fprintf(out, "\n%*s", indent, "");
            at = indent;
            fresh = 1;
        }
        at += fprintf(out, "%s%.*s", fresh ? "" : " ", n, p);
        fresh = 0;
        p += n;
        p += strspn(p, " ");
    }
    fputc('\n', out);
}

const char *cli_option_value(const struct ss_option *o, char *buf, size_t size)
{
    size_t n = 0;

    if (!o->choice)
        return o->value;
    for (int i = 0; o->choice(i) && n < size; i++)
        n += (size_t)snprintf(buf + n, size - n, "%s%s", i ? "|" : "", o->choice(i));
    return buf;
}

const char *cli_option_left(const struct ss_option *o, char *buf, size_t size)
{
    char words[96];
    const char *value = cli_option_value(o, words, sizeof words);

    snprintf(buf, size, "%s%s%s%s%s", o->name, o->alias ? ", " : "", o->alias ? o->alias : "",
             value ? " " : "", value ? value : "");
    return buf;
}

const char *cli_option_right(const struct ss_option *o, char *buf, size_t size)
{
    snprintf(buf, size, "%s%s%s%s", o->doc, o->usual ? " (" : "", o->usual ? o->usual : "",
             o->usual ? ")" : "");
    return buf;
}

int cli_option_of(const struct ss_option *o, int verb, enum cli_form_of_verb form)
{
    int other = cli_verb_sibling(verb), here = (o->verbs >> verb & 1) != 0,
        there = other >= 0 && (o->verbs >> other & 1) != 0;

    return form == CLI_ONE_FORM ? here && (there || other < 0) : here && !there && other >= 0;
}

static void line(FILE *out, const char *left, const char *right)
{
    int n = fprintf(out, "  %s", left);

    if (n + 2 > COLUMN)
        n = fprintf(out, "\n") - 1;
    fprintf(out, "%*s", COLUMN - n, "");
    cli_fill(out, right, COLUMN, COLUMN);
}

static void option_line(FILE *out, const struct ss_option *o)
{
    char left[160], right[800];

    line(out, cli_option_left(o, left, sizeof left), cli_option_right(o, right, sizeof right));
}

/* Writes the rows of a section under its name; NULL: the rows without a section, under "options". Returns how many
 * rare ones it left out. */
static int section(FILE *out, int verb, int form, int all, const char *name, const char *head)
{
    const struct ss_option *o;
    int n = 0, left = 0;

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++) {
        int same = name ? o->section && !strcmp(o->section, name) : !o->section || form != CLI_ONE_FORM;
        if (!same || !cli_option_of(o, verb, form))
            continue;
        if (o->rare && !all) {
            left++;
            continue;
        }
        if (n++ == 0)
            fprintf(out, "\n%s:\n", head);
        option_line(out, o);
    }
    return left;
}

static int first_of_section(int row, const char *name)
{
    const struct ss_option *o;

    for (int i = 0; i < row && (o = cli_option_at(i)) != NULL; i++)
        if (o->section && !strcmp(o->section, name))
            return 0;
    return 1;
}

/* Writes the options that both forms of a verb have, and those that only one of them has. Returns how many rare
 * ones it left out. */
static int option_sections(FILE *out, int verb, int all)
{
    const struct ss_option *o;
    int other = cli_verb_sibling(verb), left = section(out, verb, CLI_ONE_FORM, all, NULL, "options");

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (o->section && first_of_section(i, o->section))
            left += section(out, verb, CLI_ONE_FORM, all, o->section, o->section);
    if (other < 0)
        return left;
    left += section(out, verb, CLI_ITS_OWN, all, NULL, "without a job");
    return left +
           section(out, other, CLI_ITS_OWN, all, NULL, "with a job (--platform or --job among the words)");
}

/* The flags that most jobs are told by. */
static const char *const usual_flags[][2] = {
    {"cluster", "--platform --nodes --gpus --stack --set"},
    {"model, batch", "--model --seq --mbs --gbs"},
    {"precision", "--bf16 --precision"},
    {"layout", "--tp --pp --vp --cp --ep --fsdp --sequence-parallel --use-distributed-optimizer --schedule"},
    {"memory", "--recompute --optimizer-cpu-offload"},
    {"overlap", "--overlap-grad-reduce --overlap-param-gather --tp-comm-overlap"},
    {"mixtures", "--moe-grouped-gemm --moe-permute-fusion --moe-token-dispatcher-type"},
    {"from files", "--job --launch"},
    {"measured", "--measured --measured-memory"},
};

/* Adds "--tp N, " for the flag of this name. */
static void add_flag(const char *name, size_t length, char *text, size_t size)
{
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;
    size_t n = strlen(text);

    while (ss_flag_list(&at, &info))
        if (strlen(info.name) == length && !strncmp(info.name, name, length)) {
            snprintf(text + n, size - n, "%s%s%s%s", n ? ", " : "", info.name, info.value ? " " : "",
                     info.value ? info.value : "");
            return;
        }
}

static void usual_job_flags(FILE *out)
{
    fputs("\nJOB-OPTION, the flags of a job, by Megatron-LM's names or short ones:\n", out);
    for (size_t i = 0; i < sizeof usual_flags / sizeof usual_flags[0]; i++) {
        char text[512] = "";
        for (const char *p = usual_flags[i][1]; *p; p += strspn(p, " ")) {
            add_flag(p, strcspn(p, " "), text, sizeof text);
            p += strcspn(p, " ");
        }
        int n = fprintf(out, "  %-13s", usual_flags[i][0]);
        cli_fill(out, text, n, n);
    }
}

/* Writes every flag of a job that the prediction reads: stepsim's own with what they mean, Megatron's by name. */
static void job_flags(FILE *out)
{
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;
    char left[256];

    fputs("\nJOB-OPTION, stepsim's own flags and short names:\n", out);
    while (ss_flag_list(&at, &info)) {
        if (!info.own)
            continue;
        snprintf(left, sizeof left, "%s%s%s", info.name, info.value ? " " : "", info.value ? info.value : "");
        line(out, left, info.doc ? info.doc : "");
    }
    fputs("\nJOB-OPTION, Megatron-LM's flags that the prediction reads, explained in\n"
          "docs/reference/flags.md:\n",
          out);
    for (at = (struct ss_flag_cursor){0}; ss_flag_list(&at, &info);)
        if (!info.own && info.read) {
            const char *value = info.value ? info.value : "";
            int wide = strlen(info.name) + strlen(value) + 3 > WIDTH;
            fprintf(out, "  %s%s%s\n", info.name, *value ? " " : "", wide ? "WORD" : value);
        }
}

static void usage_line(FILE *out, int verb, const char *before)
{
    char start[64];
    int n = snprintf(start, sizeof start, "%sstepsim %s%s%s ", before, cli_verb_command(verb),
                     *cli_verb_name(verb) ? " " : "", cli_verb_name(verb));

    fputs(start, out);
    cli_fill(out, cli_verb_row(verb)->usage, n, n);
}

static void exits(FILE *out, const struct cli_command *c)
{
    const char *text = c->exits ? c->exits : "0 done\n2 usage\n3 bad input";
    char text_of[256];
    int first = 1;

    fprintf(out, "\nexit status: ");
    for (const char *p = text; *p; p += strspn(p, "\n")) {
        int n = (int)strcspn(p, "\n");
        snprintf(text_of, sizeof text_of, "%.*s", n, p);
        fputs(first ? "" : "             ", out);
        cli_fill(out, text_of, 13, 15);
        first = 0;
        p += n;
    }
}

static void takes(FILE *out, const struct cli_command *c)
{
    char text[160];

    if (!c->takes)
        return;
    snprintf(text, sizeof text, "Takes %s.", c->takes);
    cli_fill(out, text, 0, 0);
}

/* Writes the commands of a text that have `words` in their first line; "": all of them. A line that
 * begins with a space continues a command. */
static void examples(FILE *out, const char *text, const char *words)
{
    int shown = 0, on = 0;

    for (const char *p = text; *p; p += strspn(p, "\n")) {
        int n = (int)strcspn(p, "\n");
        if (*p != ' ') {
            const char *found = strstr(p, words);
            on = found && found < p + n;
        }
        if (on)
            fprintf(out, "%s  %.*s\n", shown++ ? "" : "\nexample:\n", n, p);
        p += n;
    }
}

static void all_commands(FILE *out)
{
    const struct cli_command *c;

    fprintf(out, "usage: stepsim COMMAND [OPTION...]\n\n");
    for (int i = 0; (c = cli_command_at(i)) != NULL; i++)
        fprintf(out, "  %-9s %s\n", c->name, c->summary);
    fprintf(out, "\n\"stepsim help COMMAND\" and \"stepsim COMMAND --help\" tell more.\n");
    examples(out, cli_command_find("run")->examples, "");
}

/* Writes where the rest of a verb's options are, if there is one. */
static void where_all(FILE *out, const struct cli_command *c, int verb, int left)
{
    const char *name = cli_verb_name(verb);

    if (!left && verb != CLI_RUN)
        return;
    fprintf(out, "\n\"stepsim %s%s%s --help all\" has ", c->name, *name ? " " : "", name);
    if (left)
        fprintf(out, "%d more option%s%s", left, left > 1 ? "s" : "", verb == CLI_RUN ? " and " : ".\n");
    if (verb == CLI_RUN)
        fputs("all flags of a job.\n", out);
}

/* Writes the help for a verb with both of its forms, or for a command without verbs. */
static void one_verb(FILE *out, const struct cli_command *c, int verb, int all)
{
    int other = cli_verb_sibling(verb), has_verb = *cli_verb_name(verb) != 0;
    const struct cli_verb_row *row = cli_verb_row(verb);

    usage_line(out, verb, "usage: ");
    if (other > verb)
        usage_line(out, other, "       ");
    fputc('\n', out);
    if (has_verb) {
        fprintf(out, "%s: ", cli_verb_name(verb));
        cli_fill(out, row->summary, (int)strlen(cli_verb_name(verb)) + 2, 0);
        fputc('\n', out);
    }
    cli_fill(out, c->text, 0, 0);
    takes(out, c);
    if (verb == CLI_RUN && !all)
        usual_job_flags(out);
    int left = option_sections(out, verb, all);
    if (verb == CLI_RUN && all)
        job_flags(out);
    else if (verb != CLI_RUN && (row->job || (other > verb && cli_verb_row(other)->job)))
        fprintf(out, "\nJOB-OPTIONs are the flags of a job: \"stepsim run --help\".\n");
    where_all(out, c, verb, left);
    exits(out, c);
    char words[64] = "";
    if (has_verb)
        snprintf(words, sizeof words, "stepsim %s %s", c->name, cli_verb_name(verb));
    examples(out, c->examples, words);
}

static void command_with_verbs(FILE *out, const struct cli_command *c)
{
    const char *before = "usage: ";

    for (int v = 0; v < CLI_VERB_COUNT; v++)
        if (!strcmp(cli_verb_command(v), c->name)) {
            usage_line(out, v, before);
            before = "       ";
        }
    fputc('\n', out);
    cli_fill(out, c->text, 0, 0);
    takes(out, c);
    fputc('\n', out);
    for (int v = 0; v < CLI_VERB_COUNT; v++)
        if (!strcmp(cli_verb_command(v), c->name) && *cli_verb_row(v)->summary) {
            int n = fprintf(out, "  %-8s ", cli_verb_name(v));
            cli_fill(out, cli_verb_row(v)->summary, n, n);
        }
    fprintf(out, "\n\"stepsim help %s VERB\" lists the options of a verb.\n", c->name);
    exits(out, c);
    examples(out, c->examples, "");
}

void cli_help_write(const struct cli_command *command, int verb, int all, FILE *out)
{
    if (!command)
        all_commands(out);
    else if (verb >= 0)
        one_verb(out, command, verb, all);
    else if (*cli_verb_name(cli_verb_find(command->name, NULL)))
        command_with_verbs(out, command);
    else
        one_verb(out, command, cli_verb_find(command->name, NULL), all);
}
