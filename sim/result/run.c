/* SPDX-License-Identifier: Apache-2.0 */
/* The whole way for one job: schedule, plan, program, replay, result. */
#include "base/base.h"
#include "plan/order.h"
#include "program/program_internal.h"
#include "result/build.h"
#include "result/level.h"
#include "result/links.h"
#include "result/sensitivity.h"
#include "result/spread.h"
#include "result/timers.h"
#include "stepsim/compute.h"
#include "stepsim/job.h"

/* Where nothing makes the ranks wait for each other they run on into the next iteration. */
static int without_barrier(const struct ss_plan *plan)
{
    return plan->nclasses > 1 && !ss_plan_has_barrier(plan);
}

/* CPU time that flows of uneven exchanges may take; what others take nobody waits long for. */
#define MOST_LABOUR_S 600

static int check_labour(const struct ss_run *run, struct ss_error *err)
{
    struct ss_labour l;
    int rc = ss_labour_find(run->program, &l, err);
    if (rc || l.seconds <= MOST_LABOUR_S)
        return rc;
    return ss_fail(
        err, SS_ERR_UNSUPPORTED, NULL, 0,
        "uneven exchanges at %s level are %.2g flows, of which up to %d share links at once: at least %.0f "
        "minutes" SS_HINT "--level chunk prices them by what each GPU sends to each, in a second; fewer "
        "microbatches have fewer; "
        "\"program write\" and \"program read\" replay them all the same",
        ss_level_name(run->plan->level), l.flows, l.together, l.seconds / 60);
}

static int replay(struct ss_run *out, const struct ss_run_options *options, struct ss_spread *spread,
                  struct ss_error *err)
{
    const struct ss_replay_options how = {options->engine, options->full_replay, options->progress,
                                          options->ctx, options->cache};
    int rc = ss_program_build_kept(out->plan, options->cache, &out->program, err);

    if (!rc && out->plan->uneven && out->plan->level > SS_LEVEL_CHUNK)
        rc = check_labour(out, err);
    if (rc)
        return rc;
    if (options->jitter.sigma > 0)
        return ss_spread_replay(out->program, options, without_barrier(out->plan), &out->timeline, spread,
                                err);
    if (without_barrier(out->plan))
        return ss_timeline_steady(out->program, &how, &out->timeline, err);
    return ss_timeline_replay_with(out->program, &how, &out->timeline, err);
}

/* SimGrid cannot share a link among flows that stand for different numbers of flows: there every rank is
 * simulated. */
static int replay_unfolded(const struct ss_run_options *options, struct ss_run *out, struct ss_spread *spread,
                           struct ss_error *err)
{
    struct ss_plan_options unfolded = options->plan;
    const struct ss_plan *p = out->plan;
    struct ss_plan *plan;

    unfolded.unfold = 1;
    SS_TRY(ss_plan_build(p->job, p->stack, p->platform, p->schedule, &unfolded, &plan, err));
    ss_program_free(out->program);
    out->program = NULL;
    ss_plan_free(out->plan);
    out->plan = plan;
    return replay(out, options, spread, err);
}

/* Steps over links with which a job with stragglers or slow links begins, and the most. Differences that go farther mostly go
 * everywhere, as over uplinks that are full. */
#define NEAR 3
#define FARTHEST 6
/* A share of the iteration: classes that differ by less are the same. */
#define SAME 1e-9

/* Are there classes that differ, though they were one two steps before? Then farther ones may differ too. */
static int tells_apart(const struct ss_plan *plan, const struct ss_timeline *t)
{
    for (int c = 0; plan->alike && c < plan->nclasses; c++)
        for (int l = 0; l < SS_LABEL_COUNT; l++)
            if (!(fabs(t->spent[c][l] - t->spent[plan->alike[c]][l]) <= SAME * t->iteration_s))
                return 1;
    return 0;
}

/* Slots of all ranks that a run takes, each rank by itself. At chunk level a slot has some 150 bytes: 10 GB. */
#define MOST_UNFOLDED 64e6
#define FOLD_HINT "leave --unfold out: ranks that are alike are then one"

static int check_unfolded(const struct ss_scenario *s, const struct ss_schedule *schedule,
                          struct ss_error *err)
{
    double slots = 0;

    for (int r = 0; r < schedule->stages; r++)
        slots += (double)schedule->nslots[r] * s->world_size / schedule->stages;
    if (slots <= MOST_UNFOLDED)
        return SS_OK;
    return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                   "%d ranks by themselves have %.1f million slots of the pipeline; more than %.0f million "
                   "take more than "
                   "10 GB of memory" SS_HINT FOLD_HINT,
                   s->world_size, slots / 1e6, MOST_UNFOLDED / 1e6);
}

/* Plan, program and timeline. */
static int simulate(const struct ss_scenario *s, const struct ss_run_options *options,
                    const struct ss_plan_options *plan, struct ss_run *out, struct ss_spread *spread,
                    struct ss_error *err)
{
    SS_TRY(plan->unfold ? check_unfolded(s, out->schedule, err) : SS_OK);
    int rc = ss_plan_build(s->job, s->stack, s->platform, out->schedule, plan, &out->plan, err);
    SS_THEN(rc, replay(out, options, spread, err));
    if (rc == SS_ERR_NOMEM && plan->unfold)
        return ss_fail(err, rc, NULL, 0, "out of memory for %d ranks by themselves" SS_HINT FOLD_HINT,
                       s->world_size);
    if (rc == SS_ERR_UNSUPPORTED && options->engine == SS_ENGINE_SIMGRID && out->plan->weighted)
        rc = replay_unfolded(options, out, spread, err);
    return rc;
}

/* The iteration of the same job on GPUs that are all as fast: what drawn ones are held against. */
static int find_even(const struct ss_scenario *s, const struct ss_run_options *options, double *seconds,
                     struct ss_error *err)
{
    struct ss_run_options how = {.engine = SS_ENGINE_NATIVE,
                                 .plan = options->plan,
                                 .schedule = options->schedule,
                                 .brief = 1,
                                 .unchecked = 1};
    struct ss_scenario even = *s;
    struct ss_job job = *s->job;
    struct ss_run run;
    job.spread = 0;
    even.job = &job;
    how.plan.draw_spread = 0;
    how.schedule = options->schedule;
    how.level_choice = SS_LEVEL_BLIND;
    SS_TRY(ss_run_scenario(&even, &how, &run, err));
    *seconds = run.result->iteration_s;
    ss_run_free(&run);
    return SS_OK;
}

/* Simulates with classes that are exact near what is slow or has failed, then farther from it as long as that
 * changes the answer, and finally with exact classes. */
static int simulate_near(const struct ss_scenario *s, const struct ss_run_options *options,
                         struct ss_run *out, struct ss_spread *spread, struct ss_error *err)
{
    struct ss_plan_options plan = options->plan;
    plan.apart |= options->jitter.sigma > 0;
    for (plan.near = NEAR;; plan.near = plan.near < FARTHEST ? 2 * plan.near : 0) {
        int rc = simulate(s, options, &plan, out, spread, err);
        if (rc || !tells_apart(out->plan, out->timeline))
            return rc;
        ss_timeline_free(out->timeline);
        ss_program_free(out->program);
        ss_plan_free(out->plan);
        out->timeline = NULL;
        out->program = NULL;
        out->plan = NULL;
    }
}

/* Sets *hold to 1 where all digits of a run of every rank hold, as its classes tell: ranks of one class meet on no link,
 * so that their order decides nothing. */
static int ask_classes(const struct ss_run_options *options, const struct ss_run *run, int *hold,
                       struct ss_error *err)
{
    const struct ss_plan *p = run->plan;
    struct ss_run folded = {0};
    struct ss_plan_options plan = options->plan;
    struct ss_run_options how = {.engine = SS_ENGINE_NATIVE, .cache = options->cache};
    struct ss_sensitivity found;

    plan.unfold = plan.near = 0;
    plan.level = p->level;
    int rc = ss_plan_build(p->job, p->stack, p->platform, p->schedule, &plan, &folded.plan, err);
    if (!rc && !folded.plan->weighted && folded.plan->nclasses < p->nclasses / 4) {
        rc = replay(&folded, &how, NULL, err);
        SS_THEN(rc, ss_sensitivity_find(folded.program, folded.timeline, without_barrier(folded.plan), &found,
                                        err));
        *hold = !rc && !found.sensitive;
    }
    ss_run_free(&folded);
    return rc;
}

static int find_sensitivity(const struct ss_run_options *options, struct ss_run *out, struct ss_error *err)
{
    struct ss_sensitivity *s = &out->result->sensitivity;
    int hold = 0, rc = SS_OK;

    if (options->unchecked || options->full_replay || options->jitter.sigma > 0)
        return SS_OK;
    if (out->plan->unfolded && !ss_sensitivity_none(out->timeline))
        rc = ask_classes(options, out, &hold, err);
    if (hold)
        *s = (struct ss_sensitivity){
            .known = 1, .low = out->timeline->iteration_s, .high = out->timeline->iteration_s};
    if (rc || hold)
        return rc;
    return ss_sensitivity_find(out->program, out->timeline, without_barrier(out->plan), s, err);
}

static int check_options(const struct ss_run_options *o, struct ss_error *err)
{
    if (!(o->jitter.sigma >= 0 && o->jitter.sigma <= SS_JITTER_MOST))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "a jitter of %g is outside 0 to %d", o->jitter.sigma,
                       SS_JITTER_MOST);
    if (o->replicas < 0 || (o->jitter.sigma > 0 && o->replicas == 0))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%d replicas of an iteration under jitter", o->replicas);
    return SS_OK;
}

/* From the timeline to the result. */
static int sum_up(const struct ss_run_options *options, const struct ss_spread *spread, struct ss_run *out,
                  struct ss_error *err)
{
    int rc = options->plan.draw_spread ? find_even(out->scenario, options, &out->plan->even_s, err) : SS_OK;

    SS_THEN(rc, ss_result_build_brief(out->plan, out->timeline, options->engine, options->brief,
                                      options->cache, &out->result, err));
    if (!rc)
        out->result->spread = *spread;
    SS_THEN(rc, find_sensitivity(options, out, err));
    if (!rc && !options->brief)
        rc = ss_timers_fill(out->plan, out->program, out->timeline, out->result, err);
    /* links tell why a level is doubted */
    if (!options->brief || options->level_choice != SS_LEVEL_BLIND)
        SS_THEN(rc, ss_links_fill(out->plan, out->program, out->timeline, out->result, err));
    return rc;
}

static int run_once(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_run *out,
                    struct ss_error *err)
{
    struct ss_spread spread = {0};
    int rc;

    memset(out, 0, sizeof *out);
    SS_TRY(check_options(options, err));
    out->scenario = s;
    rc = options->schedule
             ? ss_schedule_copy(options->schedule, &out->schedule, err)
             : ss_order_build(s->job, s->stack, s->world_size, options->cache, &out->schedule, err);
    SS_THEN(rc, simulate_near(s, options, out, &spread, err));
    SS_THEN(rc, sum_up(options, &spread, out, err));
    if (rc)
        ss_run_free(out);
    return rc;
}

static double iteration_of(const struct ss_run *run)
{
    return run->result->spread.replicas > 0 ? run->result->spread.without : run->result->iteration_s;
}

static int replay_native(struct ss_run *run, struct ss_error *err)
{
    const struct ss_replay_options native = {.engine = SS_ENGINE_NATIVE};
    int loop = without_barrier(run->plan);
    return (loop ? ss_timeline_steady : ss_timeline_replay_with)(run->program, &native, &run->timeline, err);
}

/* The run of a plan and program whose time alone is known. */
static int complete_flows(const struct ss_run_options *how, struct ss_run *flows, struct ss_error *err)
{
    const struct ss_spread none = {0};
    return sum_up(how, &none, flows, err);
}

/* Takes the run at flow level in the other's place, on the engine and with the jitter that are asked for. Frees *flows. */
static int take_flows(const struct ss_run_options *options, const struct ss_run_options *how,
                      struct ss_run *flows, struct ss_run *out, struct ss_error *err)
{
    struct ss_run_options again = *options;

    again.plan.level = SS_LEVEL_FLOW;
    again.engine = options->any_engine ? SS_ENGINE_NATIVE : options->engine;
    if (again.engine != SS_ENGINE_NATIVE || options->jitter.sigma > 0 || options->full_replay) {
        const struct ss_scenario *s = out->scenario;
        ss_run_free(flows);
        ss_run_free(out);
        return run_once(s, &again, out, err);
    }
    if (!flows->schedule) { /* the plan has that of the run before */
        flows->schedule = out->schedule;
        out->schedule = NULL;
    }
    ss_run_free(out);
    *out = *flows;
    int rc = out->result ? SS_OK : complete_flows(how, out, err);
    SS_THEN(rc, find_sensitivity(options, out, err));
    return rc;
}

/* How far the level is off flows, were all ranks as busy in exchanges as the busiest. */
static int even_off(const struct ss_run_options *options, const struct ss_run *out, double *off,
                    struct ss_error *err)
{
    struct ss_run_options how = {
        .engine = SS_ENGINE_NATIVE, .plan = options->plan, .brief = 1, .unchecked = 1};
    double seconds[2] = {1, 1};
    int rc = SS_OK;
    how.plan.even = 1;
    how.plan.most_events = SS_LEVEL_MOST_EVENTS;
    for (int flows = 0; flows < 2 && !rc; flows++) {
        struct ss_run run;
        how.plan.level = flows ? SS_LEVEL_FLOW : out->plan->level;
        rc = run_once(out->scenario, &how, &run, err);
        if (rc)
            break;
        seconds[flows] = run.result->iteration_s;
        ss_run_free(&run);
    }
    *off = seconds[0] / seconds[1] - 1;
    return rc;
}

/* Tells the iteration as flows, s, by those slots alone that data-parallel transfers can be beside, where these are all that is in doubt and it
 * is clear that flows of all slots would leave the level. *seconds is 0 where it is not. */
static int time_beside(const struct ss_run_options *how, const struct ss_run *run, double sends,
                       const struct ss_plan *plan, double *seconds, struct ss_error *err)
{
    const struct ss_replay_options native = {.engine = SS_ENGINE_NATIVE};
    struct ss_program *program;

    *seconds = 0;
    int rc = ss_program_build_beside(plan, how->cache, &program, err);
    if (rc || !program)
        return rc;
    rc = ss_replay_seconds(program, &native, without_barrier(plan), seconds, err);
    ss_program_free(program);
    if (fabs(iteration_of(run) / *seconds - 1) + sends > SS_LEVEL_TOLERANCE)
        *seconds = 0;
    return rc;
}

/* The iteration of a doubted run as flows, s. *flows gets what was made for that: plan and program, with the run's schedule, or where classes
 * may have to be exact farther from what is slow all of a run. Error: SS_ERR_UNSUPPORTED where they are too many for a run that nobody
 * asked for. */
static int time_flows(const struct ss_run_options *how, const struct ss_run *run,
                      const struct ss_level_doubt *doubt, struct ss_run *flows, double *seconds,
                      struct ss_error *err)
{
    struct ss_plan_options plan = how->plan;
    const struct ss_plan *p = run->plan;

    *flows = (struct ss_run){.scenario = run->scenario};
    if ((p->uneven && ss_level_is_wide(run)) || !ss_level_affordable(run))
        return SS_ERR_UNSUPPORTED;
    plan.near = NEAR;
    int rc = ss_plan_build(p->job, p->stack, p->platform, run->schedule, &plan, &flows->plan, err);
    if (!rc && flows->plan->alike) {
        ss_run_free(flows);
        SS_TRY(run_once(run->scenario, how, flows, err));
        *seconds = flows->result->iteration_s;
        return SS_OK;
    }
    if (!rc && doubt->beside)
        rc = time_beside(how, run, doubt->sends, flows->plan, seconds, err);
    if (!rc && *seconds > 0)
        return SS_OK;
    SS_THEN(rc, ss_program_build_kept(flows->plan, how->cache, &flows->program, err));
    if (!rc && flows->plan->uneven)
        rc = check_labour(flows, err);
    SS_THEN(rc, replay_native(flows, err));
    if (rc)
        ss_run_free(flows);
    else
        *seconds = flows->timeline->iteration_s;
    return rc;
}

/* Where the level leaves something open that matters, flows tell how much it is. */
static int check_level(const struct ss_run_options *options, struct ss_run *out, struct ss_error *err)
{
    struct ss_level_doubt doubt = {.what = ""};
    /* sensitivity is looked for once the flows are the answer */
    struct ss_run_options how = {.engine = SS_ENGINE_NATIVE,
                                 .plan = options->plan,
                                 .schedule = options->schedule,
                                 .cache = options->cache,
                                 .brief = options->brief,
                                 .unchecked = 1};
    const char *level = ss_level_name(out->plan->level);
    struct ss_error why = {0};
    struct ss_run flows;
    double off = 1, seconds = 0;
    int rc = SS_OK;

    if (out->plan->level < SS_LEVEL_LAYER && options->level_choice != SS_LEVEL_BLIND)
        doubt = ss_level_doubt(out);
    if (!doubt.what[0])
        return SS_OK;
    if (options->level_choice == SS_LEVEL_DOUBTS) {
        out->doubted = 1;
        return SS_OK;
    }
    how.plan.level = SS_LEVEL_FLOW;
    how.plan.most_events = SS_LEVEL_MOST_EVENTS;
    if (out->plan->uneven)
        rc = even_off(options, out, &off, &why);
    if (!rc && fabs(off) <= SS_LEVEL_TOLERANCE)
        return SS_OK;
    SS_THEN(rc, time_flows(&how, out, &doubt, &flows, &seconds, &why));
    if (rc == SS_ERR_UNSUPPORTED) {
        ss_notes_add(&out->plan->warnings, "%s: %s level may be off, --level flow tells by how much%s%s",
                     doubt.what, level, why.message[0] ? ": " : "", why.message);
        return SS_OK;
    }
    if (rc && err)
        *err = why;
    if (rc)
        return rc;
    off = iteration_of(out) / seconds - 1;
    if (fabs(off) <= SS_LEVEL_TOLERANCE) {
        ss_run_free(&flows);
        return SS_OK;
    }
    if (options->level_choice == SS_LEVEL_STAYS) {
        ss_notes_add(&out->plan->warnings, "%s: %s level is %.1f %% %s flows, which take %.4g ms", doubt.what,
                     level, 100 * fabs(off), off < 0 ? "below" : "above", 1e3 * seconds);
        ss_run_free(&flows);
        return SS_OK;
    }
    rc = take_flows(options, &how, &flows, out, err);
    if (!rc)
        snprintf(out->level_reason, sizeof out->level_reason, "%s; %s level would be %.1f %% %s", doubt.what,
                 level, 100 * fabs(off), off < 0 ? "below" : "above");
    return rc;
}

int ss_run_scenario(const struct ss_scenario *s, const struct ss_run_options *options, struct ss_run *out,
                    struct ss_error *err)
{
    struct ss_run_options with = options ? *options : (struct ss_run_options){.engine = SS_ENGINE_NATIVE};
    int rc;

    /* a file of links may come to lie where another was, with other values */
    if (!with.plan.cache && ss_platform_is_template(s->platform))
        with.plan.cache = with.cache;
    SS_TRY(run_once(s, &with, out, err));
    rc = check_level(&with, out, err);
    if (!rc && with.open_compute)
        rc = ss_compute_open(out, with.plan.cache, &out->compute, err);
    if (rc)
        ss_run_free(out);
    else
        ss_summary_fill_kept(out, with.bands, with.cache, &out->summary);
    return rc;
}

void ss_run_free(struct ss_run *run)
{
    if (!run)
        return;
    free(run->assumed);
    ss_compute_free(run->compute);
    ss_result_free(run->result);
    ss_timeline_free(run->timeline);
    ss_program_free(run->program);
    ss_plan_free(run->plan);
    ss_schedule_free(run->schedule);
    memset(run, 0, sizeof *run);
}
