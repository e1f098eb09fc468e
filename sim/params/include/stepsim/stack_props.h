/* SPDX-License-Identifier: Apache-2.0 */
/* The props of a stack: what a framework release fuses and how well it uses a card. stack.h loads them. */
#pragma once

#include "stepsim/error.h"

SS_C_BEGIN

/*
 * X(field, prop id, unit, default, low, high, meaning); all are <prop> of workloads/stacks/NAME.xml.
 * A stack may name a base: values not given are the base's. A prop may be limited to one card:
 * <prop id="ss.attention.flash.forward" card="H20" value="…"/>.
 * Flags are 0 or 1 of unit COUNT. Grouped by subject; docs/reference/model.md names each one where it acts.
 */
#define SS_STACK_PROPS(X)                                                                                    \
    /* attention: rates are shares of the card's dense peak at 16 bit */                                     \
    X(flash_fwd, "ss.attention.flash.forward", FRACTION, 0.33, 0.01, 1,                                      \
      "flash attention forward on the causal half, at 8192 tokens, of a card with all SMs busy")             \
    X(flash_bwd, "ss.attention.flash.backward", FRACTION, 0.29, 0.01, 1,                                     \
      "flash attention backward (2.5 x the forward's FLOP), likewise")                                       \
    X(deterministic, "ss.attention.deterministic", COUNT, 0, 0, 1,                                           \
      "the backward of attention is deterministic: the launcher sets NVTE_ALLOW_NONDETERMINISTIC_ALGO=0")    \
    X(attention_offered, "ss.attention.offered", COUNT, 2, 0, 2,                                             \
      "kernels of attention that the framework has on the card: 0 unfused alone, 1 flash attention, too, 2 " \
      "cuDNN's fused attention, too")                                                                        \
    X(flash_deterministic, "ss.attention.flash.deterministic", FRACTION, 0, 0, 1,                            \
      "rate of flash attention's deterministic backward over that of the other; 0: as FlashAttention 2, by " \
      "its thread blocks and its parts of the queries' gradient")                                            \
    X(fused_fwd, "ss.attention.fused.forward", FRACTION, 0.6, 0.01, 1,                                       \
      "cuDNN fused attention forward, likewise")                                                             \
    X(fused_bwd, "ss.attention.fused.backward", FRACTION, 0.45, 0.01, 1,                                     \
      "cuDNN fused attention backward, likewise")                                                            \
    X(fused_deterministic, "ss.attention.fused.deterministic", FRACTION, 0, 0, 1,                            \
      "rate of fused attention's deterministic backward over that of the other, up to 128 channels; 0: as "  \
      "cuDNN on Hopper, which writes the gradient of the scores")                                            \
    X(score_drawn, "ss.attention.dropout", TIME, 3e-13, 0, 1e-9,                                             \
      "time that the random number of a score takes flash and fused attention, in each pass")                \
    X(attention_half_tokens, "ss.attention.half_tokens", NONE, 300, 0, 1e5,                                  \
      "tokens of a query chunk at which flash and fused attention reach half of their asymptotic rate")      \
    X(attention_half_dim, "ss.attention.half_dim", NONE, 16, 0, 1e3,                                         \
      "the same for the head dimension; the rates above are at 128")                                         \
    X(mxfp8_fwd, "ss.attention.mxfp8.forward", NONE, 1, 0.1, 4,                                              \
      "fused attention in mxfp8 (--fp8-dot-product-attention): its forward rate over that of 16 bit")        \
    X(mxfp8_bwd, "ss.attention.mxfp8.backward", NONE, 1, 0.1, 4,                                             \
      "the same, backward, which computes what a window masks")                                              \
    X(mxfp8_half_dim, "ss.attention.mxfp8.half_dim", NONE, 16, 0, 1e4, "its ss.attention.half_dim")          \
    X(unfused_passes_fwd, "ss.attention.unfused.passes_forward", NONE, 4, 1, 40,                             \
      "times that unfused attention moves the score matrix through HBM, forward")                            \
    X(unfused_passes_bwd, "ss.attention.unfused.passes_backward", NONE, 6, 1, 40, "the same, backward")      \
    X(unfused_strided, "ss.attention.unfused.strided", NONE, 0, 0, 4,                                        \
      "times that each direction makes the score matrix of operands of which one, the mask, is broadcast")   \
    X(unfused_mask_bytes, "ss.attention.unfused.mask_bytes", NONE, 0, 0, 100,                                \
      "bytes that a forward moves for each element of the mask, which it makes")                             \
    X(fp32_passes_fwd, "ss.attention.unfused.fp32_forward", NONE, 6, 1, 40,                                  \
      "the same in fp32, forward: no kernel fuses its softmax")                                              \
    X(fp32_passes_bwd, "ss.attention.unfused.fp32_backward", NONE, 9, 1, 40, "the same, backward")           \
    X(unfused_te, "ss.attention.unfused.te", COUNT, 0, 0, 1,                                                 \
      "Transformer Engine's unfused attention: each forward makes the whole mask and puts the context in "   \
      "order, the backward scales the gradients of Q and K")                                                 \
    X(rope_passes, "ss.rope.passes", NONE, 2, 0, 40,                                                         \
      "times that the rotary embedding moves Q and K through HBM in one direction of the pass")              \
    X(moe_offered, "ss.moe.offered", COUNT, 1, 0, 1, "the framework has mixtures of experts")                \
    X(flex_offered, "ss.moe.flex_offered", COUNT, 0, 0, 1,                                                   \
      "the framework, which is not Megatron core, has DeepEP")                                               \
    X(core_release, "ss.core.release", COUNT, 99, 0, 99,                                                     \
      "release of Megatron core, 14 for 0.14, whose flags of experts and of offload the framework has; 0: "  \
      "none of them; 99: all")                                                                               \
    X(moe_probabilities, "ss.moe.probabilities", COUNT, 0, 0, 1,                                             \
      "the all-to-all of tokens has one of their probabilities beside it; before Megatron core 0.13 these "  \
      "stay where the token is")                                                                             \
    X(fused_latent_rope, "ss.fused.latent_rope", COUNT, 0, 0, 1,                                             \
      "latent attention turns queries and keys, and puts the keys together, in fused kernels")               \
    /* layers */                                                                                             \
    X(norm_passes, "ss.norm.passes", NONE, 1, 0.5, 12,                                                       \
      "traffic of norms over the count of docs/reference/model.md")                                          \
    X(norm_kernels, "ss.norm.kernels", COUNT, 1, 1, 40,                                                      \
      "kernels of a norm, forward; more than one: operators of PyTorch, twice as many backward, "            \
      "which keep the normed input beside the output")                                                       \
    X(norm_strided_forward, "ss.norm.strided_forward", NONE, 0, 0, 8,                                        \
      "elements that a norm's operators make of broadcast operands, over those of its input")                \
    X(norm_strided_backward, "ss.norm.strided_backward", NONE, 0, 0, 8, "the same, backward")                \
    X(dropout, "ss.default.dropout", FRACTION, 0.1, 0, 1,                                                    \
      "attention and hidden dropout where neither a flag nor the model says (Megatron-LM: 0.1)")             \
    X(te_layers, "ss.te.layers", COUNT, 1, 0, 1,                                                             \
      "Transformer Engine layers: fused norm + linear, their saved tensors")                                 \
    X(split_linear, "ss.layers.split_linear", COUNT, 0, 0, 1,                                                \
      "queries, keys, values and both halves of a gated MLP are linear layers of their own, and nothing is " \
      "copied between layouts (torchtitan)")                                                                 \
    X(split_gate, "ss.layers.split_gate", COUNT, 0, 0, 1,                                                    \
      "both halves of a gated MLP are linear layers of their own; queries, keys and values are one")         \
    X(repeats_kv, "ss.attention.repeats_kv", COUNT, 0, 0, 1,                                                 \
      "keys and values are copied to every query head before attention")                                     \
    X(qkv_copied_forward, "ss.attention.copied_forward", NONE, 0, 0, 8,                                      \
      "elements that are copied between the layouts of the GEMMs and of attention, over those of "           \
      "queries, keys and values; 0: by the rule of the kernels (docs/reference/model.md)")                   \
    X(qkv_copied_backward, "ss.attention.copied_backward", NONE, 0, 0, 8, "the same of their gradients")     \
    X(qkv_copies_forward, "ss.attention.copies_forward", COUNT, 0, 0, 40,                                    \
      "kernels of those copies, and of the lengths that attention asks for")                                 \
    X(qkv_copies_backward, "ss.attention.copies_backward", COUNT, 0, 0, 40, "the same, backward")            \
    X(rows_forward, "ss.attention.rows_forward", NONE, 0, 0, 8,                                              \
      "elements that are copied beside these where a micro batch has several sequences, which layers and "   \
      "attention have in different orders, over those of queries; a kernel each")                            \
    X(rows_backward, "ss.attention.rows_backward", NONE, 0, 0, 8, "the same of their gradients")             \
    X(keeps_joined, "ss.attention.keeps_joined", COUNT, 0, 0, 2,                                             \
      "where all heads have their own keys: 1: queries are a view of the joined queries, keys and values, "  \
      "which stay beside the copy of keys and values; 2: values are, beside copies of queries and keys "     \
      "(of unfused attention at a micro batch of 1 alone)")                                                  \
    X(context_twice, "ss.attention.context_twice", COUNT, 0, 0, 1,                                           \
      "the projection keeps a copy of attention's output in another order, above a micro batch of 1")        \
    X(unfused_held, "ss.unfused.held", NONE, 1, 1, 8,                                                        \
      "squares of scores in the model's type that unfused attention holds at its peak beside what it keeps") \
    X(attention_waits, "ss.attention.host_waits", COUNT, 0, 0, 1,                                            \
      "the host reads the longest sequence from the device before it issues attention")                      \
    X(rope_kernels, "ss.rope.kernels", COUNT, 2, 1, 40,                                                      \
      "kernels of the rotary embedding of Q and K in one direction of the pass")                             \
    X(rope_kept, "ss.rope.kept", NONE, 0, 0, 8,                                                              \
      "cosines and sines gathered by position that it keeps of a token, over the width of a head")           \
    X(compiled, "ss.fused.elementwise", COUNT, 0, 0, 1,                                                      \
      "a compiler fuses the elementwise kernels of a layer (torch.compile of each layer)")                   \
    X(stops_early, "ss.recompute.stops_early", COUNT, 0, 0, 1,                                               \
      "recompute of whole layers ends before their last linear layer, whose output no backward reads "       \
      "(PyTorch's checkpointing without reentrance)")                                                        \
    X(by_operator, "ss.recompute.by_operator", COUNT, 0, 0, 2,                                               \
      "has recompute by operator, --recompute op-selective (torchtitan); 2: which keeps what all-to-alls "   \
      "of experts give")                                                                                     \
    X(recompute_forms, "ss.recompute.forms", COUNT, 2, 0, 3,                                                 \
      "forms of recompute that the release has beside all layers and attention: 1 some layers of a stage "   \
      "(block), 2 the layer of experts, too, 3 any modules (--recompute-modules)")                           \
    X(recompute_selective, "ss.recompute.selective", COUNT, 1, 0, 1,                                         \
      "recompute may leave out parts of a layer (selective); 0: the framework repeats whole layers alone")   \
    X(inplace_activation, "ss.fused.inplace_activation", COUNT, 0, 0, 1,                                     \
      "the backward of the MLP's activation writes into the activation's saved input, as Liger's")           \
    X(plain_activation, "ss.unfused.activation", COUNT, 0, 0, 1,                                             \
      "a gated MLP's activation function and its product are one operator of PyTorch each, which keeps its " \
      "operands")                                                                                            \
    X(fused_wgrad_accumulation, "ss.fused.wgrad_accumulation", COUNT, 1, 0, 1,                               \
      "weight gradients accumulate inside their GEMM into the fp32 main gradient")                           \
    /* loss */                                                                                               \
    X(loss_fwd_bytes, "ss.loss.forward_bytes", NONE, 38, 1, 100,                                             \
      "bytes of HBM traffic a logit, cross entropy forward")                                                 \
    X(loss_bwd_bytes, "ss.loss.backward_bytes", NONE, 14, 1, 100, "the same, backward")                      \
    X(loss_strided, "ss.loss.strided", NONE, 0, 0, 8,                                                        \
      "elements a logit that its kernels make of broadcast operands, forward; backward half as many")        \
    X(fused_cross_entropy, "ss.fused.cross_entropy", COUNT, 0, 0, 2,                                         \
      "1: cross entropy works in place on the 16-bit logits; 2: so that its forward leaves their gradient "  \
      "there (Transformer Engine's)")                                                                        \
    X(fused_linear_loss, "ss.fused.linear_cross_entropy", COUNT, 0, 0, 1,                                    \
      "output layer and cross entropy in one, a piece of the tokens at a time, as Liger's: no whole logits") \
    X(loss_chunks, "ss.loss.chunks", COUNT, 0, 0, 1024,                                                      \
      "parts of the tokens that go through output layer, loss and their backward one after the other "       \
      "(torchtitan's ChunkedLossWrapper); 0: all at once")                                                   \
    X(loss_peak_bytes, "ss.loss.peak_bytes", NONE, 8, 4, 40,                                                 \
      "bytes a logit that an unfused cross entropy holds at its peak: 16-bit logits, fp32 copy and "         \
      "gradient")                                                                                            \
    X(loss_parallel_peak_bytes, "ss.loss.parallel_peak_bytes", NONE, 0, 0, 40,                               \
      "the same where tensor ranks share the vocabulary; 0: the same number")                                \
    X(loss_idle_bytes, "ss.loss.idle_bytes", NONE, 0, 0, 16,                                                 \
      "bytes a logit of freed blocks at the loss's peak that fit nothing else")                              \
    X(loss_gathers, "ss.loss.gathers", COUNT, 0, 0, 1,                                                       \
      "the output layer gathers its logits, so each tensor rank has the loss of the whole vocabulary")       \
    /* fp8 */                                                                                                \
    X(fp8_dynamic, "ss.fp8.dynamic", COUNT, 0, 0, 1,                                                         \
      "fp8 without Transformer Engine layers (torchao, or its linear layers under FSDP): operands are cast " \
      "around each GEMM; weights and what is saved stay in 16 bit")                                          \
    X(gemm_level, "ss.gemm.level", NONE, 0, 0, 2,                                                            \
      "rate of GEMMs over the card's, where the machine of the stack's runs has its own measured; 0: equal") \
    X(fp8_forward_gain, "ss.fp8.forward_gain", NONE, 1, 1, 1.3,                                              \
      "rate of the forward's fp8 GEMMs, which accumulate fast, over the backward's, which do not "           \
      "(use_split_accumulator, use_fast_accum)")                                                             \
    X(fp8_cast_passes, "ss.te.fp8_cast", NONE, 1, 0, 8,                                                      \
      "traffic of fp8 casts and transposes over the count of docs/reference/model.md")                       \
    X(wide_cat, "ss.torch.wide_cat", COUNT, 1, 0, 1,                                                         \
      "torch.cat of 16 bit moves several elements at a time (PyTorch from 2.8 on)")                          \
    X(row_transposes_late, "ss.te.row_transposes_late", COUNT, 0, 0, 1,                                      \
      "under sequence parallelism the fp8 input of a row-parallel layer is transposed by a kernel of its "   \
      "own in the backward, not where it is cast (Transformer Engine before 2.0)")                           \
    X(weights_turned, "ss.te.weights_turned", COUNT, 0, 0, 1,                                                \
      "parameters kept in fp8 are transposed in every backward; else once an iteration, and that copy kept " \
      "(Transformer Engine 1.8 to 1.10)")                                                                    \
    X(fp8_saves_inputs, "ss.fp8.saves_inputs", COUNT, 0, 0, 2,                                               \
      "1: in fp8 (2: and in nvfp4) the projection and shared experts keep their input in 16 bit, as "        \
      "attention and the router do, and cast it again in the backward, unless scaled by history (Megatron "  \
      "core from 0.14, 2: from 0.16 on)")                                                                    \
    X(fp8_allgather, "ss.te.fp8_allgather", COUNT, 1, 0, 1,                                                  \
      "sequence-parallel all-gathers move 1-byte activations in fp8")                                        \
    X(fp8_param_gather, "ss.default.fp8_param_gather", COUNT, 0, 0, 1,                                       \
      "the framework's recipes keep GEMM parameters in fp8 alone when they train in fp8 "                    \
      "(--fp8-param-gather)")                                                                                \
    /* tensor and context parallelism */                                                                     \
    X(tp_async_backward, "ss.tp.async_backward", COUNT, 1, 0, 1,                                             \
      "the backward's gather, reduce-scatter or all-reduce of a column-parallel layer runs beside its "      \
      "GEMMs")                                                                                               \
    X(tp_reduces_each, "ss.tp.reduces_each", COUNT, 0, 0, 1,                                                 \
      "column-parallel layers with a common input reduce its gradient each")                                 \
    X(tp_own_shard_first, "ss.tp.own_shard_first", COUNT, 0, 0, 1,                                           \
      "the forward of a column-parallel and the backward of a row-parallel layer multiply a rank's "         \
      "own shard while the others are gathered (nanotron's tp_linear_async_communication)")                  \
    X(saves_gathered, "ss.tp.saves_gathered", COUNT, 0, 0, 1,                                                \
      "column-parallel layers keep their gathered input, as PyTorch's DTensor; Megatron keeps the shard "    \
      "and gathers again")                                                                                   \
    X(sequence_copies, "ss.tp.sequence_copies", COUNT, 0, 0, 1,                                              \
      "sequence-parallel collectives of NCCL copy what they gather or scatter, for the sequence is not the " \
      "first dimension (DTensor)")                                                                           \
    X(tp_overlap_pieces, "ss.tp.overlap_pieces", COUNT, 0, 0, 1,                                             \
      "--tp-comm-overlap cuts a GEMM into a piece for each tensor rank, beside whose own nothing moves, "    \
      "and "                                                                                                 \
      "copies what a rank gives away (PyTorch's asynchronous tensor parallelism)")                           \
    X(tp_offered, "ss.tp.offered", COUNT, 1, 0, 1, "the framework has tensor parallelism")                   \
    X(tp_overlap_sms, "ss.tp.overlap_sms", COUNT, 16, 0, 132,                                                \
      "SMs that --tp-comm-overlap takes from the GEMMs it runs beside")                                      \
    X(tp_overlap_busbw, "ss.tp.overlap_busbw", FRACTION, 0.8, 0.1, 1,                                        \
      "busbw of those collectives over the NVLink bandwidth")                                                \
    X(tp_overlap_buffers, "ss.memory.tp_overlap_buffers", COUNT, 10, 0, 40,                                  \
      "activation-sized buffers that --tp-comm-overlap registers")                                           \
    X(cp_gathers, "ss.cp.gathers", COUNT, 0, 0, 1,                                                           \
      "context parallelism gathers keys and values where --cp-comm-type does not say (torchtitan)")          \
    X(cp_own, "ss.cp.own", COUNT, 0, 0, 1,                                                                   \
      "context parallelism is PyTorch's own, which asks for no Transformer Engine (torchtitan)")             \
    X(cp_overlap, "ss.cp.overlap", FRACTION, 1, 0, 1,                                                        \
      "share of the context-parallel passes that may hide under attention")                                  \
    /* pipeline */                                                                                           \
    X(pp_scatter_gather, "ss.pp.scatter_gather", COUNT, 0, 0, 1,                                             \
      "without sequence parallelism each tensor rank sends its share of an activation to the next pipeline " \
      "stage, which gathers it (Narayanan et al., 2021)")                                                    \
    X(pp_forms, "ss.pp.forms", COUNT, 2, 0, 2,                                                               \
      "pipelines that the framework has: 0 none, 1 of one stage a rank, 2 of virtual stages, too")           \
    X(pp_modules, "ss.pp.modules", COUNT, 0, 0, 8,                                                           \
      "modules beside the layers where stages have equally many modules: the embedding, and behind the "     \
      "layers the norm, the output layer (scaling: 3); 0: stages have equally many layers")                  \
    X(pp_overlap, "ss.pp.overlap", COUNT, 1, 0, 1,                                                           \
      "the interleaved schedule's sends and receives run in the background, unless the job says no")         \
    X(pp_all_warmup, "ss.pp.all_warmup", COUNT, 1, 0, 1,                                                     \
      "interleaved without a group size: where there are as many microbatches as pipeline ranks all "        \
      "forwards "                                                                                            \
      "come before the first backward (Megatron core before 0.10)")                                          \
    X(keep_outputs, "ss.memory.keep_outputs", COUNT, 0, 0, 2,                                                \
      "1: a pipeline stage keeps its output until the backward, though its successor has it (Megatron-LM "   \
      "before core); 2: the share of it that it sends (DeepSpeed)")                                          \
    X(dummy_gradients, "ss.memory.dummy_gradients", COUNT, 0, 0, 1,                                          \
      "linear layers that add up weight gradients in place keep an empty 16-bit gradient of each shape of "  \
      "weights (Transformer Engine from 2.3)")                                                               \
    /* data parallelism and gradients */                                                                     \
    X(ddp_bucket, "ss.ddp.bucket_params", NONE, 40e6, 1, 1e12,                                               \
      "parameters of a data-parallel bucket when --ddp-bucket-size is not given")                            \
    X(ddp_bucket_rank, "ss.ddp.bucket_params_rank", NONE, 1e6, 0, 1e12,                                      \
      "parameters of such a bucket a data-parallel rank, where they are more (Megatron core where no size "  \
      "is set)")                                                                                             \
    X(ddp_aligned, "ss.ddp.aligned", COUNT, 1, 0, 1,                                                         \
      "with --overlap-grad-reduce the interleaved schedule begins to reduce the gradients of a chunk on "    \
      "all "                                                                                                 \
      "stages at once (Megatron-LM since 2023; --no-align-grad-reduce)")                                     \
    X(ddp_passes, "ss.ddp.passes_first", COUNT, 0, 0, 1,                                                     \
      "1: with --overlap-moe-expert-parallel-comm no backward of the first chunk begins such a reduction, "  \
      "which then waits for the last backward (Megatron core 0.14 to 0.17)")                                 \
    X(ddp_overlap_offered, "ss.ddp.overlap_offered", COUNT, 1, 0, 1,                                         \
      "gradients may be reduced beside the backward, and parameters gathered beside the forward")            \
    X(ddp_hooks, "ss.ddp.gather_hooks", COUNT, 0, 0, 2,                                                      \
      "1: overlapped gathers begin in the first forward that needs them, unless an interleaved schedule "    \
      "begins them (Megatron core from 0.9 on; --no-align-param-gather); 2: there, too "                     \
      "(align_param_gather is off; --align-param-gather)")                                                   \
    X(ddp_copies, "ss.ddp.copies", COUNT, 0, 0, 2,                                                           \
      "1: gradients are copied into buckets that are kept beside them, and back when they are reduced "      \
      "(PyTorch's DistributedDataParallel without gradient_as_bucket_view; not under FSDP); 2: 16-bit "      \
      "gradients, which are added to fp32 ones when the backward is over, with such buckets")                \
    X(ddp_wide, "ss.ddp.all_reduce_fp32", COUNT, 0, 0, 1,                                                    \
      "16-bit gradients are all-reduced whole, in fp32, also where a rank steps on its share alone")         \
    X(nccl_pat, "ss.nccl.pat", COUNT, 0, 0, 1,                                                               \
      "NCCL has PAT, which gathers and scatters in log2 of the nodes (2.23), where ranks are alone on "      \
      "theirs")                                                                                              \
    X(nccl_nvls, "ss.nccl.nvls", COUNT, 1, 0, 1,                                                             \
      "NCCL reduces in a node's switch where the card can; 0: its launcher sets NCCL_NVLS_ENABLE=0")         \
    X(nccl_rings, "ss.nccl.rings", COUNT, 0, 0, 1, "NCCL has rings alone: its launcher sets NCCL_ALGO=Ring") \
    X(nccl_nvls_tree, "ss.nccl.nvls_tree", COUNT, 0, 0, 1,                                                   \
      "NCCL joins the switches of nodes by trees (NVLSTree) for all-reduces")                                \
    X(comm_sms_fabric, "ss.comm.sms.fabric", COUNT, 24, 0, 132,                                              \
      "SMs that a collective within a node takes from compute beside it, one a channel of NCCL; their "      \
      "share of the HBM bandwidth too")                                                                      \
    X(comm_sms_nic, "ss.comm.sms.nic", COUNT, 16, 0, 132, "the same for a collective across nodes")          \
    X(grad_reduce_fp32, "ss.default.grad_reduce_fp32", COUNT, 1, 0, 1,                                       \
      "gradients of bf16 jobs accumulate and are reduced in fp32 where no flag says; 0: "                    \
      "--grad-reduce-in-bf16")                                                                               \
    X(flat_gradients, "ss.ddp.flat_gradients", COUNT, 0, 0, 1,                                               \
      "gradients outside of a contiguous fp32 buffer are flattened to be reduced: a freed block of their "   \
      "size that serves nothing else")                                                                       \
    X(zero_stages, "ss.zero.stages", COUNT, 3, 1, 3,                                                         \
      "highest stage of ZeRO that the framework has; 1: it shards optimizer states alone")                   \
    X(zero_bucket, "ss.zero.bucket_params", NONE, 0, 0, 1e12,                                                \
      "parameters of the bucket in which DeepSpeed's ZeRO reduces 16-bit gradients (its "                    \
      "reduce_bucket_size); 0: another optimizer")                                                           \
    X(zero_whole, "ss.zero.whole", COUNT, 0, 0, 1,                                                           \
      "where ranks step on their share, gradients are all-reduced whole and at once behind the last "        \
      "backward, and each tensor's slice of each rank is copied out of one gather of parameters (nanotron)") \
    X(zero_live, "ss.zero.live_params", NONE, 0, 0, 1e12,                                                    \
      "parameters that DeepSpeed's ZeRO-3 keeps gathered (its stage3_max_live_parameters)")                  \
    X(zero_prefetch, "ss.zero.prefetch_params", NONE, 5e7, 0, 1e12,                                          \
      "parameters that DeepSpeed's ZeRO-3 fetches ahead (its stage3_prefetch_bucket_size); 0: none, and "    \
      "copies from the host hide behind nothing")                                                            \
    X(fsdp_pipeline, "ss.fsdp.pipeline", COUNT, 0, 0, 1,                                                     \
      "FSDP shards inside each pipeline stage too, as NeMo AutoModel and torchtitan do")                     \
    X(fsdp_pytorch, "ss.fsdp.pytorch", COUNT, 0, 0, 3,                                                       \
      "FSDP is PyTorch's: shards are fp32 parameters without a 16-bit copy, embedding and output layer "     \
      "stay gathered, and where gradients and states alone are sharded every microbatch's forward gathers; " \
      "2: by single parameters (fully_shard), embedding and output layer one group; 3: those two apart, "    \
      "of which the output layer stays gathered")                                                            \
    X(fsdp_once, "ss.fsdp.once", COUNT, 0, 0, 2,                                                             \
      "parameters that FSDP gathers for the first microbatch stay until the last one's backward, which "     \
      "alone reduces gradients; 1: in a pipeline, 2: of mixtures, too")                                      \
    X(fsdp_reduced, "ss.fsdp.reduced", NONE, 0, 0, 4,                                                        \
      "bytes of an element of the gradients that it adds up then and reduces; 0: as they are kept")          \
    /* experts */                                                                                            \
    X(grouped_gemm, "ss.default.grouped_gemm", COUNT, 0, 0, 1,                                               \
      "the framework's recipes multiply all experts of a rank at once (--moe-grouped-gemm)")                 \
    X(permute_fusion, "ss.default.permute_fusion", COUNT, 0, 0, 1,                                           \
      "and permute tokens in fused kernels (--moe-permute-fusion)")                                          \
    X(fp8_keeps_less, "ss.fp8.keeps_less", COUNT, 0, 0, 1,                                                   \
      "fp8 layers keep the input of the activation function in fp8, attention's output once, in 12 bits, "   \
      "nothing of a norm that is repeated, and no transposed weights, as DeepSeek-V3's framework")           \
    X(dispatch_sm_rate, "ss.dispatch.sm_rate", BANDWIDTH, 0, 0, 1e12,                                        \
      "copies of tokens that one of the SMs of --moe-flex-dispatcher-num-sms moves while kernels run "       \
      "beside; 0: as with none beside")                                                                      \
    X(dispatch_sm_rate_alone, "ss.dispatch.sm_rate_alone", BANDWIDTH, 0, 0, 1e12,                            \
      "and while none does; 0: the links alone bound an exchange")                                           \
    X(dispatch_chunk, "ss.hybridep.dispatch_chunk", NONE, 64, 1, 65536,                                      \
      "tokens that a thread block of HybridEP's dispatch passes on at once")                                 \
    X(combine_chunk, "ss.hybridep.combine_chunk", NONE, 64, 1, 65536, "the same of its combine")             \
    /* optimizer */                                                                                          \
    X(adam_passes, "ss.optimizer.passes", NONE, 1, 0.5, 8,                                                   \
      "traffic of the optimizer step over the count of docs/reference/model.md")                             \
    X(grad_passes, "ss.optimizer.grad_passes", NONE, 3, 0, 24,                                               \
      "times that the gradients of all local parameters cross HBM outside the step: set to zero, and read "  \
      "and written to divide them by the ranks; none of it under FSDP")                                      \
    X(check_for_nan, "ss.default.check_for_nan", COUNT, 1, 0, 1,                                             \
      "a pass over the gradients looks for NaN, where no flag says")                                         \
    X(step_operators, "ss.optimizer.host_operators", NONE, 1, 0, 8,                                          \
      "host time of the step for each parameter tensor (of FSDP: each layer), in ss.host.operator")          \
    X(grad_norm_barrier, "ss.optimizer.barrier", COUNT, 1, 0, 1,                                             \
      "gradient norm and found-inf wait for every rank before the step")                                     \
    X(grad_copy, "ss.optimizer.grad_copy", COUNT, 0, 0, 2,                                                   \
      "16-bit gradients are copied to fp32 before the step (no fp32 main gradient); 2: and freed behind it") \
    X(fp32_params, "ss.default.fp32_params", COUNT, 0, 0, 1,                                                 \
      "bf16 runs under autocast: parameters and gradients are fp32, with no other master copy (NeMo's "      \
      "megatron_amp_O2 = False)")                                                                            \
    X(param_remainders, "ss.optimizer.param_remainders", COUNT, 0, 0, 1,                                     \
      "bf16 parameters and 16-bit remainders make the fp32 master copy: 2 bytes of states fewer (Apex's "    \
      "distributed Adam under NeMo)")                                                                        \
    X(model_type, "ss.optimizer.model_type", COUNT, 0, 0, 1,                                                 \
      "Adam steps 16-bit parameters themselves: gradients and moments are of their type, nothing is fp32 "   \
      "(torch.optim.Adam on a 16-bit model)")                                                                \
    /* host */                                                                                               \
    X(p2p_waits, "ss.p2p.host_waits", COUNT, 0, 0, 2,                                                        \
      "1: the host waits for the device in sends and receives between stages that are not overlapped; "      \
      "2: where tensor ranks share a stage")                                                                 \
    X(p2p_ordered, "ss.p2p.ordered", COUNT, 0, 0, 1,                                                         \
      "1f1b exchanges one message after the other: a stage sends its forward's output before it receives a " \
      "gradient, the next one receives it before it sends the gradient back")                                \
    X(p2p_shapes, "ss.p2p.shapes", COUNT, 0, 0, 8,                                                           \
      "tensors that a forward passes to the next stage, whose shapes travel ahead of them, as that of the "  \
      "gradient does on its way back")                                                                       \
    X(loss_waits, "ss.loss.host_waits", COUNT, 0, 0, 1,                                                      \
      "the host reads the loss of each microbatch, to look for NaN, unless "                                 \
      "--no-check-for-nan-in-loss-and-grad")                                                                 \
    X(graphs_offered, "ss.graphs.offered", COUNT, 1, 0, 2,                                                   \
      "the framework has CUDA graphs; 2: of the optimizer's step, too (--optimizer-cuda-graph)")             \
    X(host_operator, "ss.host.operator", TIME, 0, 0, 1e-3,                                                   \
      "host time to issue one kernel or tensor-parallel collective: a pass over a layer takes at least "     \
      "their sum")                                                                                           \
    X(host_check, "ss.host.check", TIME, 0, 0, 1e-2,                                                         \
      "one message with which PyTorch checks a collective of tensor ranks before it runs, four for each "    \
      "further rank (TORCH_DISTRIBUTED_DEBUG=DETAIL); 0: it does not")                                       \
    X(host_group, "ss.host.grouped_gemm", TIME, 0, 0, 1e-3,                                                  \
      "host time to issue the GEMM of one group, where a grouped GEMM is a kernel for each on several "      \
      "streams, as Transformer Engine's; 0: one kernel")                                                     \
    X(offload_windows, "ss.offload.windows", COUNT, 0, 0, 2,                                                 \
      "when the copy of an offloaded layer must be done: 0 with the next layer, 1 with its share of all "    \
      "layers, 2 when a layer of those that stay would need its memory")                                     \
    X(offload_weights, "ss.default.cpu_offload_weights", COUNT, 1, 0, 1,                                     \
      "--cpu-offloading moves weights, too, where no flag says")                                             \
    X(encoder_recompute, "ss.encoder.recompute", COUNT, 0, 0, 1,                                             \
      "layers of an encoder of pictures are recomputed as those of the language model are, without a flag")  \
    X(fixed_microbatch, "ss.microbatch.fixed", TIME, 0, 0, 1,                                                \
      "host work of one forward or backward slot that the GPU waits for")                                    \
    X(amax_group, "ss.fp8.amax_group", COUNT, 0, 0, 2,                                                       \
      "who reduces the largest values of fp8 tensors behind every forward and backward of a chunk, where "   \
      "they make scales of later ones: 1 tensor and context ranks, 2 those of all replicas; 0 nobody")       \
    X(fixed_iteration, "ss.iteration.fixed", TIME, 0, 0, 10,                                                 \
      "data loader, logging and host work of an iteration that nothing overlaps")                            \
    X(marks_streams, "ss.memory.marks_streams", COUNT, 0, 0, 1,                                              \
      "tensors of collectives are marked for NCCL's stream, and their blocks come back when the device has " \
      "passed (record_stream; TORCH_NCCL_AVOID_RECORD_STREAMS off)")                                         \
    X(memory_resets, "ss.memory.resets_peak", COUNT, 0, 0, 1,                                                \
      "the framework resets the peak of allocated memory inside a step, so a measured peak is of what is "   \
      "reserved, whatever a table calls it")                                                                 \
    /* memory of a rank, beside what the groups above keep */                                                \
    X(context_bytes, "ss.memory.context", BYTES, 6e8, 0, 2e10, "CUDA context and library workspaces")        \
    X(nccl_bytes, "ss.memory.nccl_per_group", BYTES, 7.5e8, 0, 2e10,                                         \
      "NCCL buffers of one communicator of more than one rank")                                              \
    X(world_group, "ss.memory.world_group", COUNT, 0, 0, 1,                                                  \
      "all ranks have a communicator of their own, which the framework reduces over at the start")           \
    X(fragmentation, "ss.memory.fragmentation", FRACTION, 0.05, 0, 0.5,                                      \
      "reserved beside the dynamic tensors by the caching allocator")                                        \
    X(thrash_margin, "ss.memory.thrash_margin", FRACTION, 0.02, 0, 0.2,                                      \
      "free share of the device under which the allocator retries: the run is slow")

/* What the props below may be. W(symbol, word) */
#define SS_STACK_ATTENTION_WORDS(W)                                                                          \
    W(SS_STACK_FLASH, "flash") W(SS_STACK_FUSED, "fused") W(SS_STACK_UNFUSED, "unfused")
#define SS_STACK_TIMERS_WORDS(W)                                                                             \
    W(SS_TIMERS_MEGATRON_2021, "megatron-2021")                                                              \
    W(SS_TIMERS_MEGATRON, "megatron") W(SS_TIMERS_NEMO, "nemo") W(SS_TIMERS_NONE, "none")
#define SS_STACK_LOGGED_WORDS(W)                                                                             \
    W(SS_LOGGED_PEAK, "peak") W(SS_LOGGED_FIRST, "first") W(SS_LOGGED_LAST, "last")
#define SS_STACK_REPORTED_WORDS(W)                                                                           \
    W(SS_REPORTED_DEVICE, "device")                                                                          \
    W(SS_REPORTED_RESERVED, "reserved") W(SS_REPORTED_ALLOCATED, "allocated")
#define SS_STACK_DISPATCHER_WORDS(W)                                                                         \
    W(SS_STACK_ALLGATHER, "allgather")                                                                       \
    W(SS_STACK_ALLTOALL, "alltoall") W(SS_STACK_DEEPEP, "deepep") W(SS_STACK_HYBRIDEP, "hybridep")
/* Enumerators are those of SS_FLOP_COUNT_LIST (stepsim/summary.h) less one. */
#define SS_STACK_LOG_COUNT_WORDS(W)                                                                          \
    W(SS_LOGS_FULL, "full")                                                                                  \
    W(SS_LOGS_CAUSAL, "causal") W(SS_LOGS_WINDOWS, "windows") W(SS_LOGS_HARDWARE, "hardware")
#define SS_STACK_LOG_BY_WORDS(W)                                                                             \
    W(SS_LOG_NONE, "none")                                                                                   \
    W(SS_LOG_MEGATRON, "Megatron-LM")                                                                        \
    W(SS_LOG_BRIDGE, "Megatron-Bridge")                                                                      \
    W(SS_LOG_NEMO, "NeMo")                                                                                   \
    W(SS_LOG_AUTOMODEL, "NeMo-AutoModel")                                                                    \
    W(SS_LOG_MEGATRON_DEEPSPEED, "Megatron-DeepSpeed")                                                       \
    W(SS_LOG_TORCHTITAN, "torchtitan")                                                                       \
    W(SS_LOG_COMPOSER, "Composer") W(SS_LOG_INTERN, "InternEvo")
#define SS_STACK_FRAMEWORK_WORDS(W) W(SS_FRAMEWORK_MEGATRON, "megatron") W(SS_FRAMEWORK_NEMO, "nemo")

/* X(field, prop id, its words, default, meaning) */
#define SS_STACK_WORDS(X)                                                                                    \
    X(attention_auto, "ss.attention.auto", SS_STACK_ATTENTION_WORDS, SS_STACK_FLASH,                         \
      "backend of --attention-backend auto in 16 bit")                                                       \
    X(timers, "ss.timers", SS_STACK_TIMERS_WORDS, SS_TIMERS_MEGATRON, "names of the timers")                 \
    X(memory_logged, "ss.memory.logged", SS_STACK_LOGGED_WORDS, SS_LOGGED_PEAK,                              \
      "pipeline stage whose memory the framework's log shows")                                               \
    X(memory_reported, "ss.memory.reported", SS_STACK_REPORTED_WORDS, SS_REPORTED_DEVICE,                    \
      "what a measured figure of memory is where its table does not say")                                    \
    X(log_by, "ss.log.framework", SS_STACK_LOG_BY_WORDS, SS_LOG_NONE,                                        \
      "whose log prints FLOP/s, by ss.log.count; none: no log does")                                         \
    X(log_count, "ss.log.count", SS_STACK_LOG_COUNT_WORDS, SS_LOGS_FULL,                                     \
      "FLOP of attention there: the whole square, its causal half, that half less what windows mask, or "    \
      "the "                                                                                                 \
      "whole square and recompute")                                                                          \
    X(dispatcher, "ss.default.dispatcher", SS_STACK_DISPATCHER_WORDS, SS_STACK_ALLGATHER,                    \
      "dispatcher of tokens to experts where no flag says")                                                  \
    X(framework, "ss.framework", SS_STACK_FRAMEWORK_WORDS, SS_FRAMEWORK_MEGATRON, "whose refusals apply")

/* enum ss_stack_timers and the like. */
#define W(symbol, word) symbol,
#define X(field, id, words, def, doc) enum ss_stack_##field{words(W)};
SS_STACK_WORDS(X)
#undef X
#undef W

struct ss_stack {
    char name[64];
    char
        family[32]; /* stacks whose predictions are off alike: their own or their base's attribute `family` */
    char asked
        [64]; /* the release that was asked for, where `name` is the nearest one that is known; else empty */
    char about[128]; /* what the release is, for lists: its own attribute `about`, else empty */
#define X(field, id, words, def, doc) int field; /* enum ss_stack_<field> */
    SS_STACK_WORDS(X)
#undef X
#define X(field, id, unit, def, lo, hi, doc) double field;
    SS_STACK_PROPS(X)
#undef X
};

SS_C_END
