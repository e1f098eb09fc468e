/* SPDX-License-Identifier: Apache-2.0 */
/* The card: one iteration, explained, on 1200 x 675 pixels, as slides and link previews have, or on another width. */
#pragma once

#include "report/gantt.h"
#include "stepsim/pictures.h"

/* Draws the card of a run with its steps. It begins the document where steps->index is 0, and ends it with the last
 * card of steps->of. width: px, 0: its own. Changes where the parts of `k` are placed. Returns 0 or SS_ERR_NOMEM. */
int ss_card_write(struct ss_gantt *k, const struct ss_run *run, const struct ss_card_steps *steps,
                  double width, FILE *out);
/* Writes what a picture is of: "llama3.1-70b on 64 x H800-80GB, 100.9 s an iteration"; of a program its name. Returns buf. */
const char *ss_picture_title(const struct ss_program *p, const struct ss_timeline *t,
                             const struct ss_run *run, char *buf, size_t size);
