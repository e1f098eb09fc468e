/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include "stepsim/report.h"

int ss_json_run(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                struct ss_error *err);
struct ss_json *ss_json_memory(const struct ss_run *run, const struct ss_report_options *opt);
