/* SPDX-License-Identifier: Apache-2.0 */
/* The documents of `run --json` and `plan --json`; docs/reference/formats.md describes every key. */
#include "report/json.h"

#include "report/common.h"

static json_t *stage_memory(const struct ss_stage_result *s)
{
    json_t *o = json_object();

    ss_json_integer(o, "stage", s->stage);
    for (int m = 0; m < SS_MEM_COUNT; m++) {
        char key[48];
        double bytes = s->memory[m];
        /* context, NCCL and fragmentation belong to no tensor: "other", so that the classes sum to the total */
        if (m == SS_MEM_OTHER)
            bytes += ss_result_beside(s);
        snprintf(key, sizeof key, "%s_mib", ss_mem_name(m));
        ss_json_number(o, key, bytes / SS_MIB);
    }
    ss_json_number(o, "total_mib", s->device / SS_MIB);
    ss_json_number(o, "reserved_mib", s->reserved / SS_MIB);
    ss_json_number(o, "allocated_mib", s->allocated / SS_MIB);
    return o;
}

json_t *ss_json_memory(const struct ss_run *run, const struct ss_report_options *opt)
{
    const struct ss_result *r = run->result;
    const struct ss_summary *u = &run->summary;
    json_t *o = json_object(), *stages = json_array();

    ss_json_metrics(o, SS_IN_MEMORY, u);
    ss_json_text(o, "band_like", u->memory_like);
    ss_json_integer(o, "peak_stage", r->peak_stage);
    ss_json_number(o, "device_mib", u->peak_device / SS_MIB);
    ss_json_text(o, "largest_class", ss_mem_name(ss_result_largest(r, r->peak_stage)));
    if (opt->measured_bytes > 0) {
        ss_json_number(o, "measured_mib", opt->measured_bytes / SS_MIB);
        ss_json_number(o, "error_pct", ss_error_pct(r->peak_device, opt->measured_bytes));
    }
    for (int s = 0; s < r->nstages; s++)
        ss_json_append(stages, stage_memory(&r->stages[s]));
    ss_json_set(o, "stages", stages);
    return o;
}

static void add_rates(json_t *o, const struct ss_summary *u, const struct ss_report_options *opt)
{
    ss_json_verdict(o, u);
    ss_json_metrics(o, SS_IN_RUN, u);
    ss_json_text(o, "error_band_like", u->time_like);
    if (opt->measured_s > 0) {
        ss_json_number(o, "measured_ms", 1e3 * opt->measured_s);
        ss_json_number(o, "error_pct", ss_error_pct(u->iteration_s, opt->measured_s));
    }
}

static void add_breakdown(json_t *o, const struct ss_result *r)
{
    json_t *stages = json_array(), *timers = json_object(), *value;
    const char *key;

    ss_json_integer(o, "critical_stage", r->critical_stage);
    ss_json_set(o, "breakdown_ms", ss_json_labels(r->stages[r->critical_stage].breakdown));
    for (int s = 0; s < r->nstages; s++) {
        json_t *stage = json_object();
        ss_json_integer(stage, "stage", s);
        json_t *labels = ss_json_labels(r->stages[s].breakdown);
        json_object_foreach(labels, key, value) ss_json_set(stage, key, json_incref(value));
        if (!ss_json_is_whole(labels))
            ss_json_set(stage, "", NULL);
        ss_json_free(labels);
        ss_json_append(stages, stage);
    }
    ss_json_set(o, "stage_breakdown", stages);
    for (int i = 0; i < r->ntimers; i++)
        ss_json_number(timers, r->timers[i].name, 1e3 * r->timers[i].seconds);
    ss_json_set(o, "timers_ms", timers);
}

#define LINKS_SHOWN 10

static void add_links(json_t *o, const struct ss_result *r)
{
    json_t *links = json_array();

    ss_json_text(o, "limiting_link", r->nlinks ? r->links[0].link.name : "");
    for (int i = 0; i < r->nlinks && i < LINKS_SHOWN; i++) {
        const struct ss_link_use *u = &r->links[i];
        json_t *link = json_object();
        ss_json_text(link, "name", u->link.name);
        ss_json_text(link, "kind", ss_link_kind_name(u->link.kind));
        ss_json_integer(link, "alike", u->alike);
        ss_json_number(link, "bytes", u->bytes);
        ss_json_number(link, "utilisation", u->utilisation);
        ss_json_number(link, "busy", u->busy);
        ss_json_append(links, link);
    }
    ss_json_set(o, "links", links);
}

static void add_interval(json_t *o, const char *name, struct ss_interval in)
{
    json_t *ends = json_object();

    ss_json_number(ends, "low", 1e3 * in.low);
    ss_json_number(ends, "high", 1e3 * in.high);
    ss_json_set(o, name, ends);
}

static void add_spread(json_t *o, const struct ss_spread *s)
{
    json_t *spread = json_object(), *ms = json_object(), *in = json_object();

    ss_json_number(spread, "sigma", s->sigma);
    ss_json_integer(spread, "seed", (int64_t)s->seed);
    ss_json_integer(spread, "replicas", s->replicas);
    ss_json_number(ms, "without", 1e3 * s->without);
    ss_json_number(ms, "mean", 1e3 * s->mean);
    ss_json_number(ms, "min", 1e3 * s->min);
    ss_json_number(ms, "p5", 1e3 * s->p5);
    ss_json_number(ms, "p25", 1e3 * s->p25);
    ss_json_number(ms, "p50", 1e3 * s->p50);
    ss_json_number(ms, "p75", 1e3 * s->p75);
    ss_json_number(ms, "p95", 1e3 * s->p95);
    ss_json_number(ms, "max", 1e3 * s->max);
    ss_json_set(spread, "iteration_ms", ms);
    add_interval(in, "mean", s->mean_in);
    add_interval(in, "p5", s->p5_in);
    add_interval(in, "p25", s->p25_in);
    add_interval(in, "p50", s->p50_in);
    add_interval(in, "p75", s->p75_in);
    add_interval(in, "p95", s->p95_in);
    ss_json_set(spread, "confidence_95_ms", in);
    ss_json_set(o, "jitter", spread);
}

static void add_sensitivity(json_t *o, const struct ss_result *r)
{
    const struct ss_sensitivity *s = &r->sensitivity;
    json_t *sensitivity = json_object();

    ss_json_number(sensitivity, "low_ms", 1e3 * s->low);
    ss_json_number(sensitivity, "high_ms", 1e3 * s->high);
    ss_json_number(sensitivity, "relative", (s->high - s->low) / r->iteration_s);
    ss_json_set(o, "sensitivity", sensitivity);
}

static json_t *fixes_array(const struct ss_report_options *opt, double iteration_s)
{
    json_t *array = json_array();

    for (int i = 0; i < opt->nfixes; i++) {
        const struct ss_fix *f = &opt->fixes[i];
        json_t *o = json_object();
        ss_json_text(o, "change", f->change);
        ss_json_text(o, "verdict", ss_outcome_word(f->summary.outcome));
        ss_json_metric(o, SS_METRIC_OF_peak_device, &f->summary);
        ss_json_metric(o, SS_METRIC_OF_iteration_s, &f->summary);
        ss_json_number(o, "cost_pct", 100 * (f->summary.iteration_s / iteration_s - 1));
        ss_json_append(array, o);
    }
    return array;
}

static json_t *smallest_object(const struct ss_smallest *s)
{
    json_t *o = json_object();

    if (s->gpus == 0) {
        ss_json_free(o);
        return json_null();
    }
    ss_json_integer(o, "gpus", s->gpus);
    ss_json_text(o, "flags", s->flags);
    ss_json_number(o, "static_mib", s->bytes / SS_MIB);
    return o;
}

static int add_notes(json_t *o, const struct ss_run *run, const struct ss_report_options *opt)
{
    struct ss_notes notes;
    int rc = ss_report_warnings(run, opt, &notes);

    ss_json_set(o, "warnings", ss_json_notes(&notes));
    ss_notes_free(&notes);
    if (rc)
        return rc;
    rc = ss_report_guessed(run, &notes);
    ss_json_set(o, "guessed", ss_json_notes(&notes));
    ss_notes_free(&notes);
    ss_json_set(o, "ignored", ss_json_notes(opt->ignored));
    return rc;
}

int ss_json_run(const struct ss_run *run, const struct ss_report_options *opt, FILE *out,
                struct ss_error *err)
{
    const struct ss_result *r = run->result;
    json_t *o = ss_json_document("run");

    add_rates(o, &run->summary, opt);
    ss_json_set(o, "memory", ss_json_memory(run, opt));
    if (!r->fits)
        ss_json_set(o, "fixes", fixes_array(opt, ss_report_undisturbed_s(r)));
    if (!r->fits && opt->smallest)
        ss_json_set(o, "smallest", smallest_object(opt->smallest));
    if (ss_report_shows_load(run->plan))
        ss_json_add_load(o, run->plan);
    ss_json_add_packing(o, run->plan);
    add_breakdown(o, r);
    if (run->compute)
        ss_json_set(o, "compute", ss_json_compute(run));
    add_links(o, r);
    if (r->spread.replicas)
        add_spread(o, &r->spread);
    if (r->sensitivity.sensitive)
        add_sensitivity(o, r);
    int rc = add_notes(o, run, opt);
    if (rc) {
        ss_json_free(o);
        return ss_fail(err, rc, NULL, 0, "no memory for the report");
    }
    ss_json_text(o, "engine", ss_engine_name(r->engine));
    ss_json_text(o, "level", ss_level_name(r->level));
    if (run->level_reason[0])
        ss_json_text(o, "level_reason", run->level_reason);
    ss_json_integer(o, "ranks_simulated", r->ranks_simulated);
    ss_json_integer(o, "events", r->events);
    ss_json_set(o, "inputs", ss_json_inputs(run->plan, opt));
    if (opt->wall_s >= 0) {
        json_t *timing = json_object();
        ss_json_number(timing, "wall_ms", 1e3 * opt->wall_s);
        ss_json_integer(timing, "flows", run->timeline->flows);
        ss_json_set(o, "timing", timing);
    }
    return ss_json_write(o, out, err);
}
