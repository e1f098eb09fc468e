/* SPDX-License-Identifier: Apache-2.0 */
/* What trains a model of Megatron core: gradients, overlap, optimizer, under the names of NVIDIA-NeMo/Megatron-Bridge@067f987 and NeMo 2. */
#include <string.h>

#include "base/base.h"
#include "import/core_names.h"
#include "import/foreign_rows.h"

/* bf16 is what the gradients are reduced in where it is not fp32. */
int ss_core_reduction(struct ss_foreign *f, const struct ss_tree_node *from, struct ss_error *err)
{
    struct ss_tree_node *node = ss_tree_get(from, "grad_reduce_in_fp32");

    if (ss_tree_truth(node) < 0)
        return SS_OK;
    return ss_foreign_flag(
        f, node, ss_tree_truth(node) ? "--accumulate-allreduce-grads-in-fp32" : "--grad-reduce-in-bf16", NULL,
        err);
}

/* A switch of `overlap`, or of `other` where that is null; `missing` where there is an `overlap` and neither says. */
static int add_overlap(struct ss_foreign *f, const struct ss_tree_node *overlap,
                       const struct ss_tree_node *other, const char *name, bool missing, struct ss_error *err)
{
    struct ss_tree_node *node = ss_tree_get(overlap, name), *second = ss_tree_get(other, name);
    bool whole = !ss_tree_is_null(overlap);
    char flag[64];
    size_t n = (size_t)snprintf(flag, sizeof flag, "--%s", name);

    for (size_t i = 2; i < n && i < sizeof flag; i++)
        flag[i] = flag[i] == '_' ? '-' : flag[i];
    if (ss_tree_is_null(node))
        node = whole && missing ? NULL : second;
    bool on = node ? ss_tree_truth(node) == 1 : whole && missing;
    return on ? ss_foreign_flag(f, node ? node : overlap, flag, NULL, err) : SS_OK;
}

/* Its gain is not known, which the flags' note says. */
static int add_deferral(struct ss_foreign *f, const struct ss_tree_node *overlap,
                        const struct ss_tree_node *model, struct ss_error *err)
{
    static const char name[] = "defer_embedding_wgrad_compute";
    static const struct ss_foreign_row limit = WHOLE("wgrad_deferral_limit", "--wgrad-deferral-limit");
    int rc = add_overlap(f, overlap, model, name, false, err);

    return rc || !ss_core_true(overlap, name) ? rc : ss_foreign_map(f, overlap, &limit, 1, err);
}

int ss_core_overlaps(struct ss_foreign *f, const struct ss_tree_node *overlap, const struct ss_tree_node *ddp,
                     const struct ss_tree_node *model, bool sharded, struct ss_error *err)
{
    struct ss_tree_node *bucket = ss_tree_get(overlap, "bucket_size"), *own = ss_tree_get(ddp, "bucket_size");
    int rc = add_overlap(f, overlap, model, "tp_comm_overlap", false, err);

    rc = rc ? rc : add_overlap(f, overlap, ddp, "overlap_grad_reduce", sharded, err);
    rc = rc ? rc : add_overlap(f, overlap, ddp, "overlap_param_gather", sharded, err);
    rc = rc ? rc : add_overlap(f, overlap, model, "overlap_moe_expert_parallel_comm", false, err);
    rc = rc ? rc : add_overlap(f, overlap, model, "delay_wgrad_compute", false, err);
    rc = rc ? rc : add_deferral(f, overlap, model, err);
    ss_core_skip(overlap,
                 "_target_ tp_comm_* batch_p2p_comm overlap_p2p_comm align_param_gather data_parallel_size "
                 "wgrad_deferral_limit "
                 "overlap_param_gather_with_optimizer_step");
    if (!rc && sharded && !ss_tree_is_null(overlap) && ss_tree_is_null(bucket))
        return ss_foreign_flag(f, overlap, "--ddp-bucket-size", "134217728", err);
    bucket = ss_tree_is_null(bucket) ? own : bucket;
    return rc || ss_tree_is_null(bucket) || !bucket->text
               ? rc
               : ss_foreign_flag(f, bucket, "--ddp-bucket-size", bucket->text, err);
}

/* ---- data parallelism ---- */

int ss_core_ddp(struct ss_foreign *f, const struct ss_tree_node *ddp, bool fsdp, struct ss_error *err)
{
    static const struct ss_foreign_row rows[] = {
        FALSE("check_for_nan_in_grad", "--no-check-for-nan-in-loss-and-grad"),
        WHOLE("num_buckets", "--ddp-num-buckets"),
        TRUE("reduce_scatter_with_fp32_accumulation", "--ddp-reduce-scatter-with-fp32-accumulation"),
        TRUE("reuse_grad_buf_for_mxfp8_param_ag", "--reuse-grad-buf-for-mxfp8-param-ag"),
        TRUE("nccl_ub", "--use-nccl-ub"),
    };
    static const struct ss_foreign_row sharded[] = {
        VALUE("data_parallel_sharding_strategy", "--data-parallel-sharding-strategy"),
        VALUE("outer_dp_sharding_strategy", "--outer-dp-sharding-strategy"),
        TRUE("fsdp_double_buffer", "--fsdp-double-buffer"),
        WHOLE("suggested_communication_unit_size", "--suggested-communication-unit-size"),
    };
    int rc = ss_foreign_map(f, ddp, rows, SS_ARRAY_LEN(rows), err);

    if (!rc && fsdp)
        rc = ss_foreign_map(f, ddp, sharded, SS_ARRAY_LEN(sharded), err);
    else
        ss_core_skip(ddp, "data_parallel_sharding_strategy outer_dp_sharding_strategy fsdp_* megatron_fsdp_* "
                          "suggested_communication_unit_size keep_fp8_transpose_cache* use_custom_fsdp "
                          "use_megatron_fsdp");
    ss_core_harmless(
        f, ddp,
        "_target_ align_param_gather delay_wgrad_compute use_distributed_optimizer check_for_large_grads "
        "pad_buckets_for_high_nccl_busbw average_in_collective gradient_reduce_div_fusion "
        "disable_symmetric_registration param_name_patterns_for_fp32_local_accumulation "
        "fsdp_manual_registration fsdp_all_gather_in_start_param_sync "
        "fsdp_db_use_persist_buf_on_alloc_fail");
    return rc;
}

void ss_core_harmless(struct ss_foreign *f, const struct ss_tree_node *from, const char *names)
{
    char path[160];
    bool partly = false, all = true;

    for (const struct ss_tree_node *n = from ? from->first : NULL; n; n = n->next)
        partly |= n->touched || n->read;
    ss_core_skip(from, names);
    for (const struct ss_tree_node *n = from ? from->first : NULL; n; n = n->next)
        all &= n->touched || n->read;
    if (from && from->n)
        ss_notes_add(&f->none, "%s%s", ss_tree_path(from, path, sizeof path), partly || !all ? ".*" : "");
}

/* ---- optimizer ---- */

static int add_dtype(struct ss_foreign *f, const struct ss_tree_node *optimizer, const char *name,
                     const char *flag, struct ss_error *err)
{
    struct ss_tree_node *node = ss_tree_get(optimizer, name), *target = ss_tree_find(node, "_target_");
    const char *text = target && target->text ? target->text : node && node->text ? node->text : "";

    ss_tree_take(node);
    if (ss_tree_is_null(node) || strstr(text, "float32") || !strcmp(text, "fp32"))
        return SS_OK;
    return ss_foreign_flag(f, node, flag,
                           strstr(text, "bfloat16")  ? "bf16"
                           : strstr(text, "float16") ? "fp16"
                                                     : text,
                           err);
}

int ss_core_optimizer(struct ss_foreign *f, struct ss_tree_node *optimizer, struct ss_error *err)
{
    static const struct ss_foreign_row rows[] = {
        VALUE("optimizer", "--optimizer"),
        VALUE("clip_grad", "--clip-grad"),
        TRUE("use_precision_aware_optimizer", "--use-precision-aware-optimizer"),
        TRUE("optimizer_cpu_offload", "--optimizer-cpu-offload"),
    };
    static const struct ss_foreign_row muon[] = {
        WHOLE("muon_num_ns_steps", "--muon-num-ns-steps"),
        VALUE("muon_tp_mode", "--muon-tp-mode"),
        VALUE("muon_coefficient_type", "--muon-coefficient-type"),
        VALUE("muon_scalar_optimizer", "--muon-scalar-optimizer"),
        VALUE("muon_fp32_matmul_prec", "--muon-fp32-matmul-prec"),
        FALSE("muon_split_qkv", "--muon-no-split-qkv"),
    };
    const struct ss_tree_node *kind = ss_tree_find(optimizer, "optimizer");
    int rc = ss_foreign_map(f, optimizer, rows, SS_ARRAY_LEN(rows), err);

    if (!rc && kind && kind->text && strstr(kind->text, "muon"))
        rc = ss_foreign_map(f, optimizer, muon, SS_ARRAY_LEN(muon), err);
    if (!rc && ss_core_true(optimizer, "optimizer_cpu_offload")) {
        static const struct ss_foreign_row part =
            VALUE("optimizer_offload_fraction", "--optimizer-offload-fraction");
        rc = ss_foreign_map(f, optimizer, &part, 1, err);
    }
    rc = rc ? rc : add_dtype(f, optimizer, "main_grads_dtype", "--main-grads-dtype", err);
    rc = rc ? rc : add_dtype(f, optimizer, "main_params_dtype", "--main-params-dtype", err);
    rc = rc ? rc : add_dtype(f, optimizer, "exp_avg_dtype", "--exp-avg-dtype", err);
    return rc ? rc : add_dtype(f, optimizer, "exp_avg_sq_dtype", "--exp-avg-sq-dtype", err);
}
