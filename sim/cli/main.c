/* SPDX-License-Identifier: Apache-2.0 */
/* What a process of the program needs beside its command. */
#include <malloc.h>
#include <signal.h>

#include "cli/cli.h"

int main(int argc, char **argv)
{
    /* Large tables come and go: give their pages back at the end only. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    signal(SIGXFSZ, SIG_IGN); /* a file that reaches its size limit is an error of writing, not the end */
    return cli_main(argc, argv);
}
