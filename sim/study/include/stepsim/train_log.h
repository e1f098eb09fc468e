/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Logs of training runs: time, rates and memory of an iteration as frameworks print them.
 *
 *     ss_train_log_load("run.log", &log, &err);
 *     log->told[SS_TOLD_SECONDS] ...                0: the log does not tell it
 *     ss_train_log_free(log);
 */
#pragma once

#include "stepsim/result.h"

SS_C_BEGIN

/* Who writes logs that are read. X(symbol, name) */
#define SS_LOGGER_LIST(X)                                                                                    \
    X(SS_LOGGER_NONE, "given")                                                                               \
    X(SS_LOGGER_MEGATRON, "Megatron-LM")                                                                     \
    X(SS_LOGGER_BRIDGE, "Megatron-Bridge")                                                                   \
    X(SS_LOGGER_NEMO, "NeMo")                                                                                \
    X(SS_LOGGER_NEOX, "GPT-NeoX")                                                                            \
    X(SS_LOGGER_TORCHTITAN, "torchtitan")                                                                    \
    X(SS_LOGGER_NANOTRON, "nanotron")                                                                        \
    X(SS_LOGGER_DEEPSPEED, "DeepSpeed")                                                                      \
    X(SS_LOGGER_TRAINER, "Hugging Face Trainer")                                                             \
    X(SS_LOGGER_SWIFT, "ms-swift")                                                                           \
    X(SS_LOGGER_COMPOSER, "Composer")                                                                        \
    X(SS_LOGGER_INTERN, "InternEvo")                                                                         \
    X(SS_LOGGER_NANOGPT, "nanoGPT")                                                                          \
    X(SS_LOGGER_MMENGINE, "XTuner on mmengine")                                                              \
    X(SS_LOGGER_XTUNER, "XTuner")                                                                            \
    X(SS_LOGGER_MAXTEXT, "MaxText")                                                                          \
    X(SS_LOGGER_TORCHTUNE, "torchtune")                                                                      \
    X(SS_LOGGER_COLOSSAL, "Colossal-AI")                                                                     \
    X(SS_LOGGER_AUTOMODEL, "NeMo AutoModel")                                                                 \
    X(SS_LOGGER_LIGHTNING, "Lightning")
enum ss_logger {
#define X(symbol, name) symbol,
    SS_LOGGER_LIST(X)
#undef X
        SS_LOGGERS
};
/* Returns the name of a framework (enum ss_logger). Never NULL. */
const char *ss_logger_name(int logger);

/* What a run tells of an iteration, the most direct first. X(symbol, key, words) */
#define SS_TOLD_LIST(X)                                                                                      \
    X(SS_TOLD_SECONDS, "iteration_s", "time of an iteration, s")                                             \
    X(SS_TOLD_TOKENS_GPU, "tokens_per_s_per_gpu", "tokens/s a GPU")                                          \
    X(SS_TOLD_TOKENS, "tokens_per_s", "tokens/s of all GPUs")                                                \
    X(SS_TOLD_SAMPLES, "samples_per_s", "samples/s of all GPUs")                                             \
    X(SS_TOLD_TFLOPS, "tflops_per_gpu", "TFLOP/s a GPU")                                                     \
    X(SS_TOLD_MFU, "mfu", "MFU")                                                                             \
    X(SS_TOLD_ALLOCATED, "allocated_bytes", "memory allocated")                                              \
    X(SS_TOLD_RESERVED, "reserved_bytes", "memory reserved")                                                 \
    X(SS_TOLD_DEVICE, "device_bytes", "memory of the device")                                                \
    X(SS_TOLD_BATCH, "global_batch", "global batch")
enum ss_told {
#define X(symbol, key, words) symbol,
    SS_TOLD_LIST(X)
#undef X
        SS_TOLD_COUNT
};
/* Figures before this one tell how fast a run is. */
#define SS_TOLD_RATES SS_TOLD_ALLOCATED
/* Returns the key of a figure: "tokens_per_s". Never NULL. */
const char *ss_told_key(int told);
/* Returns the words for a figure. Never NULL. */
const char *ss_told_words(int told);

struct ss_train_log {
    int logger;     /* enum ss_logger: of the figure that comes first in SS_TOLD_LIST */
    int iterations; /* lines that tell that figure */
    int used;       /* of them, without the first ones */
    int whole_run;  /* 1: it is a mean over a whole run, its first iterations included */
    double seconds; /* median time of an iteration, 0: not printed */
    double spread;  /* median absolute deviation of that figure over its median */
    double tflops;  /* median TFLOP/s a GPU as printed, 0 = not printed */
    /* bytes: largest "max allocated" and "max reserved" of any rank, 0 = not printed */
    double allocated, reserved;
    int global_batch;           /* as printed last, 0 = not printed */
    int count;                  /* enum ss_flop_count, of tflops and MFU */
    double told[SS_TOLD_COUNT]; /* medians; of memory the largest, of the batch the last; 0: not printed */
    int ntimers;                /* median of each timer, without the first values; of ranks the largest */
    struct ss_timer *timers;
    int micro;  /* 1: told[SS_TOLD_SECONDS] is of a microbatch where the optimizer steps once in several */
    int unread; /* lines that look as if they told a speed, and are of no known logger */
    int unread_line;      /* number of the first of them */
    char unread_text[96]; /* and how it begins */
    char doubt[320];      /* why the figures cannot be those of one run; "": they can */
};
/* Reads what a training loop printed, of the frameworks of SS_LOGGER_LIST. The
 * caller frees *out with ss_train_log_free. Errors: SS_ERR_IO, SS_ERR_INPUT (no figure of SS_TOLD_RATES). */
int ss_train_log_load(const char *path, struct ss_train_log **out, struct ss_error *err);
/* Reads such a log from `len` bytes of memory; messages call it `name`. */
int ss_train_log_parse(const char *text, unsigned long len, const char *name, struct ss_train_log **out,
                       struct ss_error *err);
/* Frees it. NULL is allowed. */
void ss_train_log_free(struct ss_train_log *log);

SS_C_END
