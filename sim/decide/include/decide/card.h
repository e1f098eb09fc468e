/* SPDX-License-Identifier: Apache-2.0 */
/* How the steps from the peak to the answer are drawn. */
#pragma once

/* Returns the tone of a term (stepsim/explain.h): enum ss_step_tone, by what the time is lost to. */
int ss_term_tone(int term);
