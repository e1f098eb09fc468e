/* SPDX-License-Identifier: Apache-2.0 */
/* usage: inside FOLDER LIST. Writes the files of FOLDER that LIST names, a line each, as the C table ss_inside_table (cmake/home.c.in). */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static int compare(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

static int fail(const char *path)
{
    perror(path);
    return 1;
}

static int write_bytes(const char *path, size_t number)
{
    FILE *f = fopen(path, "rb");
    int c;

    if (!f)
        return fail(path);
    printf("static const char bytes_%zu[] = \"", number);
    while ((c = getc(f)) != EOF)
        if (c == '\n')
            fputs("\\n\"\n\"", stdout);
        else if (c == '"' || c == '\\' || c == '?') /* ?? begins a trigraph */
            printf("\\%c", c);
        else if (c < 32 || c > 126)
            printf("\\%03o", c);
        else
            putchar(c);
    puts("\";");
    int bad = ferror(f);
    return fclose(f) || bad ? fail(path) : 0;
}

int main(int argc, char **argv)
{
    static char *names[100000], line[4096], path[8200];
    size_t n = 0;
    FILE *list = argc == 3 ? fopen(argv[2], "r") : NULL;

    if (!list)
        return fail(argc == 3 ? argv[2] : "inside");
    while (n < sizeof names / sizeof *names && fgets(line, sizeof line, list)) {
        line[strcspn(line, "\n")] = '\0';
        if (*line && !(names[n++] = strdup(line)))
            return fail("inside");
    }
    fclose(list);
    qsort(names, n, sizeof *names, compare);
    for (size_t i = 0; i < n; i++) {
        snprintf(path, sizeof path, "%s/%s", argv[1], names[i]);
        if (write_bytes(path, i))
            return 1;
    }
    puts("static const struct ss_inside_file ss_inside_table[] = {");
    for (size_t i = 0; i < n; i++)
        printf("{\"%s\", bytes_%zu, sizeof bytes_%zu - 1},\n", names[i], i, i);
    puts("};");
    return ferror(stdout) || fflush(stdout) ? fail("stdout") : 0;
}
