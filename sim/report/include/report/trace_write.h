/* SPDX-License-Identifier: Apache-2.0 */
/* The fields that all events of a trace have (docs/reference/formats.md, "Traces"). */
#ifndef SS_REPORT_TRACE_WRITE_H
#define SS_REPORT_TRACE_WRITE_H

#include <stdio.h>

/* Threads of a process: the compute stream, a channel each, a collective stream each, a kind of kernels each. */
enum { SS_TID_MAIN = 0, SS_TID_SEND = 1, SS_TID_STREAM = 500, SS_TID_KERNELS = 900 };

struct ss_trace_writer {
    FILE *out;
    int nevents;
};

/* Begins an event of a thread at a time in s: '{"ph":"X","pid":1,"tid":1000,"ts":0'; the caller ends it with "}". */
void ss_trace_event(struct ss_trace_writer *w, char ph, int cls, int number, double time);
/* The field dur. The span's end is rounded, not its length: then neighbours meet and children stay inside. */
void ss_trace_duration(struct ss_trace_writer *w, double start, double end);
/* The fields name and cat. */
void ss_trace_name(struct ss_trace_writer *w, const char *name, const char *category);
/* Seconds as microseconds with up to six decimals. */
void ss_trace_us(struct ss_trace_writer *w, double seconds);
/* A whole event that names a process or a thread: what is "thread_name". */
void ss_trace_title(struct ss_trace_writer *w, const char *what, int cls, int number, const char *name);
/* Thread ids are unique over all processes: some viewers look threads up without their process. */
int ss_trace_tid(int cls, int number);

#endif
