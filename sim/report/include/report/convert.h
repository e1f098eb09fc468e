/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

#include "stepsim/error.h"

/* Writes the SVG of a file as what the ending of `path` says, to `out`. Error: SS_ERR_IO. */
int ss_convert(FILE *svg, const char *path, FILE *out, struct ss_error *err);
