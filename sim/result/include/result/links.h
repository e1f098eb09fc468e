/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_REPLAY_LINKS_H
#define SS_REPLAY_LINKS_H

#include "stepsim/result.h"

/* Fills r->links. */
int ss_links_fill(const struct ss_plan *plan, const struct ss_program *p, const struct ss_timeline *t,
                  struct ss_result *r, struct ss_error *err);

#endif
