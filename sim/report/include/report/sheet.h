/* SPDX-License-Identifier: Apache-2.0 */
/* Where the boxes of a picture of a cluster stand. */
#pragma once

#include "report/drawing.h"

/* px: the margin; the height of a box, and a GPU's width; the width of a switch, and of a box that stands for GPUs; between boxes; a
 * node's frame, its height and its least width; a picture of few boxes. */
#define SS_SHEET_LEFT 24.0
#define SS_SHEET_BOX 24.0
#define SS_SHEET_WIDE 96.0
#define SS_SHEET_GAP 12.0
#define SS_SHEET_FRAME 138.0
#define SS_SHEET_FRAME_LEAST 150.0
#define SS_SHEET_NARROWEST 760.0

struct ss_sheet {
    struct ss_drawing d;
    FILE *out;
    double width, height, top, floor; /* top: y of the highest row of switches; floor: of the GPUs */
    double squeeze; /* of widths of nodes, where the picture is narrower than they need; else 1 */
};

/* Returns 1 if a vertex has a box of its own. */
int ss_sheet_draws(const struct ss_drawing *d, int v);
/* Returns 1 if its box stands for others, too. */
int ss_sheet_folds(const struct ss_drawing *d, int v);
/* Returns the GPUs of a node. */
int ss_sheet_gpus(const struct ss_drawing *d);
/* Returns the factor of the widths of a row, or of what is inside nodes (level 0), in a picture that is narrower than that needs. */
double ss_sheet_squeeze(const struct ss_sheet *s, int level);
/* Sets the width: as the boxes need, or what is wanted, in which the boxes are squeezed. */
void ss_sheet_set_width(struct ss_sheet *s, double wanted);
/* Places the boxes below s->top. */
void ss_sheet_place(struct ss_sheet *s);
