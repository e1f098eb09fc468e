/* SPDX-License-Identifier: Apache-2.0 */
/* Everything a program outside needs. */
#ifndef STEPSIM_H
#define STEPSIM_H

#include "stepsim/bands.h"
#include "stepsim/card.h"
#include "stepsim/chunk.h"
#include "stepsim/communicator.h"
#include "stepsim/error.h"
#include "stepsim/files.h"
#include "stepsim/flags.h"
#include "stepsim/import.h"
#include "stepsim/job.h"
#include "stepsim/model.h"
#include "stepsim/network.h"
#include "stepsim/notes.h"
#include "stepsim/params.h"
#include "stepsim/pictures.h"
#include "stepsim/plan.h"
#include "stepsim/platform.h"
#include "stepsim/program.h"
#include "stepsim/replay.h"
#include "stepsim/report.h"
#include "stepsim/request.h"
#include "stepsim/result.h"
#include "stepsim/scenario.h"
#include "stepsim/schedule.h"
#include "stepsim/schedule_study.h"
#include "stepsim/stack.h"
#include "stepsim/stack_props.h"
#include "stepsim/study.h"
#include "stepsim/summary.h"
#include "stepsim/sweep.h"
#include "stepsim/table.h"
#include "stepsim/types.h"
#include "stepsim/units.h"

#endif
