/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels of a run by what they are of: they sum to the label, and the heaviest do what a hand count says. */
#include <math.h>
#include <string.h>

#include "job_helper.h"
#include "report/text.h"
#include "stepsim/stepsim.h"
#include "suite.h"

#define ONE "--platform h100 --nodes 1 --gpus-per-node 1 --model llama2-7b --bf16 --mbs 1 --seq 4096 "

struct opened {
    struct ss_scenario *s;
    struct ss_run run;
};

static void open_with(const char *words, const struct ss_run_options *options, struct opened *o)
{
    char *text = strdup(words), *argv[JOB_MAX_ARGS];
    struct ss_request r;

    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read(&r, split(text, argv), argv, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_scenario_build(&r, NULL, &o->s, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_run_scenario(o->s, options, &o->run, NULL), SS_OK);
    ss_request_free(&r);
    free(text);
}

static void open_words(const char *words, struct opened *o)
{
    const struct ss_run_options options = {.open_compute = 1};

    open_with(words, &options, o);
    CU_ASSERT_PTR_NOT_NULL_FATAL(o->run.compute);
}

static void close_words(struct opened *o)
{
    ss_run_free(&o->run);
    ss_scenario_free(o->s);
}

static double sum(const double *parts)
{
    double all = 0;

    for (int i = 0; i < SS_PARTS; i++)
        all += parts[i];
    return all;
}

/* Each stage's parts and the rest are its labels; *rest is the largest rest, share of the label. */
static void check_sums(const struct ss_run *run, double *rest)
{
    *rest = 0;
    for (int i = 0; i < run->result->nstages; i++) {
        const double *label = run->result->stages[i].breakdown;
        const struct ss_compute_stage *s = &run->compute->stages[i];
        CU_ASSERT_DOUBLE_EQUAL(sum(s->compute) + s->compute_rest, label[SS_LABEL_COMPUTE],
                               1e-9 * label[SS_LABEL_COMPUTE]);
        CU_ASSERT_DOUBLE_EQUAL(sum(s->recompute) + s->recompute_rest, label[SS_LABEL_RECOMPUTE],
                               1e-9 * label[SS_LABEL_RECOMPUTE]);
        *rest = fmax(*rest, fabs(s->compute_rest) / label[SS_LABEL_COMPUTE]);
    }
}

TEST(sums)
{
    static const struct {
        const char *words;
        double rest; /* at most */
    } jobs[] = {
        {ONE "--gbs 8", 0},
        {ONE "--gbs 4000", 0}, /* the schedule is a loop */
        {ONE "--gbs 8 --recompute full", 0},
        {ONE "--gbs 8 --recompute selective", 0},
        {"--platform h800 --nodes 4 " L8B "--tp 2 --pp 2 --sequence-parallel", 1e-3},
        {"--platform h800 --nodes 4 " L8B "--pp 2 --num-layers-per-virtual-pipeline-stage 4", 1e-3},
        {"--platform h800 --nodes 4 " L8B "--pp 2 --schedule zb-h1", 1e-3},
        {"--platform h100 --nodes 1 --model llama3.1-8b --bf16 --mbs 1 --gbs 64 --seq 8192 --fsdp full", 0.1},
        {"--job " SS_SOURCE_DIR "/workloads/jobs/qwen3-30b-16.args", 0.25},  /* beside exchanges */
        {"--job " SS_SOURCE_DIR "/workloads/jobs/deepseek-v3-2048.args", 0}, /* pairs of F and B */
    };

    for (size_t i = 0; i < sizeof jobs / sizeof jobs[0]; i++) {
        struct opened o;
        double rest;
        open_words(jobs[i].words, &o);
        check_sums(&o.run, &rest);
        if (rest > jobs[i].rest)
            printf("%s: %g of the kernels' time is not told\n", jobs[i].words, rest);
        CU_ASSERT(rest <= jobs[i].rest);
        close_words(&o);
    }
}

static const struct ss_kernel_use *find(const struct ss_compute *c, const char *op, int phase)
{
    for (int i = 0; i < c->nkernels; i++)
        if (!strcmp(c->kernels[i].op, op) && c->kernels[i].phase == phase && !c->kernels[i].again)
            return &c->kernels[i];
    CU_FAIL_FATAL("no such kernel");
    return NULL;
}

/* 32 layers of hidden size 4096 and gated MLPs of 11008, 8 microbatches of 4096 tokens. */
TEST(kernels)
{
    static const int phases[] = {SS_PHASE_F, SS_PHASE_B, SS_PHASE_W};
    const double t = 4096, h = 4096, f = 2 * 11008.0, calls = 32 * 8;
    struct opened o;

    open_words(ONE "--gbs 8", &o);
    const struct ss_compute *c = o.run.compute;
    const struct ss_card *card = ss_platform_card(o.run.plan->platform);
    CU_ASSERT_EQUAL(c->nkernels, SS_HEAVIEST);
    for (int i = 1; i < c->nkernels; i++)
        CU_ASSERT(c->kernels[i].seconds <= c->kernels[i - 1].seconds);
    for (int i = 0; i < 3; i++) {
        const struct ss_kernel_use *u = find(c, "fc1", phases[i]);
        CU_ASSERT_DOUBLE_EQUAL(u->calls, calls, 1e-9);
        CU_ASSERT_DOUBLE_EQUAL(u->flops, calls * 2 * t * f * h, 1e-9 * u->flops);
        CU_ASSERT_DOUBLE_EQUAL(u->flops_share, u->flops / u->seconds / card->peak_bf16, 1e-12);
        CU_ASSERT_EQUAL(u->part, SS_PART_MLP_GEMM);
        CU_ASSERT_STRING_EQUAL(ss_kernel_bound(u), "compute");
    }
    /* A weight gradient reads its operands and adds to 4 B an element; an input's gradient is 2 B an element. */
    CU_ASSERT_DOUBLE_EQUAL(find(c, "fc1", SS_PHASE_W)->bytes, calls * (2 * (t * f + t * h) + 8 * f * h), 1);
    CU_ASSERT_DOUBLE_EQUAL(find(c, "fc1", SS_PHASE_B)->bytes, calls * 2 * (t * f + h * f + t * h), 1);
    const struct ss_kernel_use *u = find(c, "fc1", SS_PHASE_F), *a = find(c, "core attention", SS_PHASE_B);
    CU_ASSERT_DOUBLE_EQUAL(u->bytes, calls * 2 * (t * h + h * f + t * f), 1e-9 * u->bytes);
    /* The causal half of five products of two squares each, and twice what the forward reads and writes. */
    CU_ASSERT_DOUBLE_EQUAL(a->flops, calls * 5 * t * t * h, 1e-9 * a->flops);
    CU_ASSERT_DOUBLE_EQUAL(a->bytes, calls * 2 * (4 * t * h * 2), 1e-9 * a->bytes);
    CU_ASSERT_EQUAL(a->part, SS_PART_ATTENTION);
    close_words(&o);
    open_words("--job " SS_SOURCE_DIR "/workloads/jobs/8b-16.args", &o);
    u = find(o.run.compute, "cross entropy", SS_PHASE_F);
    CU_ASSERT_EQUAL(u->flops, 0);
    CU_ASSERT_EQUAL(u->part, SS_PART_LOSS);
    CU_ASSERT_STRING_EQUAL(ss_kernel_bound(u), "memory");
    close_words(&o);
}

/* Full recompute repeats what the forward of the transformer layers has, and nothing of the loss. */
TEST(recompute)
{
    struct opened o;

    open_words(ONE "--gbs 8 --recompute full", &o);
    const struct ss_compute_stage *s = &o.run.compute->stages[0];
    CU_ASSERT(s->recompute[SS_PART_MLP_GEMM] > 0 && s->recompute[SS_PART_ATTENTION] > 0);
    CU_ASSERT_EQUAL(s->recompute[SS_PART_LOSS], 0);
    CU_ASSERT(s->compute[SS_PART_LOSS] > 0);
    close_words(&o);
}

static void kernels_of(const struct ss_run *run, FILE *out)
{
    CU_ASSERT_EQUAL(ss_text_kernels(run, NULL, out), 0);
}

static char *text_of(const struct ss_run *run, void (*write)(const struct ss_run *, FILE *))
{
    char *text = NULL;
    size_t size;
    FILE *out = open_memstream(&text, &size);

    write(run, out);
    fclose(out);
    return text;
}

/* Two stages of 16 layers: what the last one has more is the output layer and the loss, the first the embedding. */
TEST(longest)
{
    struct opened o;

    open_words("--platform h800 --nodes 1 --model llama3.1-8b --bf16 --mbs 1 --gbs 64 --seq 8192 --pp 2", &o);
    const struct ss_compute *c = o.run.compute;
    double first = sum(c->stages[0].compute), last = sum(c->stages[1].compute);
    CU_ASSERT_EQUAL(c->longest, 1);
    CU_ASSERT_DOUBLE_EQUAL(c->longer, last / first - 1, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(sum(c->more), c->longer, 1e-9);
    CU_ASSERT_DOUBLE_EQUAL(c->more[SS_PART_LOSS], c->stages[1].compute[SS_PART_LOSS] / first, 1e-9);
    CU_ASSERT_EQUAL(c->more[SS_PART_MLP_GEMM], 0);
    CU_ASSERT(c->more[SS_PART_ELEMENTWISE] < 0);
    close_words(&o);
    /* The two in the middle have 12 layers each, the others 4: of those that take as long it is the critical one, and they are no
     * part of the mean that they are held against. */
    open_words("--platform h800 --nodes 1 --model llama3.1-8b --bf16 --mbs 1 --gbs 64 --seq 8192 --pp 4 "
               "--decoder-first-pipeline-num-layers 4 --decoder-last-pipeline-num-layers 4",
               &o);
    c = o.run.compute;
    CU_ASSERT_EQUAL(c->longest, o.run.result->critical_stage);
    CU_ASSERT(c->longest == 1 || c->longest == 2);
    CU_ASSERT_EQUAL(c->alike, 1);
    CU_ASSERT_DOUBLE_EQUAL(
        c->longer,
        2 * sum(c->stages[1].compute) / (sum(c->stages[0].compute) + sum(c->stages[3].compute)) - 1, 1e-9);
    char *text = text_of(&o.run, ss_text_parts);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "(and 1 more alike) computes "));
    free(text);
    close_words(&o);
    open_words(ONE "--gbs 8", &o);
    CU_ASSERT_EQUAL(o.run.compute->longer, 0); /* one stage has no others */
    close_words(&o);
}

/* Stage 1 takes 1/8 longer, of it 10 % by the loss; that is said from 1 % on. 2e12 FLOP and 3e9 bytes in 2 ms are 1 PFLOP/s and 1.5 TB/s. */
TEST(text)
{
    struct opened o;

    open_words("--platform h800 --nodes 1 --model llama3.1-8b --bf16 --mbs 1 --gbs 64 --seq 8192 --pp 2", &o);
    struct ss_compute *c = o.run.compute;
    memset(c->more, 0, sizeof c->more);
    c->longest = 1;
    c->longer = 0.125;
    c->more[SS_PART_LOSS] = 0.1;
    c->more[SS_PART_MLP_GEMM] = 0.025;
    c->nkernels = 1;
    c->kernels[0] = (struct ss_kernel_use){.op = "mlp",
                                           .calls = 7,
                                           .seconds = 2e-3,
                                           .flops = 2e12,
                                           .bytes = 3e9,
                                           .flops_share = 0.5,
                                           .bytes_share = 0.25};
    char *text = text_of(&o.run, ss_text_parts);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nStage 1 computes 12.5 % longer than the others: logits and loss "
                                        "+10.0 %, MLP GEMMs +2.5 %\n"));
    free(text);
    c->more[SS_PART_LOSS] = 0.124;
    c->more[SS_PART_MLP_GEMM] = 0.001;
    c->alike = 2;
    text = text_of(&o.run, ss_text_parts);
    CU_ASSERT_PTR_NOT_NULL(strstr(text,
                                  "\nStage 1 (and 2 more alike) computes 12.5 % longer than the others, "
                                  "all of it in logits and loss\n"));
    free(text);
    c->alike = 0;
    c->longer = 0.009;
    text = text_of(&o.run, ss_text_parts);
    CU_ASSERT_PTR_NULL(strstr(text, "longer than the others"));
    free(text);
    text = text_of(&o.run, kernels_of);
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "\nmlp     forward      7  2.0   1000.0    50.0  1500   25.0\n"));
    free(text);
    close_words(&o);
}

/* Rates of attention are known for heads of 64 and 128: any other size is told as a guess, once. */
TEST(heads)
{
    static const int sizes[] = {64, 96, 128, 256};
    for (size_t i = 0; i < sizeof sizes / sizeof *sizes; i++) {
        char words[256], note[64];
        struct opened o;
        int told = 0;
        snprintf(words, sizeof words,
                 "--platform h800 --nodes 1 --gpus-per-node 1 --num-layers 2 --hidden-size 1024 "
                 "--num-attention-heads 8 "
                 "--kv-channels %d --vocab-size 32000 --bf16 --mbs 1 --gbs 1 --seq 4096 "
                 "--max-position-embeddings 4096",
                 sizes[i]);
        snprintf(note, sizeof note, "attention with head dimension %d: ", sizes[i]);
        open_with(words, &(struct ss_run_options){0}, &o);
        for (unsigned long k = 0; k < o.run.plan->guessed.n; k++)
            told += strstr(o.run.plan->guessed.text[k], note) == o.run.plan->guessed.text[k];
        CU_ASSERT_EQUAL(told, sizes[i] == 96 || sizes[i] == 256);
        close_words(&o);
    }
}

/* Kernels are those of the run as it was asked for: a slow GPU on stage 1 makes that the longest, by its factor. */
TEST(straggler)
{
    const struct ss_straggler slow = {3, 1.4};
    const struct ss_run_options options = {.open_compute = 1,
                                           .plan = {.nstragglers = 1, .stragglers = &slow}};
    struct opened o;
    double rest;

    open_with("--platform h800 --nodes 1 --gpus-per-node 4 --model llama3.1-8b --bf16 --mbs 1 --gbs 64 --seq "
              "8192 --tp 2 --pp 2",
              &options, &o);
    const struct ss_compute *c = o.run.compute;
    CU_ASSERT_PTR_NOT_NULL_FATAL(c);
    check_sums(&o.run, &rest);
    CU_ASSERT(rest < 1e-3);
    CU_ASSERT_EQUAL(c->longest, 1);
    CU_ASSERT_DOUBLE_EQUAL(c->stages[1].compute[SS_PART_MLP_GEMM] / c->stages[0].compute[SS_PART_MLP_GEMM],
                           1.4, 1e-9);
    close_words(&o);
}

/* A rank that is named twice is slow twice: 1.2 and 1.5 times as long are 1.8 times. */
TEST(named_twice)
{
    static const struct ss_straggler once[] = {{3, 1.8}}, twice[] = {{3, 1.2}, {3, 1.5}};
    const struct ss_run_options options[] = {{.plan = {.nstragglers = 1, .stragglers = once}},
                                             {.plan = {.nstragglers = 2, .stragglers = twice}}};
    struct opened o[2];

    for (int i = 0; i < 2; i++)
        open_with(
            "--platform h800 --nodes 1 --gpus-per-node 4 --model llama3.1-8b --bf16 --mbs 1 --gbs 64 --seq "
            "8192 --tp 2 --pp 2",
            &options[i], &o[i]);
    CU_ASSERT_DOUBLE_EQUAL(o[1].run.result->iteration_s / o[0].run.result->iteration_s, 1, 1e-12);
    close_words(&o[0]);
    close_words(&o[1]);
}

/* The chunk level has no steps in its plan, and opens the kernels that the layer level has there: of a slow rank, of pairs. */
TEST(levels)
{
    static const char *const jobs[] = {
        "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --mbs 1 --gbs 64 --seq 8192 --tp 2 --pp 2 "
        "--sequence-parallel --recompute-activations",
        "--platform h100 --nodes 2 --model qwen3-30b-a3b --bf16 --mbs 1 --gbs 64 --seq 4096 --ep 4 --pp 2 "
        "--vp 2 "
        "--overlap-moe-expert-parallel-comm --moe-token-dispatcher-type alltoall"};
    const struct ss_straggler slow = {3, 1.4};
    for (size_t i = 0; i < sizeof jobs / sizeof *jobs; i++) {
        struct opened at[2];
        for (int k = 0; k < 2; k++)
            open_with(jobs[i],
                      &(struct ss_run_options){.open_compute = 1,
                                               .level_choice = SS_LEVEL_BLIND,
                                               .plan = {.level = k ? SS_LEVEL_LAYER : SS_LEVEL_CHUNK,
                                                        .nstragglers = 1,
                                                        .stragglers = &slow}},
                      &at[k]);
        const struct ss_compute *chunk = at[0].run.compute, *layer = at[1].run.compute;
        CU_ASSERT_EQUAL(chunk->nkernels, SS_HEAVIEST);
        for (int s = 0; s < chunk->nstages; s++)
            for (int part = 0; part < SS_PARTS; part++)
                CU_ASSERT_DOUBLE_EQUAL(chunk->stages[s].compute[part], layer->stages[s].compute[part],
                                       1e-12 * layer->stages[s].compute[part]);
        for (int k = 0; k < SS_HEAVIEST; k++)
            CU_ASSERT_DOUBLE_EQUAL(chunk->kernels[k].seconds, layer->kernels[k].seconds,
                                   1e-12 * layer->kernels[k].seconds);
        close_words(&at[0]);
        close_words(&at[1]);
    }
}

/* Where flows become the answer (rings over nodes that share their NICs), an order that was given stays. */
TEST(given_order)
{
    static const char words[] =
        "--platform h800 --nodes 3 --model llama3.1-8b --bf16 --mbs 1 --gbs 16 --seq 12288 --pp 2 --cp 12 "
        "--recompute full --use-distributed-optimizer";
    char with[sizeof words + 32];
    struct opened named, given;

    snprintf(with, sizeof with, "%s --schedule gpipe", words);
    open_with(with, &(struct ss_run_options){0}, &named);
    open_with(words, &(struct ss_run_options){.schedule = named.run.schedule}, &given);
    CU_ASSERT_EQUAL(given.run.plan->level, SS_LEVEL_FLOW);
    CU_ASSERT_EQUAL(given.run.result->iteration_s, named.run.result->iteration_s);
    close_words(&given);
    close_words(&named);
}
