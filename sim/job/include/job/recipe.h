/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Recipes: what a framework's release sets for a model on a card, of which published tables and people say little. workloads/recipes.csv has
 * them, a row each, with its source; workloads/recipes.py makes the file.
 */
#pragma once

#include "base/csv.h"
#include "stepsim/request.h"
#include "stepsim/stack.h"

/* The place of a recipe's words in messages and results, the same on every machine. */
#define SS_RECIPES_FILE "workloads/recipes.csv"

/* A layout of stages. */
#define SS_RECIPE_STAGES "--pipeline-model-parallel-layout"

/* What is known of a job: "" and 0 where nothing is told. */
struct ss_recipe_key {
    const char *stack, *model;
    const char *card;      /* its name, "GB200-186GB"; the part before "-" counts; "" where none is told */
    const char *precision; /* a word of --precision, or "fp8_block" */
    int gpus, tp, pp, cp, vp, ep, mbs, gbs; /* vp -1: one, unless a recipe's layout of stages says it */
};

/* What a row must have: this very release; a layout of stages for the job's pipeline. */
enum { SS_RECIPE_RELEASE = 1, SS_RECIPE_LAYOUT = 2 };

/* Finds the row nearest to a job in ss_csv_load's table: the stack (or the nearest release of its framework), the model, and a card of one
 * family (H or B) must be there, and what `must` asks for; precision, layout and size count as far as they are told. An empty field of the
 * table is right for all jobs. Returns the row, or -1 where there is none; `differs` gets in what it differs, "26.02 for 26.04, 256 GPUs for 128". */
int ss_recipe_nearest(const struct ss_csv *recipes, const struct ss_recipe_key *key, int must, char *differs,
                      size_t size);
/* What of a row is taken. */
struct ss_recipe_use {
    const struct ss_request *said; /* what the job says: words of a thing of which it has any are left out */
    const char *only;              /* flags that are taken, with blanks between; NULL: all */
    int whole; /* 1: with layout and batch, as far as `said` gives none, for the GPUs of the key */
    const struct ss_stack *stack; /* words of a later release than this are left out; NULL: none */
};
/* Adds the words of a row in a place of their own, with the file and line of the row. The layout of stages is left out where pipeline and
 * virtual stages are not the row's, and has as many MTP layers as the job says. Errors: SS_ERR_NOMEM. */
int ss_recipe_add(const struct ss_csv *recipes, int row, const struct ss_recipe_key *key,
                  const struct ss_recipe_use *use, struct ss_request *out, struct ss_error *err);
/* Whether two flags of a recipe are one thing, as those of a dispatcher and its backend: one without the other is no job. */
int ss_recipe_same_thing(const char *a, const char *b);
/* Makes the last place one of words that nobody gave. Error: SS_ERR_NOMEM. */
int ss_request_assumed(struct ss_request *r, const char *whence, struct ss_error *err);
/* Whether a request gives a flag of the layout: tensor, pipeline, context, expert parallelism or virtual stages. */
int ss_recipe_has_layout(const struct ss_request *r);

/* Makes *out, which must not be initialised, the request of which search and capacity make layouts. Words that people typed get bf16 in front of
 * them where they give no precision, and no recipe, for a recipe is of a layout; a note says where the stack's release has one. Words of
 * files are copied as they are. The caller frees *out with ss_request_free, unless the call fails. Errors: SS_ERR_UNSUPPORTED (--recipe auto), SS_ERR_NOMEM, those of reading workloads/recipes.csv. */
int ss_request_open(const struct ss_request *r, struct ss_request *out, struct ss_error *err);
