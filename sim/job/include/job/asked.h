/* SPDX-License-Identifier: Apache-2.0 */
/*
 * What flags ask for, and how a job is made of it:
 *
 *     ss_asked_init(&asked);
 *     ss_asked_parse(&asked, request, notes, ignored, &err);   later words beat earlier ones
 *     ss_asked_finish(&asked, ..., &job, &err);                a job, complete and never changed again
 */
#pragma once

#include "stepsim/job.h"

#define SS_BLAMED sizeof(((struct ss_error *)0)->flags) /* bytes of the flags that a refusal comes from */

/* Layers by letters, as --hybrid-layer-pattern and --mtp-hybrid-override-pattern have them; "": not given. */
struct ss_hybrid {
    char layers[1200], prediction[SS_LAYER_RULE_MAX + 1];
};

/* The rows SS_ASKED of stepsim/job_fields.def, beside the fields of a job as flags give them. Without a flag
 * a field of the job is as ss_job_init sets it, sizes of the job and of its model are 0, and choices of the
 * model are SS_MODEL_UNSET. Two that ask for the same are equal byte by byte. */
struct ss_asked {
    struct ss_job job; /* the first member: paths of flags begin with it */
    unsigned given;    /* SS_GIVEN bits */
#define SS_ASKED(type, field, unset, key) type field;
#include "stepsim/job_fields.def"
};
/* The fields of a job that follow from others where no flag gives them. */
enum {
#define SS_OPEN(path, name) SS_GIVEN_##name,
#include "stepsim/job_fields.def"
    SS_GIVEN_COUNT
};
#define SS_GIVEN(asked, name) ((asked)->given >> SS_GIVEN_##name & 1u)
#define SS_GIVE(asked, name) ((asked)->given |= 1u << SS_GIVEN_##name)
#define SS_TAKE_BACK(asked, name) ((asked)->given &= ~(1u << SS_GIVEN_##name))

/* --recipe. */
enum { SS_RECIPE_OPEN, SS_RECIPE_AUTO, SS_RECIPE_NONE };

/* Words of --cuda-graph-scope. */
enum ss_graph_word {
    SS_GRAPH_WORD_FULL = 1,
    SS_GRAPH_WORD_ITERATION = 2,
    SS_GRAPH_WORD_ATTN = 4,
    SS_GRAPH_WORD_MLP = 8,
    SS_GRAPH_WORD_MOE = 16,
    SS_GRAPH_WORD_ROUTER = 32,
    SS_GRAPH_WORD_PREPROCESS = 64,
    SS_GRAPH_WORD_MAMBA = 128
};

/* Makes *asked ask for nothing. */
void ss_asked_init(struct ss_asked *asked);
/* Asks for a job that there is. */
void ss_asked_of(struct ss_asked *asked, const struct ss_job *job);
/* Adds the words of a request; *asked changes only when all words are right. `--set` and `--scale` are
 * checked and otherwise ignored; `--without` is for a scenario. `notes` gets what was assumed or is not
 * modelled, `ignored` the names of flags without effect on time or memory; each may be NULL. Errors:
 * SS_ERR_USAGE (a command line), SS_ERR_INPUT (a file), SS_ERR_CONFIG (words of a place contradict each
 * other), SS_ERR_UNSUPPORTED, SS_ERR_NOMEM. */
int ss_asked_parse(struct ss_asked *asked, const struct ss_request *r, struct ss_notes *notes,
                   struct ss_notes *ignored, struct ss_error *err);
/* The same, without a copy: after an error *asked is of no use. */
int ss_asked_add(struct ss_asked *asked, const struct ss_request *r, struct ss_notes *notes,
                 struct ss_notes *ignored, struct ss_error *err);
/* A flag that sets something, and its value, if any. */
struct ss_setting {
    const struct ss_flag_setter *setter;
    int nvalues; /* 0 or 1 */
    char value[64];
};
/* Fills in what the words of a request set, in their order. Returns how many there are; -1 where ss_asked_add of them refuses what `asked`
 * asks for, or does more than to set at most `most` flags of no more than one value. */
int ss_asked_settings(const struct ss_asked *asked, const struct ss_request *r, struct ss_setting *out,
                      int most);
/* Does what ss_asked_add of these words does, a tenth of the work. Where it fails ss_asked_add tells why. */
int ss_asked_apply(struct ss_asked *asked, struct ss_setting *settings, int n);
/* Reads a request after each `--without` has taken away what it names. */
int ss_asked_read(struct ss_asked *asked, const struct ss_request *r, struct ss_error *err);
/* What a command needs to be given. */
enum {
    SS_NEED_PLATFORM = 1,
    SS_NEED_MODEL = 2,
    SS_NEED_NODES = 4, /* of a platform that is told by its name */
    SS_NEED_SEQ = 8,
    SS_NEED_MBS = 16,
    SS_NEED_GBS = 32,
    SS_NEED_TOKENS = 64, /* of no flag of a job: the caller needs it where it is not given */
    SS_NEED_VARY = 128,  /* likewise */
    SS_NEEDS_OF_A_RUN = SS_NEED_PLATFORM | SS_NEED_MODEL | SS_NEED_NODES | SS_NEED_SEQ | SS_NEED_MBS
};
/* Fails where one of `needs` is not given: SS_ERR_USAGE, which names all of them. A name of the request that nothing has is told before
 * (SS_ERR_IO). */
int ss_asked_check_given(const struct ss_asked *asked, const struct ss_request *r, unsigned needs,
                         struct ss_error *err);
/* Makes *job. Defaults follow from model and stack; what Megatron or NeMo refuse is refused, with their words
 * as the cause. `world_size` is nodes x GPUs; `gpus_per_node` is for the hybrid group. An error names its
 * place in the request, which may be NULL. *job changes only when everything is right. */
int ss_asked_finish(const struct ss_asked *asked, const struct ss_request *r, const struct ss_stack *stack,
                    int world_size, int gpus_per_node, struct ss_notes *notes, struct ss_job *job,
                    struct ss_error *err);
