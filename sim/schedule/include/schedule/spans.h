/* SPDX-License-Identifier: Apache-2.0 */
/* Makespans whose turns a cache keeps for schedules that differ in the turns of their loop alone. */
#pragma once

#include "stepsim/schedule.h"

/* As ss_schedule_makespan; cache NULL: nothing is kept. */
int ss_schedule_makespan_kept(const struct ss_schedule *s, const double *const duration[SS_PHASE_COUNT],
                              struct ss_cache *cache, double *makespan, double *idle, struct ss_error *err);
/* As ss_schedule_makespans. */
int ss_schedule_makespans_kept(const struct ss_schedule *s, ss_slot_timer timer, void *const ctx[2],
                               struct ss_cache *cache, double makespan[2], double *idle,
                               struct ss_error *err);
