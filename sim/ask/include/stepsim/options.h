/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Options of the program and of the library that are no flags of a job. stepsim/options.def has a row for each: its name, how its value is
 * read, which commands have it, and its help. Program and library make tables of those rows, which are read here.
 */
#pragma once

#include "stepsim/capacity.h"
#include "stepsim/check.h"
#include "stepsim/run_words.h"
#include "stepsim/units.h"

SS_C_BEGIN

/* How the value of an option is read, and what stands at its offset. */
enum ss_option_kind {
    SS_OPTION_SET,      /* the option has no value; the int gets `low` */
    SS_OPTION_COUNT,    /* int, a whole number low..high */
    SS_OPTION_WHOLE,    /* double, a whole number low..high */
    SS_OPTION_NUMBER,   /* double low..high, in `unit` */
    SS_OPTION_CHOICE,   /* int, the index of the word in `choice` */
    SS_OPTION_PATH,     /* char[SS_OPTION_PATH_SIZE], a file to read, or to write, where "-" is stdout */
    SS_OPTION_NEW_FILE, /* char[SS_OPTION_PATH_SIZE], a file to write beside what stdout has */
    SS_OPTION_TEXT,     /* char *, owned */
    SS_OPTION_EACH,     /* struct ss_texts: all values that are given, in order */
    SS_OPTION_CALL      /* a form of its own, read by `call` */
};
#define SS_OPTION_PATH_SIZE 1024
/* The values of an option that may be repeated. */
struct ss_texts {
    int n;
    char **text;
};

/* What goes to the file that an option names: nothing, the answer (otherwise on stdout), or something
 * else. */
enum ss_option_writes { SS_OPTION_READS, SS_OPTION_ANSWER, SS_OPTION_BESIDE };

struct ss_option {
    const char *name, *alias; /* "--output", "-o"; alias may be NULL */
    const char *value;        /* placeholder, "FILE"; for a choice its name, "engine"; NULL: it has none */
    uint64_t verbs;           /* a bit for each that has it */
    int kind;                 /* enum ss_option_kind */
    int repeats;              /* 1: all its values count; 0: a second one in the same place is refused */
    int last;                 /* 1: Megatron-LM has a flag of this name, so the last value counts, as there */
    int how;                  /* 1: the option says how a job is simulated, so a result keeps it */
    int writes;               /* enum ss_option_writes */
    int rare;                 /* 1: "--help all" has it, the short help does not */
    /* first characters of the file that it writes, NULL: any text; a file that begins otherwise is not
     * overwritten */
    const char *starts;
    size_t offset;
    double low, high;
    enum ss_unit unit;
    const char *(*choice)(int i); /* NULL past the last one */
    /* reads the value in place of its kind; NULL: the kind does */
    int (*call)(void *values, const char *name, const char *value, struct ss_error *err);
    const char *needs;  /* "--gantt --report": the option is refused unless one of these is given too */
    const char *beside; /* "--json": the option is refused where one of these is given too */
    const char *usual;  /* the value that holds where the option is not given, or NULL */
    const char *doc, *section; /* section: its heading in the help, NULL for the first section */
};

/* The values of the options that the library has; the program's begin with them. */
struct ss_options {
    struct ss_run_words how; /* how a job is simulated */
    struct ss_texts vary, with;
    struct ss_workers workers;
    struct ss_capacity_options capacity; /* tokens, deadline, budget and layout */
    struct ss_measurement measured;      /* by the options that tell a figure */
    char *log;                           /* of check; NULL: not given */
    int axes, exhaustive, unconfirmed;   /* of search */
    int coverage, regret;                /* of validate */
    double spread;                       /* --spread for all rows; < 0: not given */
    int behind; /* 1: words that others beat stand in the same place, as those of all sides before those of --with */
};
/* Sets the values that hold where no option is given. */
void ss_options_init(struct ss_options *o);
/* Frees what the rows, n of them, have read to `values`, which begin with a struct ss_options. */
void ss_options_free(void *values, const struct ss_option *rows, size_t n);

/* Reads the value of an option ("" where it has none) to its offset in `values`. Error: SS_ERR_USAGE, SS_ERR_NOMEM. */
int ss_option_read(const struct ss_option *o, void *values, const char *value, struct ss_error *err);
/* Reads the option at words[0] of n, "--name=value" or "--name value", of a request's place or place 0, and raises *given, which the
 * row alone has. A value of a later place takes the place of an earlier one. Returns how many words it took. Error: SS_ERR_USAGE,
 * SS_ERR_NOMEM. */
int ss_option_take(const struct ss_option *o, struct ss_options *values, unsigned char *given, int place,
                   int n, char *const *words, struct ss_error *err);
/* Returns the row of a name or alias for one of the verbs; NULL: none. */
const struct ss_option *ss_option_find(const struct ss_option *rows, size_t n, uint64_t verbs,
                                       const char *name);
/* Checks, once all options are read, what they demand of each other; given[i]: row i was given. Error: SS_ERR_USAGE. */
int ss_options_check(const struct ss_option *rows, size_t n, uint64_t verbs, const unsigned char *given,
                     struct ss_error *err);

/* ---- what rows name ---- */
/* Returns the word of an engine (enum ss_engine); NULL past the last one, here and below. */
const char *ss_option_engine(int i);
/* Returns the word of a level (enum ss_level). */
const char *ss_option_level(int i);
/* Returns the word of a layout of capacity (enum ss_capacity_layout). */
const char *ss_option_layout(int i);
/* Returns the word of the axes of a search (enum ss_find_axes). */
const char *ss_option_axes(int i);
/* Does ss_run_words_read for `values`, a struct ss_options. Error: SS_ERR_USAGE. */
int ss_option_how(void *values, const char *name, const char *value, struct ss_error *err);
/* Reads --tokens, --deadline or --budget. Error: SS_ERR_USAGE. */
int ss_option_goal(void *values, const char *name, const char *value, struct ss_error *err);
/* Does ss_measurement_add. Error: SS_ERR_USAGE. */
int ss_option_figure(void *values, const char *name, const char *value, struct ss_error *err);

SS_C_END
