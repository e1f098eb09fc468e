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

#ifdef __x86_64__
/* glibc 2.35 has a second hypot, which is the first without errno: by the first the library runs on 2.34, too. */
__asm__(".symver hypot_of_old, hypot@GLIBC_2.2.5");
double hypot_of_old(double x, double y);
double hypot(double x, double y);
double hypot(double x, double y)
{
    return hypot_of_old(x, y);
}
#endif
