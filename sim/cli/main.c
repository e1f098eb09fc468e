/* SPDX-License-Identifier: Apache-2.0 */
/* What the process needs before its command runs. */
#include <malloc.h>
#include <signal.h>

#include "cli/cli.h"

int main(int argc, char **argv)
{
    /* Large tables come and go. The process keeps their pages to its end, which saves time. */
    mallopt(M_MMAP_THRESHOLD, 32 << 20);
    mallopt(M_TRIM_THRESHOLD, 256 << 20);
    mallopt(M_TOP_PAD, 1 << 20);
    signal(SIGXFSZ, SIG_IGN); /* a file that reaches its size limit is an error of writing, not the end */
    return cli_main(argc, argv);
}
