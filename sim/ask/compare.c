/* SPDX-License-Identifier: Apache-2.0 */
/* Jobs beside each other. */
#include <stdlib.h>
#include <string.h>

#include "ask/ask.h"
#include "base/base.h"
#include "stepsim/import.h"

/* What the sides are made of: files, words that all have, and those of each --with (of the command's `with`). */
struct sides {
    const struct ss_ask *all;
    int nfiles, nwords;
    char **files, **words;
    struct ss_side side[SS_SIDES_MOST];
    struct ss_apart apart[SS_SIDES_MOST];
};

/* Predicts the job of these words; a refusal is an answer of every side but the first. */
static int predict(struct sides *c, int i, const char *name, int n, char *const *words, struct ss_error *err)
{
    struct ss_error why = {0};
    struct ss_scenario *s = NULL;
    struct ss_run run = {0};
    struct ss_ask a;
    int rc = ss_ask_init(&a, SS_ASK_COMPARE, &why);

    if (!rc)
        rc = ss_ask_read(&a, n, words, &why);
    if (!rc)
        rc = ss_ask_scenario(&a, &s, &why);
    a.run.open_compute = 1;
    struct ss_run_options options = a.run;
    options.bands = c->all->run.bands;
    if (!rc)
        rc = ss_run_scenario(s, &options, &run, &why);
    if (!rc)
        ss_side_fill(&run, name, &c->side[i]);
    ss_run_free(&run);
    ss_scenario_free(s);
    ss_ask_end(&a);
    if (i > 0 && ss_status_refuses(rc)) {
        ss_side_refuse(&why, name, &c->side[i]);
        return SS_OK;
    }
    if (rc && err)
        *err = why;
    return rc;
}

/* Side i is a file, or the first one (if any) with the words of a --with. */
static int predict_side(struct sides *c, int i, struct ss_error *err)
{
    char job[] = "--job";
    int nfirst = c->nfiles ? c->nfiles : 1, n = 0;
    const char *with = i >= nfirst ? c->all->with.word[i - nfirst].text : NULL;
    char *file = c->nfiles ? c->files[with ? 0 : i] : NULL;
    struct ss_request behind;

    ss_request_init(&behind);
    int rc = with ? ss_request_read_text(&behind, with, strlen(with), "--with", err) : SS_OK;
    char **words = rc ? NULL : ss_calloc((size_t)c->nwords + behind.n + 2, sizeof *words);
    if (!rc && !words)
        rc = ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    if (!rc && file) {
        words[n++] = job;
        words[n++] = file;
    }
    for (int k = 0; !rc && k < c->nwords; k++)
        words[n++] = c->words[k];
    for (size_t k = 0; !rc && k < behind.n; k++)
        words[n++] = behind.word[k].text;
    if (!rc)
        rc = predict(c, i, with ? with : file ? file : "the job", n, words, err);
    free(words);
    ss_request_free(&behind);
    return rc;
}

static int compare(struct sides *c, int n, FILE *out, int *status, struct ss_error *err)
{
    int refused = 0, rc = SS_OK;

    for (int i = 0; i < n && !rc; i++)
        rc = predict_side(c, i, err);
    for (int i = 1; i < n && !rc; i++) {
        rc = ss_sides_judge(&c->side[0], &c->side[i], c->all->run.bands, &c->apart[i], err);
        refused += c->side[i].summary.outcome == SS_OUTCOME_REFUSED;
    }
    *status = refused == n - 1 ? ss_status_exit(SS_ERR_CONFIG) : 0;
    return rc ? rc : ss_contrast_write(c->side, c->apart, n, SS_CONTRAST_JSON, out, err);
}

int ss_ask_compare(struct ss_ask *a, int n, char **words, FILE *out, int *status, struct ss_error *err)
{
    struct sides *c = ss_calloc(1, sizeof *c);

    if (!c)
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    while (c->nfiles < n && (words[c->nfiles][0] != '-' || !words[c->nfiles][1]))
        c->nfiles++;
    c->all = a;
    c->files = words;
    c->words = words + c->nfiles;
    c->nwords = n - c->nfiles;
    int rc = ss_ask_read(a, c->nwords, c->words, err);
    int nsides = (c->nfiles ? c->nfiles : 1) + (int)a->with.n;
    if (!rc && (nsides < 2 || nsides > SS_SIDES_MOST))
        rc = ss_fail(err, SS_ERR_USAGE, NULL, 0, "%d sides are not 2 to %d", nsides, SS_SIDES_MOST);
    if (!rc)
        rc = ss_ask_bands(a, err);
    if (!rc)
        rc = compare(c, nsides, out, status, err);
    free(c);
    return rc;
}
