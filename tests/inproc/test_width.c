/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Text keeps to the columns that there are: no line of what these commands say on a pipe has more than 80 columns, nor more than
 * $STEPSIM_COLUMNS. Lines that are records, of --brief, --link and CSV, stay whole.
 */
#include <stdlib.h>
#include <string.h>

#include "driver.h"
#include "stepsim/stepsim.h"

#define SMALL "--platform h800 --nodes 1 --model llama3.1-8b --bf16 --tp 2 --pp 2 --seq 4096 --mbs 1 --gbs 16"

static const struct {
    const char *words;
    int status;
} commands[] = {
    {"run " SMALL, 0},
    {"run --verbose " SMALL, 0},
    {"run --job 70b-03", 1}, /* does not fit */
    {"plan --job 70b-14", 0},
    {"explain --job 8b-16", 0},
    {"compare " SMALL " --with --sequence-parallel --with --tp=4 --with --tp=3", 0},
    {"sweep --job 70b-14 --platform h800 --vary nodes=8,16 --vary vp=1,3,5 --vary fp8-format=hybrid,e4m3 "
     "--vary "
     "set=ss.price=2USD/h",
     0},
    {"search --platform h800 --nodes 4,8 --model llama3.1-8b --bf16 --seq 8192 --gbs 256 --mbs 1 --vary "
     "tp=1,2 "
     "--cp 1 --unconfirmed",
     0},
    {"capacity --job 70b-14 --vary platform=h100,h800 --nodes 8,16 --layout given --tokens 100B --deadline "
     "30d",
     0},
    {"check --job 8b-16 --platform h800 --measured 30s", 5},
    {"share 8b-16@0-3 8b-16@4-7 --starts 1", 0},
    {"schedule compare --job 8b-16 --schedules interleaved:4,1f1b,gpipe,zb-h1,dualpipev", 0},
    {"schedule compare --pp 8 --microbatches 16", 0},
    {"schedule list", 0},
    {"platform show gb200", 0},
    {"validate runs", 0},
    {"validate --coverage", 0},
    {"list", 0},
    {"list props", 0},
};
static int bad;
static FILE *told;

/* Runs the words of a line, which no blank is part of. */
static struct driver_answer run(const char *line)
{
    char *copy = strdup(line), *rest = copy, *words[64] = {"stepsim"};
    int n = 1;

    for (char *word; (word = strsep(&rest, " ")) != NULL && n < 63;)
        if (*word)
            words[n++] = word;
    struct driver_answer a = driver_run(n, words, NULL);
    free(copy);
    return a;
}

/* Returns how many columns the longest line has. */
static size_t longest(const char *text)
{
    size_t most = 0;

    for (; *text; text += strcspn(text, "\n"), text += *text == '\n') {
        const size_t columns = ss_text_columns(text, strcspn(text, "\n"));
        most = columns > most ? columns : most;
    }
    return most;
}

static void look(const char *words, int status, size_t least, size_t most)
{
    struct driver_answer a = run(words);
    const char *text = driver_text(1, a.nout);
    const size_t columns = longest(text);

    if (a.status == status && columns >= least && columns <= most)
        return;
    fprintf(told, "stepsim %s: status %d, and a line of %zu columns, not %zu to %zu:\n%s%s\n", words,
            a.status, columns, least, most, text, driver_text(2, a.nerr));
    bad++;
}

int main(void)
{
    told = driver_begin();
    unsetenv("STEPSIM_COLUMNS");
    setenv("COLUMNS", "60", 1); /* of no terminal */
    for (size_t i = 0; i < sizeof commands / sizeof commands[0]; i++)
        look(commands[i].words, commands[i].status, 61, 80);
    look("run --brief " SMALL, 0, 150, 400);
    setenv("STEPSIM_COLUMNS", "60", 1);
    look("run " SMALL, 0, 40, 66); /* its bars of 66 columns are no words */
    setenv("STEPSIM_COLUMNS", "200", 1);
    look("search --platform h800 --nodes 4 --model llama3.1-8b --bf16 --seq 8192 --gbs 256 --mbs 1 --tp 1 "
         "--cp 1 --unconfirmed",
         0, 81, 200);
    fprintf(told, "%zu commands, %d wrong\n", sizeof commands / sizeof commands[0] + 3, bad);
    return bad != 0;
}
