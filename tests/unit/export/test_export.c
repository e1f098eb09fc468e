/* SPDX-License-Identifier: Apache-2.0 */
/* Operations, times and bytes of a small program in the formats of others, counted by hand: docs/reference/formats-export.md. */
#include <stdlib.h>
#include <string.h>

#include "stepsim/communicator.h"
#include "stepsim/export.h"
#include "suite.h"

/*
 * A sends b two messages, both give 8 bytes to a reduction, all three exchange 11 bytes, and c alone computes 3 us, then 10 us on
 * a stream: 1 us and 2 x 1,000 bytes, four times on the link of 2 GB/s: 1 + 4; then 2 us and 3,000 bytes at 1 GB/s: 2 + 3.
 */
static const char text[] =
    "program three\n"
    "link up bandwidth 1GBps\n"
    "link down bandwidth 2GBps\n"
    "path both up down *4\n"
    "path first up\n"
    "channel m from a to b path first\n"
    "collective pair bytes 8B {\nmembers a b\nphase\nflow first 8B\n}\n"
    "collective ring bytes 11B {\nmembers a b c\nphase\nflow first 5B\nflow first 6B\n}\n"
    "collective own {\nmembers c\nphase latency 1us\nflow both 1kB\nflow both 1kB\n"
    "phase latency 2us\nflow first 3kB\n}\n"
    "class a {\nslot ours {\ncompute 10ns\nsend m 5B\nsend m 7B\nwait-send m\ncompute 20ns\n"
    "wait-send m\ncompute 30ns\npost pair\nwait\npost ring\nwait\n}\n}\n"
    "class b {\nslot hers {\nrecv m\nrecv m\nwait-recv m\nwait-recv m\ncompute 40ns\n"
    "post pair\nwait\npost ring\nwait\n}\n}\n"
    "class c {\nslot its {\npost ring\nwait\ncompute 3us\npost own\npost own\nwait\nwait\n"
    "compute 1us\n}\n}\n";

static struct ss_program *three(void)
{
    struct ss_program *p = NULL;
    struct ss_error err = {0};

    if (ss_program_parse(text, sizeof text - 1, "three", &p, &err))
        fprintf(stderr, "%d: %s\n", err.line, err.message);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    p->collectives[0].kind = SS_COLL_ALL_REDUCE + 1;
    return p;
}

/* What `rank` (-1: GOAL, -2: the groups) is written as. */
static char *written(int rank, size_t *size)
{
    struct ss_program *p = three();
    struct ss_export *x = NULL;
    char *out = NULL;
    FILE *f = open_memstream(&out, size);

    CU_ASSERT_EQUAL_FATAL(ss_export_begin(p, &x, NULL), SS_OK);
    CU_ASSERT_EQUAL(rank >= 0    ? ss_export_chakra(x, rank, f, NULL)
                    : rank == -1 ? ss_export_goal(x, f, NULL)
                                 : ss_export_chakra_groups(x, f, NULL),
                    SS_OK);
    fclose(f);
    ss_export_free(x);
    ss_program_free(p);
    return out;
}

/* Members send 4, 4 and 3 of the 11 bytes, in two rounds. */
static const char goal[] =
    "// stepsim: cpu 0 computes (ns), cpu 1 sends and receives between classes, cpu 2 + s is stream s\n"
    "num_ranks 3\n"
    "rank 0 {\n"
    "l1: calc 10 cpu 0\n"
    "l2: send 5b to 1 tag 0 cpu 1\nl2 requires l1\n"
    "l3: send 7b to 1 tag 0 cpu 1\nl3 requires l1\nl3 requires l2\n"
    "l4: calc 20 cpu 0\nl4 requires l1\nl4 requires l2\n"
    "l5: calc 30 cpu 0\nl5 requires l4\nl5 requires l3\n"
    "l6: send 4b to 1 tag 1 cpu 2\nl6 requires l5\n"
    "l7: recv 4b from 1 tag 1 cpu 2\nl7 requires l5\n"
    "l8: send 2b to 1 tag 33 cpu 2\nl8 requires l5\nl8 requires l6\nl8 requires l7\n"
    "l9: recv 2b from 2 tag 33 cpu 2\nl9 requires l5\nl9 requires l6\nl9 requires l7\n"
    "l10: send 2b to 2 tag 34 cpu 2\nl10 requires l8\nl10 requires l9\n"
    "l11: recv 2b from 1 tag 34 cpu 2\nl11 requires l8\nl11 requires l9\n"
    "}\n"
    "rank 1 {\n"
    "l1: recv 5b from 0 tag 0 cpu 1\n"
    "l2: recv 7b from 0 tag 0 cpu 1\nl2 requires l1\n"
    "l3: calc 40 cpu 0\nl3 requires l1\nl3 requires l2\n"
    "l4: send 4b to 0 tag 1 cpu 2\nl4 requires l3\n"
    "l5: recv 4b from 0 tag 1 cpu 2\nl5 requires l3\n"
    "l6: send 2b to 2 tag 33 cpu 2\nl6 requires l3\nl6 requires l4\nl6 requires l5\n"
    "l7: recv 2b from 0 tag 33 cpu 2\nl7 requires l3\nl7 requires l4\nl7 requires l5\n"
    "l8: send 2b to 0 tag 34 cpu 2\nl8 requires l6\nl8 requires l7\n"
    "l9: recv 1b from 2 tag 34 cpu 2\nl9 requires l6\nl9 requires l7\n"
    "}\n"
    "rank 2 {\n"
    "l1: send 2b to 0 tag 33 cpu 2\n"
    "l2: recv 2b from 1 tag 33 cpu 2\n"
    "l3: send 1b to 1 tag 34 cpu 2\nl3 requires l1\nl3 requires l2\n"
    "l4: recv 2b from 0 tag 34 cpu 2\nl4 requires l1\nl4 requires l2\n"
    "l5: calc 3000 cpu 0\nl5 requires l3\nl5 requires l4\n"
    "l6: calc 10000 cpu 2\nl6 requires l5\nl6 requires l3\nl6 requires l4\n"
    "l7: calc 10000 cpu 2\nl7 requires l5\nl7 requires l6\n"
    "l8: calc 1000 cpu 0\nl8 requires l5\nl8 requires l6\nl8 requires l7\n"
    "}\n";

TEST(goal)
{
    size_t size;
    char *out = written(-1, &size);

    CU_ASSERT_STRING_EQUAL(out, goal);
    free(out);
}

/* A reduction of two is one node: it names its group, which is counted from 1. */
TEST(chakra_collective)
{
    static const char node[] = "\x12\x0ahers: pair\x18\x07\x2a\x02\x01\x02"
                               "\x52\x0e\x0a\x09is_cpu_op\xd8\x01\x00"
                               "\x52\x0d\x0a\x09"
                               "comm_size\x48\x08"
                               "\x52\x0d\x0a\x09"
                               "comm_type\x48\x00"
                               "\x52\x0d\x0a\x07pg_name\xea\x01\x01"
                               "1";
    size_t size;
    char *out = written(1, &size);

    CU_ASSERT_PTR_NOT_NULL(memmem(out, size, node, sizeof node - 1));
    free(out);
}

TEST(chakra_groups)
{
    size_t size;
    char *out = written(-2, &size);

    CU_ASSERT_STRING_EQUAL(out, "{\n\"1\": [0, 1],\n\"2\": [0, 1, 2],\n\"3\": [2]\n}\n");
    free(out);
}
