/* SPDX-License-Identifier: Apache-2.0 */
/*
 * torchtitan: job files in TOML (from 2024 to February 2026), and the configuration that it saves as JSON (--job.save_config_file,
 * since 2026 --debug.save_config_file). Names of keys are those of pytorch/torchtitan@40b54e4:torchtitan/config/job_config.py, before
 * them those of @9dec370:torchtitan/config_manager.py, behind them those of @b5bcd76:torchtitan/config/configs.py.
 */
#pragma once

#include "import/command.h"
#include "import/reading.h"

int ss_titan_toml_sniff(const char *text, size_t len);
int ss_titan_toml_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err);
/* The saved JSON, also where it follows "Running with configs: " in a log. */
int ss_titan_json_sniff(const char *text, size_t len);
int ss_titan_json_add(struct ss_request *r, const char *text, size_t len, const char *file,
                      struct ss_error *err);
/* "torchrun ... -m torchtitan.train --job.config_file FILE --parallelism.tensor_parallel_degree=2" */
int ss_titan_command_sniff(const struct ss_words *words, const struct ss_command *c);
int ss_titan_command_add(struct ss_request *r, const struct ss_words *words, const struct ss_command *c,
                         struct ss_error *err);

/* ---- between its files ---- */

#define SS_TITAN_MOST ((int64_t)1 << 26)
/* Values that several functions of torchtitan.map need. */
struct ss_titan {
    struct ss_reading r; /* first, so that functions of rows find the rest */
    int first;           /* 1: the file is of before June 2025, by its keys */
    int newest; /* 1: the file was saved since February 2026: it has keys of @b5bcd76, or some of them */
    int tokens; /* 1: batches are told in tokens, as in @b5bcd76 */
    int64_t tp, pp, cp, ep;   /* degrees of parallelism */
    int64_t replicate, shard; /* shard -1: all GPUs that are left */
    int64_t steps;            /* microbatches of a pipeline in an iteration */
    char model[160];          /* the value for --model */
};
static inline struct ss_titan *ss_titan_of(struct ss_reading *r)
{
    return (struct ss_titan *)r;
}
/* torchtitan_parallel.c: functions of torchtitan.map; torchtitan_pipeline.c and torchtitan_kernels.c have some of them. */
extern const struct ss_key_code ss_titan_code[];
void ss_titan_pipeline(struct ss_reading *r, struct ss_tree_node *node);
void ss_titan_recompute(struct ss_reading *r, struct ss_tree_node *node);
void ss_titan_compile(struct ss_reading *r, struct ss_tree_node *node);
void ss_titan_precision(struct ss_reading *r, struct ss_tree_node *node);
void ss_titan_optimizer(struct ss_reading *r, struct ss_tree_node *node);
