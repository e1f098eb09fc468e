/* SPDX-License-Identifier: Apache-2.0 */
/* Journals: what was put comes back, whatever its bytes; a cut last line does not count. tests/journal.py has whole commands. */
#include <signal.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "suite.h"
#include "workers/journal.h"

enum { SIZE = 300, ITEMS = 40 };

static char path[] = "/tmp/stepsim-journal-XXXXXX";
static const struct ss_journal_head head = {"numbers", SIZE, ITEMS, 77};

/* Runs of zeros of every length up to 20, at both ends too. */
static void fill(int item, unsigned char *bytes)
{
    memset(bytes, 0, SIZE);
    for (int i = item % 21; i < SIZE - item / 2; i += 1 + (i * 7 + item) % 21)
        bytes[i] = (unsigned char)(255 - i % 250);
}

TEST(answers)
{
    unsigned char bytes[SIZE], back[SIZE];
    struct ss_journal *j;
    struct stat st;
    struct ss_error err = {0};
    unlink(path);
    CU_ASSERT_EQUAL_FATAL(ss_journal_open(path, 0, &head, &j, NULL), SS_OK);
    for (int item = ITEMS - 1; item >= 0; item -= 2) {
        fill(item, bytes);
        CU_ASSERT_EQUAL(ss_journal_put(j, item, bytes, NULL), SS_OK);
    }
    ss_journal_close(j);
    CU_ASSERT_EQUAL(ss_journal_open(path, 0, &head, &j, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "--resume"));
    CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL_FATAL(truncate(path, st.st_size - 1), 0); /* the last one, of item 1 */
    CU_ASSERT_EQUAL_FATAL(ss_journal_open(path, 1, &head, &j, NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_journal_count(j), ITEMS / 2 - 1);
    for (int item = 0; item < ITEMS; item++) {
        CU_ASSERT_EQUAL(ss_journal_has(j, item), item % 2 && item > 1);
        if (!ss_journal_has(j, item))
            continue;
        fill(item, bytes);
        CU_ASSERT_EQUAL(ss_journal_get(j, item, back, NULL), SS_OK);
        CU_ASSERT_EQUAL(memcmp(bytes, back, SIZE), 0);
    }
    fill(1, bytes);
    CU_ASSERT_EQUAL(ss_journal_put(j, 1, bytes, NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_journal_get(j, 1, back, NULL), SS_OK);
    CU_ASSERT_EQUAL(memcmp(bytes, back, SIZE), 0);
    ss_journal_close(j);
    struct stat now;
    CU_ASSERT_EQUAL_FATAL(stat(path, &now), 0);
    CU_ASSERT_EQUAL(now.st_size, st.st_size);
}

TEST(heads)
{
    static const struct ss_journal_head others[] = {{"words", SIZE, ITEMS, 77},
                                                    {"numbers", SIZE + 1, ITEMS, 77},
                                                    {"numbers", SIZE, ITEMS + 1, 77},
                                                    {"numbers", SIZE, ITEMS, 78}};
    struct ss_journal *j;
    for (size_t i = 0; i < SS_ARRAY_LEN(others); i++) {
        struct ss_error err = {0};
        CU_ASSERT_EQUAL(ss_journal_open(path, 1, &others[i], &j, &err), SS_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.message, "this journal is of other inputs");
        CU_ASSERT_EQUAL(err.line, 1);
    }
    unlink(path);
}

/* Writes 2 n digits in place of n bytes. */
static void write_hex(const char *bytes, int n, char *out)
{
    for (int i = 0; i < n; i++)
        sprintf(out + 2 * i, "%02x", (unsigned char)bytes[i]);
}

/* The id is the 20 bytes that the linker put behind the head of a note, in the file that has the function. */
TEST(build_id)
{
    static const char mark[16] = {4, 0, 0, 0, 20, 0, 0, 0, 3, 0, 0, 0, 'G', 'N', 'U', 0};
    char id[41], expected[41], line[4096], file[4096] = "/proc/self/exe", *bytes;
    size_t n;
    ss_build_id(id);
    if (strlen(id) == 1)
        return;
    FILE *maps = fopen("/proc/self/maps", "r");
    CU_ASSERT_PTR_NOT_NULL_FATAL(maps);
    while (fgets(line, sizeof line, maps))
        if (strstr(line, "/libstepsim.so"))
            sscanf(line, "%*s %*s %*s %*s %*s %4095s", file);
    fclose(maps);
    CU_ASSERT_EQUAL_FATAL(ss_file_read(file, 1 << 28, &bytes, &n, NULL), SS_OK);
    const char *note = memmem(bytes, n, mark, sizeof mark);
    CU_ASSERT_PTR_NOT_NULL_FATAL(note);
    write_hex(note + sizeof mark, 20, expected);
    CU_ASSERT_STRING_EQUAL(id, expected);
    free(bytes);
}

/* Where no byte can be added, an answer is an error and not tried for ever. A limit of the file's size stands for a full disk. */
TEST(full)
{
    unsigned char bytes[SIZE];
    struct ss_journal *j;
    struct stat st;
    struct rlimit limit, small;
    unlink(path);
    CU_ASSERT_EQUAL_FATAL(ss_journal_open(path, 0, &head, &j, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(stat(path, &st), 0);
    CU_ASSERT_EQUAL_FATAL(getrlimit(RLIMIT_FSIZE, &limit), 0);
    small = (struct rlimit){(rlim_t)st.st_size, limit.rlim_max};
    void (*before)(int) = signal(SIGXFSZ, SIG_IGN);
    CU_ASSERT_EQUAL_FATAL(setrlimit(RLIMIT_FSIZE, &small), 0);
    fill(3, bytes);
    CU_ASSERT_EQUAL(ss_journal_put(j, 3, bytes, NULL), SS_ERR_IO);
    setrlimit(RLIMIT_FSIZE, &limit);
    signal(SIGXFSZ, before);
    ss_journal_close(j);
    unlink(path);
}

SUITE(journal)
{
    int fd = mkstemp(path);
    if (fd < 0)
        return 1;
    close(fd);
    return suite_file(argv[0], NULL, NULL);
}
