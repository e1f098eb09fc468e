/* SPDX-License-Identifier: Apache-2.0 */
/* The text form of a program: what reader and writer share. Grammar: docs/reference/formats-program.md. */
#pragma once

#include "base/base.h"
#include "base/map.h"
#include "program/program_internal.h"

#define SS_PROGRAM_VERSION 1

/* "nvlink" "nic" "uplink" "other" */
extern const char *const ss_link_kind_words[SS_LINK_KIND_COUNT];

/* ---- program_lex.c ---- */

struct ss_word {
    char *text;
    bool quoted; /* a quoted word is never a keyword, number or brace */
};

/* Words of a text, line by line; the text is cut up in place. */
struct ss_lines {
    const char *file;
    char *next;
    int line;
    size_t nwords, cap;
    struct ss_word *words;
    struct ss_error *err;
};

/* The next line that has words: 1, 0 at the end, < 0 error. */
int ss_lines_next(struct ss_lines *l);
void ss_lines_free(struct ss_lines *l);
/* A name is written as it is, or in quotes where the reader would not take it for one. */
void ss_word_write(const char *name, FILE *out);

/* Names -> numbers. Names must outlive the table. */
struct ss_names {
    const char **name; /* by number */
    size_t n, name_cap;
    /* hash of a name -> number; where two names have one hash, the second has the next key */
    struct ss_map map;
};
/* Adds the next number; SS_ERR_INPUT if the name is there, SS_ERR_NOMEM. */
int ss_names_add(struct ss_names *names, const char *name);
/* -1: not there. */
int ss_names_find(const struct ss_names *names, const char *name);
void ss_names_clear(struct ss_names *names);

/* ---- program_read_tables.c: links, paths, mixes, channels, collectives ---- */

struct ss_reader {
    struct ss_program *p;
    struct ss_program_source *source;
    struct ss_lines in;
    struct ss_error *err;
    struct ss_names links, paths, mixes, channels, collectives, templates, classes;
    size_t link_cap, path_cap, mix_cap, channel_cap, collective_cap, template_cap, class_cap;
    size_t path_lines, mix_lines, channel_lines, collective_lines, class_lines, template_lines, event_cap,
        slot_cap;
    /* Classes may be named before they are there: kept by word until the end. */
    struct ss_class_ref {
        const char *name;
        int line;
        int kind, index, member; /* 0: channel from, 1: channel to, 2: collective member */
    } * refs;
    size_t nrefs, ref_cap;
    char **made; /* names that are not in the text */
    size_t nmade, made_cap;
};

/* The rest of a line behind its first words: pairs of key and value. */
struct ss_pairs {
    struct ss_reader *r;
    size_t at; /* next word */
    const char *const *keys;
    size_t nkeys;
    unsigned seen;
};

/* ---- program_words.c ---- */

#define ss_read_fail(r, ...) ss_fail((r)->err, SS_ERR_INPUT, (r)->in.file, (r)->in.line, __VA_ARGS__)
/* Index of the next key: its value is word p->at - 1. -1 at the end, < -1: error. Keys twice are errors. */
int ss_pairs_next(struct ss_pairs *p);
int ss_read_unit(struct ss_reader *r, size_t word, const char *what, enum ss_unit unit, double *out);
int ss_read_int(struct ss_reader *r, size_t word, const char *what, int lo, int hi, int *out);
/* Number of a name; an error with the nearest name when there is none. */
int ss_read_ref(struct ss_reader *r, size_t word, const char *what, const struct ss_names *names, int *out);
/* A word that becomes a name of at most size - 1 bytes. */
int ss_read_name(struct ss_reader *r, size_t word, const char *what, char *out, size_t size);
/* Appends a line number. */
int ss_read_line_of(struct ss_reader *r, int **lines, size_t *cap, int index, int line);
/* Adds the nearest of `names` to an error just made, as a hint; returns rc. */
int ss_read_hint_nearest(struct ss_reader *r, int rc, const char *word, const char *const *names, size_t n);
/* Index of a label, -1 if the word is none. */
int ss_read_label(const char *word);

/* ---- program_read_tables.c: links, paths, mixes, channels, collectives ---- */

int ss_read_link(struct ss_reader *r);
int ss_read_path(struct ss_reader *r);
int ss_read_mix(struct ss_reader *r);
int ss_read_channel(struct ss_reader *r);
int ss_read_collective(struct ss_reader *r);
int ss_read_resolve(struct ss_reader *r);
/* A mix of one label, made when it is first asked for. */
int ss_read_pure_mix(struct ss_reader *r, int label, int *out);

/* ---- program_read_classes.c: templates and classes ---- */

int ss_read_template(struct ss_reader *r);
int ss_read_class(struct ss_reader *r);
