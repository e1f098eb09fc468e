/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Hugging Face's Trainer, and what it stands on: arguments (transformers: training_args.py; trl; LLaMA-Factory's YAML), a DeepSpeed
 * configuration (deepspeedai/DeepSpeed@edaa722:docs/_pages/config-json.md) and one of accelerate
 * (huggingface/accelerate@16cb6eb:src/accelerate/commands/config/config_args.py). They are read as one tree with the maps `args`,
 * `deepspeed` and `accelerate`, of which each node knows its own file.
 */
#ifndef SS_IMPORT_HF_H
#define SS_IMPORT_HF_H

#include "import/command.h"
#include "import/trainer.h"

/* ---- hf_command.c: files and commands ---- */

/* A DeepSpeed configuration by itself; the model and the sequence come from elsewhere. */
int ss_deepspeed_sniff(const char *text, size_t len);
int ss_deepspeed_add(struct ss_request *r, const char *text, size_t len, const char *file,
                     struct ss_error *err);
/* One of accelerate by itself, likewise. */
int ss_accelerate_sniff(const char *text, size_t len);
int ss_accelerate_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err);
/* LLaMA-Factory's YAML, which names the others. */
int ss_factory_sniff(const char *text, size_t len);
int ss_trainer_json_sniff(const char *text, size_t len);
int ss_factory_add(struct ss_request *r, const char *text, size_t len, const char *file,
                   struct ss_error *err);
/* "accelerate launch --config_file FILE train.py --model_name_or_path NAME", "deepspeed train.py --deepspeed FILE ...", torchrun and
 * python likewise; "llamafactory-cli train FILE". */
int ss_hf_command_sniff(const struct ss_words *words, const struct ss_command *c);
int ss_hf_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                      struct ss_error *err);
/* megatron_deepspeed.c: "deepspeed pretrain_gpt.py --num-layers N ... --deepspeed --deepspeed_config FILE --zero-stage 1" */
int ss_megatron_deepspeed_sniff(const struct ss_words *words, const struct ss_command *c);
int ss_megatron_deepspeed_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                              struct ss_error *err);

/* ---- between its files ---- */

/* hf_files.c: reads the DeepSpeed configuration that arguments or accelerate name into the tree's map `deepspeed`; `words` may be NULL. */
int ss_hf_graft_deepspeed(struct ss_tree *tree, const struct ss_words *words, struct ss_error *err);
/* Puts the file that `args.fsdp_config` names, or the JSON that it is, in its place. */
int ss_hf_graft_fsdp(struct ss_tree *tree, const struct ss_words *words, struct ss_error *err);
/* Makes the contents of a file, named in the file `from`, the map `section` of the tree. */
int ss_hf_graft_file(struct ss_tree *tree, const struct ss_words *words, const char *section,
                     const char *name, const char *from, struct ss_error *err);
/* The same of a text. */
int ss_hf_graft(struct ss_tree *tree, const char *section, const char *text, size_t len, const char *file,
                struct ss_error *err);
/* Nodes and GPUs of DeepSpeed's launcher, which may be in a host file. */
int ss_hf_hosts(const struct ss_words *words, struct ss_command *c, struct ss_error *err);
/* The value of an option among words first .. end - 1; NULL: it is not there. */
const char *ss_hf_value(const struct ss_words *words, size_t first, size_t end, const char *name);

enum ss_hf_sharding { SS_HF_DDP, SS_HF_ZERO, SS_HF_FSDP, SS_HF_MEGATRON };
struct ss_hf {
    struct ss_trainer t;
    int factory;             /* LLaMA-Factory: its defaults */
    int megatron;            /* Megatron-DeepSpeed: DeepSpeed's part of it */
    const char *script;      /* "run_clm.py"; "": none */
    int64_t stage;           /* of ZeRO; -1: no DeepSpeed */
    enum ss_hf_sharding how; /* of ss_hf_map_sharding */
};
/* hf.c: everything. */
void ss_hf_map(struct ss_hf *x);
/* Fails where DeepSpeed's train_batch_size is a number that micro x steps x ranks of data parallelism do not make; 0: not said. */
void ss_hf_check_batch(struct ss_trainer *t, int64_t micro, int64_t steps, int64_t ranks);
/* hf_sharding.c: sizes, ZeRO, FSDP, data parallelism. */
void ss_hf_map_sharding(struct ss_hf *x);
/* Buckets of ZeRO; behind the model, whose width the Trainer fills in for "auto". */
void ss_hf_map_buckets(struct ss_hf *x);
/* hf_megatron.c: accelerate's Megatron-LM. */
void ss_hf_map_megatron(struct ss_hf *x);
/* hf_rules.c: what is left of the tree. */
void ss_hf_rest(struct ss_hf *x);
/* Whether a node is DeepSpeed's "auto". */
static inline bool ss_hf_is_auto(const struct ss_tree_node *node)
{
    return ss_tree_is(node, "auto");
}

#endif
