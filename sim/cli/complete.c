/* SPDX-License-Identifier: Apache-2.0 */
/* Shell completion: the scripts hand their words to "stepsim help --complete --", which knows all tables. */
#include "cli/verbs.h"

/* The word under the cursor, which is to be completed. */
struct ask {
    FILE *out;
    const char *word;   /* a candidate has to begin with it */
    const char *before; /* the part of the word before it, "--engine=" */
    int before_length;
};

static void offer(const struct ask *a, const char *text, int n, const char *what)
{
    size_t length = strlen(a->word);

    if ((size_t)n < length || strncmp(text, a->word, length) != 0)
        return;
    fprintf(a->out, "%.*s%.*s%s%s\n", a->before_length, a->before, n, text, what && *what ? "\t" : "",
            what ? what : "");
}

static void offer_text(const struct ask *a, const char *text, const char *what)
{
    offer(a, text, (int)strlen(text), what);
}

static void offer_name(void *ctx, const char *name, const char *description)
{
    offer_text(ctx, name, description);
}

/* Offers the names of a kind that are in the data; nothing for an unknown kind. */
static void offer_listed(const struct ask *a, const char *kind)
{
    ss_list_names(kind, offer_name, (void *)a, NULL);
}

static void offer_commands(const struct ask *a)
{
    const struct cli_command *c;

    for (int i = 0; (c = cli_command_at(i)) != NULL; i++)
        offer_text(a, c->name, c->summary);
}

static void offer_verbs(const struct ask *a, const char *command)
{
    for (int v = 0; v < CLI_VERB_COUNT; v++)
        if (!strcmp(cli_verb_command(v), command) && *cli_verb_row(v)->summary)
            offer_text(a, cli_verb_name(v), cli_verb_row(v)->summary);
}

static void offer_options(const struct ask *a, int verb)
{
    const struct ss_option *o;
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;
    char right[800];

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        if (o->verbs >> verb & 1)
            offer_text(a, o->name, cli_option_right(o, right, sizeof right));
    while (cli_verb_has_job(verb) && ss_flag_list(&at, &info))
        if (info.read)
            offer_text(a, info.name, info.doc);
}

/* Offers each word of "uniform|block"; capitals are placeholders. */
static void offer_choices(const struct ask *a, const char *value)
{
    for (const char *p = value; *p; p += *p == '|') {
        int n = (int)strcspn(p, "|");
        if (strspn(p, "ABCDEFGHIJKLMNOPQRSTUVWXYZ") < (size_t)n)
            offer(a, p, n, NULL);
        p += n;
    }
}

/* Returns the kind of names that are values of an option; NULL: its values have no names. */
static const char *kind_of_value(const char *option)
{
    static const char *const kinds[][2] = {{"--model", "models"},
                                           {"--platform", "platforms"},
                                           {"--stack", "stacks"},
                                           {"--schedule", "schedules"},
                                           {"--schedules", "schedules"}};

    for (size_t i = 0; i < sizeof kinds / sizeof kinds[0]; i++)
        if (!strcmp(option, kinds[i][0]))
            return kinds[i][1];
    return NULL;
}

/* Offers the flags that --vary can take, as "tp=". */
static void offer_varied(const struct ask *a)
{
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;
    char text[112];

    while (ss_flag_list(&at, &info))
        if (info.read) {
            snprintf(text, sizeof text, "%s=", info.name + 2);
            offer_text(a, text, info.doc);
        }
}

/* Offers the props that --set or --prop takes, as "ss.nic.efficiency=". */
static void offer_props(const struct ask *a, int (*may)(int index))
{
    char text[112];

    for (int i = 0; i < SS_PROP_COUNT; i++)
        if (may(i)) {
            snprintf(text, sizeof text, "%s=", ss_prop_at(i)->id);
            offer_text(a, text, ss_prop_at(i)->doc);
        }
}

static void offer_scales(const struct ask *a)
{
    const char *name, *doc;
    char text[112];

    for (int i = 0; (name = ss_scale_group(i, &doc)) != NULL; i++) {
        snprintf(text, sizeof text, "%s=", name);
        offer_text(a, text, doc);
    }
    for (int i = 0; i < SS_PROP_COUNT; i++)
        if (ss_prop_is_scalable(i)) {
            snprintf(text, sizeof text, "%s=", ss_prop_at(i)->id + 3);
            offer_text(a, text, ss_prop_at(i)->doc);
        }
}

/* Offers the values of an option of this verb. Returns 0 where `name` is no option that takes a value. */
static int offer_values(const struct ask *a, int verb, const char *name)
{
    const struct ss_option *o = cli_option_find(verb, name);
    struct ss_flag_cursor at = {0};
    struct ss_flag_info info;
    const char *kind = kind_of_value(name), *value = NULL;

    while (!o && !value && cli_verb_has_job(verb) && ss_flag_list(&at, &info))
        if (!strcmp(info.name, name) && info.value)
            value = info.value;
    if (o ? !o->value : !value)
        return 0;
    if (kind)
        offer_listed(a, kind);
    else if (!strcmp(name, "--vary"))
        offer_varied(a);
    else if (!strcmp(name, "--set") || !strcmp(name, "--prop"))
        offer_props(a, !strcmp(name, "--set") ? ss_prop_is_settable : ss_prop_is_fittable);
    else if (!strcmp(name, "--scale"))
        offer_scales(a);
    else if (o && o->choice)
        for (int i = 0; o->choice(i); i++)
            offer_text(a, o->choice(i), NULL);
    else if (value)
        offer_choices(a, value);
    return 1;
}

static void offer_operands(const struct ask *a, int verb)
{
    static const char *const lists[] = {"models", "platforms", "cards", "stacks", "schedules", "props"};
    const char *operand = cli_verb_row(verb)->operand;

    if (operand && !strcmp(operand, "lists"))
        for (size_t i = 0; i < sizeof lists / sizeof lists[0]; i++)
            offer_text(a, lists[i], NULL);
    else if (operand)
        offer_listed(a, operand);
}

static int job_among(int n, char *const *words)
{
    for (int i = 0; i < n; i++)
        if (!strcmp(words[i], "--platform") || !strcmp(words[i], "--job"))
            return 1;
    return 0;
}

static void complete_words(struct ask *a, int verb, int n, char *const *words)
{
    const char *equal = strchr(a->word, '=');
    char name[64];

    if (n > 1 && words[n - 2][0] == '-' && !strchr(words[n - 2], '=') && offer_values(a, verb, words[n - 2]))
        return;
    if (a->word[0] == '-' && equal) {
        snprintf(name, sizeof name, "%.*s", (int)(equal - a->word), a->word);
        a->before = a->word;
        a->before_length = (int)(equal - a->word) + 1;
        a->word = equal + 1;
        offer_values(a, verb, name);
        return;
    }
    if (a->word[0] != '-')
        offer_operands(a, verb);
    if (a->word[0] == '-' || !cli_verb_row(verb)->operand)
        offer_options(a, verb);
}

void cli_complete(int n, char *const *words, FILE *out)
{
    struct ask a = {.out = out, .word = n ? words[n - 1] : "", .before = ""};

    if (n <= 1) {
        offer_commands(&a);
        return;
    }
    int first = cli_verb_find(words[0], NULL), used = 1;
    if (first == CLI_HELP && words[n - 1][0] != '-') {
        if (n == 2)
            offer_commands(&a);
        else if (n == 3)
            offer_verbs(&a, words[1]);
        return;
    }
    if (first < 0)
        return;
    if (*cli_verb_name(first)) {
        if (n == 2) {
            offer_verbs(&a, words[0]);
            return;
        }
        first = cli_verb_find(words[0], words[1]);
        used = 2;
    }
    if (first < 0)
        return;
    int other = cli_verb_sibling(first);
    complete_words(&a, other > first && job_among(n - 1, words) ? other : first, n - used, words + used);
}

static const char bash[] =
    "# bash completion of stepsim; what can follow is asked of the program itself.\n"
    "_stepsim()\n"
    "{\n"
    "    local words line=${COMP_LINE:0:COMP_POINT} current found\n"
    "    read -ra words <<< \"$line\"\n"
    "    [[ $line == *[[:space:]] ]] && words+=('')\n"
    "    current=${words[${#words[@]} - 1]}\n"
    "    mapfile -t found < <(\"${words[0]}\" help --complete -- \"${words[@]:1}\" 2> /dev/null)\n"
    "    COMPREPLY=(\"${found[@]%%$'\\t'*}\")\n"
    "    # bash completes only what stands behind the last = of a word\n"
    "    if [[ $current == *=* && $COMP_WORDBREAKS == *=* ]]; then\n"
    "        COMPREPLY=(\"${COMPREPLY[@]#\"${current%=*}=\"}\")\n"
    "    fi\n"
    "    [[ ${#COMPREPLY[@]} == 1 && ${COMPREPLY[0]} == *= ]] && compopt -o nospace\n"
    "    return 0\n"
    "}\n"
    "complete -o default -F _stepsim stepsim\n";

static const char zsh[] =
    "#compdef stepsim\n"
    "# zsh completion of stepsim; what can follow is asked of the program itself.\n"
    "_stepsim()\n"
    "{\n"
    "    local -a found described\n"
    "    local line\n"
    "    found=(\"${(@f)$(\"${words[1]}\" help --complete -- \"${(@)words[2,CURRENT]}\" 2> /dev/null)}\")\n"
    "    for line in $found; do\n"
    "        described+=(\"${${line%%$'\\t'*}//:/\\\\:}${${(M)line:#*$'\\t'*}:+:${line#*$'\\t'}}\")\n"
    "    done\n"
    "    if (( $#described )); then\n"
    "        _describe stepsim described\n"
    "    else\n"
    "        _files\n"
    "    fi\n"
    "}\n"
    "if [[ $funcstack[1] == _stepsim ]]; then _stepsim \"$@\"; else compdef _stepsim stepsim; fi\n";

static const char fish[] = "# fish completion of stepsim; what can follow is asked of the program itself.\n"
                           "function __stepsim_complete\n"
                           "    set -l words (commandline -opc)\n"
                           "    $words[1] help --complete -- $words[2..-1] (commandline -ct) 2> /dev/null\n"
                           "end\n"
                           "complete -c stepsim -a '(__stepsim_complete)'\n";

/* The scripts, in the order of cli_shell. */
static const char *const shells[] = {bash, zsh, fish};

const char *cli_completion_script(int i)
{
    return shells[i];
}

void cli_options_write(FILE *out)
{
    static const char *const kinds[] = {
        [SS_OPTION_SET] = "flag",      [SS_OPTION_COUNT] = "number",  [SS_OPTION_WHOLE] = "number",
        [SS_OPTION_NUMBER] = "number", [SS_OPTION_CHOICE] = "choice", [SS_OPTION_PATH] = "file",
        [SS_OPTION_NEW_FILE] = "file", [SS_OPTION_TEXT] = "text",     [SS_OPTION_EACH] = "text",
        [SS_OPTION_CALL] = "form"};
    const struct ss_option *o;
    char words[96];

    for (int v = 0; v < CLI_VERB_COUNT; v++)
        for (int i = 0; (o = cli_option_at(i)) != NULL; i++) {
            const char *value = cli_option_value(o, words, sizeof words);
            if (o->verbs >> v & 1)
                fprintf(out, "%s\t%s\t%s\t%s\t%s\t%s\t%s\t%s\n", cli_verb_command(v),
                        *cli_verb_name(v) ? cli_verb_name(v) : "-", cli_verb_has_job(v) ? "job" : "-",
                        o->name, o->alias ? o->alias : "-", value ? value : "-", kinds[o->kind],
                        o->repeats || !o->value ? "all"
                        : o->last               ? "last"
                                                : "once");
        }
}
