/* SPDX-License-Identifier: Apache-2.0 */
/* usage: bands TABLE. Writes what ss_bands_read makes of a table of measured runs as C (result/bands.h). */
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>

#include "base/base.h"
#include "result/bands.h"

static void write_runs(const char *name, const char *order, const struct ss_band_run *runs, int n)
{
    printf("static const struct ss_band_run %s_%s[] = {\n", name, order);
    for (int i = 0; i < n; i++)
        printf("{%a,%a,%a,%d,%" PRIu64 "u},\n", runs[i].above, runs[i].size, runs[i].weight, runs[i].kind,
               runs[i].job);
    printf("};\n");
}

/* Names hold no quotes and no backslashes: each is a word of a table of ours. */
static void write_table(const char *name, const struct ss_band_table *t)
{
    write_runs(name, "above", t->by_above, t->n);
    write_runs(name, "size", t->by_size, t->n);
    printf("static const struct ss_band_kind %s_kinds[] = {\n", name);
    for (int i = 0; i < t->nkinds; i++) {
        const struct ss_band_kind *k = &t->kinds[i];
        printf("{\"%s\",\"%s\",%d,%d,%d,%a},\n", k->card, k->family, k->experts, k->source, k->runs,
               k->weight);
    }
    printf("};\nstatic const char %s_sources[][SS_BAND_NAME] = {\n", name);
    for (int i = 0; i < t->nsources; i++)
        printf("\"%s\",\n", t->sources[i]);
    printf("};\n");
}

static void write_fields(const char *name, const struct ss_band_table *t)
{
    printf(".%s={%d,%d,%d,0,(struct ss_band_run *)%s_above,(struct ss_band_run *)%s_size,"
           "(struct ss_band_kind *)%s_kinds,(char (*)[SS_BAND_NAME])%s_sources},\n",
           name, t->n, t->nkinds, t->nsources, name, name, name, name);
}

int main(int argc, char **argv)
{
    struct ss_bands *bands;
    struct ss_error err;
    char *text;
    size_t len;

    if (argc != 2)
        return 2;
    if (ss_bands_read(argv[1], &bands, &err) || ss_file_read(argv[1], (size_t)64 << 20, &text, &len, &err)) {
        fprintf(stderr, "%s:%d: %s\n", err.file, err.line, err.message);
        return 1;
    }
    struct ss_cache_key key = ss_bands_key(text, len);
    printf("/* Made by cmake/bands.c. */\n#include \"result/bands.h\"\n");
    write_table("time", &bands->time);
    write_table("memory", &bands->memory);
    printf("const struct ss_bands_made ss_bands_made = {%zu, {%" PRIu64 "u,%" PRIu64 "u}, {1,\n", len, key.a,
           key.b);
    write_fields("time", &bands->time);
    write_fields("memory", &bands->memory);
    printf("}};\n");
    ss_bands_free(bands);
    free(text);
    return 0;
}
