/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Commands of the program in this process, one after another. stdin, stdout and stderr of the process are files in memory, emptied
 * before each. A test that is told of a command's death by a signal, of what it leaks or of a file that it leaves
 * open is told which command it was.
 */
#ifndef DRIVER_H
#define DRIVER_H

#include <stddef.h>
#include <stdio.h>

/* What became of a command. */
struct driver_answer {
    int status;        /* exit status; 128 + signal of a forked one that a signal ended */
    size_t nout, nerr; /* bytes of stdout and stderr in memory */
    int leaked; /* 1: memory that nothing points to is left, which stderr tells behind nerr; sanitizers' builds only */
    int open;         /* 1: a descriptor is left open */
    long allocations; /* of a forked one; 0 in sanitizers' builds, which have an allocator of their own */
};

/* What is asked for beside the words. All 0: in this process, without limits. */
struct driver_how {
    double seconds;     /* processor time, after which SIGPROF ends the process; 0: no limit */
    int forked;         /* 1: in a child, as which it may die */
    long fail_at;       /* forked: the allocation of this number finds no memory, from 1 */
    char **environment; /* NULL: that of this process */
    int file[3];        /* open for stdin, stdout and stderr of the command; 0: the file in memory */
};

/* Makes files in memory of stdin, stdout and stderr. Returns a stream to the stderr of before, for what the test says; what tells of
 * this process' death goes there, too. */
FILE *driver_begin(void);
/* The same where the caller has made them so; deaths are the caller's to tell. */
void driver_begin_as_is(void);
/* Runs the command. argv[0] is the program's name, argv[argc] NULL. how NULL: all 0. */
struct driver_answer driver_run(int argc, char **argv, const struct driver_how *how);
/* What the last command wrote to stdout (1) or stderr (2) in memory, its first n bytes and a zero byte. Valid until the next call for it. */
const char *driver_text(int stream, size_t n);

/* ---- allocations that fail (fails.c) ---- */
/* From now on the allocation of number `at` (from 1) of this process fails; 0: none, they are counted. */
void driver_fail_at(long at);
/* None fails from now on; returns how many there were. */
long driver_fail_end(void);

#endif
