/* SPDX-License-Identifier: Apache-2.0 */
/* Which flags the columns of a table of measured runs stand for. */
#include "base/base.h"
#include "import/table_internal.h"

/* clang-format off */
#define END {NULL, NULL}
#define WORDS(...) (const struct ss_table_choice[]){__VA_ARGS__, END}
#define SWITCH(words) WORDS({"true", words}, {"false", ""})
/* Columns of the measurement, or for people. */
#define PLAIN(name) {name, 0, NULL, NULL, NULL}
#define VALUE(name, flag) {name, 0, flag, NULL, NULL}
#define NEEDED(name, flag) {name, 1, flag, NULL, NULL}
#define CHOICE(name, ...) {name, 0, NULL, NULL, WORDS(__VA_ARGS__)}

const struct ss_table_column ss_table_columns[] = {
    {"id", 1, NULL, NULL, NULL},
    PLAIN("source"),
    PLAIN("framework"),
    NEEDED("platform", "--platform"),
    VALUE("stack", "--stack"),
    PLAIN("gpu"),
    NEEDED("nodes", "--nodes"),
    VALUE("gpus_per_node", "--gpus-per-node"),

    PLAIN("model"), /* --model where the columns do not give the whole shape */
    VALUE("num_layers", "--num-layers"),
    VALUE("hidden_size", "--hidden-size"),
    {"ffn_hidden_size", 0, "--ffn-hidden-size", "--moe-ffn-hidden-size", NULL},
    VALUE("num_attention_heads", "--num-attention-heads"),
    VALUE("num_query_groups", "--num-query-groups"),
    VALUE("kv_channels", "--kv-channels"),
    VALUE("vocab_size", "--vocab-size"),
    {"gated_mlp", 0, NULL, NULL, SWITCH("--swiglu --disable-bias-linear")},
    CHOICE("tied_embeddings", {"true", ""}, {"false", "--untie-embeddings-and-output-weights"}),
    CHOICE("position", {"rope", "--position-embedding-type rope"},
        {"learned", "--position-embedding-type learned_absolute"},
        {"alibi", "--position-embedding-type none"}, {"none", "--position-embedding-type none"}),
    CHOICE("normalization", {"rmsnorm", "--normalization RMSNorm"}, {"layernorm", "--normalization LayerNorm"}),
    CHOICE("precision", {"fp32", ""}, {"fp16", "--fp16"}, {"bf16", "--bf16"}, {"fp8", "--precision fp8"},
        {"mxfp8", "--precision mxfp8"}, {"nvfp4", "--precision nvfp4"}),
    VALUE("attention", "--attention-backend"),

    VALUE("tp", "--tp"),
    VALUE("pp", "--pp"),
    VALUE("cp", "--cp"),
    VALUE("ep", "--ep"),
    {"num_experts", 0, NULL, "--num-experts", NULL},
    {"top_k", 0, NULL, "--moe-router-topk", NULL},
    VALUE("layers_per_virtual_stage", "--num-layers-per-virtual-pipeline-stage"),
    VALUE("first_stage_layers", "--decoder-first-pipeline-num-layers"),
    VALUE("last_stage_layers", "--decoder-last-pipeline-num-layers"),
    NEEDED("micro_batch", "--mbs"),
    NEEDED("global_batch", "--gbs"),
    NEEDED("seq_length", "--seq"),

    VALUE("recompute_num_layers", "--recompute-num-layers"),
    CHOICE("recompute", {"none", "--recompute none"}, {"unknown", NULL}, {"op-selective", "--recompute op-selective"}, {"selective", "--recompute selective"},
        {"full", "--recompute full"}),
    {"sequence_parallel", 0, NULL, NULL, SWITCH("--sequence-parallel")},
    VALUE("fsdp", "--fsdp"),
    CHOICE("optimizer", {"distributed", "--use-distributed-optimizer"}, {"fused_adam", ""}, {"adam", ""}),
    {"cpu_offload", 0, NULL, NULL, SWITCH("--cpu-offloading")},
    {"tp_comm_overlap", 0, NULL, NULL, SWITCH("--tp-comm-overlap")},
    {"grad_param_overlap", 0, NULL, NULL, SWITCH("--overlap-grad-reduce --overlap-param-gather")},
    PLAIN("flags"), /* words of their own */

    PLAIN("outcome"),
    PLAIN("cause"),
    PLAIN("iteration_ms"),
    PLAIN("tflops_per_gpu"),
    PLAIN("memory_mib"),
    PLAIN("memory_kind"),
    PLAIN("quality"),
    PLAIN("weight"), /* runs that it counts as */
    PLAIN("note"),
};
/* clang-format on */
const size_t ss_table_column_count = SS_ARRAY_LEN(ss_table_columns);
_Static_assert(SS_ARRAY_LEN(ss_table_columns) <= SS_TABLE_COLUMNS, "room for the names of all columns");
