/* SPDX-License-Identifier: Apache-2.0 */
/* Kernels by their names: facts about cuBLAS, cuDNN, CUTLASS, FlashAttention, Transformer Engine, PyTorch, NCCL, DeepEP and their AMD
 * counterparts. */
#include <ctype.h>
#include <string.h>

#include "base/base.h"
#include "study/kineto.h"

SS_NAMES(ss_gpu_work_key, SS_GPU_WORK_LIST, SS_SECOND)
SS_NAMES(ss_gpu_work_words, SS_GPU_WORK_LIST, SS_THIRD)

int ss_gpu_work_is_comm(int work)
{
    return work >= SS_GPU_ALL_REDUCE && work <= SS_GPU_OTHER_COMM;
}

/* A word of a name, in small letters; the first row that is in the name counts. */
struct word {
    const char *text;
    int work;
};

/* Which of the rows is in `name`; -1: none. */
static int find(const char *name, const struct word *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (strstr(name, rows[i].text))
            return rows[i].work;
    return -1;
}

/* Collectives as NCCL, RCCL, MSCCL and PyTorch call them: the longer word before one that is in it. */
static const struct word collectives[] = {
    {"allreduce", SS_GPU_ALL_REDUCE},
    {"all_reduce", SS_GPU_ALL_REDUCE},
    {"reducescatter", SS_GPU_REDUCE_SCATTER},
    {"reduce_scatter", SS_GPU_REDUCE_SCATTER},
    {"allgather", SS_GPU_ALL_GATHER},
    {"all_gather", SS_GPU_ALL_GATHER},
    {"alltoall", SS_GPU_ALL_TO_ALL},
    {"all_to_all", SS_GPU_ALL_TO_ALL},
    {"sendrecv", SS_GPU_SEND_RECV},
    {"send", SS_GPU_SEND_RECV},
    {"recv", SS_GPU_SEND_RECV},
};

/* Libraries of collectives. */
static const struct word libraries[] = {
    {"nccl", 1}, {"rccl", 1}, {"mscclkernel", 1}, {"userbuffers", 1}, {"symm_mem", 1}};

/* Exchanges of experts: DeepEP and HybridEP, under any name space. */
static const struct word exchanges[] = {
    {"internode::", SS_GPU_ALL_TO_ALL}, {"internode_ll::", SS_GPU_ALL_TO_ALL},
    {"intranode::", SS_GPU_ALL_TO_ALL}, {"notify_dispatch", SS_GPU_ALL_TO_ALL},
    {"hybrid_ep", SS_GPU_ALL_TO_ALL},   {"deep_ep", SS_GPU_ALL_TO_ALL}};

/* Attention before GEMMs: its kernels are CUTLASS's too. */
static const struct word kernels[] = {
    {"flash", SS_GPU_ATTENTION},
    {"fmha", SS_GPU_ATTENTION},
    {"sdpa", SS_GPU_ATTENTION},
    {"attention", SS_GPU_ATTENTION},
    {"fused_attn", SS_GPU_ATTENTION},
    {"attn_fwd", SS_GPU_ATTENTION},
    {"attn_bwd", SS_GPU_ATTENTION},
    {"adam", SS_GPU_OPTIMIZER},
    {"adagrad", SS_GPU_OPTIMIZER},
    {"lambstage", SS_GPU_OPTIMIZER}, /* not every lambda */
    {"sgd", SS_GPU_OPTIMIZER},
    {"multi_tensor_apply", SS_GPU_OPTIMIZER}, /* the gradients' norm and scaling too */
    {"splitkreduce", SS_GPU_GEMM},            /* cuBLAS sums the parts of a product */
    {"elementwise_kernel", SS_GPU_VECTOR},    /* a template argument may name anything */
    {"reduce_kernel<", SS_GPU_VECTOR},
    {"gemm", SS_GPU_GEMM},
    {"gemv", SS_GPU_GEMM},
    {"nvjet", SS_GPU_GEMM},
    {"xmma", SS_GPU_GEMM},
    {"cutlass", SS_GPU_GEMM},
    {"cublas", SS_GPU_GEMM},
    {"splitk", SS_GPU_GEMM},
    {"cijk_", SS_GPU_GEMM},
    {"matmul", SS_GPU_GEMM},
    {"_mm_", SS_GPU_GEMM},
    {"_bmm", SS_GPU_GEMM},
    {"_addmm", SS_GPU_GEMM},
};

static void lower(const char *name, char *out, size_t size)
{
    size_t n = 0;

    for (; name[n] && n + 1 < size; n++)
        out[n] = (char)tolower((unsigned char)name[n]);
    out[n] = '\0';
}

/* Whether the name is of a library's kernel: NCCL is one of the words before its arguments. */
static int communicates(const char *name)
{
    char head[256];

    snprintf(head, sizeof head, "%.*s", (int)strcspn(name, "("), name);
    return find(head, libraries, SS_ARRAY_LEN(libraries)) >= 0;
}

int ss_kineto_kind(const char *name, const char *collective)
{
    char low[1024], beside[128];

    lower(name, low, sizeof low);
    int work = find(low, exchanges, SS_ARRAY_LEN(exchanges));
    if (work >= 0)
        return work;
    if (!communicates(low)) {
        work = find(low, kernels, SS_ARRAY_LEN(kernels));
        return work >= 0 ? work : SS_GPU_VECTOR;
    }
    lower(collective, beside, sizeof beside);
    work = find(beside, collectives,
                SS_ARRAY_LEN(collectives)); /* an all-to-all is a kernel of sends and receives */
    if (work < 0)
        work = find(low, collectives, SS_ARRAY_LEN(collectives));
    return work >= 0 ? work : SS_GPU_OTHER_COMM;
}

int ss_kineto_work_of(const char *kernel)
{
    return ss_kineto_kind(kernel, "");
}

int ss_kineto_copy(const char *name)
{
    static const struct word ways[] = {
        {"HtoD", 1}, {"DtoH", 1}, {"Host-to-Device", 1}, {"Device-to-Host", 1}};

    return find(name, ways, SS_ARRAY_LEN(ways)) > 0 ? SS_GPU_COPY : SS_GPU_VECTOR;
}

/* Words between anything that is no letter, as " tensor model parallel group ". */
static void split_words(const char *text, char *out, size_t size)
{
    size_t n = 0;

    out[n++] = ' ';
    for (; *text && n + 2 < size; text++)
        out[n++] = isalpha((unsigned char)*text) ? (char)tolower((unsigned char)*text) : ' ';
    out[n++] = ' ';
    out[n] = '\0';
}

int ss_kineto_group(const char *description)
{
    static const struct word groups[] = {
        {" expert data ", SS_LABEL_DP},
        {" expert ", SS_LABEL_EP},
        {" ep ", SS_LABEL_EP},
        {" pipeline ", SS_LABEL_PP},
        {" pp ", SS_LABEL_PP},
        {" embedding ", SS_LABEL_DP},
        {" data parallel ", SS_LABEL_DP},
        {" dp ", SS_LABEL_DP},
        {" fsdp ", SS_LABEL_DP},
        {" context ", SS_LABEL_CP},
        {" cp ", SS_LABEL_CP},
        {" tensor ", SS_LABEL_TP},
        {" tp ", SS_LABEL_TP},
        {" model parallel ", SS_LABEL_OPTIMIZER}, /* the gradients' norm */
    };
    char words[256];

    split_words(description, words, sizeof words);
    return find(words, groups, SS_ARRAY_LEN(groups));
}

int ss_kineto_label(int work, const char *name, const char *group)
{
    int label = ss_gpu_work_is_comm(work) ? ss_kineto_group(group) : SS_GPU_UNNAMED;

    if (label >= 0)
        return label;
    /* Exchanges that are not NCCL's are DeepEP's; user buffers are of tensor ranks. */
    if (work == SS_GPU_ALL_TO_ALL && !strstr(name, "ccl"))
        return SS_LABEL_EP;
    if (strstr(name, "userbuffers"))
        return SS_LABEL_TP;
    return work == SS_GPU_SEND_RECV ? SS_GPU_MESSAGE : SS_GPU_UNNAMED;
}
