/* SPDX-License-Identifier: Apache-2.0 */
/* What the files of the job reader share. */
#pragma once

#include "job/asked.h"
#include "stepsim/stack.h"

/* Whether a word is a flag, not a value: "--x". */
static inline int ss_is_flag(const char *text)
{
    return text[0] == '-' && text[1] == '-' && text[2];
}
/* Returns the number of values of the flag at index i, which takes `values` ('0', '1', '+', '*'): the words
 * behind it in its place. */
size_t ss_request_values(const struct ss_request *r, size_t i, char values);

/* The value of a flag, "--set", where the word at index i gives it, by a word of its own or behind "="; else NULL. */
const char *ss_request_value_of(const struct ss_request *r, size_t i, const char *flag);
/* Returns a copy of the text that the request owns; NULL: out of memory. */
char *ss_request_keep_text(struct ss_request *r, const char *text);
/* Whether ss_request_resolve has anything to do. */
int ss_request_has_what_if(const struct ss_request *r);
/* Adds the names, with their "--", that words "--dropped=NAME,NAME" have. Error: SS_ERR_NOMEM. */
int ss_request_dropped(const struct ss_request *r, struct ss_notes *names);
/* Whether a later place gives the flag at word i again, under any name; values of --set and --scale add up. */
int ss_request_is_beaten(const struct ss_request *r, size_t i);

/* ---- job_faults.c: flags that cannot be taken, all of which one error tells ---- */
struct ss_faults {
    int n;
    struct ss_error first;
    char unknown[2000],
        refused[2000]; /* "--use-mpi (12), --lab-flag (13)": names, or messages, each with its line */
};
/* The error of a word that is no flag: its hint is a name only where that is likely what was meant. */
int ss_faults_unknown(const struct ss_request *r, size_t i, struct ss_error *err);
/* Keeps the error of a flag that is unknown or refused and returns SS_OK, so that the words behind it are read; else returns its code. */
int ss_faults_add(struct ss_faults *f, const struct ss_request *r, size_t i, const struct ss_error *why);
/* Makes *err of the errors that were kept, or of *why where there is none but `rc`; returns its code. */
int ss_faults_end(struct ss_faults *f, int rc, const struct ss_error *why, struct ss_error *err);

/* Adds the places, words and notes of a request behind those of *to. Error: SS_ERR_NOMEM. */
int ss_request_append(struct ss_request *to, const struct ss_request *r, struct ss_error *err);
/* Moves them there, to a request without notes, and leaves *r empty. Error: SS_ERR_NOMEM; then both are as before. */
int ss_request_move(struct ss_request *to, struct ss_request *r, struct ss_error *err);

/* What is known where words leave something open. */
struct ss_assume {
    struct ss_input_cache *inputs;
    const char *card;
    int gpus; /* of the job; 0: nobody says how many nodes */
};
/* Reads words into *asked, but for those that take others away, which may be assumed ones. Returns why it cannot. */
int ss_request_said(const struct ss_request *r, struct ss_asked *asked);
/* Whether words may leave something open that is assumed, before they are read. */
int ss_assume_may_apply(const struct ss_request *r);
/* Whether what words leave open is assumed: people typed them, or they ask for it by --recipe auto. */
int ss_assume_applies(const struct ss_request *r, const struct ss_asked *asked);
/* Whether what is assumed depends on what the words ask for, as a recipe does. */
int ss_assume_asks_job(const struct ss_request *r);
/* Puts what is assumed before the words, in places that say whence: the precision (bf16) and the nearest recipe of the stack's release. After
 * an error the request is of no use but to be freed. */
int ss_assume(const struct ss_assume *a, const struct ss_asked *asked, struct ss_request *r,
              struct ss_error *err);
/* Puts before the words what is assumed whatever the job is. */
int ss_assume_defaults(struct ss_request *r, struct ss_error *err);

/* The inputs and the result while a job is made. */
struct ss_finish {
    const struct ss_asked *asked;
    struct ss_job *job;               /* as it is asked for at first */
    const struct ss_request *request; /* for the places of errors; may be NULL */
    struct ss_input_cache *inputs;    /* where models are read; NULL: anew */
    const struct ss_stack *stack;
    int world_size, gpus_per_node;
    struct ss_notes *notes;
    struct ss_error *err;
    char *blamed; /* [SS_BLAMED]; gets the flags of a refusal where err is NULL; may be NULL */
};
/* Makes *f->job of *f->asked; of no use if this fails. */
int ss_job_complete(struct ss_finish *f);
/* The backend that runs: what the job asks for, or what the stack takes by itself, and in fp32 no other than unfused. */
int ss_job_attention(const struct ss_job *job, const struct ss_stack *stack);
/* Refuse what the framework refuses, before and after the defaults are in place. */
int ss_job_check_layout(struct ss_finish *f);
int ss_job_check_stages(struct ss_finish *f);
int ss_job_check_features(struct ss_finish *f);
/* The same for experts: sizes, before the world is divided; the division of the world; checks that need all
 * defaults. */
int ss_job_check_expert_layout(struct ss_finish *f);
int ss_job_check_expert_world(struct ss_finish *f);
int ss_job_check_expert_features(struct ss_finish *f);
/* ---- missing.c ---- */
/* Checks that there are what --platform and --model name, and that the model can be read. Errors: SS_ERR_IO, SS_ERR_INPUT. */
int ss_request_check_names(const struct ss_request *r, struct ss_error *err);
/* ---- job_hybrid.c ---- */
/* Whether layers are a mixer or an MLP alone, by a pattern of flags or of a config.json. */
int ss_job_has_halves(const struct ss_model *m);
/* Sets the layers of a model and the layout of the stages by --hybrid-layer-pattern. */
int ss_job_complete_hybrid(struct ss_finish *f, struct ss_model *m);
/* Refuses tensor and context sizes that do not divide heads and groups of Mamba. */
int ss_job_check_mamba(struct ss_finish *f);
/* ---- job_sparse.c ---- */
/* Sets which layers have sparse attention by --experimental-attention-variant dsa, and the loss of its indexer. */
int ss_job_complete_sparse(struct ss_finish *f, struct ss_model *m);
/* Refuses what sparse attention lacks under tensor, context and pipeline parallelism, of so many virtual stages a rank. */
int ss_job_check_sparse(struct ss_finish *f, int virtual_stages);
/* ---- job_streams.c ---- */
/* Sets the streams of the residual by flags; from_file 1: those of a file are the model's own. */
void ss_job_complete_streams(struct ss_finish *f, struct ss_model *m, int from_file);
/* Refuses what hyper-connections, and layers that choose experts by a table, lack. */
int ss_job_check_streams(struct ss_finish *f, int virtual_stages);
/* ---- job_check_layers.c ---- */
/* Refuses tensor and context ranks of mixers that no framework divides. */
int ss_job_check_undivided(struct ss_finish *f);
/* ---- job_encoders.c ---- */
/* Sets the size of pictures, and drops the encoders of a job without pictures or sound. */
int ss_job_complete_encoders(struct ss_finish *f, struct ss_model *m);
/* Refuses pictures that the encoder does not take, and tensor sizes that do not divide an encoder. */
int ss_job_check_encoders(struct ss_finish *f);
/* ---- job_linear.c ---- */
/* Sets which layers are gated delta nets by --linear-attention-freq. */
int ss_job_complete_linear(struct ss_finish *f, struct ss_model *m);
/* Refuses tensor and context sizes that do not divide heads of linear attention. */
int ss_job_check_linear(struct ss_finish *f);
/* The layout of --pipeline-model-parallel-layout; *v is its virtual stages a rank, 0 for one. */
int ss_job_check_pipeline_layout(struct ss_finish *f, int *v);
/* Whether a layer has a dense MLP. */
int ss_job_has_dense_layer(const struct ss_job *job);
/* Transformer layers of the pipeline rank that a layout gives most. */
int ss_job_layout_most(const struct ss_job *job);
/* Refuses flags that are read and have no price yet. */
int ss_job_check_unpriced(struct ss_finish *f);
/* Completes the model: flags over its config.json, and defaults of both. */
int ss_job_complete_model(struct ss_finish *f);
/* job_forks.c: schedule, experts and padded layers as flags of forks say them. */
void ss_job_complete_forks(struct ss_finish *f);
int ss_job_complete_padding(struct ss_finish *f);
/* Whether --max-position-embeddings is given. */
static inline int ss_job_gives_positions(const struct ss_finish *f)
{
    return f->asked->job.model.max_position_embeddings > 0;
}
/* The dispatcher; notes of flags of experts without effect. */
void ss_job_complete_experts(struct ss_finish *f);
/* Refuses CUDA graphs that the framework refuses. */
int ss_job_check_graphs(struct ss_finish *f);
/* Recompute: refusals, defaults, and notes on modules that the model lacks. */
int ss_job_check_recompute(struct ss_finish *f);
void ss_job_complete_recompute(struct ss_finish *f);
/* The optimizer: refusals, defaults, and a note on flags of Muon without it. */
int ss_job_check_optimizer(struct ss_finish *f);
void ss_job_complete_optimizer(struct ss_finish *f);
void ss_job_note_muon(struct ss_finish *f);
/* Whether --cpu-offloading is asked for, be it of no layer. */
int ss_job_offloads_layers(const struct ss_finish *f);
/* Offload by module: refusals, and notes on modules that have nothing to move, which are left out. */
int ss_job_check_offload_modules(struct ss_finish *f);
void ss_job_complete_offload_modules(struct ss_finish *f);
/* Packed sequences: refuses what Megatron refuses beside them; then makes their rows, or notes flags without
 * lengths. */
int ss_job_check_packed(struct ss_finish *f);
/* What the release of the stack has not, of flags and of kernels of attention. */
int ss_job_check_release(struct ss_finish *f);
/* fp8 and fp4: refusals, and settings that are not active. */
int ss_job_check_quantized(struct ss_finish *f);
void ss_job_complete_quantized(struct ss_finish *f);
int ss_job_complete_packed(struct ss_finish *f);
/* Notes flags of a completed job that do nothing for want of another one. */
void ss_job_note_idle(struct ss_finish *f);
/* SS_ERR_CONFIG with this cause. */
int ss_job_refuse(struct ss_finish *f, const char *fmt, ...) __attribute__((format(printf, 2, 3)));
/* Notes in the error the flags that it comes from, most telling first, and the place of the first one in the request. */
void ss_job_blame(struct ss_finish *f, const char *flags);
/* One cause, the flags that it comes from, most telling first, and one thing to do about it. */
#define REFUSE(f, flags, hint, ...)                                                                          \
    return (ss_job_refuse(f, __VA_ARGS__), ss_job_blame(f, flags),                                           \
            ss_hint((f)->err, SS_ERR_CONFIG, "%s", hint))

/* scenario_scale.c: SS_ERR_USAGE with what to set instead where a prop that may be set changes no prediction. */
int ss_set_refuses(int prop, const char *option, struct ss_error *err);
