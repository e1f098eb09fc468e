/* SPDX-License-Identifier: Apache-2.0 */
/* For targets whose work is done in a child of fork. */
#ifndef FUZZ_FORK_H
#define FUZZ_FORK_H

/* Puts libFuzzer's counters into memory that children share, so that it sees which of our lines they reach, and whatever they lose, or
 * take down with them, is gone with the child. Without libFuzzer it does nothing. Called once, before the first input. */
void fuzz_share_counters(void);

#endif
