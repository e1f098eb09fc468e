/* SPDX-License-Identifier: Apache-2.0 */
/* Manual pages, in the macros of man(7). */
#include "cli/verbs.h"

/* Writes n bytes of text. A hyphen that the user types becomes \-, and no line begins with a dot or a
 * quote. */
static void put(FILE *out, const char *text, int n)
{
    for (int i = 0; i < n && text[i]; i++) {
        if (text[i] == '-')
            fputs("\\-", out);
        else if (text[i] == '\\')
            fputs("\\e", out);
        else if ((text[i] == '.' || text[i] == '\'') && i == 0)
            fprintf(out, "\\&%c", text[i]);
        else
            fputc(text[i], out);
    }
}

/* Writes paragraphs, each of which ends at a line feed. */
static void paragraphs(FILE *out, const char *text)
{
    for (const char *p = text; *p; p += strspn(p, "\n")) {
        int n = (int)strcspn(p, "\n");
        if (p != text)
            fputs(".PP\n", out);
        put(out, p, n);
        fputc('\n', out);
        p += n;
    }
}

static void entry(FILE *out, const char *left, const char *right)
{
    fputs(".TP\n\\fB", out);
    for (const char *p = left; *p; p++) { /* the name is bold, what the user writes for it is not */
        if (*p == ' ' && p > left && p[-1] != ',') {
            fputs("\\fR ", out);
            put(out, p + 1, (int)strlen(p + 1));
            break;
        }
        put(out, p, 1);
        if (!p[1])
            fputs("\\fR", out);
    }
    fputc('\n', out);
    paragraphs(out, right);
}

static void options(FILE *out, int verb, enum cli_form_of_verb form)
{
    const struct ss_option *o;
    char left[160], right[800];

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (cli_option_of(o, verb, form))
            entry(out, cli_option_left(o, left, sizeof left), cli_option_right(o, right, sizeof right));
}

static void job_flags(FILE *out)
{
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;
    char left[256];

    fputs(".SH JOB OPTIONS\nThe flags of a job are Megatron\\-LM's; docs/reference/flags.md lists them. "
          "Beside them:\n",
          out);
    while (ss_flag_list(&at, &info)) {
        if (!info.own)
            continue;
        snprintf(left, sizeof left, "%s%s%s", info.name, info.value ? " " : "", info.value ? info.value : "");
        entry(out, left, info.doc ? info.doc : "");
    }
}

static void synopsis(FILE *out, int verb)
{
    const char *usage = cli_verb_row(verb)->usage;

    fprintf(out, ".B stepsim %s%s%s\n", cli_verb_command(verb), *cli_verb_name(verb) ? " " : "",
            cli_verb_name(verb));
    put(out, usage, (int)strlen(usage));
    fputs("\n.br\n", out);
}

static void exits(FILE *out, const char *text)
{
    char status[8];

    fputs(".SH EXIT STATUS\n", out);
    for (const char *p = text; *p; p += strspn(p, "\n")) {
        int n = (int)strcspn(p, "\n");
        snprintf(status, sizeof status, "%.1s", p);
        fprintf(out, ".TP\n.B %s\n", status);
        put(out, p + 2, n - 2);
        fputc('\n', out);
        p += n;
    }
}

static void examples(FILE *out, const char *text)
{
    fputs(".SH EXAMPLES\n.nf\n", out);
    put(out, text, (int)strlen(text));
    fputs("\n.fi\n", out);
}

static void title(FILE *out, const char *command, const char *summary)
{
    char name[64] = "stepsim";

    if (command)
        snprintf(name, sizeof name, "stepsim-%s", command);
    fputs(".\\\" Made by \"stepsim help --man\"\n.TH ", out);
    for (const char *p = name; *p; p++)
        fputc(toupper((unsigned char)*p), out);
    fprintf(out, " 1 \"\" \"stepsim %s\" \"User Commands\"\n.SH NAME\n", ss_version());
    put(out, name, (int)strlen(name));
    fputs(" \\- ", out);
    put(out, summary, (int)strlen(summary));
    fputs("\n.SH SYNOPSIS\n", out);
}

static void see_also(FILE *out, const char *but)
{
    const struct cli_command *c;

    fputs(".SH SEE ALSO\n", out);
    if (but)
        fputs(".BR stepsim (1),\n", out);
    for (int i = 0; (c = cli_command_at(i)) != NULL; i++)
        if (strcmp(c->name, "help") != 0 && strcmp(c->name, "version") != 0 &&
            (!but || strcmp(c->name, but) != 0))
            fprintf(out, ".BR stepsim\\-%s (1),\n", c->name);
    fputs(".BR lstopo (1)\n", out);
}

static void program_page(FILE *out)
{
    static const char description[] = "Predicts one training iteration of a large language model on a GPU "
                                      "cluster, without the GPUs: how long it "
                                      "takes, where the time goes, how much memory every pipeline stage "
                                      "needs, and whether it fits. The job is "
                                      "described in Megatron-LM's own flags, the model by a Hugging Face "
                                      "config.json, the cluster by a SimGrid "
                                      "platform XML.";
    static const char conventions[] =
        "An option and its value are two words or one with = between: --engine "
        "native, --engine=native. A command takes "
        "the options of its page and refuses all others with status 2, as it "
        "does a value that cannot be read.\n"
        "A flag of a job, or --seed, that is given twice counts as it stands last, as in "
        "Megatron-LM; an option of a command is given once. Of "
        "--set, --vary, --with, --straggler, --slow-link, --rows and --prop all count. "
        "What the command line says counts rather than what a --job file says.";
    const struct cli_command *c;

    title(out, NULL, "predict the time and memory of one LLM training iteration on a GPU cluster");
    fputs(".B stepsim\nCOMMAND [OPTION...]\n.SH DESCRIPTION\n", out);
    paragraphs(out, description);
    fputs(".SH OPTIONS\n", out);
    paragraphs(out, conventions);
    fputs(".SH COMMANDS\n", out);
    for (int i = 0; (c = cli_command_at(i)) != NULL; i++)
        entry(out, c->name, c->summary);
    exits(out,
          "0 done; of a prediction: the job fits or is near the limit\n1 out of memory, or a deadlock of the "
          "simulated program\n"
          "2 wrong command line\n3 bad input, or a configuration that the framework refuses\n"
          "4 outside --tolerance, or a prediction moved (validate --against)");
    fputs(".SH ENVIRONMENT\n", out);
    entry(out, "STEPSIM_DATA",
          "Folder with platforms, workloads and validation that is searched first for names. One that does "
          "not exist or "
          "holds none of them is an error (status 3).");
    entry(out, "STEPSIM_PAGE",
          "Address of a page of stepsim, which \"stepsim run --link\" writes before the job.");
    entry(out, "STEPSIM_COLUMNS",
          "Columns of text, on a terminal and in a pipe; unset: those of the terminal ($COLUMNS, or as many "
          "as it says), and 80 in a pipe.");
    entry(out, "NO_COLOR", "When set and not empty, no colours on a terminal.");
    entry(out, "TERM", "When \"dumb\", neither colours nor lines that tell how far long work is.");
    examples(out, cli_command_find("run")->examples);
    see_also(out, NULL);
}

static void verb_section(FILE *out, int verb)
{
    int other = cli_verb_sibling(verb);

    fputs(".SH ", out);
    for (const char *p = cli_verb_name(verb); *p; p++)
        fputc(toupper((unsigned char)*p), out);
    fputc('\n', out);
    paragraphs(out, cli_verb_row(verb)->summary);
    options(out, verb, CLI_ONE_FORM);
    if (other < 0)
        return;
    fputs(".PP\nWithout a job:\n", out);
    options(out, verb, CLI_ITS_OWN);
    fputs(".PP\nWith a job, whose flags are those of\n.BR stepsim\\-run (1):\n", out);
    options(out, other, CLI_ITS_OWN);
}

void cli_man_write(const struct cli_command *command, FILE *out)
{
    if (!command) {
        program_page(out);
        return;
    }
    int first = cli_verb_find(command->name, NULL), has_verbs = *cli_verb_name(first) != 0;
    title(out, command->name, command->summary);
    for (int v = first; v < CLI_VERB_COUNT && !strcmp(cli_verb_command(v), command->name); v++)
        synopsis(out, v);
    fputs(".SH DESCRIPTION\n", out);
    paragraphs(out, command->text);
    if (command->takes) {
        fputs(".PP\nTakes ", out);
        put(out, command->takes, (int)strlen(command->takes));
        fputs(".\n", out);
    }
    if (!has_verbs)
        fputs(".SH OPTIONS\n", out);
    for (int v = first; v < CLI_VERB_COUNT && !strcmp(cli_verb_command(v), command->name); v++)
        if (!has_verbs)
            options(out, v, CLI_ONE_FORM);
        else if (*cli_verb_row(v)->summary)
            verb_section(out, v);
    if (first == CLI_RUN)
        job_flags(out);
    exits(out, command->exits ? command->exits : "0 done\n2 usage\n3 bad input");
    examples(out, command->examples);
    see_also(out, command->name);
}
