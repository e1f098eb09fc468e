/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the table of bands: the one that was made at build time, as long as the installed file has not changed. */
#include "base/base.h"
#include "result/bands.h"

/* Returns whether the file is what the build made its table of. */
static int is_made(const char *path)
{
    char *text;
    size_t len;
    if (ss_file_read(path, ss_bands_made.bytes, &text, &len, NULL))
        return 0;
    struct ss_cache_key key = ss_bands_key(text, len);
    free(text);
    return key.a == ss_bands_made.key.a && key.b == ss_bands_made.key.b;
}

int ss_bands_load(const char *csv_path, struct ss_files *files, struct ss_bands **out, struct ss_error *err)
{
    static const struct ss_bands none = {.constant = 1};
    struct ss_bands *bands = (struct ss_bands *)&none;
    char path[4096];
    bool found = true;
    int rc = csv_path ? ss_data_find("validation", csv_path, ".csv", path, sizeof path, err)
                      : ss_data_look("validation", "results", ".csv", path, sizeof path, &found, err);

    if (!rc && found && !csv_path && is_made(path))
        bands = (struct ss_bands *)&ss_bands_made.bands;
    else if (!rc && found)
        rc = ss_bands_read(path, &bands, err);
    if (!rc && csv_path && !bands->time.n && !bands->memory.n)
        rc = ss_fail(err, SS_ERR_INPUT, path, 1, "no row of a run that ran and whose prediction is told");
    if (!rc && found)
        rc = ss_files_add(files, path, err);
    SS_HAND(rc, bands, out, ss_bands_free);
}
