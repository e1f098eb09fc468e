/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The whole way: words of a job, options and files (common/bundle.h) to plan, program, replay, reports, traces, pictures and exports.
 * Whatever is accepted is finite, well formed and the same when it is made again; whatever is refused has one error.
 * First word "explain": the job is explained instead; "fix": what would make it fit is told, too. chain/mutate.c
 * knows the words. FUZZ_TELL in the environment tells on stderr what became of an input.
 */

#include "cli/cli.h"
#include "common/bundle.h"
#include "common/check.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* What one input may cost: it is to take less than 50 ms. */
#define MOST_BYTES (32 << 10)
#define MOST_GPUS 2048
#define MOST_SLOTS 512 /* of all classes, were each rank of a pipeline one */
/* layers of all slots: what a level below the slots has, to which a run may go by itself */
#define MOST_STEPS 4000
#define MOST_EVENTS 20000 /* that are drawn */
#define MOST_UNFOLDED 32  /* GPUs */
#define MOST_REPLICAS 3

struct chain {
    int dozens; /* 1: of runs are made, not one */
    struct cli_flags flags;
    struct ss_request words, how;
    struct ss_scenario *scenario;
    struct ss_run run;
    struct fuzz_digest digest;
};

static const struct ss_bands *the_bands(void)
{
    static struct ss_bands *bands;

    if (!bands && ss_bands_load(NULL, NULL, &bands, NULL))
        abort();
    return bands;
}

/* ---- from words to a scenario, as `stepsim run` does ---- */

static int read_words(struct chain *c, const struct fuzz_bundle *b, int verb, int skip, struct ss_error *err)
{
    const struct ss_scenario_options options = {.files = cli_files()};
    char *words[FUZZ_MOST_WORDS + 1];

    memcpy(words, b->word, sizeof b->word);
    cli_flags_init(&c->flags, verb);
    ss_request_init(&c->words);
    ss_request_init(&c->how);
    int rc = cli_request_read(&c->words, &c->how, &c->flags, b->nwords - skip, words + skip, err);
    return rc ? rc : ss_scenario_build(&c->words, &options, &c->scenario, err);
}

static int is_large(const struct chain *c)
{
    const struct ss_job *job = c->scenario->job;
    const struct ss_run_options *o = &c->flags.options.how.options;
    int world = c->scenario->world_size;
    double slots = 2.0 * job->pp * ss_job_microbatches(job, world) * ss_job_chunks(job);
    int apart = o->plan.unfold || o->jitter.sigma > 0 || o->plan.draw_spread || o->plan.nstragglers ||
                o->plan.nslow_links || o->plan.placement;

    if (world > MOST_GPUS || (apart && world > MOST_UNFOLDED))
        return 1;
    if (apart)
        slots *= (double)world / job->pp;
    double steps = slots * job->model.num_layers / (job->pp * ss_job_chunks(job));
    int times = c->dozens ? 16 : 1;
    return times * slots > MOST_SLOTS || times * steps > MOST_STEPS;
}

static int simulate(struct chain *c, struct ss_error *err)
{
    struct ss_run_options *o = &c->flags.options.how.options;
    int rc = ss_run_words_finish(&c->flags.options.how, c->scenario, cli_files(), err);

    if (rc || is_large(c))
        return rc ? rc : 1;
    o->engine = SS_ENGINE_NATIVE;
    o->bands = the_bands();
    o->open_compute = 1;
    o->workers.n = 1;
    o->replicas = o->replicas < MOST_REPLICAS ? o->replicas : MOST_REPLICAS;
    return ss_run_scenario(c->scenario, o, &c->run, err);
}

/* ---- what came out ---- */

static void check_result(const struct ss_run *run)
{
    const struct ss_result *r = run->result;
    double time = r->iteration_s;

    if (!(time > 0) || !isfinite(time) || r->critical_stage < 0 || r->critical_stage >= r->nstages)
        abort();
    for (int i = 0; i < r->nstages; i++) {
        double sum = 0;
        for (int l = 0; l < SS_LABEL_COUNT; l++) {
            fuzz_check_amount(r->stages[i].breakdown[l], time);
            sum += r->stages[i].breakdown[l];
        }
        fuzz_check_amount(1e-6 * time - fabs(sum - time), time);
        for (int m = 0; m < SS_MEM_COUNT; m++)
            fuzz_check_amount(r->stages[i].memory[m], r->capacity);
        fuzz_check_amount(r->stages[i].device, 0);
    }
    for (int i = 0; i < r->ntimers; i++)
        fuzz_check_amount(r->timers[i].seconds, time);
    for (int i = 0; i < r->nlinks; i++) {
        fuzz_check_amount(r->links[i].busy, 1);
        fuzz_check_amount(r->links[i].utilisation, 1);
        fuzz_check_amount(1 + 1e-6 - r->links[i].busy, 1);
    }
    for (int m = 0; m < SS_METRICS; m++)
        if (isinf(ss_metric_value(m, &run->summary)))
            abort();
}

static void write_reports(struct chain *c, const struct ss_report_options *base)
{
    struct ss_error err = {0};
    struct fuzz_text t;

    for (int json = 0; json < 2; json++) {
        struct ss_report_options opt = *base;
        opt.json = json;
        fuzz_text_begin(&t);
        if (fuzz_check_status(ss_report_run(&c->run, &opt, t.out, &err), &err))
            abort();
        fuzz_text_end(&t, &c->digest);
        json ? fuzz_check_json(&t) : fuzz_check_plain(&t);
        fuzz_text_free(&t);
        fuzz_text_begin(&t);
        if (fuzz_check_status(ss_report_plan(&c->run, &opt, t.out, &err), &err))
            abort();
        fuzz_text_end(&t, &c->digest);
        json ? fuzz_check_json(&t) : fuzz_check_plain(&t);
        fuzz_text_free(&t);
    }
    fuzz_text_begin(&t);
    if (fuzz_check_status(ss_report_ranks(c->run.plan, c->run.program, c->run.timeline, t.out, &err), &err))
        abort();
    fuzz_text_end(&t, &c->digest);
    fuzz_check_plain(&t);
    fuzz_text_free(&t);
}

static void draw(struct chain *c, const struct ss_report_options *opt)
{
    struct ss_picture_request request = {.run = &c->run, .options = opt};
    FILE **const to[] = {&request.gantt, &request.memory, &request.report, &request.trace, &request.kineto};
    struct fuzz_text t[5];
    struct ss_error err = {0};

    request.window_start = c->flags.pictures.window[0];
    request.window_end = c->flags.pictures.window[1];
    request.color = c->flags.pictures.color;
    for (int i = 0; i < 5; i++) {
        fuzz_text_begin(&t[i]);
        *to[i] = t[i].out;
    }
    int rc = ss_pictures_draw(c->run.program, c->run.timeline, SS_ENGINE_NATIVE, &request, &err);
    fuzz_check_status(rc, &err);
    for (int i = 0; i < 5; i++) {
        fuzz_text_end(&t[i], &c->digest);
        if (!rc)
            i < 2 ? fuzz_check_svg(&t[i]) : i == 2 ? fuzz_check_html(&t[i], 2) : fuzz_check_json(&t[i]);
        fuzz_text_free(&t[i]);
    }
}

static void write_exports(struct chain *c)
{
    struct ss_export *x = NULL;
    struct ss_error err = {0};
    struct fuzz_text t;

    if (fuzz_check_status(ss_export_begin(c->run.program, &x, &err), &err))
        abort();
    for (int rank = -2; rank < c->run.program->nclasses && rank < 3; rank++) {
        fuzz_text_begin(&t);
        int rc = rank == -2   ? ss_export_goal(x, t.out, &err)
                 : rank == -1 ? ss_export_chakra_groups(x, t.out, &err)
                              : ss_export_chakra(x, rank, t.out, &err);
        fuzz_check_status(rc, &err);
        fuzz_text_end(&t, &c->digest);
        if (!rc && rank == -1)
            fuzz_check_json(&t);
        fuzz_text_free(&t);
        memset(&err, 0, sizeof err);
    }
    ss_export_free(x);
}

/* The program is sound, and its text reads back to the same text. */
static void round_trip(struct chain *c)
{
    struct ss_program *back = NULL;
    struct ss_error err = {0};
    struct fuzz_text t, again;

    if (fuzz_check_status(ss_program_check(c->run.program, &err), &err))
        abort();
    fuzz_text_begin(&t);
    if (ss_program_write(c->run.program, 0, t.out, NULL))
        abort();
    fuzz_text_end(&t, &c->digest);
    if (fuzz_check_status(ss_program_parse(t.text, t.size, "written", &back, &err), &err))
        abort();
    fuzz_text_begin(&again);
    if (ss_program_write(back, 0, again.out, NULL))
        abort();
    fuzz_text_end(&again, NULL);
    if (t.size != again.size || memcmp(t.text, again.text, t.size))
        abort();
    ss_program_free(back);
    fuzz_text_free(&t);
    fuzz_text_free(&again);
}

static void explain(struct chain *c)
{
    struct ss_explanation *x = calloc(1, sizeof *x);
    struct ss_error err = {0};
    struct fuzz_text t;

    if (!x)
        abort();
    int rc = fuzz_check_status(ss_explain(&c->run, &c->flags.options.how.options, x, &err), &err);
    for (int json = 0; !rc && json < 2; json++) {
        fuzz_text_begin(&t);
        if (fuzz_check_status(
                ss_explanation_write(x, &c->run, &(struct ss_display){.json = json}, t.out, &err), &err))
            abort();
        fuzz_text_end(&t, &c->digest);
        json ? fuzz_check_json(&t) : fuzz_check_plain(&t);
        fuzz_text_free(&t);
    }
    free(x);
}

/* look: what would make a job fit is looked for, which takes dozens of runs. */
static void report(struct chain *c, int look)
{
    const struct ss_files files = {.n = cli_files()->n, .path = cli_files()->path};
    struct ss_fix fixes[3];
    struct ss_smallest smallest = {0};
    struct ss_error err = {0};
    int nfixes = 0;

    if (look && !c->run.result->fits) {
        fuzz_check_status(ss_fixes_find(c->scenario, &c->flags.options.how.options, fixes, &nfixes, &err),
                          &err);
        ss_smallest_find(c->scenario, NULL, &smallest);
    }
    const struct ss_report_options opt = {.brief = c->flags.brief,
                                          .measured_s = c->scenario->measured_s,
                                          .measured_bytes = c->scenario->measured_bytes,
                                          .wall_s = -1,
                                          .notes = &c->scenario->notes,
                                          .ignored = &c->scenario->ignored,
                                          .request = c->scenario->request,
                                          .how = &c->how,
                                          .files = &files,
                                          .fixes = fixes,
                                          .nfixes = nfixes,
                                          .smallest = look ? &smallest : NULL};
    check_result(&c->run);
    write_reports(c, &opt);
    if (ss_program_event_count(c->run.program) > MOST_EVENTS)
        return;
    draw(c, &opt);
    write_exports(c);
    round_trip(c);
}

static void tell(struct chain *c, const struct ss_error *err)
{
    struct fuzz_text t;

    fuzz_text_begin(&t);
    if (ss_report_error(err, t.out))
        abort();
    fuzz_text_end(&t, &c->digest);
    fuzz_check_json(&t);
    fuzz_text_free(&t);
}

/* Returns whether the input was simulated. */
static int run_once(const struct fuzz_bundle *b, struct fuzz_digest *digest)
{
    const char *first = b->nwords > 0 ? b->word[0] : "";
    int verb = !strcmp(first, "explain") ? CLI_EXPLAIN : CLI_RUN, fixes = !strcmp(first, "fix");
    struct chain *c = calloc(1, sizeof *c);
    struct ss_error err = {0};

    if (!c)
        abort();
    c->dozens = fixes || verb == CLI_EXPLAIN;
    int rc = read_words(c, b, verb, c->dozens, &err), ran = 0;
    if (!rc)
        rc = simulate(c, &err);
    if (getenv("FUZZ_TELL"))
        fprintf(stderr, "%s%s\n", rc > 0 ? "too large" : rc ? "refused: " : "simulated", err.message);
    if (rc <= 0 && fuzz_check_status(rc, &err))
        tell(c, &err);
    if (!rc) {
        verb == CLI_EXPLAIN ? explain(c) : report(c, fixes);
        ss_run_free(&c->run);
        ran = 1;
    }
    *digest = c->digest;
    cli_flags_free(&c->flags);
    ss_scenario_free(c->scenario);
    ss_request_free(&c->words);
    ss_request_free(&c->how);
    ss_files_free(cli_files());
    free(c);
    return ran;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct fuzz_digest first, second;
    struct fuzz_bundle b;

    if (size <= MOST_BYTES && !fuzz_bundle_read(data, size, &b)) {
        if (run_once(&b, &first) && size % 4 == 0) {
            run_once(&b, &second);
            if (first.n != second.n ||
                memcmp(first.hash, second.hash, (size_t)first.n * sizeof first.hash[0]))
                abort(); /* the same words made other bytes */
        }
    }
    if (size <= MOST_BYTES)
        fuzz_bundle_free(&b);
    return 0;
}
