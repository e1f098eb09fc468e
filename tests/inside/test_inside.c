/* SPDX-License-Identifier: Apache-2.0 */
/* usage: test_inside FOLDER. A program with the files of FOLDER inside (cmake/inside.c) finds, lists and reads them. */

#include "base/base.h"
#include "stepsim/files.h"

#include "inside_of_test.h"

const struct ss_home ss_home = {
    {NULL, NULL, SS_INSIDE}, {NULL, NULL, "/nowhere"}, ss_inside_table, SS_ARRAY_LEN(ss_inside_table)};

static int failures;

static void check(bool right, const char *what)
{
    if (!right)
        fprintf(stderr, "test_inside: %s\n", what);
    failures += !right;
}

static bool is(const char *text, const char *wanted)
{
    return text && !strcmp(text, wanted);
}

/* The bytes of the file are those on the disk, by both ways of reading. */
static void same_bytes(const char *folder, const char *rest)
{
    char path[4096], *a = NULL, *b = NULL, piece[5];
    size_t n = 0, m = 0, at = 0;
    FILE *f = NULL;

    snprintf(path, sizeof path, "%s/%s", folder, rest);
    check(!ss_file_read(path, 1000, &a, &n, NULL), rest);
    snprintf(path, sizeof path, SS_INSIDE "/%s", rest);
    check(!ss_file_read(path, 1000, &b, &m, NULL) && a && n == m && !memcmp(a, b, n + 1), rest);
    check(!ss_file_open(path, &f, NULL), rest);
    for (size_t got; f && a && (got = fread(piece, 1, sizeof piece, f)) > 0; at += got)
        check(at + got <= n && !memcmp(a + at, piece, got), "a piece differs");
    check(at == n, "a stream ends elsewhere");
    if (f)
        fclose(f);
    free(a);
    free(b);
}

static void finds(void)
{
    char path[4096], **names = NULL;
    const char *rest = NULL;
    size_t n = 0;
    struct ss_error err = {0};
    struct ss_files files = {0};

    check(!ss_data_find("workloads/models", "Tiny1", ".json", path, sizeof path, &err) &&
              is(path, "inside:/workloads/models/tiny-1.json"),
          "a name as people write it");
    check(!ss_data_list("workloads/models", ".json", &names, &n, &err) && n == 2 && is(names[0], "tiny-1") &&
              is(names[1], "tiny-2"),
          "the list of a folder");
    ss_names_free(names, n);
    check(ss_data_relative("inside:/platforms/small.xml", &rest) && is(rest, "platforms/small.xml"),
          "the part below the folder");
    check(!ss_data_place("platforms/small.xml", path, sizeof path, &err) &&
              is(path, "inside:/platforms/small.xml"),
          "the place of that part");
    check(!ss_data_place("platforms", path, sizeof path, &err), "the place of a folder");
    check(ss_data_place("plat", path, sizeof path, &err) == SS_ERR_IO, "a folder that is not there");
    check(ss_data_find("platforms", "smal", ".xml", path, sizeof path, &err) == SS_ERR_IO &&
              strstr(err.hint, "small"),
          "a typo");
    check(ss_data_find("platforms", "inside:/platforms/none.xml", ".xml", path, sizeof path, &err) ==
              SS_ERR_IO,
          "a path of no file");
    check(!ss_files_add(&files, "inside:/validation/x.csv", &err) &&
              ss_files_have(&files, "inside:/validation/x.csv") &&
              !ss_files_have(&files, "inside:/validation/y.csv"),
          "a list of files");
    ss_files_free(&files);
}

/* What the user's own folder has goes first. */
static void own_folder(const char *folder)
{
    char path[4096], wanted[4096];

    setenv("STEPSIM_DATA", folder, 1);
    snprintf(wanted, sizeof wanted, "%s/platforms/small.xml", folder);
    check(!ss_data_find("platforms", "small", ".xml", path, sizeof path, NULL) && is(path, wanted),
          "STEPSIM_DATA goes first");
    unsetenv("STEPSIM_DATA");
}

int main(int argc, char **argv)
{
    if (argc != 2)
        return 2;
    unsetenv("STEPSIM_DATA");
    finds();
    own_folder(argv[1]);
    for (size_t i = 0; i < ss_home.ninside; i++)
        same_bytes(argv[1], ss_home.inside[i].path);
    check(ss_home.ninside == 4, "four files");
    return failures != 0;
}
