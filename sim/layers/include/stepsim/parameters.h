/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a whole model: sums over the operators of its layers. */
#ifndef STEPSIM_PARAMETERS_H
#define STEPSIM_PARAMETERS_H

#include "stepsim/model.h"

#ifdef __cplusplus
extern "C" {
#endif

/* Parameters of a finished model. Publishers of mixtures leave out of their figures the input embedding, both embeddings or
 * nothing: all but `mtp` are without multi-token prediction, `total` and `active` are with both embeddings. */
struct ss_parameter_counts {
    double total;
    double
        active; /* that a token meets: top_k experts of each mixture layer, shared ones, routers, all that is dense */
    double
        input; /* of `total`: tables of tokens and positions; an output layer that is tied to them is not counted again */
    double output; /* of `total`: an output layer of its own */
    double mtp,
        mtp_active; /* multi-token prediction on top: its layers, norms and projections; embeddings are shared */
};
/* Counts them with `padded_vocab` rows of the vocabulary into *out. */
void ss_model_count(const struct ss_model *m, int padded_vocab, struct ss_parameter_counts *out);
/* Returns the number of parameters of a finished model with `padded_vocab` rows, without multi-token prediction; untied
 * embeddings count twice. */
double ss_model_parameters(const struct ss_model *m, int padded_vocab);
/* Returns those of them that a token meets, embeddings included; ss_model_parameters without experts. */
double ss_model_active_parameters(const struct ss_model *m, int padded_vocab);

#ifdef __cplusplus
}
#endif
#endif
