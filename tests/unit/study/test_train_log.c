/* SPDX-License-Identifier: Apache-2.0 */
/* Lines of each framework's log, written by hand after the sources of its logger. */
#include <math.h>
#include <string.h>

#include "stepsim/train_log.h"
#include "suite.h"

#define MIB 1048576.0
#define GIB 1073741824.0

static struct ss_train_log *read(const char *text)
{
    struct ss_train_log *log = NULL;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_train_log_parse(text, strlen(text), "t.log", &log, &err), 0);
    return log;
}

static void tells(const struct ss_train_log *log, int told, double value)
{
    CU_ASSERT_DOUBLE_EQUAL(log->told[told], value, 1e-9 * value);
}

TEST(megatron)
{
    struct ss_train_log *log = read(" [2026-01-02 03:04:05] iteration        1/     100 | elapsed time per "
                                    "iteration (ms): 30000.0 | throughput per GPU "
                                    "(TFLOP/s/GPU): 60.0 | global batch size:   128 | lm loss: 1.2E+01 |\n"
                                    "[Rank 0] (after 1 iterations) memory (MB) | allocated: 1000.0 | max "
                                    "allocated: 54251.5 | reserved: 60000.0 | max "
                                    "reserved: 61490.0\n"
                                    " iteration        2/     100 | elapsed time per iteration (ms): 5000.0 "
                                    "| throughput per GPU (TFLOP/s/GPU): 240.0 | "
                                    "global batch size:   128 |\n"
                                    " iteration        3/     100 | elapsed time per iteration (ms): 5200.0 "
                                    "| throughput per GPU (TFLOP/s/GPU): 230.0 | "
                                    "global batch size:   128 |\n");

    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_MEGATRON);
    CU_ASSERT_EQUAL(log->iterations, 3);
    CU_ASSERT_EQUAL(log->used, 2);
    tells(log, SS_TOLD_SECONDS, 5.1);
    tells(log, SS_TOLD_TFLOPS, 235);
    tells(log, SS_TOLD_ALLOCATED, 54251.5 * MIB);
    tells(log, SS_TOLD_RESERVED, 61490.0 * MIB);
    tells(log, SS_TOLD_BATCH, 128);
    CU_ASSERT_EQUAL(log->count, SS_COUNT_STACK);
    ss_train_log_free(log);
}

TEST(bridge_and_nemo)
{
    struct ss_train_log *log = read("Step Time : 9.09s GPU utilization: 663.5MODEL_TFLOP/s/GPU\n"
                                    "Step Time: 0.50s , 32680.36 tok/s/gpu, GPU utilization: 257.1 "
                                    "MODEL_TFLOP/s/GPU , Peak Mem: 64.5GB\n");

    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_BRIDGE);
    tells(log, SS_TOLD_SECONDS, (9.09 + 0.50) / 2);
    tells(log, SS_TOLD_TFLOPS, (663.5 + 257.1) / 2);
    tells(log, SS_TOLD_TOKENS_GPU, 32680.36);
    ss_train_log_free(log);
    log =
        read("Training epoch 0, iteration 5/9 | lr: 1.5e-07 | global_batch_size: 32 | max_memory_reserved: "
             "48318382080 | "
             "max_memory_allocated: 40000000000 | train_step_timing in s: 3.53 | TFLOPS_per_GPU: 6.71e+02\n");
    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_NEMO);
    tells(log, SS_TOLD_SECONDS, 3.53);
    tells(log, SS_TOLD_TFLOPS, 671);
    tells(log, SS_TOLD_RESERVED, 48318382080.0);
    tells(log, SS_TOLD_BATCH, 32);
    ss_train_log_free(log);
    log = read(
        "Epoch 0: :   1%| 10/1000 [01:10<1:55:00, reduced_train_loss=9.1, train_step_timing in s=7.620]\n");
    tells(log, SS_TOLD_SECONDS, 7.62);
    ss_train_log_free(log);
}

TEST(torchtitan)
{
    struct ss_train_log *log =
        read("[rank0]:[titan] 2026-01-01 - root - INFO - \033[31mstep: 10  \033[32mloss:  7.2  "
             "\033[33mmemory: 43.25GiB(45.52%)  "
             "\033[34mtps: 7,123  \033[36mtflops: 411.25  \033[35mmfu: 41.58%\033[39m\n"
             "https: 99 //tps\n");

    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_TORCHTITAN);
    CU_ASSERT_EQUAL(log->iterations, 1);
    tells(log, SS_TOLD_TOKENS_GPU, 7123);
    tells(log, SS_TOLD_TFLOPS, 411.25);
    tells(log, SS_TOLD_MFU, 0.4158);
    tells(log, SS_TOLD_RESERVED, 43.25 * GIB);
    CU_ASSERT_EQUAL(log->count, SS_COUNT_FULL);
    CU_ASSERT_EQUAL(log->told[SS_TOLD_SECONDS], 0);
    ss_train_log_free(log);
    log = read("step:  3  loss: 10.1  memory: 30.00GiB(38%)  wps: 6,500  mfu: 40.00%\n");
    tells(log, SS_TOLD_TOKENS_GPU, 6500);
    ss_train_log_free(log);
}

TEST(nanotron)
{
    struct ss_train_log *log = read(
        "iteration: 5 / 15 | consumed_tokens: 1.31M | elapsed_time_per_iteration_ms: 2.3K | tokens_per_sec: "
        "113K | "
        "tokens_per_sec_per_gpu: 14.1K | global_batch_size: 256 | lm_loss: 9.5 | model_tflops_per_gpu: 201 | "
        "hardware_tflops_per_gpu: 250 | cuda_max_memory_reserved: 71.2G\n"
        "iteration: 6 / 15 | consumed_tokens: 1.4M | time_per_iteration_ms: 2.3K | tokens_per_sec: "
        "1.130000E+05 |\n");

    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_NANOTRON);
    tells(log, SS_TOLD_SECONDS, 2.3);
    tells(log, SS_TOLD_TOKENS, 113e3);
    tells(log, SS_TOLD_TOKENS_GPU, 14.1e3);
    tells(log, SS_TOLD_TFLOPS, 201);
    tells(log, SS_TOLD_RESERVED, 71.2e9);
    CU_ASSERT_EQUAL(log->count, SS_COUNT_FULL);
    ss_train_log_free(log);
}

TEST(deepspeed)
{
    struct ss_train_log *log = read("[timer.py:260:stop] epoch=0/micro_step=40/global_step=10, "
                                    "RunningAvgSamplesPerSec=25.02, CurrSamplesPerSec=25.5, "
                                    "MemAllocated=4.32GB, MaxMemAllocated=38.5GB\n");

    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_DEEPSPEED);
    tells(log, SS_TOLD_SAMPLES, 25.5);
    tells(log, SS_TOLD_ALLOCATED, 38.5 * GIB);
    ss_train_log_free(log);
    log = read("steps: 10 loss: 6.2 iter time (s): 2.345 samples/sec: 13.646\n");
    tells(log, SS_TOLD_SECONDS, 2.345);
    tells(log, SS_TOLD_SAMPLES, 13.646);
    ss_train_log_free(log);
    log = read("FLOPS per GPU: 102.1 TFLOPS\niter latency: 812.5 ms\nsamples/second: 9.5\n");
    tells(log, SS_TOLD_SECONDS, 0.8125);
    tells(log, SS_TOLD_TFLOPS, 102.1);
    CU_ASSERT_EQUAL(log->count, SS_COUNT_HARDWARE);
    ss_train_log_free(log);
    log = read("[Rank 0] time (ms) | fwd: 300.00 | bwd: 600.00 | bwd_inner: 590.00 | step: 100.00\n");
    tells(log, SS_TOLD_SECONDS, 1.0);
    ss_train_log_free(log);
}

TEST(neox)
{
    struct ss_train_log *log =
        read(" samples/sec: 51.234 | iteration       10/      50 | elapsed time per iteration (ms): 9876.5 | "
             "learning rate: 1.234E-04 | approx flops per GPU: 150.3TFLOPS | lm_loss: 7.1E+00 |\n");

    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_NEOX);
    tells(log, SS_TOLD_SECONDS, 9.8765);
    tells(log, SS_TOLD_TFLOPS, 150.3);
    tells(log, SS_TOLD_SAMPLES, 51.234);
    CU_ASSERT_EQUAL(log->count, SS_COUNT_HARDWARE);
    ss_train_log_free(log);
}

TEST(trainer)
{
    struct ss_train_log *log =
        read("Loading checkpoint shards: 100%|##| 4/4 [00:05<00:00,  1.30s/it]\n"
             " 10%|#  | 10/100 [00:32<04:50,  3.50s/it]\r 11%|#  | 11/100 [00:35<04:46,  3.20s/it]\n");

    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_TRAINER);
    CU_ASSERT_EQUAL(log->iterations, 2);
    tells(log, SS_TOLD_SECONDS, 3.35);
    ss_train_log_free(log);
    log = read(" 10%|#  | 10/100 [00:02<00:20,  4.00it/s]\n");
    tells(log, SS_TOLD_SECONDS, 0.25);
    ss_train_log_free(log);
    log = read("{'train_runtime': 123.4, 'train_samples_per_second': 12.8, 'train_steps_per_second': 0.2, "
               "'train_loss': 1.5}\n");
    tells(log, SS_TOLD_SECONDS, 5);
    tells(log, SS_TOLD_SAMPLES, 12.8);
    CU_ASSERT_EQUAL(log->whole_run, 1);
    ss_train_log_free(log);
    log = read("  train_samples_per_second =     12.800\n");
    tells(log, SS_TOLD_SAMPLES, 12.8);
    ss_train_log_free(log);
}

/* Others, of a line or two each. */
TEST(others)
{
    struct ss_train_log *log = read(" iteration        5/     206 | elapsed time per iteration (ms): "
                                    "100512.9 | memory(GiB): 21.5 | elapsed time: 10m 7s | "
                                    "global batch size:    64 |\n");

    tells(log, SS_TOLD_SECONDS, 100.5129);
    tells(log, SS_TOLD_RESERVED, 21.5 * GIB);
    ss_train_log_free(log);
    log = read("{'loss': 1.2, 'memory(GiB)': 60.25, 'train_speed(iter/s)': 0.25}\n");
    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_SWIFT);
    tells(log, SS_TOLD_SECONDS, 4);
    ss_train_log_free(log);
    log = read("Train throughput/batches_per_sec: 0.5\nTrain throughput/device/tokens_per_sec: 3750.5\nTrain "
               "throughput/device/mfu: 0.4125\n");
    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_COMPOSER);
    tells(log, SS_TOLD_SECONDS, 2);
    tells(log, SS_TOLD_TOKENS_GPU, 3750.5);
    tells(log, SS_TOLD_MFU, 0.4125);
    ss_train_log_free(log);
    log = read(
        "tflops=188.8, step=0, loss=11.6, tgs (tokens/gpu/second)=4193.8, tgs/last_tgs_1=4193.8, lr=4e-07\n");
    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_INTERN);
    tells(log, SS_TOLD_TOKENS_GPU, 4193.8);
    tells(log, SS_TOLD_TFLOPS, 188.8);
    ss_train_log_free(log);
    log = read("iter 1631: loss 4.0863, time 561.94ms, mfu 32.10%\n");
    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_NANOGPT);
    tells(log, SS_TOLD_SECONDS, 0.56194);
    tells(log, SS_TOLD_MFU, 0.321);
    ss_train_log_free(log);
}

/* Figures whose words are others' words, too, in lines that a word of the framework tells. */
TEST(signs)
{
    struct ss_train_log *log = read(
        "01/02 03:04:05 - mmengine - INFO - Iter(train) [ 10/500]  lr: 1.0000e-05  eta: 0:21:23  time: "
        "7.6100  data_time: 0.0200  memory: 12345  loss: 1.2345  tflops: 52.5  tokens_per_sec: 1076.5\n");

    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_MMENGINE);
    tells(log, SS_TOLD_SECONDS, 7.61);
    tells(log, SS_TOLD_TOKENS_GPU, 1076.5);
    tells(log, SS_TOLD_ALLOCATED, 12345 * MIB);
    CU_ASSERT(log->micro && !(log->told[SS_TOLD_TOKENS] > 0) &&
              !(log->told[SS_TOLD_TFLOPS] > 0)); /* a formula of its own */
    ss_train_log_free(log);
    log =
        read("Epoch(train)  [1][ 10/500]  lr: 1e-05  eta: 0:21:23  time: 0.5  data_time: 0.02  memory: 9\n");
    tells(log, SS_TOLD_SECONDS, 0.5);
    ss_train_log_free(log);
    log = read("[XTuner][2026-01-02 03:04:05][INFO] Step 3/500 data_time: 0.0100 lr: 0.000010 time: 2.5000 "
               "text_tokens: 8192 total_loss: 1.2 max_memory: 40.10 GB reserved_memory: 50.20 GB tgs: 3276.8 "
               "e2e_tgs: 3000.0\n");
    CU_ASSERT(log->logger == SS_LOGGER_XTUNER && !log->micro);
    tells(log, SS_TOLD_SECONDS, 2.5);
    tells(log, SS_TOLD_TOKENS_GPU, 3276.8);
    tells(log, SS_TOLD_RESERVED, 50.2 * GIB);
    ss_train_log_free(log);
    log = read("completed step: 9, seconds: 5.789, TFLOP/s/device: 216.055, Tokens/s/device: 5660.303, loss: "
               "12.4\n");
    CU_ASSERT(log->logger == SS_LOGGER_MAXTEXT && log->count == SS_COUNT_CAUSAL);
    tells(log, SS_TOLD_SECONDS, 5.789);
    tells(log, SS_TOLD_TOKENS_GPU, 5660.303);
    tells(log, SS_TOLD_TFLOPS, 216.055);
    ss_train_log_free(log);
    log = read("Step 7 | loss:1.2 lr:2e-05 tokens_per_second_per_gpu:4321.5 peak_memory_active:30.5 "
               "peak_memory_alloc:30.25 peak_memory_reserved:33.5\n");
    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_TORCHTUNE);
    tells(log, SS_TOLD_TOKENS_GPU, 4321.5);
    tells(log, SS_TOLD_ALLOCATED, 30.25 * GIB);
    tells(log, SS_TOLD_RESERVED, 33.5 * GIB);
    ss_train_log_free(log);
    log = read("Throughput: 34.56 samples/sec , tokens_per_second_per_device: 8847.4 , TFLOPS per GPU by "
               "Megatron: 99.5 "
               ", TFLOPS per GPU: 90.5\n");
    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_COLOSSAL);
    tells(log, SS_TOLD_SAMPLES, 34.56);
    tells(log, SS_TOLD_TOKENS_GPU, 8847.4);
    ss_train_log_free(log);
    log = read(
        "step 10 | epoch 0 | loss 1.2 | mem 12.50 GiB | tps 4821.00(602.63/gpu) | num_label_tokens 4096\n");
    CU_ASSERT_EQUAL(log->logger, SS_LOGGER_AUTOMODEL);
    tells(log, SS_TOLD_TOKENS, 4821);
    tells(log, SS_TOLD_ALLOCATED, 12.5 * GIB);
    ss_train_log_free(log);
    log = read("Epoch 0:  12%|#2   | 12/100 [00:30<03:40,  2.50s/it, v_num=3, train_loss=1.2]\n");
    CU_ASSERT(log->logger == SS_LOGGER_LIGHTNING && log->micro);
    tells(log, SS_TOLD_SECONDS, 2.5);
    ss_train_log_free(log);
}

/* Lines of no known logger are not guessed at: the first is told by its number. */
TEST(unread)
{
    static const char *const texts[] = {"epoch 1\nstep 5 | tokens/s: 5000 | mem 3\n",
                                        "x\nstep:5 - timing_s/step:46.5 - perf/throughput:801.4\n",
                                        "x\n{'loss': 1.2, 'throughput': 4523.1}\n",
                                        "x\nmfu: 41.5%, tflops: 400\n", "x\ntokens_per_sec: 5000\n",
                                        /* decimal commas */
                                        "x\nIter(train) [ 10/500]  time: 7,610  memory: 12345\n",
                                        "x\n 10%|#  | 10/100 [00:02<00:20,  3,50s/it]\n",
                                        "x\nelapsed time per iteration (ms): 1010,5 |\n"};
    struct ss_train_log *log;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ss_error err = {0};
        CU_ASSERT_EQUAL_FATAL(ss_train_log_parse(texts[i], strlen(texts[i]), "t.log", &log, &err),
                              SS_ERR_INPUT);
        CU_ASSERT_EQUAL(err.line, 2);
    }
    log = read("elapsed time per iteration (ms): 5000.0\nstep took 3.2 s, 99 tokens/s\n41 tokens/s\n");
    tells(log, SS_TOLD_SECONDS, 5);
    CU_ASSERT(log->unread == 2 && log->unread_line == 2 && !strncmp(log->unread_text, "step took", 9));
    ss_train_log_free(log);
}

#define STEP(ms) " iteration 1/9 | elapsed time per iteration (ms): " #ms " | global batch size: 8 |\n"

/* A unit behind the number beats the one of the key. */
TEST(units)
{
    static const char *const texts[] = {
        "elapsed time per iteration (ms): 5100 |\n", "elapsed time per iteration (ms): 5.1 s |\n",
        "elapsed time per iteration (ms): 5100 ms |\n", "iter latency: 5.1 sec\n",
        "\033[32m[01:02:03,456]\033[0m \033[33m elapsed time per iteration (ms): 5100 |\033[0m\n"};

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ss_train_log *log = read(texts[i]);
        tells(log, SS_TOLD_SECONDS, 5.1);
        ss_train_log_free(log);
    }
}

TEST(doubts)
{
    static const struct {
        const char *text, *doubt;
    } rows[] = {
        {STEP(5000) STEP(5100) STEP(5000) STEP(5050) STEP(5000) STEP(5000) STEP(8000) STEP(8100) STEP(8000)
             STEP(8000) STEP(8050),
         "two speeds, 5 in 6 lines and then 8 in 5"},
        {STEP(30000) STEP(5100) STEP(5000) STEP(5900) STEP(5000) STEP(5000) STEP(5050) STEP(4500) STEP(5000)
             STEP(5000) STEP(5050),
         ""},
        {STEP(5000) "step: 1  loss: 7.2  memory: 43.25GiB(45.52%)  tps: 7,123  tflops: 411.25  mfu: 41.58%\n",
         "two frameworks, Megatron-LM and torchtitan"},
        {STEP(5000) " 10%|#  | 10/100 [00:32<04:50,  9.50s/it]\n", ""},
        {STEP(5000) " iteration 1/9 | elapsed time per iteration (ms): 5000 | global batch size: 16 |\n",
         "batches of 8 and of 16"},
        {STEP(5000) "[timer] CurrSamplesPerSec=25.5, x\nsteps: 1 iter time (s): 7.0 samples/sec: 25.5\n",
         "twice, "},
    };

    for (size_t i = 0; i < sizeof rows / sizeof rows[0]; i++) {
        struct ss_train_log *log = read(rows[i].text);
        CU_ASSERT(rows[i].doubt[0] ? strstr(log->doubt, rows[i].doubt) != NULL : !log->doubt[0]);
        if (log->doubt[0] && !strstr(log->doubt, rows[i].doubt))
            fprintf(stderr, "%s: %s\n", rows[i].doubt, log->doubt);
        ss_train_log_free(log);
    }
}

TEST(nothing)
{
    static const char *const texts[] = {"", "tps_x: 5\n", "mfu: none\n", "memory: 3GiB\n",
                                        "elapsed time per iteration (ms): 0\n"};
    struct ss_train_log *log;

    for (size_t i = 0; i < sizeof texts / sizeof texts[0]; i++) {
        struct ss_error err = {0};
        CU_ASSERT_EQUAL(ss_train_log_parse(texts[i], strlen(texts[i]), "t.log", &log, &err), SS_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.file, "t.log");
    }
}
