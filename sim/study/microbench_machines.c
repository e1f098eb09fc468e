/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the platform of the data whose card a row of a table of micro-benchmarks was measured on. */
#include <strings.h>

#include "base/base.h"
#include "study/calibrate.h"

void ss_bench_machines_free(struct ss_bench_machines *m)
{
    for (size_t i = 0; i < m->n; i++)
        ss_platform_free(m->list[i].platform);
    free(m->list);
}

int ss_bench_machines_load(const char *stack, struct ss_files *files, struct ss_bench_machines *out,
                           struct ss_error *err)
{
    struct ss_platform_options options = {.asker = ss_simgrid_ask_routes};
    char **names = NULL;
    size_t n = 0;
    int rc = ss_data_list("platforms", ".xml", &names, &n, err);

    out->list = ss_calloc(n + 1, sizeof *out->list);
    if (!rc && !out->list)
        rc = ss_nomem(err);
    for (size_t i = 0; i < n && !rc; i++) {
        struct ss_bench_machine *m = &out->list[out->n];
        rc = ss_platform_load(names[i], &options, &m->platform, err);
        if (rc)
            break;
        out->n++;
        const char *card = ss_platform_card(m->platform)->name;
        rc = ss_stack_load_with(stack ? stack : SS_DEFAULT_STACK, card, files, &m->stack, err);
    }
    ss_names_free(names, n);
    return rc;
}

static int says(const char *text, const char *word)
{
    size_t n = strlen(word);

    for (const char *at = text; *at; at++)
        if ((at == text || !isalnum((unsigned char)at[-1])) && !strncasecmp(at, word, n) &&
            !isalnum((unsigned char)at[n]))
            return 1;
    return 0;
}

/* Returns 1 if a row names the cluster of a platform, which stands behind the card in the platform's
 * name ("p6" of b200-p6), in any case of letters. */
static int names_cluster(const struct ss_bench_row *row, const char *platform)
{
    const char *name = strchr(platform, '-');

    return name && (says(row->gpu, name + 1) || says(row->source, name + 1));
}

const struct ss_bench_machine *ss_bench_machine_of(const struct ss_bench_machines *all,
                                                   const struct ss_bench_row *row)
{
    const struct ss_bench_machine *best = NULL;

    for (size_t i = 0; i < all->n; i++) {
        const struct ss_bench_machine *m = &all->list[i];
        const char *name = ss_platform_name(m->platform);
        if (!ss_card_is_named(row->gpu, ss_platform_card(m->platform)->name))
            continue;
        if (names_cluster(row, name))
            return m;
        if (strncasecmp(name, ss_platform_card(m->platform)->name,
                        strcspn(ss_platform_card(m->platform)->name, "-")) != 0)
            continue; /* of a cloud's own name: p5 */
        if (!best || strlen(name) < strlen(ss_platform_name(best->platform)))
            best = m;
    }
    return best;
}
