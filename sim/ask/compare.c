/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs beside each other. */
#include "ask/ask.h"
#include "base/base.h"

/* The sides of a comparison: files, words that all sides have, and the words of each --with. */
struct sides {
    struct ss_ask *all;
    struct ss_sides_words told;
    struct ss_side side[SS_SIDES_MOST];
    struct ss_apart apart[SS_SIDES_MOST];
    struct ss_notes warnings[SS_SIDES_MOST];
};

/* Predicts the job of these words; a refusal is an answer of every side but the first. */
static int predict(void *ctx, int i, const char *name, int n, char *const *words, struct ss_error *err)
{
    struct sides *c = ctx;
    struct ss_error why = {0};
    struct ss_ask a;
    int rc = ss_ask_init(&a, SS_ASK_COMPARE, &why);

    SS_THEN(rc, ss_ask_read(&a, n, words, &why));
    SS_THEN(rc, ss_ask_scenario(&a, &why));
    struct ss_run_options options = a.how.options;
    options.open_compute = 1;
    options.bands = c->all->how.options.bands;
    SS_THEN(rc, ss_run_scenario(a.scenario, &options, &a.run, &why));
    if (!rc) {
        ss_side_fill(&a.run, name, &c->side[i]);
        c->side[i].warnings = &c->warnings[i];
        rc = ss_side_warn(&a.run, &c->warnings[i], &why);
    }
    ss_ask_end(&a);
    if (i > 0 && ss_status_refuses(rc)) {
        ss_side_refuse(&why, name, &c->side[i]);
        return SS_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

static int compare(struct sides *c, int n, struct ss_error *err)
{
    struct ss_ask *a = c->all;
    int refused = 0;

    for (int i = 0; i < n; i++)
        SS_TRY(ss_side_tell(&c->told, i, predict, c, err));
    for (int i = 1; i < n; i++) {
        SS_TRY(ss_sides_judge(&c->side[0], &c->side[i], a->how.options.bands, &c->apart[i], err));
        refused += c->side[i].summary.outcome == SS_OUTCOME_REFUSED;
    }
    a->status = refused == n - 1 ? ss_status_exit(SS_ERR_CONFIG) : 0;
    return ss_contrast_write(c->side, c->apart, n, SS_CONTRAST_JSON, NULL, a->out, err);
}

int ss_ask_compare(struct ss_ask *a, struct ss_error *err)
{
    struct sides *c = ss_calloc(1, sizeof *c);
    char *with[SS_SIDES_MOST];
    int nfiles = 0;

    SS_NEED(c, err);
    while (nfiles < a->n && (a->words[nfiles][0] != '-' || !a->words[nfiles][1]))
        nfiles++;
    int rc = ss_ask_read(a, a->n - nfiles, a->words + nfiles, err);
    for (size_t i = 0; i < a->with.n && i < SS_SIDES_MOST; i++)
        with[i] = a->with.word[i].text;
    c->all = a;
    c->told =
        (struct ss_sides_words){nfiles, a->n - nfiles, (int)a->with.n, a->words, a->words + nfiles, with};
    int nsides = ss_sides_count(&c->told);
    if (!rc && (nsides < 2 || nsides > SS_SIDES_MOST))
        rc = ss_fail(err, SS_ERR_USAGE, NULL, 0, "a comparison has 2 to %d sides, not %d", SS_SIDES_MOST,
                     nsides);
    SS_THEN(rc, ss_ask_bands(a, err));
    SS_THEN(rc, compare(c, nsides, err));
    for (int i = 0; i < SS_SIDES_MOST; i++)
        ss_notes_free(&c->warnings[i]);
    free(c);
    return rc;
}
