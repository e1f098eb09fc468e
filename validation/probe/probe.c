/* SPDX-License-Identifier: Apache-2.0 */
/* The program around the measurements: the table, what it already has, interruption, options. */
#include "probe.h"

#include <ctype.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "base/csv.h"

/* ---- statistics ---- */

static int compare_doubles(const void *a, const void *b)
{
    double x = *(const double *)a, y = *(const double *)b;

    return (x > y) - (x < y);
}

/* Linear between the sorted values. */
static double quantile(struct probe_sample *s, double q)
{
    double at = q * (s->n - 1);
    int i = (int)at;

    qsort(s->seconds, (size_t)s->n, sizeof *s->seconds, compare_doubles);
    return i + 1 < s->n ? s->seconds[i] + (at - i) * (s->seconds[i + 1] - s->seconds[i]) : s->seconds[i];
}

double probe_median(struct probe_sample *s)
{
    return s->n > 0 ? quantile(s, 0.5) : 0;
}

double probe_spread(struct probe_sample *s)
{
    return s->n > 0 ? (quantile(s, 0.75) - quantile(s, 0.25)) / quantile(s, 0.5) : 0;
}

int probe_driver_version(const char *text, char *out, size_t size)
{
    for (const char *at = text; *at; at += strcspn(at, " \t\n"), at += strspn(at, " \t\n")) {
        size_t n = strspn(at, "0123456789.");
        if (isdigit((unsigned char)at[0]) && n < size && memchr(at, '.', n) && strchr(" \t\n", at[n])) {
            snprintf(out, size, "%.*s", (int)n, at);
            return 1;
        }
    }
    return 0;
}

/* ---- rows ---- */

enum { KIND, GPU, SHAPE, RANKS, PRECISION, VALUE, UNIT, SOURCE, FIELDS };
static const char *const columns[FIELDS] = {
    "kind", "gpu", "shape_or_bytes", "ranks/nodes", "precision", "measured value", "unit", "source"};

struct row {
    char *field[FIELDS];
};
struct rows {
    const char *file;
    size_t n, cap;
    struct row *list;
};

/* All but value and source. */
static void name_item(const struct probe_item *item, const char *gpu, const char *field[FIELDS], char *shape,
                      size_t size)
{
    static const char *const kinds[] = {"launch", "launch", "memcpy", "memcpy", "gemm"};
    static const char *const units[] = {"us", "us", "GB/s", "GB/s", "TFLOP/s"};
    static const char *const passes[] = {"forward", "dgrad", "wgrad"};

    switch (item->kind) {
    case PROBE_LAUNCH: snprintf(shape, size, "empty kernel, start to start"); break;
    case PROBE_ISSUE: snprintf(shape, size, "host, one launch"); break;
    case PROBE_COPY: snprintf(shape, size, "copy kernel %ld", item->bytes); break;
    case PROBE_H2D: snprintf(shape, size, "H2D %ld", item->bytes); break;
    default: snprintf(shape, size, "M=%ld N=%ld K=%ld %s", item->m, item->n, item->k, passes[item->pass]);
    }
    field[KIND] = kinds[item->kind];
    field[GPU] = gpu;
    field[SHAPE] = shape;
    field[RANKS] = "1 GPU";
    field[PRECISION] = item->kind == PROBE_GEMM ? ss_precision_name(item->precision) : "";
    field[UNIT] = units[item->kind];
}

static double value_of(const struct probe_item *item, double seconds)
{
    switch (item->kind) {
    case PROBE_COPY: return 2e-9 * (double)item->bytes / seconds; /* read and written */
    case PROBE_H2D: return 1e-9 * (double)item->bytes / seconds;
    case PROBE_GEMM: return 2e-12 * (double)item->m * (double)item->n * (double)item->k / seconds;
    default: return 1e6 * seconds;
    }
}

static int rows_add(struct rows *r, const char *const field[FIELDS], struct ss_error *err)
{
    struct row *row;

    if (ss_grow(&r->list, &r->cap, r->n + 1, sizeof *r->list))
        return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    row = &r->list[r->n++];
    for (int i = 0; i < FIELDS; i++)
        if (!(row->field[i] = strdup(field[i])))
            return ss_fail(err, SS_ERR_NOMEM, NULL, 0, "out of memory");
    return SS_OK;
}

static void rows_free(struct rows *r)
{
    for (size_t i = 0; i < r->n; i++)
        for (int k = 0; k < FIELDS; k++)
            free(r->list[i].field[k]);
    free(r->list);
}

static int rows_have(const struct rows *r, const char *const field[FIELDS])
{
    for (size_t i = 0; i < r->n; i++)
        if (!strcmp(r->list[i].field[SHAPE], field[SHAPE]) &&
            !strcmp(r->list[i].field[PRECISION], field[PRECISION]) &&
            !strcmp(r->list[i].field[KIND], field[KIND]))
            return 1;
    return 0;
}

static int read_row(struct rows *r, const struct ss_csv *csv, size_t at, const char *gpu,
                    struct ss_error *err)
{
    const char *field[FIELDS];

    for (int i = 0; i < FIELDS; i++)
        field[i] = ss_csv_field(csv, at, i);
    if (strcmp(field[GPU], gpu) != 0) {
        ss_fail(err, SS_ERR_INPUT, r->file, ss_csv_line(csv, at), "measured on \"%.60s\", this is \"%.60s\"",
                field[GPU], gpu);
        return ss_hint(err, SS_ERR_INPUT, "name another file with -o");
    }
    return rows_add(r, field, err);
}

/* What an earlier run left, if there is such a file. */
static int rows_load(struct rows *r, const char *gpu, struct ss_error *err)
{
    struct ss_csv *csv;
    int rc;

    if (access(r->file, F_OK) != 0)
        return SS_OK;
    rc = ss_csv_load(r->file, &csv, err);
    if (rc)
        return rc;
    for (int i = 0; i < FIELDS && !rc; i++)
        if (ss_csv_column(csv, columns[i]) != i) {
            rc = ss_fail(err, SS_ERR_INPUT, r->file, 1, "not a file of the probe: column %d is not \"%s\"",
                         i + 1, columns[i]);
            ss_hint(err, rc, "name another file with -o");
        }
    for (size_t i = 0; i < ss_csv_rows(csv) && !rc; i++)
        rc = read_row(r, csv, i, gpu, err);
    ss_csv_free(csv);
    return rc;
}

static void write_line(const char *const field[FIELDS], FILE *out)
{
    for (int i = 0; i < FIELDS; i++) {
        if (i)
            fputc(',', out);
        ss_csv_write(out, field[i]);
    }
    fputc('\n', out);
}

static int rows_save(const struct rows *r, struct ss_error *err)
{
    struct ss_file_writer *w;
    FILE *out;
    int rc = ss_file_begin(r->file, &w, &out, err);

    if (rc)
        return rc;
    write_line(columns, out);
    for (size_t i = 0; i < r->n; i++)
        write_line((const char *const *)r->list[i].field, out);
    return ss_file_commit(w, err);
}

/* ---- the run ---- */

#define SAVE_EVERY 100 /* rows */

static volatile sig_atomic_t stopped;

static void stop(int number)
{
    (void)number;
    stopped = 1;
}

static void tell(int i, int n, const char *const field[FIELDS])
{
    if (isatty(STDERR_FILENO))
        fprintf(stderr, "\r\033[K%d/%d  %s %s  %s %s", i + 1, n, field[SHAPE], field[PRECISION], field[VALUE],
                field[UNIT]);
    else if ((i + 1) % SAVE_EVERY == 0)
        fprintf(stderr, "probe: %d/%d\n", i + 1, n);
}

static int keep(struct rows *r, const struct probe_device *d, const struct probe_item *item,
                struct probe_sample *s, const char *field[FIELDS], struct ss_error *err)
{
    static char value[32], source[320], clock[40];
    time_t now = time(NULL);
    struct tm utc;
    char date[16];

    gmtime_r(&now, &utc);
    strftime(date, sizeof date, "%Y-%m-%d", &utc);
    clock[0] = '\0';
    if (s->sm_clock > 0)
        snprintf(clock, sizeof clock, ", SM clock %.0f MHz", 1e-6 * s->sm_clock);
    snprintf(value, sizeof value, "%.6g", value_of(item, probe_median(s)));
    snprintf(source, sizeof source, "stepsim probe %s: %s%s, median of %d, quartiles %.1f %% apart, %s",
             SS_VERSION, d->about, clock, s->n, 100 * probe_spread(s), date);
    field[VALUE] = value;
    field[SOURCE] = source;
    return rows_add(r, field, err);
}

/* Measures what the rows lack. */
static int run(const struct probe_plan *plan, const struct probe_device *d, struct rows *r,
               struct ss_error *err)
{
    const char *field[FIELDS] = {0};
    int rc = SS_OK, fresh = 0;
    char shape[80];

    for (int i = 0; i < plan->n && !rc && !stopped; i++) {
        struct probe_sample s = {0};
        name_item(&plan->items[i], d->gpu, field, shape, sizeof shape);
        if (rows_have(r, field))
            continue;
        rc = d->measure(d->card, &plan->items[i], &s, err);
        if (rc == PROBE_LEFT_OUT) {
            fprintf(stderr, "%sprobe: %s %s left out: %s\n", isatty(STDERR_FILENO) ? "\r\033[K" : "",
                    field[SHAPE], field[PRECISION], s.why);
            rc = SS_OK;
            continue;
        }
        if (!rc)
            rc = keep(r, d, &plan->items[i], &s, field, err);
        if (!rc)
            tell(i, plan->n, field);
        if (!rc && ++fresh % SAVE_EVERY == 0)
            rc = rows_save(r, err);
    }
    if (isatty(STDERR_FILENO))
        fputs("\r\033[K", stderr);
    return rc;
}

static int run_and_save(const struct probe_plan *plan, const struct probe_device *d, const char *file,
                        struct ss_error *err)
{
    struct rows r = {.file = file};
    struct ss_error unsaved;
    int rc = rows_load(&r, d->gpu, err), saved;
    size_t had = r.n;

    if (!rc)
        rc = rows_save(&r, err); /* that it can be written is known before the work */
    if (!rc) {
        rc = run(plan, d, &r, err);
        saved = rows_save(&r, rc ? &unsaved : err);
        rc = rc ? rc : saved;
        fprintf(stderr, "probe: %zu rows in %s, %zu of them new%s\n", r.n, file, r.n - had,
                stopped ? "; interrupted: the same command goes on" : "");
    }
    rows_free(&r);
    return rc;
}

/* ---- the program ---- */

static const char help[] =
    "usage: stepsim-probe [-o FILE] [--gemms N] [--device N] [--list]\n"
    "\n"
    "Measures GEMMs at the models' shapes, copies and launches on one GPU, and writes rows like those of\n"
    "validation/microbench.csv, which \"stepsim calibrate --microbench FILE\" fits a card's numbers to.\n"
    "\n"
    "  -o FILE      the table, probe.csv if not given; what it already has is not measured again\n"
    "  --gemms N    shapes of each precision, 400 if not given; 0: all\n"
    "  --device N   the GPU, 0 if not given\n"
    "  --list       says what would be measured, for all precisions; needs no GPU\n"
    "\n"
    "exit status: 0, 2 usage, 3 no GPU or a failure, 130 interrupted: the table has what was measured\n";

struct words {
    const char *file;
    int gemms, device, list, help;
};

static int read_words(struct words *w, int argc, char **argv, struct ss_error *err)
{
    for (int i = 1; i < argc; i++) {
        const char *value = i + 1 < argc ? argv[i + 1] : NULL;
        int *number = !strcmp(argv[i], "--gemms")    ? &w->gemms
                      : !strcmp(argv[i], "--device") ? &w->device
                                                     : NULL;
        int64_t n;
        if (!strcmp(argv[i], "--help") || !strcmp(argv[i], "-h")) {
            w->help = 1;
        } else if (!strcmp(argv[i], "--list")) {
            w->list = 1;
        } else if (!strcmp(argv[i], "-o") && value && strcmp(value, "-") != 0) {
            w->file = argv[++i];
        } else if (number && value && !ss_parse_i64(value, 0, 1000000, &n)) {
            *number = (int)n;
            i++;
        } else {
            ss_fail(err, SS_ERR_USAGE, NULL, 0,
                    number                   ? "%.60s needs a whole number"
                    : !strcmp(argv[i], "-o") ? "%.60s needs a file"
                                             : "unknown option %.60s",
                    argv[i]);
            return ss_hint(err, SS_ERR_USAGE, "--help lists the options");
        }
    }
    return SS_OK;
}

static int list(int gemms, struct ss_error *err)
{
    const char *field[FIELDS];
    struct probe_plan plan;
    char shape[80];
    int rc = probe_plan_build(gemms, ~0U, &plan, err);

    for (int i = 0; i < plan.n && !rc; i++) {
        name_item(&plan.items[i], "", field, shape, sizeof shape);
        printf("%s,\"%s\",%s\n", field[KIND], field[SHAPE], field[PRECISION]);
    }
    probe_plan_free(&plan);
    return rc;
}

static int probe(const struct words *w, probe_opener open, struct ss_error *err)
{
    struct probe_device device = {0};
    struct probe_plan plan = {0};
    int rc = open(w->device, &device, err);

    if (rc)
        return rc;
    fprintf(stderr, "probe: %s, %s\n", device.gpu, device.about);
    for (int i = 0; i < SS_PRECISION_COUNT; i++)
        if (!(device.precisions & 1U << i))
            fprintf(stderr, "probe: %s left out: this card has no tensor cores for it\n",
                    ss_precision_name(i));
    rc = probe_plan_build(w->gemms, device.precisions, &plan, err);
    if (!rc)
        rc = run_and_save(&plan, &device, w->file, err);
    probe_plan_free(&plan);
    device.close(device.card);
    return rc;
}

int probe_main(int argc, char **argv, probe_opener open)
{
    struct words w = {.file = "probe.csv", .gemms = 400};
    struct sigaction action = {.sa_handler = stop, .sa_flags = (int)SA_RESETHAND};
    struct ss_error err = {0};
    char text[1024];
    int rc = read_words(&w, argc, argv, &err);

    stopped = 0;
    if (!rc && w.help) {
        fputs(help, stdout);
        return 0;
    }
    sigaction(SIGINT, &action, NULL);
    sigaction(SIGTERM, &action, NULL);
    if (!rc)
        rc = w.list ? list(w.gemms, &err) : probe(&w, open, &err);
    if (rc) {
        fprintf(stderr, "%s\n", ss_error_format(&err, text, sizeof text));
        return ss_status_exit(rc);
    }
    return stopped ? 130 : 0;
}
