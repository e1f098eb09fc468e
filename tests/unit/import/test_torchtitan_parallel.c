/* SPDX-License-Identifier: Apache-2.0 */
/* Parallelism, experts, batches and kernels of torchtitan's job files: the words that they stand for, and what is refused. */
#include "base/base.h"
#include "import_helper.h"
#include "suite.h"

#define LLAMA "[model]\nname = 'llama3'\nflavor = '8B'\n[training]\nseq_len = 4096\n"
#define QWEN "[model]\nname = 'qwen3'\nflavor = '30B-A3B'\n[training]\nseq_len = 4096\n"
#define DEEPSEEK "[model]\nname = 'deepseek_v3'\nflavor = '671B'\n[training]\nseq_len = 4096\n"
#define NONE "[activation_checkpoint]\nmode = 'none'\n"

/* A text with words that it must have, with blanks around, and what a note says; NULL: any. */
TEST(taken)
{
    static const struct {
        const char *text, *words, *note;
    } rows[] = {
        {QWEN "[parallelism]\nexpert_parallel_degree = 8\n" NONE,
         " --ep 8 --etp 1 --moe-token-dispatcher-type alltoall ", NULL},
        {QWEN "[parallelism]\nexpert_parallel_degree = 8\nexpert_parallel_comm_backend = 'deepep'\n" NONE,
         " --ep 8 --etp 1 --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend deepep ", NULL},
        {QWEN "[parallelism]\nexpert_parallel_degree = 8\nexpert_tensor_parallel_degree = 2\n"
              "tensor_parallel_degree = 2\nexpert_parallel_comm_backend = 'hybridep'\n" NONE,
         " --ep 8 --etp 2 --moe-token-dispatcher-type flex --moe-flex-dispatcher-backend hybridep ", NULL},
        {QWEN "debug_moe_force_load_balance = true\n" NONE, " --moe-load balanced ", NULL},
        {DEEPSEEK NONE, " --mtp-num-layers 0 ", NULL},
        {"[model]\nname = 'llama3'\nflavor = '8B_flex_attn'\n[training]\nseq_len = 4096\n" NONE,
         " --model llama3-8b ", "attention of 8B_flex_attn costs what FlashAttention costs"},
        {LLAMA
         "[parallelism]\ncontext_parallel_degree = 2\ncontext_parallel_rotate_method = 'alltoall'\n" NONE,
         " --cp 2 --cp-comm-type p2p ", NULL},
        {LLAMA "[parallelism]\ncontext_parallel_degree = 2\n" NONE, " --cp 2 ", NULL},
        {LLAMA "[parallelism]\ndata_parallel_replicate_degree = 8\ndata_parallel_shard_degree = 1\n" NONE,
         " --overlap-grad-reduce --set ss.default.fp32_params=1 ", NULL},
        {LLAMA "[parallelism]\nfsdp_reshard_after_forward = 'never'\n" NONE, " --fsdp grad ", NULL},
        {LLAMA "global_batch_size = 64\n" NONE, " --gbs 64 ", NULL},
        {LLAMA
         "local_batch_size = 8\nglobal_batch_size = 64\n[parallelism]\npipeline_parallel_degree = 2\n" NONE,
         " --pp 2 ", "the pipeline is filled once an iteration"},
        {LLAMA "[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = 'op'\n",
         " --recompute op-selective ", NULL},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_request r;
        struct ss_error err = {0};
        char text[4096] = " ";
        ss_request_init(&r);
        CU_ASSERT_EQUAL(ss_request_read_text(&r, rows[i].text, strlen(rows[i].text), "job.toml", &err),
                        SS_OK);
        ss_request_text(&r, 0, text + 1, sizeof text - 2);
        strcat(text, " ");
        int right = strstr(text, rows[i].words) != NULL && (!rows[i].note || has_note(&r, rows[i].note));
        if (!right)
            printf("\n%s\n  is   %s\n  not  %s, %s (%s)\n", rows[i].text, text, rows[i].words,
                   rows[i].note ? rows[i].note : "", err.message);
        CU_ASSERT(right);
        ss_request_free(&r);
    }
}

TEST(refused)
{
    static const struct refused_row rows[] = {
        {QWEN "[parallelism]\nexpert_parallel_degree = 8\nexpert_parallel_comm_backend = 'pigeon'\n",
         SS_ERR_UNSUPPORTED, 8, "the exchange \"pigeon\" is not modelled: standard, deepep or hybridep"},
        {LLAMA "[parallelism]\ncontext_parallel_degree = 2\ncontext_parallel_rotate_method = 'ring'\n",
         SS_ERR_UNSUPPORTED, 8, "\"ring\" is no method that is known"},
        {LLAMA "[parallelism]\ndata_parallel_replicate_degree = 8\ndata_parallel_shard_degree = "
               "1\ntensor_parallel_degree = 2\n",
         SS_ERR_UNSUPPORTED, 7, "without sharding, torchtitan computes in fp32 beside other parallelism"},
        {LLAMA "[parallelism]\ndata_parallel_replicate_degree = 2\npipeline_parallel_degree = 2\n",
         SS_ERR_UNSUPPORTED, 7, "sharded copies of a pipeline are not modelled"},
        {LLAMA "[parallelism]\npipeline_parallel_degree = 2\nfsdp_reshard_after_forward = 'always'\n",
         SS_ERR_UNSUPPORTED, 8, "gathers parameters anew for each microbatch"},
        {LLAMA "[activation_checkpoint]\nmode = 'some'\n", SS_ERR_UNSUPPORTED, 7,
         "recompute of mode \"some\" is not modelled"},
        {LLAMA "[activation_checkpoint]\nmode = 'selective'\nselective_ac_option = 'x'\n", SS_ERR_UNSUPPORTED,
         8, "\"op\" or a number of layers is asked"},
        {LLAMA "[optimizer]\nname = 'SGD'\n", SS_ERR_UNSUPPORTED, 7,
         "the optimizer SGD is not modelled: AdamW or Adam"},
    };
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        check_refused(&rows[i], "job.toml");
}
