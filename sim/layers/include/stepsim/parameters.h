/* SPDX-License-Identifier: Apache-2.0 */
/* Parameters of a whole model: sums over the operators of its layers. */
#pragma once

#include "stepsim/model.h"

SS_C_BEGIN

/* Parameter counts of a finished model. Publishers of mixtures count both embeddings, one of them or none, so
 * the embeddings are fields of their own. Multi-token prediction counts only in `mtp` and `mtp_active`. */
struct ss_parameter_counts {
    double total;
    /* the part of `total` that one token of text uses: top_k experts of each mixture layer, shared experts, routers,
     * all dense layers */
    double active;
    /* the part of `total` in tables of tokens and positions; a tied output layer is not counted again */
    double input;
    double output;  /* the part of `total` in an output layer of its own */
    double encoder; /* the part of `total` before the language model */
    double mtp,
        /* multi-token prediction, beyond `total`: its layers, norms and projections; it shares the
         * embeddings */
        mtp_active;
};
/* Counts the parameters with `padded_vocab` rows of the vocabulary into *out. */
void ss_model_count(const struct ss_model *m, int padded_vocab, struct ss_parameter_counts *out);
/* Returns the number of parameters of a finished model with `padded_vocab` rows, without multi-token prediction; untied
 * embeddings count twice. */
double ss_model_parameters(const struct ss_model *m, int padded_vocab);
/* Returns the number of parameters that a token uses, embeddings included; without experts it is
 * ss_model_parameters. */
double ss_model_active_parameters(const struct ss_model *m, int padded_vocab);

SS_C_END
