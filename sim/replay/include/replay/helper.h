/* SPDX-License-Identifier: Apache-2.0 */
/*
 * SimGrid's own program, stepsim-simgrid, and how it is asked. The library opens a module, stepsim-simgrid.so, which starts the
 * program at the first request of a process (no library of SimGrid comes into that process) and keeps the socket to it. A request is
 * one message with files; the program forks a child for each, of which it tells the caller: first its number, at its end its
 * status. Any thread may ask over the same socket; a process that was forked starts a program of its own. It ends with the process that started it.
 */
#pragma once

#include <stddef.h>
#include <sys/types.h>

#define SS_HELPER_PROGRAM "stepsim-simgrid"
#define SS_HELPER_MODULE "stepsim-simgrid.so"
#define SS_HELPER_SOCKET 3 /* in the program */

enum ss_helper_task { SS_HELPER_REPLAY, SS_HELPER_ROUTES, SS_HELPER_PROBE };
enum ss_helper_file {
    /* a packed program; of the others texts, each with its NUL: file, then the hosts of each pair */
    SS_HELPER_INPUT,
    SS_HELPER_BOARD,  /* shared memory */
    SS_HELPER_OUT,    /* records, or one NUL-terminated text a pair */
    SS_HELPER_LOG,    /* SimGrid's own words */
    SS_HELPER_STATUS, /* struct ss_helper_word */
    SS_HELPER_FOLDER, /* of the caller, in which file names count */
    SS_HELPER_FILES
};
struct ss_helper_request {
    int task;
    int accounts, wanted; /* replay: the board has accounts, records are sent */
    int npairs;           /* routes */
    size_t input, board;  /* bytes */
};
/* Two words for a request: state -1 when its child has begun, then the status of waitpid. child -1: there is
 * no child, and state has errno. */
struct ss_helper_word {
    pid_t child;
    int state;
};

/* ---- what the module has ---- */

#define SS_HELPER_ASK "ss_helper_ask"
/* Starts the program that stands beside the module, unless it runs, and sends a request. *helper: its process. 0, or errno's value. */
typedef int ss_helper_ask_function(const struct ss_helper_request *request, const int files[SS_HELPER_FILES],
                                   pid_t *helper);
#define SS_HELPER_END "ss_helper_end"
/* Called for a helper that gave no answer: *state is that of waitpid, -1 where another process has it; *text
 * gets its first words. The next request starts another helper. */
typedef void ss_helper_end_function(pid_t helper, int *state, char *text, size_t size);
