/* SPDX-License-Identifier: Apache-2.0 */
/* The unit tests of a room as one program:
 *     unit_ROOM                   every suite, each in a process of its own, so that one that crashes is named and the others run
 *     unit_ROOM TOPIC [WORD...]   the suite of test_TOPIC.c alone, in this process; a few take words (tests/README.md, "By hand")
 *     unit_ROOM --list            the topics */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

#include "suite.h"

#define MOST 100 /* tests of a file */

/* Where the linker puts the rows of TEST, if there are any. */
extern const struct suite_test __start_suite_tests[] __attribute__((weak)),
    __stop_suite_tests[] __attribute__((weak));

static int by_line(const void *a, const void *b)
{
    const struct suite_test *const *x = a, *const *y = b;

    return ((*x)->line > (*y)->line) - ((*x)->line < (*y)->line);
}

int suite_file(const char *topic, CU_InitializeFunc init, CU_CleanupFunc cleanup)
{
    const struct suite_test *found[MOST];
    CU_TestInfo tests[MOST + 1];
    char file[100];
    size_t n = 0;

    snprintf(file, sizeof file, "/test_%s.c", topic);
    for (const struct suite_test *t = __start_suite_tests; t < __stop_suite_tests; t++)
        if (strstr(t->file, file) && n == MOST)
            return 2;
        else if (strstr(t->file, file))
            found[n++] = t;
    qsort(found, n, sizeof found[0], by_line);
    for (size_t i = 0; i < n; i++)
        tests[i] = (CU_TestInfo){found[i]->name, found[i]->run};
    tests[n] = (CU_TestInfo)CU_TEST_INFO_NULL;
    return suite_run(topic, init, cleanup, tests);
}

static int run(const struct suite_row *row, int argc, char **argv)
{
    return row->run ? row->run(argc, argv) : suite_file(row->topic, NULL, NULL);
}

/* 0: the suite passed in a process of its own; else says on stderr which one failed and how. */
static int run_apart(const struct suite_row *row)
{
    char *words[] = {(char *)row->topic, NULL};
    int status = 0;

    fflush(NULL);
    pid_t child = fork();
    if (child == 0)
        exit(run(row, 1, words));
    if (child < 0 || waitpid(child, &status, 0) != child) {
        perror("unit tests");
        return 2;
    }
    if (WIFSIGNALED(status))
        fprintf(stderr, "suite %s: ended by signal %d, %s\n", row->topic, WTERMSIG(status),
                strsignal(WTERMSIG(status)));
    else if (WEXITSTATUS(status))
        fprintf(stderr, "suite %s: failed, exit status %d\n", row->topic, WEXITSTATUS(status));
    return status != 0;
}

int main(int argc, char **argv)
{
    int bad = 0, list = argc == 2 && !strcmp(argv[1], "--list");

    if (argc > 1 && !list) {
        for (const struct suite_row *row = suite_rows; row->topic; row++) {
            if (!strcmp(row->topic, argv[1]))
                return run(row, argc - 1, argv + 1);
        }
        fprintf(stderr, "%s: there is no suite \"%s\" here; --list names those that are\n", argv[0], argv[1]);
        return 2;
    }
    for (const struct suite_row *row = suite_rows; row->topic; row++) {
        if (list)
            puts(row->topic);
        else
            bad |= run_apart(row);
    }
    return bad;
}
