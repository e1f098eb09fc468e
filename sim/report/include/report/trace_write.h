/* SPDX-License-Identifier: Apache-2.0 */
/* The fields that all events of a trace have (docs/reference/formats.md, "Traces"). */
#pragma once

#include <stdio.h>

/* First numbers of a process's threads: the compute stream, then one for each channel, for each
 * collective stream, for each kind of kernels. */
enum { SS_TID_MAIN = 0, SS_TID_SEND = 1, SS_TID_STREAM = 500, SS_TID_KERNELS = 900 };

struct ss_trace_writer {
    FILE *out;
    int nevents;
};

/* Begins an event of a thread at a time, s: '{"ph":"X","pid":1,"tid":1000,"ts":0'. The caller adds
 * fields and ends the event with "}". */
void ss_trace_event(struct ss_trace_writer *w, char ph, int cls, int number, double time);
/* Adds the field dur. The end of the span is rounded, not its length: so neighbours meet, and children
 * stay inside their parents. */
void ss_trace_duration(struct ss_trace_writer *w, double start, double end);
/* Adds the fields name and cat. */
void ss_trace_name(struct ss_trace_writer *w, const char *name, const char *category);
/* Writes seconds as microseconds with up to six decimals. */
void ss_trace_us(struct ss_trace_writer *w, double seconds);
/* Writes an event that names a process or a thread; `what` is "process_name" or "thread_name". */
void ss_trace_title(struct ss_trace_writer *w, const char *what, int cls, int number, const char *name);
/* Returns the id of a thread. Ids are unique over all processes, because some viewers look threads up
 * without their process. */
int ss_trace_tid(int cls, int number);
