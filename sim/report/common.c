/* SPDX-License-Identifier: Apache-2.0 */
#include "report/common.h"
#include "report/text.h"
#include "stepsim/job.h"
#include "stepsim/parameters.h"

double ss_report_undisturbed_s(const struct ss_result *r)
{
    return r->spread.replicas > 0 ? r->spread.without : r->iteration_s;
}

char *ss_report_count(double n, char *buf, size_t size)
{
    static const struct {
        double one;
        const char *letter;
    } units[] = {{1e12, "T"}, {1e9, "B"}, {1e6, "M"}};
    size_t i = 0;

    /* 999.7 million rounds to a billion: the digits that are printed choose the letter. */
    while (i + 1 < SS_ARRAY_LEN(units) && n < 0.9995 * units[i].one)
        i++;
    snprintf(buf, size, "%.3g%s", n / units[i].one, units[i].letter);
    return buf;
}

const char *ss_text_time(double seconds, char *buf, size_t size)
{
    double value = seconds >= 1 ? seconds : 1e3 * seconds;
    int digits = value >= 1000 ? 0 : value >= 100 ? 1 : value >= 10 ? 2 : 3;

    snprintf(buf, size, value < 1e15 ? "%.*f %s" : "%.*e %s", digits, value, seconds >= 1 ? "s" : "ms");
    return buf;
}

const char *ss_text_band(const struct ss_summary *u, char buf[32])
{
    buf[0] = '\0';
    if (u->band_pct > 0 && u->weighed)
        snprintf(buf, 32, " %+.1f to %+.1f %%", u->time_low_pct, u->time_high_pct);
    else if (u->band_pct > 0)
        snprintf(buf, 32, " +-%.*f %%", u->band_pct < 10, u->band_pct);
    return buf;
}

int ss_report_shows_load(const struct ss_plan *plan)
{
    return plan->experts && (plan->job->moe.load != SS_LOAD_BALANCED || ss_report_shows_dropped(&plan->load));
}

int ss_report_links_partial(const struct ss_run *run)
{
    const struct ss_job *job = run->plan->job;
    return run->result->level == SS_LEVEL_CHUNK &&
           (job->tp > 1 || job->cp > 1 || job->ep > 1 || job->etp > 1);
}

char *ss_report_layout(const struct ss_plan *plan, char *buf, size_t size)
{
    static const char *const dispatchers[] = {[SS_DISPATCH_ALLGATHER] = "allgather",
                                              [SS_DISPATCH_ALLTOALL] = "alltoall",
                                              [SS_DISPATCH_DEEPEP] = "deepep",
                                              [SS_DISPATCH_HYBRIDEP] = "hybridep"};
    const struct ss_job *job = plan->job;
    int n = snprintf(buf, size, "tp %d, pp %d, cp %d, dp %d", job->tp, job->pp, job->cp, plan->dp);

    if (job->model.num_experts > 0)
        snprintf(buf + n, size - (size_t)n, ", ep %d, etp %d, %s", job->ep, job->etp,
                 dispatchers[job->moe.dispatcher]);
    return buf;
}

char *ss_report_precision(const struct ss_job *job, char *buf, size_t size)
{
    const struct ss_precision_facts *precision = ss_precision_at(job->precision);
    const struct ss_recipe_facts *recipe = ss_recipe_at(ss_job_recipe(job));

    if (recipe->casts >= SS_CASTS_UNITS)
        ss_copy(buf, size, recipe->word);
    else if (recipe == ss_recipe_at(precision->recipe))
        ss_copy(buf, size, precision->name);
    else
        snprintf(buf, size, "%s %s", precision->name, recipe->word);
    return buf;
}

char *ss_report_parameters(const struct ss_model *m, int padded_vocab, const char *word, char *buf,
                           size_t size)
{
    struct ss_parameter_counts counts;
    char total[32], active[32];

    ss_model_count(m, padded_vocab, &counts);
    ss_report_count(counts.total, total, sizeof total);
    if (counts.active < counts.total)
        snprintf(buf, size, "%s%s (%s active)", total, word,
                 ss_report_count(counts.active, active, sizeof active));
    else
        snprintf(buf, size, "%s%s", total, word);
    if (word[0] && m->mtp_num_layers > 0)
        ss_append(buf, size, " and %s of multi-token prediction (--mtp-num-layers %d)",
                  ss_report_count(counts.mtp, active, sizeof active), m->mtp_num_layers);
    return buf;
}

/* A job that is too large may fit if the prediction is as far off as those of runs like it. */
static int add_hope(struct ss_notes *out, const struct ss_summary *u)
{
    double least = u->peak_device * (1 + u->memory_low_pct / 100);

    if (u->outcome != SS_OUTCOME_TOO_LARGE || !(least <= u->capacity))
        return SS_OK;
    return ss_notes_add(out,
                        "it may fit: such jobs take up to %.1f %% less memory than predicted, "
                        "which would be %.1f of %.1f GiB",
                        -u->memory_low_pct, least / SS_GIB, u->capacity / SS_GIB);
}

int ss_report_warnings(const struct ss_run *run, const struct ss_report_options *opt, struct ss_notes *out)
{
    const struct ss_summary *u = &run->summary;
    int rc = SS_OK;

    memset(out, 0, sizeof *out);
    if (u->outcome == SS_OUTCOME_NEAR_LIMIT)
        rc = ss_notes_add(out, "%s", u->reason);
    SS_THEN(rc, add_hope(out, u));
    SS_THEN(rc, ss_notes_add_all(out, &run->plan->warnings));
    SS_THEN(rc, ss_notes_add_all(out, opt->notes));
    return rc;
}

int ss_report_guessed(const struct ss_run *run, struct ss_notes *out)
{
    const char *assumed = ss_platform_assumed(run->plan->platform);

    memset(out, 0, sizeof *out);
    int rc = ss_notes_add_all(out, &run->plan->guessed);
    if (!rc && assumed[0])
        rc = ss_notes_add(out, "the platform %s assumes: %s", ss_platform_name(run->plan->platform), assumed);
    return rc;
}

int ss_report_done(FILE *out, struct ss_error *err)
{
    return ss_text_written(out, "the output", err);
}

struct ss_report_options ss_report_of(const struct ss_scenario *s)
{
    return (struct ss_report_options){.measured_s = s->measured_s,
                                      .measured_bytes = s->measured_bytes,
                                      .wall_s = -1,
                                      .notes = &s->notes,
                                      .ignored = &s->ignored,
                                      .dropped = &s->dropped,
                                      .request = s->request};
}
