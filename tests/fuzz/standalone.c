/* SPDX-License-Identifier: Apache-2.0 */
/* Stands in for libFuzzer where there is no clang: runs each file given, or each file of a folder
 * given, once, in sorted order; behind --every N only every N-th file of a folder. */
#include <dirent.h>
#include <errno.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int run_file(const char *path)
{
    FILE *f = fopen(path, "rb");
    if (!f) {
        fprintf(stderr, "%s: %s\n", path, strerror(errno));
        return 1;
    }
    uint8_t *data = NULL;
    size_t len = 0, cap = 0, got = 0;
    do {
        len += got;
        if (len == cap) {
            cap = cap ? 2 * cap : 4096;
            uint8_t *more = realloc(data, cap);
            if (!more)
                abort();
            data = more;
        }
        got = fread(data + len, 1, cap - len, f);
    } while (got > 0);
    fclose(f);
    /* An exact copy, so that ASan sees a read past the end. */
    uint8_t *exact = malloc(len ? len : 1);
    if (!exact)
        abort();
    memcpy(exact, data, len);
    free(data);
    LLVMFuzzerTestOneInput(exact, len);
    free(exact);
    return 0;
}

static int is_visible(const struct dirent *entry)
{
    return entry->d_name[0] != '.';
}

int main(int argc, char **argv)
{
    int ran = 0, failed = 0, first = 1, every = 1;
    if (argc > 3 && !strcmp(argv[1], "--every")) {
        every = atoi(argv[2]) > 0 ? atoi(argv[2]) : 1;
        first = 3;
    }
    for (int i = first; i < argc; i++) {
        struct dirent **entries;
        int n = scandir(argv[i], &entries, is_visible, alphasort);
        if (n < 0) {
            failed += run_file(argv[i]);
            ran++;
            continue;
        }
        for (int k = 0; k < n; k++) {
            char path[4096];
            snprintf(path, sizeof path, "%s/%s", argv[i], entries[k]->d_name);
            if (k % every == 0) {
                failed += run_file(path);
                ran++;
            }
            free(entries[k]);
        }
        free(entries);
    }
    printf("%d inputs, %d unreadable\n", ran, failed);
    return failed || !ran;
}
