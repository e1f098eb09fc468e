/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face's Trainer, and what it stands on: arguments (transformers: training_args.py; trl; LLaMA-Factory's YAML), a DeepSpeed
 * configuration (deepspeedai/DeepSpeed@edaa722:docs/_pages/config-json.md) and one of accelerate
 * (huggingface/accelerate@16cb6eb:src/accelerate/commands/config/config_args.py). They are read as one tree with the maps `args`,
 * `deepspeed` and `accelerate`, of which each node knows its own file.
 */
#pragma once

#include "import/command.h"
#include "import/reading.h"

/* ---- hf_command.c: files and commands ---- */

/* A DeepSpeed configuration alone, where other words tell the model and the sequence. */
int ss_deepspeed_sniff(const char *text, size_t len);
int ss_deepspeed_add(struct ss_request *r, const char *text, size_t len, const char *file,
                     struct ss_error *err);
/* A configuration of accelerate alone, likewise. */
int ss_accelerate_sniff(const char *text, size_t len);
int ss_accelerate_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err);
/* The YAML of Axolotl, and that of LLaMA-Factory v1. */
int ss_axolotl_sniff(const char *text, size_t len);
int ss_axolotl_add(struct ss_request *r, const char *text, size_t len, const char *file,
                   struct ss_error *err);
int ss_factory_v1_sniff(const char *text, size_t len);
int ss_factory_v1_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err);
/* The YAML of LLaMA-Factory, which names files of DeepSpeed and others. */
int ss_factory_sniff(const char *text, size_t len);
int ss_hf_json_sniff(const char *text, size_t len);
int ss_factory_add(struct ss_request *r, const char *text, size_t len, const char *file,
                   struct ss_error *err);
/* "accelerate launch --config_file FILE train.py --model_name_or_path NAME", "deepspeed train.py --deepspeed FILE ...", torchrun and
 * python likewise; "llamafactory-cli train FILE", "axolotl train FILE", "trl sft --config FILE". */
int ss_hf_command_sniff(const struct ss_words *words, const struct ss_command *c);
int ss_hf_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                      struct ss_error *err);
/* megatron_deepspeed.c: "deepspeed pretrain_gpt.py --num-layers N ... --deepspeed --deepspeed_config FILE --zero-stage 1" */
int ss_megatron_deepspeed_sniff(const struct ss_words *words, const struct ss_command *c);
int ss_megatron_deepspeed_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                              struct ss_error *err);

/* neox.c: GPT-NeoX's YAML, in blocks or in braces, which is Megatron's shape and DeepSpeed's configuration in one; "deepy.py train.py -d
 * configs 125M.yml local_setup.yml". A name in two files is an error, as there. */
int ss_neox_sniff(const char *text, size_t len);
int ss_neox_add(struct ss_request *r, const char *text, size_t len, const char *file, struct ss_error *err);
/* Whether one of several files, whose names are those that `from` gives, is GPT-NeoX's. */
bool ss_neox_any(const char *const *name, size_t n, const char *from);
/* Adds several files as GPT-NeoX merges them. Errors: as of ss_neox_add, and SS_ERR_IO. */
int ss_neox_files_add(struct ss_request *r, const char *const *name, size_t n, const char *from,
                      struct ss_error *err);
int ss_neox_command_sniff(const struct ss_words *words, const struct ss_command *c);
int ss_neox_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                        struct ss_error *err);
extern const struct ss_key_code ss_neox_code[]; /* functions of neox.map */

/* ---- between its files ---- */

/* hf_files.c: reads the DeepSpeed configuration that arguments or accelerate name into the tree's map `deepspeed`; `words` may be NULL. */
int ss_hf_graft_deepspeed(struct ss_tree *tree, const struct ss_words *words, struct ss_error *err);
/* Replaces `args.fsdp_config` by the contents of the file that it names, or by the JSON that it holds. */
int ss_hf_graft_fsdp(struct ss_tree *tree, const struct ss_words *words, struct ss_error *err);
/* Makes the contents of a file, which the file `from` names, the map `section` of the tree; "": its
 * root. Where the file does not exist, a file that frameworks publish is known by its name:
 * "deepspeed/ds_z3_config.json". */
int ss_hf_graft_file(struct ss_tree *tree, const struct ss_words *words, const char *section,
                     const char *name, const char *from, struct ss_error *err);
/* Makes a text the map `section` of the tree; "": its root. */
int ss_hf_graft(struct ss_tree *tree, const char *section, const char *text, size_t len, const char *file,
                struct ss_error *err);

/* A framework that trains with the Trainer, or in the same way, and its own defaults. */
struct ss_hf_kind {
    const char *name, *map;
    int length, batch; /* default of tokens in a row, 0: none; default of rows in a microbatch */
    bool recompute, bf16,
        whole; /* unless the user says otherwise: layers are recomputed; training is in bf16; parameters are in bf16, too */
    bool
        root; /* its file is the root of the tree, and rows of its map move keys to where the Trainer has them */
    bool alone; /* its command starts the processes on this machine by itself */
};
enum ss_hf_kind_index {
    SS_HF_TRAINER,
    SS_HF_DEEPSPEED,
    SS_HF_ACCELERATE,
    SS_HF_FACTORY,
    SS_HF_FACTORY_V1,
    SS_HF_AXOLOTL,
    SS_HF_TRL
};
extern const struct ss_hf_kind ss_hf_kinds[]; /* by enum ss_hf_kind_index */

enum ss_hf_sharding { SS_HF_DDP, SS_HF_ZERO, SS_HF_FSDP, SS_HF_MEGATRON };
struct ss_hf {
    struct ss_reading r;           /* first, so that functions of rows find the rest */
    const struct ss_hf_kind *kind; /* a row of ss_hf_kinds; NULL: Megatron-DeepSpeed */
    int megatron;                  /* 1: this is DeepSpeed's part of Megatron-DeepSpeed */
    const char *script;            /* the script, "run_clm.py"; "": none */
    int64_t stage;                 /* stage of ZeRO; -1: no DeepSpeed */
    enum ss_hf_sharding how;       /* what shards parameters and states */
    const struct ss_words *
        words; /* files are looked for beside the file of these words; NULL: the configuration is a file alone */
    const struct ss_words *own;       /* for Megatron-DeepSpeed: the words with its flags of Megatron-LM */
    const struct ss_command *command; /* for Megatron-DeepSpeed: its launch command */
};
static inline struct ss_hf *ss_hf_of(struct ss_reading *r)
{
    return (struct ss_hf *)r;
}
static inline bool ss_hf_is_factory(struct ss_reading *r)
{
    const struct ss_hf_kind *kind = ss_hf_of(r)->kind;

    return kind && kind == &ss_hf_kinds[SS_HF_FACTORY];
}
/* hf.c: functions of huggingface.map. */
extern const struct ss_key_code ss_hf_code[];
/* hf_kinds.c: sets those keys of the Trainer and of accelerate that no row of axolotl.map and
 * llamafactory-v1.map can set. */
void ss_hf_set_kind(struct ss_reading *r);
/* Fails where DeepSpeed's train_batch_size is a number other than micro x steps x ranks of data
 * parallelism. A factor that is 0 is not told. */
void ss_hf_check_batch(struct ss_reading *r, int64_t micro, int64_t steps, int64_t ranks);
/* hf_sharding.c: returns the number of data-parallel ranks; 0: not known. */
int64_t ss_hf_ranks(struct ss_reading *r);
/* Functions of rows of sharding.map. */
void ss_hf_sharding(struct ss_reading *r, struct ss_tree_node *node);
void ss_hf_fsdp(struct ss_reading *r, struct ss_tree_node *node);
void ss_hf_degrees(struct ss_reading *r, struct ss_tree_node *node);
void ss_hf_buckets(struct ss_reading *r, struct ss_tree_node *node);
#define SS_HF_SHARDING_CODE                                                                                  \
    {"sharding", ss_hf_sharding}, {"fsdp", ss_hf_fsdp}, {"degrees", ss_hf_degrees},                          \
    {                                                                                                        \
        "buckets", ss_hf_buckets                                                                             \
    }
/* Returns true if a node is DeepSpeed's "auto". */
static inline bool ss_hf_is_auto(const struct ss_tree_node *node)
{
    return ss_tree_is(node, "auto");
}
