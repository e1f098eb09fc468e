/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Variables of the C library, once more, in a shared library that has static ones inside: Debian builds those for programs,
 * whose code reaches the variables of the program alone.
 */
struct _IO_FILE;
extern struct _IO_FILE _IO_2_1_stdin_, _IO_2_1_stdout_, _IO_2_1_stderr_; /* the C library's own */
extern struct _IO_FILE *stdin, *stdout, *stderr;
extern char *program_invocation_name;

struct _IO_FILE *stdin = &_IO_2_1_stdin_;
struct _IO_FILE *stdout = &_IO_2_1_stdout_;
struct _IO_FILE *stderr = &_IO_2_1_stderr_;
char *program_invocation_name = "stepsim";
