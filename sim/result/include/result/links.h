/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stepsim/result.h"

/* Fills r->links. */
int ss_links_fill(const struct ss_plan *plan, const struct ss_program *p, const struct ss_timeline *t,
                  struct ss_result *r, struct ss_error *err);
