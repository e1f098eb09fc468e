/* SPDX-License-Identifier: Apache-2.0 */
/* Compares a measured run with its prediction. */
#include "stepsim/check.h"

#include "base/base.h"
#include "decide/advise.h"
#include "decide/check_internal.h"
#include "study/changes.h"

SS_NAMES(ss_check_key, SS_CHECK_LIST, SS_SECOND)
SS_NAMES(ss_check_words, SS_CHECK_LIST, SS_THIRD)

#define USUAL_BAND 15.0    /* per cent: the band of a job unlike all that were measured */
#define SAME_RUN 0.07      /* the times that two figures of one run mean agree within this share */
#define SAME_FLOP 0.03     /* time and TFLOP/s of one log agree within this share */
#define OTHER_FLOP 0.15    /* of the logarithm: what parts releases of a framework that count otherwise */
#define OTHER_HARDWARE 0.5 /* the same where recompute is counted, by formulas of frameworks' own */
#define OTHER_UNIT                                                                                           \
    500 /* times the predicted time: a figure of another unit, thousands of another country; slow links cost 100 */
#define CARD_MOST 1.02   /* of the card's memory: more is none of one card; people round */
#define MEMORY_BAND 10.0 /* per cent: the same for memory */

#define FOURTH(a, b, c, fourth, ...) fourth,
#define FIFTH(a, b, c, d, fifth, ...) fifth,
SS_NAMES(ss_check_memory_key, SS_CHECK_LIST, FOURTH)
SS_NAMES(ss_check_memory_words, SS_CHECK_LIST, FIFTH)

/* ---- what was measured ---- */

static const struct {
    const char *option;
    int told;
    enum ss_unit unit;
    const char *example;
} options_of[] = {
    {"--tokens-per-second", SS_TOLD_TOKENS, SS_UNIT_NONE, "write it as 56000, of all GPUs, or 7000/gpu"},
    {"--samples-per-second", SS_TOLD_SAMPLES, SS_UNIT_NONE, "write it as 12.5, of all GPUs"},
    {"--tflops", SS_TOLD_TFLOPS, SS_UNIT_NONE,
     "write it as 411, of a GPU, or 411:causal, 411:windows, 411:full, 411:hardware"},
    {"--mfu", SS_TOLD_MFU, SS_UNIT_FRACTION,
     "write it as 41% or 0.41, or 41%:causal, 41%:windows, 41%:full, 41%:hardware"},
    {"--memory", SS_TOLD_DEVICE, SS_UNIT_BYTES,
     "write it as 71GiB, as nvidia-smi shows it, or 71GiB:reserved, 71GiB:allocated"},
};

/* Takes the word that follows a number: its count of FLOP, its kind of memory, or "gpu". */
static int read_kind(struct ss_measurement *m, const char *kind, int *told)
{
    static const char *const memory[] = {"allocated", "reserved", "device"};

    if (!kind)
        return 1;
    if (*told == SS_TOLD_TOKENS && !strcmp(kind, "gpu")) {
        *told = SS_TOLD_TOKENS_GPU;
        return 1;
    }
    if (*told == SS_TOLD_DEVICE)
        for (int i = 0; i < 3; i++)
            if (!strcmp(kind, memory[i])) {
                *told = SS_TOLD_ALLOCATED + i;
                return 1;
            }
    if (*told == SS_TOLD_TFLOPS || *told == SS_TOLD_MFU)
        for (int i = SS_COUNT_FULL; i < SS_FLOP_COUNTS; i++)
            if (!strcmp(kind, ss_flop_count_key(i))) {
                m->count = i;
                return 1;
            }
    return 0;
}

int ss_measurement_add(struct ss_measurement *m, const char *option, const char *value, struct ss_error *err)
{
    char text[64], *kind;
    double number = 0;
    size_t i = 0;

    while (i + 1 < SS_ARRAY_LEN(options_of) && strcmp(option, options_of[i].option) != 0)
        i++;
    int told = options_of[i].told;
    ss_copy(text, sizeof text, value);
    kind = strpbrk(text, ":/");
    if (kind)
        *kind++ = '\0';
    int rc = options_of[i].unit == SS_UNIT_NONE ? ss_parse_double(text, &number)
                                                : ss_unit_parse(text, options_of[i].unit, &number, NULL);
    if (rc || !(number > 0 && number < 1e15) || !read_kind(m, kind, &told))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s %.60s: not a value of this option" SS_HINT "%s",
                       option, value, options_of[i].example);
    m->told[told] = number;
    return SS_OK;
}

void ss_measurement_add_job(struct ss_measurement *m, const struct ss_scenario *s)
{
    m->told[SS_TOLD_SECONDS] = s->measured_s;
    if (!m->told[SS_TOLD_DEVICE])
        m->told[SS_TOLD_DEVICE] = s->measured_bytes;
}

void ss_measurement_log(struct ss_measurement *m, const struct ss_train_log *log, const char *file)
{
    for (int i = 0; i < SS_TOLD_COUNT; i++)
        if (log->told[i] > 0 && !(m->told[i] > 0))
            m->told[i] = log->told[i];
    ss_copy(m->doubt, sizeof m->doubt, log->doubt);
    for (int i = 0; i < SS_TOLD_BATCH && !m->doubt[0]; i++)
        if (log->told[i] > 0 && fabs(log1p(log->told[i] / m->told[i] - 1)) > SAME_RUN)
            snprintf(m->doubt, sizeof m->doubt, "the log tells %.4g, an option %.4g (%s): leave one out",
                     log->told[i], m->told[i], ss_told_words(i));
    m->count = m->count ? m->count : log->count;
    m->logger = log->logger;
    m->iterations = log->iterations;
    m->used = log->used;
    m->whole_run = log->whole_run;
    m->micro = log->micro;
    m->unread = log->unread;
    m->unread_line = log->unread_line;
    ss_copy(m->unread_text, sizeof m->unread_text, log->unread_text);
    m->spread = log->spread;
    ss_copy(m->file, sizeof m->file, file);
}

int ss_measurement_tells(const struct ss_measurement *m)
{
    for (int i = 0; i < SS_TOLD_BATCH; i++)
        if (m->told[i] > 0)
            return 1;
    return 0;
}

/* ---- figures ---- */

/* Returns 1e12 FLOP of an iteration on each GPU, by a count. */
static double flop_of(const struct ss_summary *u, int count)
{
    return u->iteration_s * ss_summary_tflops(u, count);
}

static void contradict(struct ss_checked *c, const char *format, ...)
{
    va_list list;

    if (c->contradicts)
        return;
    c->contradicts = 1;
    va_start(list, format);
    vsnprintf(c->doubt, sizeof c->doubt, format, list);
    va_end(list);
}

/* Returns the seconds of an iteration by the first figure that needs no count of FLOP; 0: none. */
static double plain_seconds(const struct ss_run *run, const struct ss_measurement *m)
{
    for (int i = 0; i < SS_TOLD_TFLOPS; i++)
        if (m->told[i] > 0)
            return ss_check_seconds(run, i, SS_COUNT_STACK, m->told[i]);
    return 0;
}

/* Finds the count of FLOP by which the time and the TFLOP/s belong together. */
static void find_count(const struct ss_run *run, struct ss_checked *c)
{
    const struct ss_summary *u = &run->summary;
    struct ss_measurement *m = &c->measured;
    double flop = plain_seconds(run, m) * m->told[SS_TOLD_TFLOPS], nearest = INFINITY;
    int usual = m->count ? m->count : ss_check_count_of(u, m->logger), best = usual;
    char said[sizeof c->doubt];

    m->count = usual;
    if (!(flop > 0) || !(u->tflops_per_gpu > 0))
        return;
    for (int i = SS_COUNT_FULL; i < SS_FLOP_COUNTS; i++) {
        double off = fabs(log(flop / flop_of(u, i)));
        if (off < nearest - (i == usual ? 0 : 1e-9)) {
            nearest = off;
            best = i;
        }
    }
    if (nearest <= SAME_FLOP) {
        m->count = fabs(log(flop / flop_of(u, usual))) <= SAME_FLOP ? usual : best;
        return;
    }
    snprintf(said, sizeof said,
             "speed and TFLOP/s make %.2f times the FLOP of this job (%s): another batch, sequence, model or "
             "number "
             "of GPUs than is told",
             flop / flop_of(u, usual), ss_flop_count_words(usual));
    if (nearest > (usual == SS_COUNT_HARDWARE ? OTHER_HARDWARE : OTHER_FLOP))
        contradict(c, "%s", said);
    else if (!c->contradicts)
        ss_copy(c->doubt, sizeof c->doubt, said);
}

static void fill_figures(const struct ss_run *run, struct ss_checked *c)
{
    const struct ss_measurement *m = &c->measured;

    for (int i = 0; i < SS_TOLD_BATCH; i++)
        if (m->told[i] > 0)
            c->figure[c->nfigures++] = (struct ss_check_figure){
                i, i == SS_TOLD_TFLOPS || i == SS_TOLD_MFU ? m->count : SS_COUNT_STACK, m->told[i],
                ss_check_predicted(run, i, m->count)};
}

/* Finds figures that cannot be those of one run of this job. MFU is of a peak that frameworks take from lists of their own, and is doubted
 * alone; TFLOP/s are those of find_count. */
static void compare_figures(const struct ss_run *run, struct ss_checked *c)
{
    const struct ss_check_figure *a = &c->figure[0];
    char said[sizeof c->doubt];

    for (int i = 1; i < c->nfigures && c->figure[i].told < SS_TOLD_RATES; i++) {
        const struct ss_check_figure *b = &c->figure[i];
        double first = ss_check_seconds(run, a->told, a->count, a->measured),
               other = ss_check_seconds(run, b->told, b->count, b->measured);
        if (b->told == SS_TOLD_TFLOPS || fabs(log(other / first)) <= SAME_RUN)
            continue;
        snprintf(said, sizeof said,
                 "by %.*s an iteration takes %.4g s, by %s %.4g s: one of them counts otherwise, or is of "
                 "another job",
                 (int)strcspn(ss_told_words(a->told), ","), ss_told_words(a->told), first,
                 ss_told_words(b->told), other);
        if (b->told != SS_TOLD_MFU)
            contradict(c, "%s", said);
        else if (!c->doubt[0])
            ss_copy(c->doubt, sizeof c->doubt, said);
    }
}

/* Finds figures that are none of this card. */
static void compare_card(const struct ss_run *run, struct ss_checked *c)
{
    const struct ss_summary *u = &run->summary;

    for (int i = 0; i < c->nfigures; i++)
        if (c->figure[i].told >= SS_TOLD_RATES && c->figure[i].measured > CARD_MOST * u->capacity)
            contradict(c,
                       "%.1f GiB of %s, and the card has %.1f: another card, another unit, or the sum of "
                       "several GPUs",
                       c->figure[i].measured / SS_GIB, ss_told_words(c->figure[i].told),
                       u->capacity / SS_GIB);
    if (c->timed && c->measured_s > OTHER_UNIT * u->iteration_s)
        contradict(c, "%.4g s an iteration would be %.0f times what is predicted: is its unit right?",
                   c->measured_s, c->measured_s / u->iteration_s);
    if (c->timed && u->mfu * u->iteration_s > c->measured_s)
        contradict(
            c, "%.4g s an iteration would be %.0f %% of the cards' peak: another unit, job or number of GPUs",
            c->measured_s, 100 * u->mfu * u->iteration_s / c->measured_s);
}

/* A framework's iteration may be a pass over one microbatch: mmengine's and Lightning's are where the optimizer steps once in several.
 * Where another figure tells the speed it says which of the two the time is. */
static void whole_iteration(const struct ss_run *run, struct ss_checked *c)
{
    const struct ss_job *job = run->plan->job;
    struct ss_measurement *m = &c->measured, rest = c->measured;
    int passes = job->pp > 1 ? 1 : ss_job_microbatches(job, run->plan->world_size);
    double *told = &m->told[SS_TOLD_SECONDS];

    if (!m->micro || !(*told > 0) || passes < 2)
        return;
    rest.told[SS_TOLD_SECONDS] = 0;
    double other = plain_seconds(run, &rest);
    if (other > 0 && fabs(log(*told / other)) < fabs(log(passes * *told / other)))
        return;
    m->passes = passes;
    *told *= passes;
}

/* ---- verdicts ---- */

static int judge(double measured, double low, double high)
{
    return measured < low ? SS_CHECK_FASTER : measured > high ? SS_CHECK_SLOWER : SS_CHECK_AS_PREDICTED;
}

static void judge_time(const struct ss_run *run, struct ss_checked *c)
{
    const struct ss_summary *u = &run->summary;
    const struct ss_check_figure *f = &c->figure[0];

    c->band_known = u->band_pct > 0 && u->band_pct < 100;
    c->band_pct = c->band_known ? u->band_pct : USUAL_BAND;
    if (!c->nfigures || f->told >= SS_TOLD_RATES)
        return;
    c->timed = 1;
    c->measured_s = ss_check_seconds(run, f->told, f->count, f->measured);
    c->low_s = u->iteration_s / (1 + c->band_pct / 100);
    c->high_s = u->iteration_s / (1 - c->band_pct / 100);
    if (c->band_known) { /* and what was assumed */
        c->low_s = u->iteration_s * (1 + u->time_low_pct / 100);
        c->high_s = u->iteration_s * (1 + u->time_high_pct / 100);
    }
    c->verdict = judge(c->measured_s, c->low_s, c->high_s);
}

/* Notes that the figure would be as predicted if it were of another kind of memory. */
static void doubt_memory(const struct ss_run *run, const struct ss_check_figure *f, struct ss_checked *c)
{
    for (int told = SS_TOLD_ALLOCATED; told <= SS_TOLD_DEVICE && !c->doubt[0]; told++) {
        double scale = ss_check_predicted(run, told, 0) / f->predicted;
        if (told != f->told &&
            judge(f->measured, scale * c->memory_low, scale * c->memory_high) == SS_CHECK_AS_PREDICTED)
            snprintf(c->doubt, sizeof c->doubt,
                     "as %s the figure would be one of such a job: which one is it?", ss_told_words(told));
    }
}

static void judge_memory(const struct ss_run *run, struct ss_checked *c)
{
    const struct ss_summary *u = &run->summary;
    double low = isnan(u->memory_low_pct) ? -MEMORY_BAND : u->memory_low_pct,
           high = isnan(u->memory_high_pct) ? MEMORY_BAND : u->memory_high_pct;

    for (int i = 0; i < c->nfigures && !c->stored; i++) {
        const struct ss_check_figure *f = &c->figure[i];
        if (f->told < SS_TOLD_RATES)
            continue;
        c->stored = 1;
        c->memory_low = f->predicted * (1 + low / 100);
        c->memory_high = f->predicted * (1 + high / 100);
        c->memory_verdict = judge(f->measured, c->memory_low, c->memory_high);
        if (c->memory_verdict != SS_CHECK_AS_PREDICTED)
            doubt_memory(run, f, c);
    }
    if (!c->timed)
        c->verdict = c->memory_verdict;
    if (c->contradicts)
        c->verdict = c->memory_verdict = SS_CHECK_UNCLEAR;
}

int ss_check(const struct ss_run *run, const struct ss_run_options *options, const struct ss_measurement *m,
             enum ss_check_depth depth, struct ss_checked *out, struct ss_error *err)
{
    int batch = (int)m->told[SS_TOLD_BATCH], rc = SS_OK;

    memset(out, 0, sizeof *out);
    out->measured = *m;
    ss_side_fill(run, "the job", &out->help.side);
    if (batch && batch != run->plan->job->global_batch)
        return ss_fail(err, SS_ERR_INPUT, m->file, 0,
                       "global batch size %d, but %d of the job" SS_HINT
                       "give the job that printed this log: --global-batch-size %d",
                       batch, run->plan->job->global_batch, batch);
    if (m->doubt[0])
        contradict(out, "%s", m->doubt);
    whole_iteration(run, out);
    find_count(run, out);
    fill_figures(run, out);
    compare_figures(run, out);
    judge_time(run, out);
    compare_card(run, out);
    judge_memory(run, out);
    if (depth == SS_CHECK_SUSPECTS && out->timed &&
        (out->verdict == SS_CHECK_SLOWER || out->verdict == SS_CHECK_FASTER)) {
        rc = run->summary.outcome == SS_OUTCOME_TOO_LARGE
                 ? SS_OK
                 : ss_advise(run->scenario, run->result->level, options, SS_CHANGE_FOR_TIME, &out->help, err);
        SS_THEN(rc, ss_check_suspects(run, options, out, err));
        out->runs += out->help.runs;
    }
    if (depth == SS_CHECK_SUSPECTS && out->timed && out->verdict == SS_CHECK_UNCLEAR)
        ss_check_reread(run, out);
    return rc;
}

int ss_check_status(const struct ss_checked *c)
{
    static const int status[] = {
#define X(symbol, key, words, memory_key, memory, status) status,
        SS_CHECK_LIST(X)
#undef X
    };
    return status[c->verdict];
}
