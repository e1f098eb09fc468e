/* SPDX-License-Identifier: Apache-2.0 */
/* What the launchers before a script say: which of them there are, and their numbers. */
#ifndef SS_IMPORT_LAUNCHER_H
#define SS_IMPORT_LAUNCHER_H

#include <stdbool.h>

#include "import/command.h"

/* Who counts: the scheduler, whose numbers are what the job was given; what starts processes on nodes (srun, mpirun); what starts those
 * of one node (torchrun, deepspeed). */
enum ss_launcher_layer { SS_LAYER_BATCH, SS_LAYER_STEP, SS_LAYER_NODE, SS_LAYERS };
/* What an option counts. Of a node is each of NODE and GPUS, in all are ALL and CARDS, of one process is PER_TASK. The sets of jsrun have
 * tasks and GPUs. */
enum ss_launcher_count {
    SS_COUNT_NODES,
    SS_COUNT_ALL,
    SS_COUNT_NODE,
    SS_COUNT_GPUS,
    SS_COUNT_PER_TASK,
    SS_COUNT_CARDS,
    SS_COUNT_SETS,
    SS_COUNT_SETS_OF_NODE,
    SS_COUNT_TASKS_OF_SET,
    SS_COUNT_GPUS_OF_SET,
    SS_COUNTS
};
struct ss_launcher_layer_said {
    const char *name; /* of the launcher, a word of the command; NULL: there is none of this layer */
    int line;
    int64_t count[SS_COUNTS]; /* 0: not said */
    const char *hostfile;     /* NULL: none */
    const char *config;       /* of accelerate; NULL: none */
    int64_t most;             /* nodes, of "2:4" 4, of which the count is the least */
    bool whole;               /* "gpu", "auto": as many processes as GPUs */
};
struct ss_launchers {
    struct ss_launcher_layer_said layer[SS_LAYERS];
    int64_t visible; /* GPUs that CUDA_VISIBLE_DEVICES and its like leave; 0: all */
    int visible_line;
    bool itself;     /* the program starts a process for each GPU of the node itself (llamafactory-cli) */
    bool standalone; /* torchrun's one node */
    bool mpi;        /* of the layer STEP, which fills a node before it takes the next */
};

/* launcher_words.c: reads the words of the command before its script. Errors: SS_ERR_INPUT, SS_ERR_UNSUPPORTED (an option that is not
 * modelled). `strict` 0: numbers that are none are left out. */
int ss_launchers_read(const struct ss_words *words, const struct ss_command *c, int strict,
                      struct ss_launchers *out, struct ss_error *err);
/* One of the names of torchrun. */
bool ss_is_torchrun(const char *text);
/* launcher_hosts.c: nodes and GPUs of a file of hosts, "host slots=8", "host:8" or "host" a line. Errors: SS_ERR_IO, SS_ERR_UNSUPPORTED. */
int ss_launcher_hosts(const struct ss_words *words, const char *name, int64_t *hosts, int64_t *slots,
                      struct ss_error *err);
/* num_machines and num_processes of a configuration of accelerate, where they are not said already. */
int ss_launcher_config(const struct ss_words *words, struct ss_launcher_layer_said *said,
                       struct ss_error *err);

#endif
