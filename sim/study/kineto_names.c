/* SPDX-License-Identifier: Apache-2.0 */
/* Tells kernels by their names, from facts about cuBLAS, cuDNN, CUTLASS, FlashAttention, Transformer
 * Engine, PyTorch, NCCL, DeepEP and their AMD counterparts. */
#include "base/base.h"
#include "study/kineto.h"

SS_NAMES(ss_gpu_work_key, SS_GPU_WORK_LIST, SS_SECOND)
SS_NAMES(ss_gpu_work_words, SS_GPU_WORK_LIST, SS_THIRD)

int ss_gpu_work_is_comm(int work)
{
    return work >= SS_GPU_ALL_REDUCE && work <= SS_GPU_OTHER_COMM;
}

/* Words in small letters, with bars between. The first row of which a word is in the name counts. */
struct word {
    const char *texts;
    int work;
};

/* Returns 1 if one of the words is in `name`. */
static int has_one(const char *name, const char *texts)
{
    char text[40];

    for (const char *p = texts; *p; p += strcspn(p, "|"), p += *p == '|') {
        snprintf(text, sizeof text, "%.*s", (int)strcspn(p, "|"), p);
        if (strstr(name, text))
            return 1;
    }
    return 0;
}

/* Returns the first row of which a word is in `name`; -1: none. */
static int find(const char *name, const struct word *rows, size_t n)
{
    for (size_t i = 0; i < n; i++)
        if (has_one(name, rows[i].texts))
            return rows[i].work;
    return -1;
}

/* Collectives as NCCL, RCCL, MSCCL and PyTorch call them. A longer word stands before a word that is a
 * part of it. */
static const struct word collectives[] = {
    {"allreduce|all_reduce", SS_GPU_ALL_REDUCE}, {"reducescatter|reduce_scatter", SS_GPU_REDUCE_SCATTER},
    {"allgather|all_gather", SS_GPU_ALL_GATHER}, {"alltoall|all_to_all", SS_GPU_ALL_TO_ALL},
    {"sendrecv|send|recv", SS_GPU_SEND_RECV},
};

/* Libraries of collectives. */
static const char libraries[] = "nccl|rccl|mscclkernel|userbuffers|symm_mem";

/* Exchanges of experts by DeepEP and HybridEP, in any name space. */
static const char exchanges[] = "internode::|internode_ll::|intranode::|notify_dispatch|hybrid_ep|deep_ep";

/* Kernels that compute. Attention stands before GEMMs, because its kernels are CUTLASS's, too. */
static const struct word kernels[] = {
    {"flash|fmha|sdpa|attention|fused_attn|attn_fwd|attn_bwd", SS_GPU_ATTENTION},
    /* not every lambda; multi_tensor_apply: the gradients' norm and scaling too */
    {"adam|adagrad|lambstage|sgd|multi_tensor_apply", SS_GPU_OPTIMIZER},
    {"splitkreduce", SS_GPU_GEMM},                        /* cuBLAS sums the parts of a product */
    {"elementwise_kernel|reduce_kernel<", SS_GPU_VECTOR}, /* a template argument may name anything */
    {"gemm|gemv|nvjet|xmma|cutlass|cublas|splitk|cijk_|matmul|_mm_|_bmm|_addmm", SS_GPU_GEMM},
};

static void lower(const char *name, char *out, size_t size)
{
    size_t n = 0;

    for (; name[n] && n + 1 < size; n++)
        out[n] = (char)tolower((unsigned char)name[n]);
    out[n] = '\0';
}

/* Returns 1 if the name is of a kernel of such a library: the library is one of the words before the
 * arguments. */
static int communicates(const char *name)
{
    char head[256];

    snprintf(head, sizeof head, "%.*s", (int)strcspn(name, "("), name);
    return has_one(head, libraries);
}

int ss_kineto_kind(const char *name, const char *collective)
{
    char low[1024], beside[128];

    lower(name, low, sizeof low);
    if (has_one(low, exchanges))
        return SS_GPU_ALL_TO_ALL;
    if (!communicates(low)) {
        int work = find(low, kernels, SS_ARRAY_LEN(kernels));
        return work >= 0 ? work : SS_GPU_VECTOR;
    }
    lower(collective, beside, sizeof beside);
    int work = find(beside, collectives,
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
    return has_one(name, "HtoD|DtoH|Host-to-Device|Device-to-Host") ? SS_GPU_COPY : SS_GPU_VECTOR;
}

/* Splits a text at anything that is no letter: " tensor model parallel group ". */
static void split_words(const char *text, char *out, size_t size)
{
    size_t n = 0;

    out[n++] = ' ';
    for (; *text && n + 2 < size; text++)
        out[n++] = isalpha((unsigned char)*text) ? (char)tolower((unsigned char)*text) : ' ';
    out[n++] = ' ';
    out[n] = '\0';
}

/* Returns the label of a process group by its description ("TENSOR_MODEL_PARALLEL_GROUP",
 * "mesh_dp_shard"); -1: the description does not tell it. */
static int group_label(const char *description)
{
    static const struct word groups[] = {
        {" expert data ", SS_LABEL_DP},           {" expert | ep ", SS_LABEL_EP},
        {" pipeline | pp ", SS_LABEL_PP},         {" embedding | data parallel | dp | fsdp ", SS_LABEL_DP},
        {" context | cp ", SS_LABEL_CP},          {" tensor | tp ", SS_LABEL_TP},
        {" model parallel ", SS_LABEL_OPTIMIZER}, /* the gradients' norm */
    };
    char words[256];

    split_words(description, words, sizeof words);
    return find(words, groups, SS_ARRAY_LEN(groups));
}

int ss_kineto_label(int work, const char *name, const char *group)
{
    int label = ss_gpu_work_is_comm(work) ? group_label(group) : SS_GPU_UNNAMED;

    if (label >= 0)
        return label;
    /* Exchanges that are not NCCL's are DeepEP's; user buffers are of tensor ranks. */
    if (work == SS_GPU_ALL_TO_ALL && !strstr(name, "ccl"))
        return SS_LABEL_EP;
    if (strstr(name, "userbuffers"))
        return SS_LABEL_TP;
    return work == SS_GPU_SEND_RECV ? SS_GPU_MESSAGE : SS_GPU_UNNAMED;
}
