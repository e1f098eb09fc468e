/* SPDX-License-Identifier: Apache-2.0 */
/* Kinds of transformer layers by short names, for tests of their lists. */
#ifndef PAIRS_H
#define PAIRS_H

#include "layers/kinds.h"

#define DENSE SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_DENSE)
#define MOE SS_LAYER_PAIR(SS_MIXER_FULL, SS_MLP_MOE)
#define LOCAL_DENSE SS_LAYER_PAIR(SS_MIXER_LOCAL, SS_MLP_DENSE)
#define LOCAL_MOE SS_LAYER_PAIR(SS_MIXER_LOCAL, SS_MLP_MOE)
#define LATENT_DENSE SS_LAYER_PAIR(SS_MIXER_LATENT, SS_MLP_DENSE)
#define LATENT_MOE SS_LAYER_PAIR(SS_MIXER_LATENT, SS_MLP_MOE)

#endif
