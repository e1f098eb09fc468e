/* SPDX-License-Identifier: Apache-2.0 */
/* Values of flags that are refused, each with what the flag takes, and near neighbours that are taken. */
#include "base/base.h"
#include "job_helper.h"
#include "suite.h"

enum { USAGE = SS_ERR_USAGE, LATER = SS_ERR_UNSUPPORTED };

static void check(const char *flags, int code, const char *message)
{
    struct ss_asked asked, before;
    struct ss_error err = {0};
    ss_asked_init(&asked);
    before = asked;
    int rc = parse(&asked, flags, NULL, &err);
    if (rc != code || (code && !strstr(err.message, message)))
        fprintf(stderr, "%s: %d %s\n", flags, rc, err.message);
    CU_ASSERT_EQUAL(rc, code);
    if (code) {
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, message));
        CU_ASSERT_EQUAL(memcmp(&asked, &before, sizeof asked), 0);
    }
}

TEST(batch)
{
    check("--gradient-accumulation-steps 0", USAGE, "it is a whole number from 1 to 67108864");
    check("--gradient-accumulation-steps 67108864", SS_OK, "");
    check("--gradient-accumulation-steps 67108865", USAGE, "it is a whole number from 1 to 67108864");
    check("--padded-vocab-size 0", USAGE, "it is a whole number in 1..67108864");
    check("--padded-vocab-size 67108865", USAGE, "it is a whole number in 1..67108864");
    check("--measured 1e10s", USAGE, "above 0 and at most 1e9 s");
    check("--measured-memory 1e16B", USAGE, "above 0 and at most 1e15 bytes");
    check("--measured-memory 0MiB", USAGE, "above 0 and at most 1e15 bytes");
    check("--vp 100000", SS_OK, "");
    check("--vp 100001", USAGE, "whole number in 1..100000");
    check("--clip-grad -1", USAGE, "it is a norm of 0 or more");
    check("--clip-grad one", USAGE, "it is a norm of 0 or more");
    check("--clip-grad 0", SS_OK, "");
}

TEST(words)
{
    check("--precision int8", USAGE, "it is one of fp32 fp16 bf16 fp8 nvfp4 mxfp8");
    check("--fp8-format e5m2", USAGE, "it is hybrid, e4m3 or none");
    check("--fp4-format e4m3", USAGE, "it is e2m1 or none");
    check("--recompute some", USAGE, "it is none, selective, op-selective or full");
    check("--recompute-granularity some", USAGE, "it is selective or full");
    check("--fsdp 3", USAGE, "it is full, grad, hybrid or none");
    check("--rank-order tp-xx", USAGE, "it is an order of tp, cp, ep, dp and pp");
    check("--cp-comm-type ring", USAGE, "it is p2p, a2a, allgather or a2a+p2p");
    check("--cp-comm-type all_gather", SS_OK, "");
    check("--cp-comm-type a2a a2a", SS_OK, "");
    check("--optimizer-offload-fraction 1.5", USAGE, "it is a number in 0..1");
    check("--optimizer-offload-policy auto", LATER, "only the static policy");
    check("--optimizer-offload-policy static", SS_OK, "");
    check("--activations-checkpoint-method some", USAGE, "it is uniform or block");
    check("--muon-coefficient-type cubic5", LATER, "steps of two products are not modelled");
    check("--muon-coefficient-type cubic6", USAGE, "it is simple, quintic, polar_express");
    check("--muon-coefficient-type aol", SS_OK, "");
    check("--muon-scalar-optimizer lion", LATER, "it is adam");
    check("--muon-scalar-optimizer sgd", USAGE, "it is adam");
    check("--muon-fp32-matmul-prec high", LATER, "it is medium");
    check("--muon-fp32-matmul-prec mediums", USAGE, "it is medium");
    check("--exp-avg-dtype fp16", SS_OK, "");
    check("--exp-avg-sq-dtype fp64", USAGE, "none of fp32 bf16 fp16 fp8");
    check("--num-seq-splits 2", LATER, "parts of a sequence");
    check("--zero-bubble-max-pending-backward some", USAGE, "not a whole number");
    check("--num-layer-list 4,x", USAGE, "not a whole number");
    check("--tp 2,4", USAGE, "several values are --vary tp=2,4 of stepsim search, sweep and capacity");
    check("--seq 2,4", USAGE, "several values are --vary seq=2,4 of stepsim search and sweep");
    check("--gpus 16..64", USAGE, "sweep; stepsim capacity has --nodes 8,16");
    check("--context-parallel-algo hybrid_cp_algo", LATER, "are modelled");
    check("--exp-avg-sq-dtype bf16", SS_OK, "");
    check("--cuda-graph-scope moe_router attn", SS_OK, "");
    check("--cuda-graph-scope attention", USAGE, "it is none of full full_iteration attn");
    check("--recompute-modules core_attn all", USAGE, "it is none of core_attn layernorm");
    check("--offload-modules core_attn all", USAGE, "it is none of attn_norm qkv_linear");
}

TEST(experts)
{
    check("--moe-token-dispatcher-type deepep", USAGE, "it is a backend of flex");
    check("--moe-token-dispatcher-type hybridep", USAGE, "it is a backend of flex");
    check("--moe-token-dispatcher-type p2p", USAGE, "it is allgather, alltoall, alltoall_seq or flex");
    check("--moe-flex-dispatcher-backend ncclep", LATER, "that backend is not modelled");
    check("--moe-flex-dispatcher-backend ep", USAGE, "it is deepep or hybridep");
    check("--moe-router-score-function tanh", USAGE, "it is softmax, sigmoid or sqrtsoftplus");
    check("--moe-router-load-balancing-type sinkhorn", LATER, "the steps of sinkhorn are not modelled");
    check("--moe-router-load-balancing-type aux_loss even", USAGE, "it is aux_loss, seq_aux_loss");
    check("--moe-expert-capacity-factor 0", USAGE, "it is a number above 0, or below 0 for no limit");
    check("--moe-expert-capacity-factor -1", SS_OK, "");
    check("--moe-expert-capacity-factor 1e7", USAGE, "it is a number above 0");
    check("--moe-router-force-biased 101", USAGE, "it is a standard deviation of at most 100");
    check("--moe-router-force-biased half", USAGE, "it is a standard deviation of at most 100");
    check("--moe-load biased:101", USAGE, "it is biased:SIGMA or zipf:EXPONENT, with a number in 0..100");
    check("--moe-load zipf:x", USAGE, "it is biased:SIGMA or zipf:EXPONENT");
    check("--moe-load zipf:1.5", SS_OK, "");
    check("--moe-load=", USAGE, "the value is empty");
    check("--mtp-num-layers 1001", USAGE, "it is a whole number in 0..1000");
    check("--window-size 128", USAGE, "it is the tokens before and behind a query, as 128,0; -1: all");
    check("--window-size 128,x", USAGE, "it is the tokens before and behind a query");
    check("--window-size -1,0", SS_OK, "");
    check("--window-size (128,0)", SS_OK, "");
}

/* Layer 64 is bit 0 of the second word. */
TEST(noop_layers)
{
    static const char text[] = L8B "--noop-layers 0,63,64,130";
    struct ss_asked asked;

    CU_ASSERT_EQUAL_FATAL(parse_text(&asked, text, sizeof text - 1, "job", NULL), 0);
    CU_ASSERT_EQUAL(asked.noop_layers.n, 131);
    CU_ASSERT_EQUAL(asked.noop_layers.bits[0], 1 | (uint64_t)1 << 63);
    CU_ASSERT_EQUAL(asked.noop_layers.bits[1], 1);
    CU_ASSERT_EQUAL(asked.noop_layers.bits[2], 1 << 2);
}

/* Lists of layers: "([0]*3+[1]*58)" has 3 and 58. */
TEST(layer_lists)
{
    static const char *const names[] = {"--moe-layer-freq", "--window-attn-skip-freq"};
    static const struct {
        const char *value, *message; /* NULL: it is taken */
    } rows[] = {
        {"([0]*3+[1]*58)", NULL},
        {"2", NULL},
        {"[0,1,1]*4", NULL},
        {"[0,2]", "a layer is 0 or 1"},
        {"[0,1", "a list is not closed by ]"},
        {"[0,]", "a number is missing"},
        {"([0]+[1]", "a parenthesis is not closed"},
        {"[0]x", "something follows the list"},
        {"[]", "it names no layer"},
        {"[1]*0", "it names no layer"},
        {"[1]*", "a number is missing"},
        {"[1]*1000000000", ""},
        {"[1]*900+[0]*1000000", ""},
        {"((((((((((((((((((((((((((((((((((((((((([1])))))))))))))))))))))))))))))))))))))))))",
         "lists of 0 and 1"},
        {"x", "it is a whole number, or lists of 0 and 1 such as ([0]*3+[1]*58)"},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        for (size_t k = 0; k < SS_ARRAY_LEN(names); k++) {
            char flags[256];
            snprintf(flags, sizeof flags, "%s %s", names[k], rows[i].value);
            check(flags, rows[i].message ? USAGE : SS_OK, rows[i].message ? rows[i].message : "");
        }
}

/* Layouts of a pipeline, as Et*3|(tt|)*30mL. */
TEST(layouts)
{
    static const struct {
        const char *value, *message;
    } rows[] = {
        {"Et*3|(tt|)*30mL", NULL},
        {"Et|t,L", NULL},
        {"Et|tLt", "nothing may follow the loss, L"},
        {"tE|tL", "the first layer must be the embedding, E"},
        {"EEt|tL", "the embedding, E, must be specified exactly once"},
        {"Etm|tL", "decoder layers, t, must be placed before MTP layers, m"},
        {"Et*10001|L", "a stage of more than 10000 layers"},
        {"Et|m*1001L", "more than 1000 MTP layers"},
        {"Et|xL", "it is made of E, t, m, L, | and (...)*N"},
        {"Et|(tt|)L", "parentheses hold a part that is repeated, (tt|)*30, and no others"},
        {"Et|(t(t|)*2)*2L", "parentheses hold a part that is repeated"},
        {"Et|(tt|", "parentheses hold a part that is repeated"},
        {"Et|t", "the last layer must be the loss, L"},
        {"Et(|)*100000L", ""},
        {"Et*|L", "a number is missing"},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        char flags[256];
        snprintf(flags, sizeof flags, "--pipeline-model-parallel-layout %s", rows[i].value);
        check(flags, rows[i].message ? SS_ERR_UNSUPPORTED : SS_OK, rows[i].message ? rows[i].message : "");
    }
}

TEST(packed)
{
    static const char *const fixed = "it is fixed:TOKENS, a whole number from 1",
                             *const uniform =
                                 "it is uniform:LOW:HIGH, whole numbers from 1, the smaller one first",
                             *const lognormal =
                                 "it is lognormal:MEAN:SIGMA, a mean from 1 and a sigma in 0..10";
    check("--packed-lengths fixed:0", USAGE, fixed);
    check("--packed-lengths fixed:1.5", USAGE, fixed);
    check("--packed-lengths fixed:67108865", USAGE, fixed);
    check("--packed-lengths fixed:4096", SS_OK, "");
    check("--packed-lengths uniform:8", USAGE, uniform);
    check("--packed-lengths uniform:8:4", USAGE, uniform);
    check("--packed-lengths uniform:0:4", USAGE, uniform);
    check("--packed-lengths uniform:4:x", USAGE, uniform);
    check("--packed-lengths uniform:4:4", SS_OK, "");
    check("--packed-lengths lognormal:1000", USAGE, lognormal);
    check("--packed-lengths lognormal:0.5:1", USAGE, lognormal);
    check("--packed-lengths lognormal:1000:11", USAGE, lognormal);
    check("--packed-lengths lognormal:1000:-1", USAGE, lognormal);
    check("--packed-lengths lognormal:1000:0", SS_OK, "");
    check("--packed-lengths=", USAGE, "the value is empty");
}

/* Parts `part` of a list with commas, from 0 and with every second number. */
static const char *list(const char *name, int n)
{
    static char text[4096];
    size_t at = (size_t)snprintf(text, sizeof text, "%s ", name);
    for (int i = 0; i < n; i++)
        at += (size_t)snprintf(text + at, sizeof text - at, "%s%d", i ? "," : "", 2 * i);
    return text;
}

TEST(nodes)
{
    static const char *const ranges = "not nodes like 0-3,8: from the lower to the higher, each once",
                             *const failed = "not NODE or NODE:GPU, several with commas between them";
    check("--on-nodes 3-1", USAGE, ranges);
    check("--on-nodes 0-3,2", USAGE, ranges);
    check("--on-nodes 0-3,", USAGE, ranges);
    check("--on-nodes x", USAGE, ranges);
    check("--on-nodes 11111111111111111111111111111111111111111111", USAGE, ranges);
    check("--on-nodes 8,0-3", SS_OK, "");
    check(list("--on-nodes", 64), SS_OK, "");
    check(list("--on-nodes", 65), USAGE, "more than 64 ranges");
    check("--failed-gpu 0:", USAGE, failed);
    check("--failed-gpu 0:1,", USAGE, failed);
    check("--failed-gpu x:1", USAGE, failed);
    check("--failed-gpu 0:99999", USAGE, failed);
    check("--failed-gpu 0:1,0:3,4", SS_OK, "");
    check(list("--failed-gpu", 64), SS_OK, "");
    check(list("--failed-gpu", 65), USAGE, "more than 64 nodes");
}

/* A text that has no room in the job. */
TEST(long)
{
    static const char *const names[] = {"--moe-load", "--packed-lengths", "--model",
                                        "--platform", "--stack",          "--schedule"};
    static char flags[9000];
    for (size_t i = 0; i < SS_ARRAY_LEN(names); i++) {
        size_t at = (size_t)snprintf(flags, sizeof flags, "%s ", names[i]);
        memset(flags + at, 'a', 8000);
        check(flags, USAGE, "too long");
    }
}
