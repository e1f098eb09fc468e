/* SPDX-License-Identifier: Apache-2.0 */
/* Every argument of Megatron-LM and what is done with it; docs/reference/flags.md is written from these tables. */
#pragma once

#include "job/asked.h"

enum ss_flag_treatment {
    SS_FLAG_OWN,          /* stepsim's own, or a short name */
    SS_FLAG_MODELLED,     /* sets something that the prediction reads */
    SS_FLAG_NO_EFFECT,    /* no effect on time or memory: accepted, listed once */
    SS_FLAG_NOT_MODELLED, /* may change time or memory a little: accepted with a note of its own */
    /* likewise, but how much is not known, so that no error band holds */
    SS_FLAG_UNKNOWN_EFFECT,
    SS_FLAG_REFUSED,
    SS_FLAG_TREATMENTS
};

/* Number of values, as in argparse: '0', '1', '+' (one or more), '*' (any). */
struct ss_flag_group {
    int treatment;
    char values;
    const char *why;
    const char *names; /* space separated, without "--"; NULL ends the table */
};
/* The rows of sim/job/megatron_flags.txt: flags, and names that are none. */
extern const struct ss_flag_group ss_flag_groups[], ss_flags_elsewhere[];
/* Rows of that file for words of programs alone: options of stepsim's commands have these names. */
extern const struct ss_flag_group ss_flags_of_programs[];

/* One named value of a flag; name NULL ends a list. */
struct ss_flag_choice {
    const char *name;
    int value;
};
/* Takes the values of a flag; *why gets the reason on SS_ERR_INPUT or SS_ERR_UNSUPPORTED. */
typedef int (*ss_flag_call)(struct ss_asked *asked, int n, char *const *values, const char **why);

enum ss_flag_kind {
    SS_FLAG_SET,
    SS_FLAG_INT,
    SS_FLAG_DOUBLE,
    SS_FLAG_CHOICE,
    SS_FLAG_TEXT,
    SS_FLAG_CALL,
    SS_FLAG_ONLY,
    SS_FLAG_PROP
};
struct ss_flag_setter {
    const char *name; /* with "--" */
    char values;
    int treatment; /* SS_FLAG_OWN or SS_FLAG_MODELLED */
    int kind;
    size_t offset;                        /* in struct ss_asked */
    double low, high;                     /* SET: value in low; TEXT: size in high */
    const struct ss_flag_choice *choices; /* CALL: the words alone, or NULL where there are too many */
    ss_flag_call call;
    const char *later,
        *wrong; /* ONLY: words that are known and not modelled, "*": all others; and why they are wrong */
    const char *doc;
};
/* Ends with a name of NULL. */
extern const struct ss_flag_setter ss_flag_setters[];

/* One flag, whichever table it is in. */
struct ss_flag {
    char name[96];
    int treatment;
    char values;
    const char *why;                     /* reason or meaning, may be NULL */
    const struct ss_flag_setter *setter; /* OWN and MODELLED only */
};
/* Walks over all flags; start with {0}. 0 past the end. */
struct ss_flag_walk {
    size_t setter, group;
    const char *names; /* rest of the group's list */
};
int ss_flag_next(struct ss_flag_walk *w, struct ss_flag *out);
/* Returns what the flag of a word, "--tp" or "--tp=4", sets; NULL: it is none that sets something. */
const struct ss_flag_setter *ss_flag_setter_of(const char *word);
void ss_flag_of_setter(const struct ss_flag_setter *s, struct ss_flag *out);
/* Returns the row of ss_flag_groups that has the flag of a word; NULL: none. */
const struct ss_flag_group *ss_flag_group_of(const char *word);
void ss_flag_of_group(const struct ss_flag_group *g, const char *word, struct ss_flag *out);
/* By name with "--"; 0 when there is none. */
int ss_flag_find(const char *name, struct ss_flag *out);
/* Likewise among the flags that programs have. */
int ss_flag_find_of_program(const char *name, struct ss_flag *out);
/* The flag that the word at index i of a request is or begins with ("--tp=4"), of stepsim's own names only where no program said it;
 * 0: it is none. */
struct ss_request;
int ss_request_flag(const struct ss_request *r, size_t i, struct ss_flag *out);
/* Values that it takes there: a program's flag without effect has all words behind it, as "your own path" of published scripts is three. */
char ss_request_takes(const struct ss_request *r, size_t i, const struct ss_flag *f);
/* Number of words that the flag at index i and its values are; an unknown one has all words behind it that are no flags. */
size_t ss_request_extent(const struct ss_request *r, size_t i);
/* Whether a flag says what a model is, its sizes, its layers or its vocabulary: another model has its own. */
int ss_flag_is_of_model(const struct ss_flag *f);
/* Nearest known name, written to buf; 0 when none is near. */
int ss_flag_nearest(const char *name, char *buf, size_t size);
/* Applies n values; on failure *why says what is wrong (a text in buf or a static one). */
int ss_flag_apply(const struct ss_flag_setter *s, struct ss_asked *asked, int n, char *const *values,
                  char *buf, size_t size, const char **why);
