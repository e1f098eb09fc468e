/* SPDX-License-Identifier: Apache-2.0 */
/* The kinds of foreign configurations. */
#include "base/base.h"
#include "import/foreign.h"

extern const struct ss_foreign_kind ss_foreign_nemo, ss_foreign_nemo2, ss_foreign_bridge,
    ss_foreign_megatron_config, ss_foreign_megatron_arguments, ss_foreign_megatron_dump;

const struct ss_foreign_kind *const ss_foreign_kinds[] = {
    &ss_foreign_nemo2,
    &ss_foreign_nemo,
    &ss_foreign_bridge,
    &ss_foreign_megatron_config,
    &ss_foreign_megatron_arguments,
    &ss_foreign_megatron_dump,
};
const size_t ss_foreign_kind_count = SS_ARRAY_LEN(ss_foreign_kinds);
