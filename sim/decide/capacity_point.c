/* SPDX-License-Identifier: Apache-2.0 */
/* One number of nodes of a platform: its job, and what is predicted of it. */

#include <float.h>

#include "base/base.h"
#include "decide/capacity_internal.h"
#include "job/input_cache.h"
#include "stepsim/assumed.h"
#include "stepsim/import.h"

int ss_capacity_set_number(struct ss_request *r, const char *flag, int value, struct ss_error *err)
{
    char text[24];

    snprintf(text, sizeof text, "%d", value);
    return ss_request_set(r, flag, text, err);
}

/* ---- a platform ---- */

static int usage(struct ss_error *err, const char *hint, const char *what)
{
    return ss_hint(err, ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s", what), "%s", hint);
}

/* Makes the words of a job on so many nodes, and what they ask for before defaults are filled in. */
static int open_site(const struct ss_capacity_planner *x, int cluster, int nodes, struct ss_request *r,
                     struct ss_asked *asked, struct ss_error *err)
{
    int rc = ss_request_copy(&x->bases[cluster], r, err);

    if (rc)
        return rc;
    ss_asked_init(asked);
    rc = ss_capacity_set_number(r, "--nodes", nodes, err);
    return rc ? rc : ss_asked_parse(asked, r, NULL, NULL, err);
}

/* Does so for the point of an answer, and counts its GPUs. The platform is read here and stays as long as the caches of the number; what
 * is wrong with it is told of the jobs that are built on it. */
int ss_capacity_open_point(const struct ss_capacity_planner *x, struct ss_capacity_answer *a,
                           struct ss_request *r, struct ss_asked *asked, struct ss_error *err)
{
    struct ss_capacity_point *p = &a->point;
    const struct ss_scenario_options *how = x->options->how;
    struct ss_platform *platform;
    struct ss_stack *stack;
    int rc = open_site(x, p->cluster, p->nodes, r, asked, err);

    if (!rc)
        ss_input_cache_find(x->inputs, &asked->job, r, how ? how->asker : NULL, how ? how->files : NULL,
                            &platform, &stack, NULL);
    p->batch = x->plan->asked_batch;
    p->gpus = rc ? 0 : ss_job_world_size(&asked->job, p->nodes, x->plan->clusters[p->cluster].gpus_a_node);
    return rc;
}

int ss_capacity_open_cluster(struct ss_capacity_planner *x, int cluster, int nodes, struct ss_error *err)
{
    struct ss_capacity_cluster *k = &x->plan->clusters[cluster];
    const struct ss_scenario_options *how = x->options->how;
    struct ss_platform *platform;
    struct ss_stack *stack;
    struct ss_request r = {0};
    struct ss_asked asked;
    int rc = open_site(x, cluster, nodes, &r, &asked, err);

    SS_THEN(rc, ss_input_cache_find(x->loaded, &asked.job, &r, how ? how->asker : NULL,
                                    how ? how->files : NULL, &platform, &stack, err));
    ss_request_free(&r);
    if (rc)
        return rc;
    const struct ss_card *card = ss_platform_card(platform);
    ss_copy(k->platform, sizeof k->platform, asked.job.platform);
    ss_copy(k->card, sizeof k->card, card->name);
    ss_copy(k->fabric, sizeof k->fabric, ss_platform_fabric(platform));
    ss_copy(x->plan->model, sizeof x->plan->model,
            asked.job.model_ref[0] ? asked.job.model_ref : "the model of its flags");
    k->gpus_a_node = ss_platform_file_gpus(platform);
    k->rack = ss_platform_most_joined(platform) > 1 ? ss_platform_most_joined(platform) : 1;
    k->gpu_w = card->power;
    k->idle = card->power_idle;
    k->node_w = card->power_node;
    k->pue = card->pue;
    k->price_is_example = !(card->price > 0);
    k->price = card->price > 0 ? card->price : card->price_example;
    ss_copy(k->basis, sizeof k->basis, card->price > 0 ? "stated" : ss_platform_price_basis(platform));
    k->mtbf_h = card->mtbf;
    k->restart_s = card->restart;
    k->storage = card->storage;
    k->least_gpu_s = ss_capacity_least_gpu_s(x, &asked, card);
    x->given_gpus = asked.job.tp * asked.job.cp * asked.job.pp;
    x->plan->asked_batch = asked.job.global_batch;
    x->tokens_a_row = asked.job.seq_length;
    return x->options->budget_usd > 0 && !(k->price > 0)
               ? usage(err, "add --price 2.5USD/h", "a budget buys nothing where the card has no price")
               : SS_OK;
}

/* ---- predictions ---- */

static void tell_layout(const struct ss_run *run, struct ss_capacity_point *p)
{
    const struct ss_job *job = run->plan->job;
    char *at = p->layout;
    const size_t size = sizeof p->layout;
    size_t n = (size_t)snprintf(at, size, "tp %d cp %d pp %d", job->tp, job->cp, job->pp);
    if (ss_job_chunks(job) > 1)
        n += (size_t)snprintf(at + n, size - n, " x %d", ss_job_chunks(job));
    if (job->ep > 1)
        n += (size_t)snprintf(at + n, size - n, " ep %d", job->ep);
    if (job->model.num_experts > 0 && job->etp != job->tp)
        n += (size_t)snprintf(at + n, size - n, " etp %d", job->etp);
    n += (size_t)snprintf(at + n, size - n, " dp %d mbs %d%s", run->plan->dp, job->micro_batch,
                          job->dp.fsdp ? " fsdp" : "");
    if (job->recompute.method == SS_RECOMPUTE_BLOCK)
        snprintf(at + n, size - n, " recompute block %d", job->recompute.num_layers);
    else if (job->recompute.granularity != SS_RECOMPUTE_NONE)
        snprintf(at + n, size - n, " recompute %s", ss_job_word("--recompute", job->recompute.granularity));
}

void ss_capacity_write_flags(struct ss_capacity_point *p, int asked, const char *layout)
{
    int n = snprintf(p->flags, sizeof p->flags, "--nodes %d", p->nodes);

    if (p->batch != asked)
        n += snprintf(p->flags + n, sizeof p->flags - (size_t)n, " --global-batch-size %d", p->batch);
    snprintf(p->flags + n, sizeof p->flags - (size_t)n, "%s%s", layout[0] ? " " : "", layout);
}

/* Builds the job of a site with another batch and `words` added. */
int ss_capacity_build(const struct ss_capacity_planner *x, const struct ss_request *site, int batch,
                      const char *words, struct ss_scenario **out, struct ss_error *err)
{
    struct ss_request r;
    int rc = ss_request_copy(site, &r, err);

    if (rc)
        return rc;
    rc = ss_capacity_set_number(&r, "--global-batch-size", batch, err);
    if (!rc && words[0])
        rc = ss_request_read_text(&r, words, strlen(words), "capacity", err);
    const struct ss_scenario_options *how = x->options->how;
    SS_THEN(rc, ss_scenario_build_from(x->inputs, &r, how ? how->asker : NULL, how ? how->files : NULL, out,
                                       err));
    ss_request_free(&r);
    return rc;
}

int ss_capacity_predict(const struct ss_capacity_planner *x, const struct ss_scenario *scenario,
                        const char *words, enum ss_capacity_depth depth, struct ss_capacity_point *p,
                        struct ss_error *err)
{
    struct ss_run_options narrow = x->run, wide = x->run;
    struct ss_run run;

    narrow.narrow = narrow.brief = 1;
    narrow.level_choice = depth == SS_CAPACITY_BLIND ? SS_LEVEL_BLIND : x->run.level_choice;
    wide.cache = NULL; /* of other values of the platform, which go */
    SS_TRY(depth == SS_CAPACITY_WIDE ? ss_run_widened(scenario, &wide, &run, err)
                                     : ss_run_scenario(scenario, &narrow, &run, err));
    ss_capacity_measure(&run, p);
    tell_layout(&run, p);
    p->batch = scenario->job->global_batch;
    ss_capacity_write_flags(p, x->plan->asked_batch, words);
    ss_capacity_figures(x->plan, p,
                        (double)scenario->job->seq_length * p->batch * (1 - run.plan->packing.padding));
    ss_run_free(&run);
    return SS_OK;
}

int ss_capacity_predict_words(const struct ss_capacity_planner *x, const struct ss_request *site, int batch,
                              const char *words, enum ss_capacity_depth depth, struct ss_capacity_point *p,
                              struct ss_error *err)
{
    struct ss_scenario *scenario = NULL;
    int rc = ss_capacity_build(x, site, batch, words, &scenario, err);

    SS_THEN(rc, ss_capacity_predict(x, scenario, words, depth, p, err));
    ss_scenario_free(scenario);
    return rc;
}

/* Returns 0 for a point that surely fits, 1 near the limit, 2 for all others. */
int ss_capacity_doubt(const struct ss_capacity_point *p)
{
    return !ss_capacity_holds(p) ? 2 : p->summary.outcome != SS_OUTCOME_FITS;
}

double ss_capacity_not_apart(const struct ss_summary *best)
{
    return best->iteration_s * (1 + fmax(best->apart_pct > 0 ? best->apart_pct / 100 : 0, 1e-6));
}

int ss_capacity_is_better(const struct ss_capacity *c, const struct ss_capacity_point *a,
                          const struct ss_capacity_point *b)
{
    if (ss_capacity_doubt(a) != ss_capacity_doubt(b))
        return ss_capacity_doubt(a) < ss_capacity_doubt(b);
    double least = a->batch != c->asked_batch && b->batch == c->asked_batch ? SS_CAPACITY_A_BATCH : 1;
    return !(b->summary.iteration_s > 0) || a->gpu_hours.value < least * b->gpu_hours.value;
}

double ss_capacity_most_s(const struct ss_capacity_planner *x, int cluster, int gpus, int batch)
{
    const struct ss_capacity *c = x->plan;
    const struct ss_capacity_board *b = &x->boards[cluster];
    double least = ceil(c->tokens / (x->tokens_a_row * batch) * (1 - 1e-12)), /* iterations */
        time = c->deadline_s > 0 && !b->missed ? c->deadline_s : INFINITY;

    if (!b->missed && (b->gpu_hours > 0 || b->time_s > 0) && !ss_capacity_is_near(batch, c->asked_batch))
        return DBL_MIN; /* the answer so far has a nearer batch */
    if (c->budget_usd > 0)
        time = fmin(time, c->budget_usd / c->clusters[cluster].price * 3600 / gpus);
    if (b->gpu_hours > 0)
        time = fmin(time, b->gpu_hours * 3600 / gpus);
    if (b->time_s > 0)
        time = fmin(time, b->time_s);
    return time / least;
}

/* Widens the bands of a point. Where points are limited, one that cannot be the answer is left without a prediction. */
int ss_capacity_widen(const struct ss_capacity_planner *x, const struct ss_request *site, const char *words,
                      struct ss_capacity_point *p, struct ss_error *err)
{
    if (!x->limited || p->summary.iteration_s < ss_capacity_most_s(x, p->cluster, p->gpus, p->batch))
        return ss_capacity_predict_words(x, site, p->batch, words, SS_CAPACITY_WIDE, p, err);
    memset(&p->summary, 0, sizeof p->summary);
    return SS_OK;
}
