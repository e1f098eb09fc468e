/* SPDX-License-Identifier: Apache-2.0 */
/* Traces of PyTorch's profiler: hand-computed labels. */
#include <string.h>

#include "stepsim/kineto.h"
#include "suite.h"

#define EXAMPLE SS_SOURCE_DIR "/docs/guide/examples/rank3.json"
#define CLOSE(a, b) CU_ASSERT_DOUBLE_EQUAL(a, b, 1e-9)

/* Traces begin at a large number of microseconds, of which a double keeps quarters. */
#define EPOCH "1712187111380"

static int parse(const char *text, struct ss_kineto *k, struct ss_error *err)
{
    memset(err, 0, sizeof *err);
    return ss_kineto_parse(text, strlen(text), "t.json", k, err);
}

/* An event of ts 1712187111380.000 + MS.US us. */
#define KERNEL(name, us, dur, more)                                                                          \
    "{\"ph\":\"X\",\"cat\":\"kernel\",\"name\":\"" name "\",\"pid\":0,\"tid\":7,\"ts\":" EPOCH us            \
    ",\"dur\":" dur ",\"args\":{\"device\":0" more "}}"
#define STEP(n, us, dur)                                                                                     \
    "{\"ph\":\"X\",\"cat\":\"user_annotation\",\"name\":\"ProfilerStep#" n "\",\"ts\":" EPOCH us             \
    ",\"dur\":" dur "}"

static double sum_of(const struct ss_kineto *k)
{
    double sum = k->idle;

    for (int w = 0; w < SS_GPU_WORK_COUNT; w++)
        sum += k->work[w].exposed;
    return sum;
}

/*
 * The example, in ms from the beginning of a step of 100: a fill that the step before left runs to 4, a GEMM from 10 to 40, attention to
 * 50, an all-gather from 30 to 60, a receive from 55 to 70, Adam to 85, a copy from 80 to 95, a fill from 98 on.
 */
TEST(example)
{
    struct ss_kineto k;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_kineto_load(EXAMPLE, &k, &err), SS_OK);
    CU_ASSERT(k.rank == 3 && k.world == 8 && !strcmp(k.device, "NVIDIA H800"));
    CU_ASSERT(k.by == SS_KINETO_STEPS && k.found == 3 && k.used == 2 && k.kernels == 21);
    CLOSE(k.iteration_s, 0.1);
    CLOSE(k.work[SS_GPU_GEMM].exposed, 0.030);
    CLOSE(k.work[SS_GPU_ATTENTION].exposed, 0.010);
    CLOSE(k.work[SS_GPU_VECTOR].exposed, 0.006);
    CLOSE(k.work[SS_GPU_OPTIMIZER].exposed, 0.015);
    CLOSE(k.work[SS_GPU_ALL_GATHER].exposed, 0.010);
    CLOSE(k.work[SS_GPU_ALL_GATHER].hidden, 0.020);
    CLOSE(k.work[SS_GPU_SEND_RECV].exposed, 0.010);
    CLOSE(k.work[SS_GPU_SEND_RECV].hidden, 0.005);
    CLOSE(k.work[SS_GPU_COPY].exposed, 0.010);
    CLOSE(k.work[SS_GPU_COPY].hidden, 0.005);
    CLOSE(k.idle, 0.009);
    CLOSE(sum_of(&k), k.iteration_s);
    CLOSE(k.label[SS_LABEL_TP].exposed, 0.010);
    CLOSE(k.label[SS_LABEL_TP].hidden, 0.020);
    CLOSE(k.label[SS_LABEL_PP].exposed, 0.010);
    CLOSE(k.label[SS_LABEL_PP].hidden, 0.005);
    CLOSE(k.unnamed.exposed + k.unnamed.hidden + k.messages.exposed + k.messages.hidden, 0);
    CLOSE(k.work[SS_GPU_VECTOR].calls, 1);
}

/* Fractions of microseconds behind thirteen digits. */
TEST(fractions)
{
    struct ss_kineto k;
    struct ss_error err;
    const char *text = "[" STEP("1", "123.125", "10.5") "," KERNEL(
        "sgemm", "123.250", "0.625", "") "," KERNEL("sgemm", "125.001", "0.002", "") "]";

    CU_ASSERT_EQUAL_FATAL(parse(text, &k, &err), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(k.iteration_s, 10.5e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(k.work[SS_GPU_GEMM].exposed, 0.627e-6, 1e-15);
}

/* A step that is told twice is one; of two each lasts to the next one, the last to its own end. */
TEST(doubles)
{
    struct ss_kineto k;
    struct ss_error err;
    const char *text = "[" STEP("1", "100", "10") "," STEP("1", "100", "10") "," STEP(
        "2", "112", "8") "," KERNEL("sgemm", "104", "6", "") "," KERNEL("sgemm", "113", "2", "") "]";

    CU_ASSERT_EQUAL_FATAL(parse(text, &k, &err), SS_OK);
    CU_ASSERT(k.found == 2 && k.used == 2);
    CU_ASSERT_DOUBLE_EQUAL(k.iteration_s, 10e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(k.work[SS_GPU_GEMM].exposed, 4e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(k.idle, 6e-6, 1e-15);
}

/* Without steps: Adam comes once an iteration of 10 us, the GEMM twice. */
TEST(period)
{
    struct ss_kineto k;
    struct ss_error err;
#define ITERATION(tens)                                                                                      \
    KERNEL("nvjet_tst", tens "1", "2", "")                                                                   \
    "," KERNEL("nvjet_tst", tens "4", "3", "") "," KERNEL("AdamFunctor", tens "8", "1", "")
    const char *text =
        "{\"traceEvents\":[" ITERATION("00") "," ITERATION("01") "," ITERATION("02") "," ITERATION("03") "]}";

    CU_ASSERT_EQUAL_FATAL(parse(text, &k, &err), SS_OK);
    CU_ASSERT(k.by == SS_KINETO_PERIOD && k.found == 3 && k.used == 2 && !strcmp(k.period, "AdamFunctor"));
    CLOSE(k.iteration_s, 10e-6);
    CU_ASSERT_DOUBLE_EQUAL(k.work[SS_GPU_GEMM].exposed, 5e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(k.idle, 4e-6, 1e-15);
    CU_ASSERT_EQUAL(parse("[" ITERATION("00") "]", &k, &err), SS_OK);
    CU_ASSERT(k.by == SS_KINETO_WHOLE);
    CU_ASSERT_DOUBLE_EQUAL(k.iteration_s, 8e-6, 1e-15);
}

/* Two transfers at one moment: one of them is exposed, and of the label of that one. */
TEST(together)
{
    struct ss_kineto k;
    struct ss_error err;
    /* clang-format off */
    const char *text =
        "[" STEP("1", "100", "10")
        "," KERNEL("ncclDevKernel_Generic", "100", "6",
                   ",\"Collective name\":\"_reduce_scatter_base\",\"Process Group Description\":\"mesh_dp_shard\"")
        "," KERNEL("void deep_ep::intranode::combine<8>()", "104", "4", "")
        "," KERNEL("ncclKernel_SendRecv_RING_SIMPLE_Sum_int8_t(ncclDevComm*)", "105", "5", "") "]";
    /* clang-format on */

    CU_ASSERT_EQUAL_FATAL(parse(text, &k, &err), SS_OK);
    CU_ASSERT_DOUBLE_EQUAL(k.label[SS_LABEL_DP].exposed, 6e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(k.label[SS_LABEL_EP].exposed, 2e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(k.label[SS_LABEL_EP].hidden, 2e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(k.messages.exposed, 2e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(k.messages.hidden, 3e-6, 1e-15);
    CU_ASSERT_DOUBLE_EQUAL(sum_of(&k), 10e-6, 1e-15);
}

/* The same iteration by Nsight Systems: of four begun by the GEMM three are whole. Nothing tells what transfers are for. */
TEST(nsys)
{
    struct ss_kineto k;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_nsys_load(SS_SOURCE_DIR "/docs/guide/examples/rank3-nsys.csv", &k, &err), SS_OK);
    CU_ASSERT(k.by == SS_KINETO_PERIOD && k.found == 3 && k.used == 2 && k.kernels == 28);
    CU_ASSERT(!strcmp(k.device, "NVIDIA H800") && k.rank == -1);
    CLOSE(k.iteration_s, 0.1);
    CLOSE(k.work[SS_GPU_GEMM].exposed, 0.030);
    CLOSE(k.work[SS_GPU_ATTENTION].exposed, 0.010);
    CLOSE(k.work[SS_GPU_VECTOR].exposed, 0.006);
    CLOSE(k.work[SS_GPU_OPTIMIZER].exposed, 0.015);
    CLOSE(k.work[SS_GPU_COPY].exposed, 0.010);
    CLOSE(k.unnamed.exposed, 0.010);
    CLOSE(k.unnamed.hidden, 0.020);
    CLOSE(k.messages.exposed, 0.010);
    CLOSE(k.messages.hidden, 0.005);
    CLOSE(k.idle, 0.009);
    CLOSE(sum_of(&k), k.iteration_s);
}

/* The GPU of a node with the most kernels. */
TEST(nsys_node)
{
    static const char text[] = "Start (ns),Duration (ns),Device,Name\n"
                               "1,1000,H (0),a\n1,9000,H (2),a\n20000,1000,H (2),b\n1,2000,H (7),a\n";
    struct ss_error err = {0};
    struct ss_kineto k;

    CU_ASSERT_EQUAL_FATAL(ss_nsys_parse(text, sizeof text - 1, "t.csv", &k, &err), SS_OK);
    CU_ASSERT(k.gpu == 2 && k.gpus == 3 && k.kernels == 2);
    CU_ASSERT_EQUAL_FATAL(ss_nsys_load(SS_SOURCE_DIR "/docs/guide/examples/rank3-nsys.csv", &k, &err), SS_OK);
    CU_ASSERT(k.gpu == 3 && k.gpus == 1);
}

static void nsys_error(const char *text, int line, const char *words)
{
    struct ss_kineto k;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(ss_nsys_parse(text, strlen(text), "t.csv", &k, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(err.line, line);
    if (!strstr(err.message, words))
        CU_FAIL(err.message);
}

TEST(nsys_errors)
{
    nsys_error("", 0, "no table");
    nsys_error("Start (ns),Name\n1,a\n", 0, "no table");
    nsys_error("Start (ns),Duration (ns),Name\n\n1,2,a\n", 0, "no kernel");
    nsys_error("x\nStart (ns),Duration (ns),Name\n1,2,a\n1,x,a\n", 4, "is missing");
    nsys_error("Start (ns),Duration (ns),Name\n1,2,\n", 2, "is missing");
}

/* Kernels as they are named in public traces and in the libraries' sources. */
TEST(names)
{
    static const struct {
        const char *name;
        int work;
    } names[] = {
        {"nvjet_hsh_256x128_64x4_1x2_h_bz_coopA_TNT", SS_GPU_GEMM},
        {"ampere_bf16_s16816gemm_bf16_256x128_ldg8_f2f_stages_64x3_tn", SS_GPU_GEMM},
        {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64", SS_GPU_GEMM},
        {"void cutlass::device_kernel<dpsk::grouped_gemm::cuda::m_grouped_fp8_ptp128c::GemmKernel>()",
         SS_GPU_GEMM},
        {"Cijk_Ailk_Bljk_BBS_BH_MT256x256x64", SS_GPU_GEMM},
        {"triton_tem_fused_mm_3", SS_GPU_GEMM},
        {"void cublasLt::splitKreduce_kernel<32, 16, int, float, __nv_bfloat16, float>(...)", SS_GPU_GEMM},
        {"void cutlass::device_kernel<flash::FlashAttnFwdSm90<...> >(Params)", SS_GPU_ATTENTION},
        {"void flash_bwd_dq_dk_dv_loop_seqk_parallel_kernel<...>()", SS_GPU_ATTENTION},
        {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob_6_64x128x128", SS_GPU_ATTENTION},
        {"fmha_cutlassF_bf16_aligned_64x128_rf_sm80(...)", SS_GPU_ATTENTION},
        {"void multi_tensor_apply_kernel<TensorListMetadata<4>, AdamFunctor<float>>(...)", SS_GPU_OPTIMIZER},
        {"void multi_tensor_apply_kernel<TensorListMetadata<1>, L2NormFunctor<float>>(...)",
         SS_GPU_OPTIMIZER},
        {"void at::native::elementwise_kernel<128, 2, at::native::gpu_kernel_impl<f(){lambda()#2}> >(int)",
         SS_GPU_VECTOR},
        {"void transformer_engine::normalization::rmsnorm_fwd_tuned_kernel<...>()", SS_GPU_VECTOR},
        {"void layer_norm::ln_fwd_kernel<layer_norm::Kernel_traits<...> >()", SS_GPU_VECTOR},
        {"triton_poi_fused_add_cos_sin_0", SS_GPU_VECTOR},
        {"ncclDevKernel_AllReduce_Sum_bf16_RING_LL(ncclDevKernelArgsStorage<4096ul>)", SS_GPU_ALL_REDUCE},
        {"ncclKernel_AllReduce_RING_LL_Sum_float(ncclWorkElem)", SS_GPU_ALL_REDUCE},
        {"ncclDevKernel_ReduceScatter_Sum_f32_RING_LL(ncclDevKernelArgsStorage<4096ul>)",
         SS_GPU_REDUCE_SCATTER},
        {"ncclDevKernel_AllGather_RING_LL(ncclDevKernelArgsStorage<4096ul>)", SS_GPU_ALL_GATHER},
        {"ncclDevKernel_SendRecv(ncclDevKernelArgsStorage<4096ul>)", SS_GPU_SEND_RECV},
        {"ncclDevKernel_Broadcast_RING_LL(ncclDevKernelArgsStorage<4096ul>)", SS_GPU_OTHER_COMM},
        {"ncclDevKernel_Generic(ncclDevKernelArgs*)", SS_GPU_OTHER_COMM},
        {"void dpsk::ep::internode::dispatch<false, 8, true, 8>(int4*, float*, long*)", SS_GPU_ALL_TO_ALL},
        {"void deep_ep::intranode::combine<...>(...)", SS_GPU_ALL_TO_ALL},
    };

    for (size_t i = 0; i < sizeof names / sizeof names[0]; i++)
        if (ss_kineto_work_of(names[i].name) != names[i].work)
            CU_FAIL_FATAL(names[i].name);
    CU_PASS("all names");
}

static void expect_error(const char *text, int code, int line, const char *words)
{
    struct ss_kineto k;
    struct ss_error err;

    CU_ASSERT_EQUAL(parse(text, &k, &err), code);
    CU_ASSERT_EQUAL(err.line, line);
    if (!strstr(err.message, words))
        CU_FAIL(err.message);
}

TEST(errors)
{
    expect_error("", SS_ERR_INPUT, 1, "no trace");
    expect_error("{}", SS_ERR_INPUT, 1, "no \"traceEvents\"");
    expect_error("{\"traceEvents\":[]}", SS_ERR_INPUT, 0, "no kernel of a GPU");
    expect_error("{\"traceEvents\":[\n{\"ph\":\"X\",\n\"na", SS_ERR_INPUT, 3, "is it whole");
    expect_error("[{\"ph\":\"X\"}\n{}]", SS_ERR_INPUT, 2, "a comma");
    expect_error("[{\"ts\":12x}]", SS_ERR_INPUT, 1, "no number");
    expect_error("[\n" KERNEL("sgemm", "0", "0", "") "]", SS_ERR_INPUT, 0, "take no time");
    expect_error("[{\"a\":\"\\q\"}]", SS_ERR_INPUT, 1, "escape");
    expect_error("[\n{\"a\":1,\"a\":2,\"dur\":5,\n\"dur\":6}]", SS_ERR_INPUT, 3, "\"dur\" is there twice");

    /* refused unread, and a FIFO not waited for */
    struct ss_kineto k;
    struct ss_error err = {0};
    CU_ASSERT_EQUAL(ss_kineto_load("/dev/zero", &k, &err), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "a device, not a file");
    CU_ASSERT_EQUAL(ss_nsys_load("/dev/zero", &k, &err), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "a device, not a file");
}

/* What is no event, and values of other kinds, are passed over. */
TEST(strange)
{
    struct ss_kineto k;
    struct ss_error err;
    /* clang-format off */
    const char *text =
        "\xef\xbb\xbf{\"a\":[[[1,{\"b\":null}]],true],\"traceEvents\":[3,[],{\"ph\":{\"x\":1},\"name\":[],\"args\":7}"
        "," KERNEL("sgemm", "0", "5", ",\"stream\":\"\\u0041\\n\",\"Process Group Description\":null")
        "," KERNEL("sgemm", "0", "-5", "")
        "," KERNEL("sgemm", "0", "1e99", "")
        "],\"distributedInfo\":[],\"deviceProperties\":{}}";
    /* clang-format on */

    CU_ASSERT_EQUAL_FATAL(parse(text, &k, &err), SS_OK);
    CU_ASSERT(k.kernels == 1 && k.rank == -1 && k.device[0] == '\0');
    CU_ASSERT_DOUBLE_EQUAL(k.work[SS_GPU_GEMM].exposed, 5e-6, 1e-15);
}
