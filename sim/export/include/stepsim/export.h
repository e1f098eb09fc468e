/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Programs in the formats of other simulators: GOAL text (LogGOPSim, ATLAHS) and Chakra execution traces
 * (ASTRA-sim). One of their ranks is a class of the program; a program that was lowered unfolded has a class
 * for each GPU. docs/reference/formats-export.md says what the formats keep.
 */
#pragma once

#include "stepsim/program.h"

SS_C_BEGIN

/* A checked program (ss_program_check) that is being written; the program must stay until ss_export_free. */
struct ss_export;
/* Begins to write a program; the caller frees *out with ss_export_free. Error: SS_ERR_NOMEM. */
int ss_export_begin(const struct ss_program *p, struct ss_export **out, struct ss_error *err);
/* Writes all ranks as one GOAL schedule: times in ns, sizes in whole bytes. Errors: SS_ERR_IO, SS_ERR_NOMEM, SS_ERR_UNSUPPORTED (a
 * number needs more than 63 bits). */
int ss_export_goal(struct ss_export *x, FILE *out, struct ss_error *err);
/* Writes the Chakra trace of one rank, 0 <= rank < nclasses: a GlobalMetadata message, then Nodes, each behind its length; times
 * in microseconds. Errors: those of ss_export_goal. */
int ss_export_chakra(struct ss_export *x, int rank, FILE *out, struct ss_error *err);
/* Writes the process groups that these traces name, as ASTRA-sim reads them: {"1": [0, 1], ...}. Error:
 * SS_ERR_IO. */
int ss_export_chakra_groups(struct ss_export *x, FILE *out, struct ss_error *err);
/* Frees an export. NULL is allowed. */
void ss_export_free(struct ss_export *x);

SS_C_END
