/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of `run --json` and `plan --json`; docs/reference/formats.md describes every key. */
#include "report/json.h"

#include "report/common.h"
#include "stepsim/assumed.h"

static struct ss_json *stage_memory(const void *stage)
{
    const struct ss_stage_result *s = stage;
    struct ss_json *o = SS_OBJECT(SS_SAME(s, stage));

    for (int m = 0; m < SS_MEM_COUNT; m++) {
        char key[48];
        /* context, NCCL and fragmentation belong to no tensor: "other", so that the classes sum to the total */
        double bytes = s->memory[m] + (m == SS_MEM_OTHER ? ss_result_beside(s) : 0);
        snprintf(key, sizeof key, "%s_mib", ss_mem_name(m));
        SS_PUT(o, SS_KEY(key, bytes / SS_MIB));
    }
    SS_PUT(o, SS_KEY("total_mib", s->device / SS_MIB), SS_KEY("reserved_mib", s->reserved / SS_MIB),
           SS_KEY("allocated_mib", s->allocated / SS_MIB));
    return o;
}

struct ss_json *ss_json_memory(const struct ss_run *run, const struct ss_report_options *opt)
{
    const struct ss_result *r = run->result;
    const struct ss_summary *u = &run->summary;
    const int measured = opt->measured_bytes > 0;
    struct ss_json *o = ss_json_begin_object();

    ss_json_metrics(o, SS_IN_MEMORY, u);
    SS_PUT(o, SS_KEY("band_like", u->memory_like), SS_SAME(r, peak_stage),
           SS_KEY("device_mib", u->peak_device / SS_MIB),
           SS_KEY("largest_class", ss_mem_name(ss_result_largest(r, r->peak_stage))),
           SS_KEY_IF(measured, "measured_mib", opt->measured_bytes / SS_MIB),
           SS_KEY_IF(measured, "error_pct", ss_error_pct(r->peak_device, opt->measured_bytes)),
           SS_KEY("stages", SS_LIST(stage_memory, r->stages, r->nstages)));
    return o;
}

static void add_rates(struct ss_json *o, const struct ss_summary *u, const struct ss_report_options *opt)
{
    const int measured = opt->measured_s > 0;

    ss_json_verdict(o, u);
    ss_json_metrics(o, SS_IN_RUN, u);
    SS_PUT(o, SS_KEY("error_band_like", u->time_like),
           SS_KEY_IF(measured, "measured_ms", 1e3 * opt->measured_s),
           SS_KEY_IF(measured, "error_pct", ss_error_pct(u->iteration_s, opt->measured_s)));
}

static struct ss_json *stage_labels(const void *stage)
{
    const struct ss_stage_result *s = stage;
    struct ss_json *o = SS_OBJECT(SS_SAME(s, stage));

    for (int l = 0; l < SS_LABEL_COUNT; l++)
        SS_PUT(o, SS_KEY(ss_label_name(l), 1e3 * s->breakdown[l]));
    return o;
}

static void add_breakdown(struct ss_json *o, const struct ss_result *r)
{
    struct ss_json *timers = ss_json_begin_object();

    for (int i = 0; i < r->ntimers; i++)
        SS_PUT(timers, SS_KEY(r->timers[i].name, 1e3 * r->timers[i].seconds));
    SS_PUT(o, SS_SAME(r, critical_stage),
           SS_KEY("breakdown_ms", ss_json_labels(r->stages[r->critical_stage].breakdown)),
           SS_KEY("stage_breakdown", SS_LIST(stage_labels, r->stages, r->nstages)),
           SS_KEY("timers_ms", timers));
}

#define LINKS_SHOWN 10

static struct ss_json *link_object(const void *use)
{
    const struct ss_link_use *u = use;

    return SS_OBJECT(SS_SAME(&u->link, name), SS_KEY("kind", ss_link_kind_name(u->link.kind)),
                     SS_SAME(u, alike), SS_SAME(u, bytes), SS_SAME(u, utilisation), SS_SAME(u, busy));
}

static struct ss_json *interval(struct ss_interval in)
{
    return SS_OBJECT(SS_KEY("low", 1e3 * in.low), SS_KEY("high", 1e3 * in.high));
}

static struct ss_json *spread_object(const struct ss_spread *s)
{
    struct ss_json *ms = SS_OBJECT(
        SS_KEY("without", 1e3 * s->without), SS_KEY("mean", 1e3 * s->mean), SS_KEY("min", 1e3 * s->min),
        SS_KEY("p5", 1e3 * s->p5), SS_KEY("p25", 1e3 * s->p25), SS_KEY("p50", 1e3 * s->p50),
        SS_KEY("p75", 1e3 * s->p75), SS_KEY("p95", 1e3 * s->p95), SS_KEY("max", 1e3 * s->max));
    struct ss_json *in = SS_OBJECT(SS_KEY("mean", interval(s->mean_in)), SS_KEY("p5", interval(s->p5_in)),
                                   SS_KEY("p25", interval(s->p25_in)), SS_KEY("p50", interval(s->p50_in)),
                                   SS_KEY("p75", interval(s->p75_in)), SS_KEY("p95", interval(s->p95_in)));

    return SS_OBJECT(SS_SAME(s, sigma), SS_SAME(s, seed), SS_SAME(s, replicas), SS_KEY("iteration_ms", ms),
                     SS_KEY("confidence_95_ms", in));
}

static struct ss_json *sensitivity_object(const struct ss_result *r)
{
    const struct ss_sensitivity *s = &r->sensitivity;

    return SS_OBJECT(SS_KEY("low_ms", 1e3 * s->low), SS_KEY("high_ms", 1e3 * s->high),
                     SS_KEY("relative", (s->high - s->low) / r->iteration_s));
}

static struct ss_json *fixes_array(const struct ss_report_options *opt, double iteration_s)
{
    struct ss_json *array = ss_json_begin_list();

    for (int i = 0; i < opt->nfixes; i++) {
        const struct ss_fix *f = &opt->fixes[i];
        SS_ITEM(array, SS_OBJECT(SS_SAME(f, change), SS_KEY("verdict", ss_outcome_word(f->summary.outcome)),
                                 SS_KEY("peak_mib", f->summary.peak_device / SS_MIB),
                                 SS_KEY("iteration_ms", 1e3 * f->summary.iteration_s),
                                 SS_KEY("cost_pct", 100 * (f->summary.iteration_s / iteration_s - 1))));
    }
    return array;
}

struct ss_json *ss_json_smallest(const struct ss_smallest *s)
{
    return s->gpus ? SS_OBJECT(SS_SAME(s, gpus), SS_SAME(s, flags), SS_KEY("static_mib", s->bytes / SS_MIB))
                   : ss_json_null();
}

static struct ss_json *without_object(const struct ss_without *w)
{
    int refused = w->outcome == SS_OUTCOME_REFUSED;

    return SS_OBJECT(SS_SAME(w, flags), SS_SAME(w, instead), SS_KEY("verdict", ss_outcome_word(w->outcome)),
                     SS_KEY_IF(refused, "reason", w->reason),
                     SS_KEY_IF(!refused, "takes_ms", 1e3 * w->iteration_s),
                     SS_KEY_IF(!refused, "change_pct", w->time_pct),
                     SS_KEY_IF(!refused, "takes_mib", w->peak_device / SS_MIB));
}

static struct ss_json *assumed_array(const struct ss_run *run, const struct ss_request *r)
{
    struct ss_json *list = ss_json_begin_list();
    struct ss_assumption a;

    for (size_t at = 0; r && ss_request_assumption(r, &at, &a);) {
        const struct ss_without *w = ss_assumed_thing(run->assumed, a.flag);
        SS_ITEM(list, SS_OBJECT(SS_KEY("what", a.flag), SS_KEY("value", a.value), SS_KEY("whence", a.whence),
                                SS_KEY_IF(w, "without", without_object(w))));
    }
    return list;
}

static struct ss_json *stack_object(const void *stack)
{
    const struct ss_other_stack *s = stack;

    return SS_OBJECT(SS_KEY("stack", s->name), SS_KEY("takes_ms", 1e3 * s->iteration_s));
}

static struct ss_json *stacks_object(const struct ss_run *run)
{
    const struct ss_assumed *a = run->assumed;

    return SS_OBJECT(SS_KEY("stack", run->plan->stack->name), SS_TRUTH(a, stacks_differ),
                     SS_KEY("others", SS_LIST(stack_object, a->stacks, a->nstacks)));
}

static int add_notes(struct ss_json *o, const struct ss_run *run, const struct ss_report_options *opt)
{
    const struct ss_without *host = ss_assumed_thing(run->assumed, SS_ASSUMED_HOST);
    struct ss_notes notes;
    int rc = ss_report_warnings(run, opt, &notes);

    SS_PUT(o, SS_KEY("assumed", assumed_array(run, opt->request)), SS_KEY("warnings", ss_json_notes(&notes)),
           SS_KEY_IF(run->assumed && run->assumed->nstacks, "assumed_stack", stacks_object(run)),
           SS_KEY_IF(host, "assumed_host", without_object(host)));
    ss_notes_free(&notes);
    if (rc)
        return rc;
    rc = ss_report_guessed(run, &notes);
    SS_PUT(o, SS_KEY("guessed", ss_json_notes(&notes)));
    ss_notes_free(&notes);
    SS_PUT(o, SS_KEY("ignored", ss_json_notes(opt->ignored)), SS_KEY("dropped", ss_json_notes(opt->dropped)));
    return rc;
}

int ss_json_run(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                struct ss_error *err)
{
    const struct ss_result *r = run->result;
    struct ss_json *o = ss_json_document("run");

    add_rates(o, &run->summary, opt);
    SS_PUT(o, SS_KEY("memory", ss_json_memory(run, opt)),
           SS_KEY_IF(!r->fits, "fixes", fixes_array(opt, ss_report_undisturbed_s(r))),
           SS_KEY_IF(!r->fits && opt->smallest, "smallest", ss_json_smallest(opt->smallest)));
    if (ss_report_shows_load(run->plan))
        ss_json_add_load(o, run->plan);
    ss_json_add_packing(o, run->plan);
    add_breakdown(o, r);
    SS_PUT(o, SS_KEY_IF(run->compute, "compute", ss_json_compute(run)),
           SS_KEY("limiting_link", r->nlinks ? r->links[0].link.name : ""),
           SS_KEY("links", SS_LIST(link_object, r->links, r->nlinks < LINKS_SHOWN ? r->nlinks : LINKS_SHOWN)),
           SS_KEY_IF(r->spread.replicas, "jitter", spread_object(&r->spread)),
           SS_KEY_IF(r->sensitivity.sensitive, "sensitivity", sensitivity_object(r)));
    int rc = add_notes(o, run, opt);
    if (rc) {
        ss_json_free(o);
        return ss_fail(err, rc, NULL, 0, "no memory for the report");
    }
    SS_PUT(o, SS_KEY("engine", ss_engine_name(r->engine)), SS_KEY("level", ss_level_name(r->level)),
           SS_KEY_IF(run->level_reason[0], "level_reason", run->level_reason), SS_SAME(r, ranks_simulated),
           SS_SAME(r, events), SS_KEY("inputs", ss_json_inputs(run->plan, opt)),
           SS_KEY_IF(opt->wall_s >= 0, "timing",
                     SS_OBJECT(SS_KEY("wall_ms", 1e3 * opt->wall_s), SS_SAME(run->timeline, flows))));
    return ss_json_write(o, out, err);
}
