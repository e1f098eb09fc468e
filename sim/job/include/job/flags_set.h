/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that take more than storing a number. */
#ifndef SS_FLAGS_SET_H
#define SS_FLAGS_SET_H

#include "job/flags.h"
#include "stepsim/job.h"

#define SS_FLAG_CALLS(X)                                                                                     \
    X(job)                                                                                                   \
    X(without)                                                                                               \
    X(accumulation)                                                                                          \
    X(measured)                                                                                              \
    X(measured_memory)                                                                                       \
    X(failed_gpu)                                                                                            \
    X(on_nodes)                                                                                              \
    X(precision)                                                                                             \
    X(recompute)                                                                                             \
    X(recompute_activations)                                                                                 \
    X(recompute_granularity)                                                                                 \
    X(fsdp)                                                                                                  \
    X(rank_order)                                                                                            \
    X(tp_pp_dp)                                                                                              \
    X(cp_comm)                                                                                               \
    X(fp16)                                                                                                  \
    X(bf16)                                                                                                  \
    X(fp8)                                                                                                   \
    X(fp8_format)                                                                                            \
    X(fp4_format)                                                                                            \
    X(fp4_recipe)                                                                                            \
    X(fp4_param_gather)                                                                                      \
    X(cuda_graph_scope)                                                                                      \
    X(recompute_modules)                                                                                     \
    X(checkpoint_activations)                                                                                \
    X(checkpoint_method)                                                                                     \
    X(fsdp2)                                                                                                 \
    X(optimizer_instances)                                                                                   \
    X(cpu_offloading)                                                                                        \
    X(optimizer)                                                                                             \
    X(optimizer_offload)                                                                                     \
    X(optimizer_fraction)                                                                                    \
    X(optimizer_policy)                                                                                      \
    X(fp32_only)                                                                                             \
    X(clip_grad)                                                                                             \
    X(padded_vocab)                                                                                          \
    X(tokenizer)                                                                                             \
    X(merge_file)                                                                                            \
    X(tokenizer_model)                                                                                       \
    X(vp)                                                                                                    \
    X(quick_geglu)                                                                                           \
    X(activation_clamp)                                                                                      \
    X(moe_layer_freq)                                                                                        \
    X(window_skip_freq)                                                                                      \
    X(layout)                                                                                                \
    X(dispatcher)                                                                                            \
    X(backend)                                                                                               \
    X(enable_deepep)                                                                                         \
    X(bf16_only)                                                                                             \
    X(capacity)                                                                                              \
    X(score_function)                                                                                        \
    X(muon_coefficients)                                                                                     \
    X(muon_scalar)                                                                                           \
    X(muon_precision)                                                                                        \
    X(balancing)                                                                                             \
    X(force_balancing)                                                                                       \
    X(force_biased)                                                                                          \
    X(load)                                                                                                  \
    X(packed_lengths)                                                                                        \
    X(mtp)                                                                                                   \
    X(window)                                                                                                \
    X(moe_recompute)                                                                                         \
    X(offload_modules)                                                                                       \
    X(exp_avg)                                                                                               \
    X(exp_avg_sq)
#define X(name) int ss_flag_##name(struct ss_job *job, int n, char *const *values, const char **why);
SS_FLAG_CALLS(X)
#undef X

/* Words of --cp-comm-type, --moe-token-dispatcher-type, --moe-flex-dispatcher-backend, --moe-router-score-function and
 * --moe-router-load-balancing-type; each ends with a name of NULL. */
extern const struct ss_flag_choice ss_flag_cp_comms[], ss_flag_dispatchers[], ss_flag_backends[],
    ss_flag_score_functions[], ss_flag_balancings[];

/* Megatron's moe_freq_type: a whole number, *every, of which the flag says what it means; or a Python-like list, into *rule.
 * *why is what is wrong, on SS_ERR_INPUT. */
int ss_layers_read(const char *text, int *every, struct ss_layer_rule *rule, const char **why);

#endif
