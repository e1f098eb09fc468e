/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What becomes of the keys of a foreign configuration: a file workloads/importers/NAME.map of the data, whose README describes the
 * language. One row says what one key becomes:
 *
 *     [model]
 *     hidden_size                   whole    --hidden-size
 *     bias                          false    --disable-bias-linear
 *     activation                    pick
 *         gelu =
 *         swiglu fast-swiglu = --swiglu
 *         * = refuse its cost is not known
 *     when fp8
 *         fp8_recipe                value    --fp8-recipe
 *     end
 *
 * A key that no row has is unknown. A row of a key that has no effect, or is refused, is also of all keys below it; no other row may
 * then read one of these, so that a misspelt name never falls under it.
 */
#pragma once

#include <stdbool.h>

#include "base/arena.h"
#include "base/map.h"
#include "stepsim/error.h"

#define SS_KEY_PATH 480 /* bytes of a path, with its final 0 */

/* X(kind, word of the file, what stands behind it) */
#define SS_KEY_KINDS(X)                                                                                      \
    X(VALUE, value, FLAG)  /* a flag, which takes the value as it stands, or all items of a list */          \
    X(WHOLE, whole, FLAG)  /* a flag, which takes a whole number, however it is written (1e6) */             \
    X(LIST, list, FLAG)    /* a flag, which takes a list as one text: a,b; with "[]" behind it [a,b] */      \
    X(TRUE, true, WORDS)   /* true: these words; false: nothing; else an error */                            \
    X(FALSE, false, WORDS) /* false: these words; true: nothing; else an error */                            \
    X(PICK, pick, ELSE)    /* the first case that has the value; "else V": the value of a missing key */     \
    X(ADD, add, FLAG)      /* the words are added, whether the key is there or not */                        \
    X(AS, as, PATH)        /* the value stands at this path instead, where later rows read it */             \
    X(ASSUME, assume, WHY) /* the text is told as assumed where the key is there; with the key "-" always */ \
    X(REFUSE, refuse,                                                                                        \
      WHY) /* the key is refused, unless its value is null, false, 0, empty or one of "unless V V:" */       \
    X(DENY, deny, WHY)     /* likewise: the framework itself refuses the key */                              \
    X(NONE, none, NOTHING) /* the key has no effect on time or memory; its path is told */                   \
    X(PART, part, NOTHING) /* the key has no effect; the section of the row is told once */                  \
    X(OFF, off,                                                                                              \
      NOTHING) /* the key has no effect that anybody needs to know of; no later row reads the key */         \
    X(NAMES, names, NOTHING) /* key "*": each name of the section that Megatron-LM has is its flag */        \
    X(TABLE, table, NOTHING) /* no key, but values for a function to look up, "value value = text" */        \
    X(CODE, code,                                                                                            \
      NAME) /* the function of this name reads the key; without a name the function of another row reads it */

enum ss_key_kind {
#define X(kind, word, behind) SS_KEY_##kind,
    SS_KEY_KINDS(X)
#undef X
};

/* Returns true if rows of this kind make no word. */
static inline bool ss_key_becomes_nothing(enum ss_key_kind kind)
{
    return kind == SS_KEY_REFUSE || kind == SS_KEY_DENY || kind == SS_KEY_NONE || kind == SS_KEY_PART ||
           kind == SS_KEY_OFF;
}

/* A line below a pick or a table. `words` of a pick are flags, the last of which may take the value ("--x
 * %s"), or "refuse WHY"; "%s" in a text stands for the value. */
struct ss_key_case {
    const char *values, *words;
    const char *assumed; /* what is told as assumed; NULL: nothing */
};
struct ss_key_row {
    const char
        *key; /* the paths of all its names from the root, with bars between: "model.a|old.a"; "": no key */
    enum ss_key_kind kind;
    int block; /* index of the innermost block that the row is in; -1: none */
    const char *file;
    int line;
    const char *text; /* the text that follows the kind; "": none */
    const char *section;
    size_t first, ncases; /* for a pick or a table: its lines in `choice` */
};
/* Rows between `when` and `end`. */
struct ss_key_block {
    int outer; /* index of the block around it; -1: none */
    bool negated;
    const char *condition; /* its paths begin at `prefix` */
    const char *prefix;
};
struct ss_keymap {
    const char *file;
    struct ss_key_row *row;
    struct ss_key_case *choice;
    struct ss_key_block *block;
    size_t n, nchoices, nblocks, npaths;
    bool strict; /* "rest refused": a key without a row is an error; otherwise it is noted */
    bool
        renamed; /* "rest refused, names of releases": no release has two names of one key, so unlike values are an error */
    /* private to keymap.c */
    struct ss_key_path {
        const char *text;
        size_t row;
    } * path; /* every name of every row */
    size_t row_cap, choice_cap, block_cap, path_cap;
    struct ss_map index; /* finds a path by its hash */
    struct ss_arena arena;
};

struct ss_reading;
struct ss_tree_node;
/* A function of a `code` row; `node` is NULL where the key is missing or null. */
struct ss_key_code {
    const char *name;
    void (*call)(struct ss_reading *r, struct ss_tree_node *node);
};

/* Declares such a function, which may leave the node unread. */
#define SS_KEY_CALLED(name) void name(struct ss_reading *r, struct ss_tree_node *node __attribute__((unused)))

/* Reads workloads/importers/NAME.map and what it includes. The caller frees *out with ss_keymap_free. `code` ends with a name of NULL;
 * NULL: names of functions are not looked at. Errors, with file and line: SS_ERR_INPUT, SS_ERR_IO, SS_ERR_NOMEM. */
int ss_keymap_load(const char *name, const struct ss_key_code *code, struct ss_keymap **out,
                   struct ss_error *err);
/* Reads a keymap from a text; `file` stands for it in messages. The maps that it includes are those of the
 * data. */
int ss_keymap_parse(const char *text, size_t len, const char *file, const struct ss_key_code *code,
                    struct ss_keymap **out, struct ss_error *err);
void ss_keymap_free(struct ss_keymap *map);
/* Returns the row of the key at this path, or else the row of a key above it that has no effect or is
 * refused; NULL: the key is unknown. */
const struct ss_key_row *ss_keymap_find(const struct ss_keymap *map, const char *path);
/* Returns true if keys below this path have rows. */
bool ss_keymap_is_section(const struct ss_keymap *map, const char *path);
