/* SPDX-License-Identifier: Apache-2.0 */
/* Tables of measured runs from one text, for tests of their rows and of what is validated with them. */
#ifndef TABLE_TEXT_H
#define TABLE_TEXT_H

#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "stepsim/import.h"
#include "stepsim/study.h"
#include "suite.h"

#define HEAD                                                                                                 \
    "id,platform,stack,nodes,model,precision,tp,pp,micro_batch,global_batch,seq_length,sequence_parallel,"   \
    "optimizer,outcome,iteration_ms,memory_mib,quality,note\n"
#define FULL_HEAD                                                                                            \
    "id,platform,stack,nodes,model,precision,tp,pp,micro_batch,global_batch,seq_length,sequence_parallel,"   \
    "optimizer,outcome,iteration_ms,memory_mib,quality,note,cause,flags\n"
#define JOB "h800,megatron-2407,1,llama3.1-8b,bf16,2,2,1,16,4096,true,distributed,"

/* Writes `text` to a new file; `path` ends in XXXXXX, which become its name. The caller unlinks it. */
static inline void table_file(char *path, const char *text)
{
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    CU_ASSERT_EQUAL_FATAL(write(fd, text, strlen(text)), (ssize_t)strlen(text));
    close(fd);
}

static inline struct ss_table *table_parse(const char *text, struct ss_notes *notes)
{
    struct ss_error err = {0};
    struct ss_table *t = NULL;

    CU_ASSERT_EQUAL_FATAL(ss_table_parse(text, strlen(text), "t.csv", &t, notes, &err), 0);
    return t;
}

#endif
