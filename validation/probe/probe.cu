/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The part of the probe that needs a GPU. Kernels run back to back in batches between two events, on buffers that
 * rotate through more memory than the L2 cache holds, behind a warm-up long enough for clocks and power to settle.
 */
#include <cublasLt.h>
#include <cuda_bf16.h>
#include <cuda_fp16.h>
#include <cuda_fp8.h>
#include <cuda_runtime.h>
#include <time.h>

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <new>

#include "probe.h"
extern "C" {
#include "base/base.h"
}

namespace
{

const double warm_up_s = 0.05, batch_s = 0.005;
const double slow_s = 0.2;                       /* kernels so long are timed three times */
const int most_launches = 400;                   /* in a batch: fewer than the stream's queue holds */
const size_t workspace_bytes = size_t(32) << 20; /* as Transformer Engine gives cuBLASLt on Hopper */
const size_t most_pool_bytes = size_t(32) << 30;
const size_t alignment = 256;

#define TRY(call)                                                                                            \
    do {                                                                                                     \
        int status_ = (call);                                                                                \
        if (status_)                                                                                         \
            return status_;                                                                                  \
    } while (0)
#define CUDA(call) TRY(check_cuda((call), #call, __LINE__, err))
#define BLAS(call) TRY(check_blas((call), #call, __LINE__, err))

int check_cuda(cudaError_t e, const char *call, int line, ss_error *err)
{
    if (e == cudaSuccess)
        return SS_OK;
    ss_fail(err, SS_ERR_ENGINE, "probe.cu", line, "%.200s: %s", call, cudaGetErrorString(e));
    return ss_hint(
        err, SS_ERR_ENGINE, "%s",
        e == cudaErrorMemoryAllocation
            ? "other programs hold this machine's memory; nvidia-smi lists those on the GPU"
            : "see with nvidia-smi that the GPU is well; the same command goes on where it stopped");
}

int check_blas(cublasStatus_t s, const char *call, int line, ss_error *err)
{
    if (s == CUBLAS_STATUS_SUCCESS)
        return SS_OK;
    return ss_fail(err, SS_ERR_ENGINE, "probe.cu", line, "%.200s: %s", call, cublasLtGetStatusString(s));
}

struct card {
    cublasLtHandle_t lt;
    cudaStream_t stream;
    cudaEvent_t mark[PROBE_BATCHES + 1];
    char *pool, *workspace, *host;
    unsigned long long *ticks;
    size_t pool_bytes, l2_bytes, host_bytes;
    int capability; /* 90 = 9.0 */
};

/* ---- kernels ---- */

__global__ void nothing()
{
}

__device__ unsigned long long now_ns()
{
    unsigned long long t;
    asm volatile("mov.u64 %0, %%globaltimer;" : "=l"(t));
    return t;
}

/* Holds the stream while the host fills its queue. */
__global__ void hold(unsigned long long ns)
{
    for (unsigned long long start = now_ns(); now_ns() - start < ns;)
        ;
}

/* Clock cycles and ns of about 200 us. The timer moves in steps: begins at one. */
__global__ void count_ticks(unsigned long long *out)
{
    unsigned long long first = now_ns(), start, end;
    do
        start = now_ns();
    while (start == first);
    long long cycles = clock64();
    do
        end = now_ns();
    while (end - start < 200000);
    out[0] = (unsigned long long)(clock64() - cycles);
    out[1] = end - start;
}

const int copy_threads = 256, copy_each = 4;

__global__ void copy(const uint4 *from, uint4 *to, size_t n)
{
    size_t i = (size_t)blockIdx.x * (copy_threads * copy_each) + threadIdx.x;
    for (int k = 0; k < copy_each; k++, i += copy_threads)
        if (i < n)
            to[i] = from[i];
}

/* Random values within -1..1: a GEMM of zeros takes less power and runs faster than training does. */
template <typename T> __global__ void fill(T *p, size_t n)
{
    size_t step = (size_t)gridDim.x * blockDim.x;
    for (size_t i = (size_t)blockIdx.x * blockDim.x + threadIdx.x; i < n; i += step) {
        unsigned h = (unsigned)i * 2654435761u + (unsigned)(i >> 32);
        h = (h ^ h >> 15) * 2246822519u;
        h ^= h >> 13;
        p[i] = T((float)(h & 0xffff) / 32768.0f - 1.0f);
    }
}

/* ---- time ---- */

int read_clock(card *c, probe_sample *out, ss_error *err)
{
    unsigned long long ticks[2];

    count_ticks<<<1, 1, 0, c->stream>>>(c->ticks);
    CUDA(cudaGetLastError());
    CUDA(cudaMemcpyAsync(ticks, c->ticks, sizeof ticks, cudaMemcpyDeviceToHost, c->stream));
    CUDA(cudaStreamSynchronize(c->stream));
    out->sm_clock = ticks[1] ? 1e9 * (double)ticks[0] / (double)ticks[1] : 0;
    return SS_OK;
}

int elapsed(cudaEvent_t from, cudaEvent_t to, double *seconds, ss_error *err)
{
    float ms;

    CUDA(cudaEventSynchronize(to));
    CUDA(cudaEventElapsedTime(&ms, from, to));
    *seconds = 1e-3 * (double)ms;
    return SS_OK;
}

/* launch(i) issues one kernel on buffers i; the batches follow each other without a pause. */
template <typename F> int time_batches(card *c, F launch, probe_sample *out, ss_error *err)
{
    double one, total;
    int each, at = 0;

    TRY(launch(at++)); /* loads the kernel */
    CUDA(cudaEventRecord(c->mark[0], c->stream));
    TRY(launch(at++));
    TRY(launch(at++));
    CUDA(cudaEventRecord(c->mark[1], c->stream));
    TRY(elapsed(c->mark[0], c->mark[1], &total, err));
    one = std::max(total / 2, 1e-7);
    each = (int)std::min(std::max(batch_s / one, 1.0), (double)most_launches);
    out->n = one > slow_s ? 3 : PROBE_BATCHES;
    for (int i = 0; i < std::min(warm_up_s / one, 20000.0); i++)
        TRY(launch(at++));
    CUDA(cudaEventRecord(c->mark[0], c->stream));
    for (int b = 0; b < out->n; b++) {
        for (int i = 0; i < each; i++)
            TRY(launch(at++));
        CUDA(cudaEventRecord(c->mark[b + 1], c->stream));
    }
    for (int b = 0; b < out->n; b++) {
        TRY(elapsed(c->mark[b], c->mark[b + 1], &out->seconds[b], err));
        out->seconds[b] /= each;
    }
    return read_clock(c, out, err);
}

/* As many sets of buffers as fill the L2 cache three times over; 0 = not even one fits. */
size_t count_sets(const card *c, size_t bytes)
{
    return std::min(3 * c->l2_bytes / bytes + 1, c->pool_bytes / bytes);
}

int too_large(const card *c, size_t bytes, probe_sample *out)
{
    snprintf(out->why, sizeof out->why, "it takes %.1f GiB, %.1f GiB are at hand", (double)bytes / SS_GIB,
             (double)c->pool_bytes / SS_GIB);
    return PROBE_LEFT_OUT;
}

/* ---- launches and copies ---- */

/* Time of empty kernels on the GPU, or of their launches on the host. */
int measure_launches(card *c, int on_host, probe_sample *out, ss_error *err)
{
    out->n = PROBE_BATCHES;
    for (int b = -1; b < PROBE_BATCHES; b++) { /* the first one warms up */
        double seconds;
        timespec begin, end;
        hold<<<1, 1, 0, c->stream>>>(10000000);
        CUDA(cudaEventRecord(c->mark[0], c->stream));
        clock_gettime(CLOCK_MONOTONIC, &begin);
        for (int i = 0; i < most_launches; i++)
            nothing<<<1, 1, 0, c->stream>>>();
        clock_gettime(CLOCK_MONOTONIC, &end);
        CUDA(cudaGetLastError());
        CUDA(cudaEventRecord(c->mark[1], c->stream));
        TRY(elapsed(c->mark[0], c->mark[1], &seconds, err));
        if (on_host)
            seconds = (double)(end.tv_sec - begin.tv_sec) + 1e-9 * (double)(end.tv_nsec - begin.tv_nsec);
        out->seconds[std::max(b, 0)] = seconds / most_launches;
    }
    return on_host ? SS_OK : read_clock(c, out, err);
}

int measure_copy(card *c, size_t bytes, probe_sample *out, ss_error *err)
{
    size_t sets = count_sets(c, 2 * bytes), n = bytes / sizeof(uint4);
    unsigned blocks = (unsigned)((n + copy_threads * copy_each - 1) / (copy_threads * copy_each));

    if (!sets)
        return too_large(c, 2 * bytes, out);
    auto launch = [=](int i) -> int {
        uint4 *at = (uint4 *)(c->pool + (size_t)i % sets * 2 * bytes);
        copy<<<blocks, copy_threads, 0, c->stream>>>(at, at + n, n);
        CUDA(cudaGetLastError());
        return SS_OK;
    };
    return time_batches(c, launch, out, err);
}

int measure_h2d(card *c, size_t bytes, probe_sample *out, ss_error *err)
{
    if (bytes > c->host_bytes || bytes > c->pool_bytes)
        return too_large(c, bytes, out);
    return time_batches(
        c,
        [=](int) -> int {
            CUDA(cudaMemcpyAsync(c->pool, c->host, bytes, cudaMemcpyHostToDevice, c->stream));
            return SS_OK;
        },
        out, err);
}

/* ---- GEMM ---- */

size_t size_of(cudaDataType_t type)
{
    return type == CUDA_R_32F ? 4 : type == CUDA_R_8F_E4M3 ? 1 : 2;
}

/* A row-major matrix is the transposed one to cuBLASLt: D' = B' A', n x m. */
struct gemm {
    cublasLtMatmulDesc_t op = nullptr;
    cublasLtMatrixLayout_t a = nullptr, b = nullptr, d = nullptr; /* B', A' and D' */
    cublasLtMatmulPreference_t preference = nullptr;
    cublasLtMatmulHeuristicResult_t found = {};
    size_t a_bytes = 0, b_bytes = 0, d_bytes = 0;
    cudaDataType_t in = CUDA_R_16BF, result = CUDA_R_16BF;
    float alpha = 1, beta = 0;

    ~gemm()
    {
        if (preference)
            cublasLtMatmulPreferenceDestroy(preference);
        for (cublasLtMatrixLayout_t layout : {a, b, d})
            if (layout)
                cublasLtMatrixLayoutDestroy(layout);
        if (op)
            cublasLtMatmulDescDestroy(op);
    }
    size_t set_bytes() const
    {
        return a_bytes + b_bytes + d_bytes;
    }
};

size_t bytes_of(long rows, long columns, cudaDataType_t type)
{
    return ((size_t)rows * (size_t)columns * size_of(type) + alignment - 1) / alignment * alignment;
}

int make_layout(cublasLtMatrixLayout_t *out, long rows, long columns, cudaDataType_t type, size_t *bytes,
                ss_error *err)
{
    BLAS(cublasLtMatrixLayoutCreate(out, type, (uint64_t)rows, (uint64_t)columns, rows));
    *bytes = bytes_of(rows, columns, type);
    return SS_OK;
}

/* fp8 wants both operands with K innermost; a framework keeps a transposed copy for that. It accumulates fast in the
 * forward only, as Transformer Engine does. */
int make_gemm(card *c, const probe_item *item, gemm *g, ss_error *err)
{
    static const cudaDataType_t types[SS_PRECISION_COUNT] = {CUDA_R_32F, CUDA_R_16F, CUDA_R_16BF,
                                                             CUDA_R_8F_E4M3};
    int fp8 = item->precision == SS_FP8, tf32 = item->precision == SS_FP32 && c->capability >= 80;
    cublasOperation_t ta = fp8 || item->pass == PROBE_FORWARD ? CUBLAS_OP_T : CUBLAS_OP_N;
    cublasOperation_t tb = !fp8 && item->pass == PROBE_WGRAD ? CUBLAS_OP_T : CUBLAS_OP_N;
    int8_t fast = item->pass == PROBE_FORWARD;

    g->in = types[item->precision];
    g->result = item->pass == PROBE_WGRAD ? CUDA_R_32F : fp8 ? CUDA_R_16BF : g->in;
    g->beta = item->pass == PROBE_WGRAD ? 1.0f : 0.0f;
    BLAS(cublasLtMatmulDescCreate(&g->op, tf32 ? CUBLAS_COMPUTE_32F_FAST_TF32 : CUBLAS_COMPUTE_32F,
                                  CUDA_R_32F));
    BLAS(cublasLtMatmulDescSetAttribute(g->op, CUBLASLT_MATMUL_DESC_TRANSA, &ta, sizeof ta));
    BLAS(cublasLtMatmulDescSetAttribute(g->op, CUBLASLT_MATMUL_DESC_TRANSB, &tb, sizeof tb));
    if (fp8)
        BLAS(cublasLtMatmulDescSetAttribute(g->op, CUBLASLT_MATMUL_DESC_FAST_ACCUM, &fast, sizeof fast));
    TRY(make_layout(&g->a, ta == CUBLAS_OP_T ? item->k : item->n, ta == CUBLAS_OP_T ? item->n : item->k,
                    g->in, &g->a_bytes, err));
    TRY(make_layout(&g->b, tb == CUBLAS_OP_T ? item->m : item->k, tb == CUBLAS_OP_T ? item->k : item->m,
                    g->in, &g->b_bytes, err));
    TRY(make_layout(&g->d, item->n, item->m, g->result, &g->d_bytes, err));
    BLAS(cublasLtMatmulPreferenceCreate(&g->preference));
    BLAS(cublasLtMatmulPreferenceSetAttribute(g->preference, CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES,
                                              &workspace_bytes, sizeof workspace_bytes));
    return SS_OK;
}

/* The library's first choice, as frameworks take it. */
int choose_algorithm(card *c, gemm *g, probe_sample *out, ss_error *err)
{
    int n = 0;
    cublasStatus_t s =
        cublasLtMatmulAlgoGetHeuristic(c->lt, g->op, g->a, g->b, g->d, g->d, g->preference, 1, &g->found, &n);

    if (s == CUBLAS_STATUS_NOT_SUPPORTED || (s == CUBLAS_STATUS_SUCCESS && !n)) {
        snprintf(out->why, sizeof out->why, "cuBLASLt has no algorithm for it on this card");
        return PROBE_LEFT_OUT;
    }
    BLAS(s);
    return SS_OK;
}

/* The bits of the operands' type are small values of fp32, too: good enough to add a weight gradient to. */
int fill_pool(card *c, cudaDataType_t type, size_t bytes, ss_error *err)
{
    const int blocks = 4096, threads = 256;

    switch (type) {
    case CUDA_R_32F: fill<<<blocks, threads, 0, c->stream>>>((float *)c->pool, bytes / 4); break;
    case CUDA_R_16F: fill<<<blocks, threads, 0, c->stream>>>((__half *)c->pool, bytes / 2); break;
    case CUDA_R_16BF: fill<<<blocks, threads, 0, c->stream>>>((__nv_bfloat16 *)c->pool, bytes / 2); break;
    default: fill<<<blocks, threads, 0, c->stream>>>((__nv_fp8_e4m3 *)c->pool, bytes);
    }
    CUDA(cudaGetLastError());
    return SS_OK;
}

int measure_gemm(card *c, const probe_item *item, probe_sample *out, ss_error *err)
{
    gemm g;

    TRY(make_gemm(c, item, &g, err));
    size_t sets = count_sets(c, g.set_bytes());
    if (!sets)
        return too_large(c, g.set_bytes(), out);
    TRY(choose_algorithm(c, &g, out, err));
    TRY(fill_pool(c, g.in, sets * g.set_bytes(), err));
    auto launch = [=, &g](int i) -> int {
        char *a = c->pool + (size_t)i % sets * g.set_bytes(), *b = a + g.a_bytes, *d = b + g.b_bytes;
        BLAS(cublasLtMatmul(c->lt, g.op, &g.alpha, a, g.a, b, g.b, &g.beta, d, g.d, d, g.d, &g.found.algo,
                            c->workspace, workspace_bytes, c->stream));
        return SS_OK;
    };
    return time_batches(c, launch, out, err);
}

int measure(void *at, const probe_item *item, probe_sample *out, ss_error *err)
{
    card *c = (card *)at;

    switch (item->kind) {
    case PROBE_LAUNCH: return measure_launches(c, 0, out, err);
    case PROBE_ISSUE: return measure_launches(c, 1, out, err);
    case PROBE_COPY: return measure_copy(c, (size_t)item->bytes, out, err);
    case PROBE_H2D: return measure_h2d(c, (size_t)item->bytes, out, err);
    default: return measure_gemm(c, item, out, err);
    }
}

/* ---- the card ---- */

/* The process ends behind it: nothing that fails here matters. */
void close_card(void *at)
{
    card *c = (card *)at;

    cudaFree(c->pool);
    cudaFree(c->workspace);
    cudaFree(c->ticks);
    cudaFreeHost(c->host);
    if (c->lt)
        cublasLtDestroy(c->lt);
    free(c);
}

void tell_versions(char *out, size_t size)
{
    int driver = 0, runtime = 0;
    char version[64], *text = nullptr;
    size_t len, lt = cublasLtGetVersion();

    cudaDriverGetVersion(&driver);
    cudaRuntimeGetVersion(&runtime);
    if (ss_file_read("/proc/driver/nvidia/version", 65536, &text, &len, nullptr) ||
        !probe_driver_version(text, version, sizeof version))
        snprintf(version, sizeof version, "for CUDA %d.%d", driver / 1000, driver % 1000 / 10);
    free(text);
    snprintf(out, size, "driver %s, CUDA %d.%d, cuBLASLt %zu.%zu.%zu", version, runtime / 1000,
             runtime % 1000 / 10, lt / 10000, lt / 100 % 100, lt % 100);
}

int fill_card(card *c, const cudaDeviceProp *p, ss_error *err)
{
    size_t free_bytes, total;

    c->capability = 10 * p->major + p->minor;
    c->l2_bytes = (size_t)std::max(p->l2CacheSize, 1 << 20);
    c->host_bytes = size_t(256) << 20;
    CUDA(cudaStreamCreateWithFlags(&c->stream, cudaStreamNonBlocking));
    for (cudaEvent_t &mark : c->mark)
        CUDA(cudaEventCreate(&mark));
    BLAS(cublasLtCreate(&c->lt));
    CUDA(cudaMalloc((void **)&c->workspace, workspace_bytes));
    CUDA(cudaMalloc((void **)&c->ticks, 2 * sizeof *c->ticks));
    CUDA(cudaMallocHost((void **)&c->host, c->host_bytes));
    CUDA(cudaMemGetInfo(&free_bytes, &total));
    c->pool_bytes = std::min(free_bytes / 10 * 9, most_pool_bytes) / alignment * alignment;
    CUDA(cudaMalloc((void **)&c->pool, c->pool_bytes));
    return SS_OK;
}

/* Tensor cores: fp16 since 7.0, bf16 and TF32 since 8.0, fp8 since 8.9; fp32 is measured without them too. */
unsigned precisions_of(int capability)
{
    return 1u << SS_FP32 | (capability >= 70) << SS_FP16 | (capability >= 80) << SS_BF16 |
           (capability >= 89) << SS_FP8;
}

int open_card(int index, probe_device *out, ss_error *err)
{
    int n = 0;
    cudaError_t e = cudaGetDeviceCount(&n);
    cudaDeviceProp p;

    if (e != cudaSuccess || index >= n) {
        ss_fail(err, SS_ERR_ENGINE, nullptr, 0, "no GPU %d: %s", index,
                e != cudaSuccess ? cudaGetErrorString(e) : "there are fewer");
        return ss_hint(err, SS_ERR_ENGINE, "run the probe on a machine with an NVIDIA GPU and its driver");
    }
    CUDA(cudaSetDevice(index));
    CUDA(cudaGetDeviceProperties(&p, index));
    card *c = (card *)calloc(1, sizeof *c);
    if (!c)
        return ss_fail(err, SS_ERR_NOMEM, nullptr, 0, "out of memory");
    int rc = fill_card(c, &p, err);
    if (rc) {
        close_card(c);
        return rc;
    }
    snprintf(out->gpu, sizeof out->gpu, "%s", p.name);
    tell_versions(out->about, sizeof out->about);
    out->precisions = precisions_of(c->capability);
    out->measure = measure;
    out->close = close_card;
    out->card = c;
    return SS_OK;
}

} // namespace

int main(int argc, char **argv)
{
    return probe_main(argc, argv, open_card);
}
