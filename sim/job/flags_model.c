/* SPDX-License-Identifier: Apache-2.0 */
/* A model as the text of its config.json. */
#include "base/base.h"
#include "job/flags_set.h"
#include "model/model_internal.h"

/* The text of a config.json; flags that stand before it beat it, too. */
SS_FLAG_CALLED(model_config)
{
    struct ss_error err = {0};
    struct ss_model m;
    int rc = ss_model_parse(values[0], strlen(values[0]), "config.json", &m, &err);

    if (rc) {
        *why = "it is no config.json of a model on one line";
        return rc == SS_ERR_NOMEM ? rc : SS_ERR_INPUT;
    }
    if (m.residual_streams > 1 || (m.kv_lora_rank > 0 && m.attention_gate > 0)) {
        *why =
            "a model of several residual streams, or of latent attention with a gate, is read from a file: "
            "give it by --model";
        return SS_ERR_UNSUPPORTED;
    }
    ss_model_overlay(&m, &asked->job.model);
    ss_copy(m.name, sizeof m.name, "config.json");
    asked->job.model = m;
    asked->multi_latent |= m.kv_lora_rank > 0;
    return SS_OK;
}
