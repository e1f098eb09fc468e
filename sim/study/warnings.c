/* SPDX-License-Identifier: Apache-2.0 */
/* Finds the notes on a job that was predicted among many, when its scenario is gone. */
#include "base/base.h"
#include "report/premises.h"
#include "stepsim/import.h"
#include "stepsim/sweep.h"
#include "study/study_internal.h"

/* The words lose their measurement, because the callers compare nothing with it. */
int ss_warnings_find(struct ss_request *r, const struct ss_scenario_options *how, struct ss_notes *out,
                     struct ss_error *err)
{
    const struct ss_scenario_options quiet = {.asker = how ? how->asker : NULL,
                                              .like = how ? how->like : NULL};
    struct ss_scenario *scenario = NULL;
    struct ss_error why = {0};

    ss_request_drop(r, "--measured");
    ss_request_drop(r, "--measured-memory");
    int rc = ss_scenario_build(r, &quiet, &scenario, &why);
    if (!rc) /* the bands of many predictions are those of jobs that are told all */
        ss_request_list_assumed(scenario->request, SS_ASSUMED_HERE, out);
    SS_THEN(rc, ss_notes_add_all(out, &scenario->notes));
    ss_scenario_free(scenario);
    if (ss_status_refuses(rc)) /* a refusal is an outcome, which is shown elsewhere */
        return SS_OK;
    if (rc && err)
        *err = why;
    return rc;
}

static int add_words(struct ss_request *r, const char *words, struct ss_error *err)
{
    struct ss_request behind;

    ss_request_init(&behind);
    int rc = ss_request_read_text(&behind, words, strlen(words), "words", err);
    if (!rc && behind.n)
        rc = ss_request_add_place(r, NULL, err);
    for (size_t i = 0; i < behind.n && !rc; i++)
        rc = ss_request_add(r, behind.word[i].text, 0, err);
    ss_request_free(&behind);
    return rc;
}

int ss_request_behind(const struct ss_request *base, const char *words, struct ss_request *out,
                      struct ss_error *err)
{
    SS_TRY(ss_request_copy(base, out, err));
    int rc = add_words(out, words, err);
    if (rc)
        ss_request_free(out);
    return rc;
}

int ss_warnings_behind(const struct ss_request *base, const char *words,
                       const struct ss_scenario_options *how, struct ss_notes *out, struct ss_error *err)
{
    struct ss_request r;

    SS_TRY(ss_request_behind(base, words, &r, err));
    int rc = ss_warnings_find(&r, how, out, err);
    ss_request_free(&r);
    return rc;
}

/* ---- premises ---- */

/* Writes the names of the flags that vary, with blanks between. */
static void put_varied(const struct ss_sweep *vary, char *buf, size_t size)
{
    buf[0] = '\0';
    for (int f = 0; vary && f < vary->nflags; f++)
        ss_append(buf, size, "%s ", vary->flags[f].name);
}

int ss_premises_find(const struct ss_request *r, const struct ss_scenario_options *how,
                     const struct ss_sweep *vary, char *buf, size_t size, struct ss_error *err)
{
    const struct ss_scenario_options quiet = {.asker = how ? how->asker : NULL,
                                              .like = how ? how->like : NULL};
    char varied[sizeof vary->flags->name * SS_SWEEP_FLAGS];
    struct ss_scenario *scenario = NULL;
    struct ss_error why = {0};
    int rc = ss_scenario_build(r, &quiet, &scenario, &why);

    buf[0] = '\0';
    put_varied(vary, varied, sizeof varied);
    if (!rc)
        ss_report_premises(scenario, varied, buf, size);
    ss_scenario_free(scenario);
    if (ss_status_refuses(rc)) /* a refusal is an outcome, which is shown elsewhere */
        return SS_OK;
    if (rc && err)
        *err = why;
    return rc;
}

int ss_premises_behind(const struct ss_request *base, const char *words,
                       const struct ss_scenario_options *how, const struct ss_sweep *vary, char *buf,
                       size_t size, struct ss_error *err)
{
    struct ss_request r;

    SS_TRY(ss_request_behind(base, words, &r, err));
    int rc = ss_premises_find(&r, how, vary, buf, size, err);
    ss_request_free(&r);
    return rc;
}
