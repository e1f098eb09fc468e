/* SPDX-License-Identifier: Apache-2.0 */
/* Which launchers stand before a script, and which numbers they name. */
#pragma once

#include "import/command.h"

/* The layers of launchers that name numbers: BATCH, the scheduler, whose numbers are what the job was
 * given; STEP, which starts processes on nodes (srun, mpirun); NODE, which starts the processes of one
 * node (torchrun, deepspeed). */
enum ss_launcher_layer { SS_LAYER_BATCH, SS_LAYER_STEP, SS_LAYER_NODE, SS_LAYERS };
/* What an option counts: NODES; processes in ALL or of a NODE; GPUS of a node, of one process (PER_TASK)
 * or in all (CARDS); the SETS of jsrun, which have tasks and GPUs; CPUS of a
 * process; LINES for a node in a file of hosts. */
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
    SS_COUNT_CPUS,
    SS_COUNT_LINES,
    SS_COUNTS
};
struct ss_launcher_layer_said {
    const char *name; /* the launcher's name, a word of the command; NULL: this layer has no launcher */
    int line;
    int64_t count[SS_COUNTS]; /* 0: not said */
    const char *hostfile;     /* NULL: none */
    const char *config;       /* the configuration file of accelerate; NULL: none */
    int64_t most;             /* the most nodes, 4 for "2:4"; the count has the least */
    bool whole;               /* "gpu", "auto": as many processes as GPUs */
};
struct ss_launchers {
    struct ss_launcher_layer_said layer[SS_LAYERS];
    int64_t visible; /* GPUs that CUDA_VISIBLE_DEVICES and its like leave; 0: all */
    int visible_line;
    int64_t world;   /* processes in all by WORLD_SIZE; 0: not said */
    bool itself;     /* the program starts a process for each GPU of the node itself (llamafactory-cli) */
    bool standalone; /* torchrun's one node */
    bool mpi;        /* the launcher of layer STEP fills a node before it takes the next */
};

/* launcher_words.c: reads the words of a command before its script. `strict` 0: a value that should be a
 * number and is none is ignored. Errors: SS_ERR_INPUT, SS_ERR_UNSUPPORTED (an option that is not
 * modelled). */
int ss_launchers_read(const struct ss_words *words, const struct ss_command *c, int strict,
                      struct ss_launchers *out, struct ss_error *err);
/* Reads the words of a script's lines for a scheduler, whose `program` would. Values that are no number are ignored. Errors: those of ss_launchers_read, in
 * the file `script`. */
int ss_launcher_lines(const struct ss_words *words, const char *program, const char *script,
                      struct ss_launcher_layer_said *said, struct ss_error *err);
/* launcher_sizes.c: returns the GPUs of a node, of so many nodes, as a layer asks for them; 0: it does not. */
int64_t ss_launcher_gpus(const struct ss_launcher_layer_said *said, int64_t nodes);
/* launcher_variables.c: fills c->set from variables that the launcher gives, "NCCL_NVLS_ENABLE=0", "mpirun -x", "srun --export", and notes those
 * that are obeyed, and those that are not modelled. */
void ss_launcher_variables(const struct ss_words *words, struct ss_command *c, struct ss_notes *notes);
/* Returns true if a word is one of the names of torchrun. */
bool ss_is_torchrun(const char *text);
/* launcher_hosts.c: reads the nodes and their slots from a file of hosts, whose lines are "host
 * slots=8", "host:8" or "host". Errors: SS_ERR_IO, SS_ERR_UNSUPPORTED. */
int ss_launcher_hosts(const struct ss_words *words, const char *name, int64_t *hosts, int64_t *slots,
                      struct ss_error *err);
/* Reads num_machines and num_processes from a configuration of accelerate, where the command does not
 * tell them. */
int ss_launcher_config(const struct ss_words *words, struct ss_launcher_layer_said *said,
                       struct ss_error *err);
/* launcher_cards.c: notes the options among the words from .. end - 1 that ask for cards which the platform does not have. */
void ss_launcher_cards(const struct ss_words *words, size_t from, size_t end,
                       const struct ss_cluster *cluster, const char *place, struct ss_notes *notes);
/* What a script asks PBS for; 0: it does not tell. */
struct ss_pbs {
    int nodes, gpus, tasks; /* nodes, GPUs of a node, processes of a node */
    int lines;              /* lines for a node in the file of hosts */
};
/* launcher_pbs.c: reads a list, "select=4:ngpus=8:mpiprocs=8,walltime=2:00", "nodes=4:ppn=8", "rt_F=4", up to a blank. What it does not tell stays. */
void ss_pbs_list(const char *list, struct ss_pbs *out);
/* Reads a list of pjsub, "rscgrp=regular-a,node=2x3:torus", "gpu=4", "max-proc-per-node=8". */
void ss_pjm_list(const char *list, int64_t count[SS_COUNTS]);
/* ---- launcher_misspelt.c ---- */

/* Returns whether the word is the name misspelt, or has its number in the same word: "-np16". */
bool ss_launcher_is_misspelt(const char *word, const char *name);
/* Refuses a list of resources of qsub or bsub in which a word before "=" is like one that counts. Errors: SS_ERR_INPUT. */
int ss_launcher_resources(const char *program, const char *list, const char *file, int line,
                          struct ss_error *err);
