/* SPDX-License-Identifier: Apache-2.0 */
/* What the card of a run says: the terms of its time as steps, and the changes that win most back. */
#include "base/base.h"
#include "decide/card.h"
#include "report/palette.h"
#include "stepsim/explain.h"

int ss_term_tone(int term)
{
    return term == SS_TERM_IDEAL       ? SS_TONE_IDEAL
           : term <= SS_TERM_OPTIMIZER ? SS_TONE_KERNELS
           : term <= SS_TERM_PP        ? SS_TONE_COMMUNICATION
           : term <= SS_TERM_SPREAD    ? SS_TONE_WAITS
                                       : SS_TONE_HOST;
}

static void add_change(const struct ss_advice *a, struct ss_card_steps *out)
{
    if (out->nchanges == SS_CARD_CHANGES)
        return;
    ss_copy(out->change[out->nchanges].words, sizeof out->change[0].words, a->change);
    out->change[out->nchanges].seconds = a->summary.iteration_s;
    out->change[out->nchanges++].outcome = a->summary.outcome;
}

void ss_explanation_card(const struct ss_explanation *x, const struct ss_run *run, struct ss_card_steps *out)
{
    const struct ss_advice *all = x->together.change[0] ? &x->together : NULL;

    out->n = 0;
    out->nchanges = 0;
    out->stage = x->side.critical_stage;
    out->of = out->of > 1 ? out->of : 1;
    if (!(out->longest >= run->summary.iteration_s))
        out->longest = run->summary.iteration_s;
    for (int t = 0; t < SS_TERMS; t++) {
        if (x->term[t] == 0)
            continue;
        ss_copy(out->step[out->n].words, sizeof out->step[0].words, ss_term_words(t));
        out->step[out->n].seconds = x->term[t];
        out->step[out->n++].tone = ss_term_tone(t);
    }
    if (x->side.summary.outcome == SS_OUTCOME_TOO_LARGE)
        return; /* its changes make it fit, and none makes it faster */
    /* First what surely fits and is fastest, then the fastest of all. */
    for (int i = 0; i < x->nadvice && !all; i++)
        if (x->advice[i].summary.outcome == SS_OUTCOME_FITS)
            all = &x->advice[i];
    if (all)
        add_change(all, out);
    if (x->nadvice && &x->advice[0] != all)
        add_change(&x->advice[0], out);
}
