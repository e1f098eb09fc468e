/* SPDX-License-Identifier: Apache-2.0 */
/* Checks each row of a table of layouts and of what each was measured to take. */
#include "base/csv.h"
#include "decide/check_internal.h"
#include "report/common.h"
#include "report/text.h"

/* The columns that are figures. All other columns are flags of the job. */
static const struct {
    const char *name, *option; /* option NULL: the figure is seconds, or ms */
} figures[] = {
    {"seconds", NULL},
    {"ms", NULL},
    {"tokens_per_s", "--tokens-per-second"},
    {"tokens_per_s_per_gpu", "--tokens-per-second"},
    {"samples_per_s", "--samples-per-second"},
    {"tflops", "--tflops"},
    {"mfu", "--mfu"},
    {"memory", "--memory"},
};

static int figure_of(const char *column)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(figures); i++)
        if (!strcmp(column, figures[i].name))
            return (int)i;
    return -1;
}

struct table {
    const struct ss_request *job;
    const struct ss_run_options *options;
    const struct ss_scenario_options *how;
    struct ss_csv *csv;
    struct ss_checked *check; /* check of the present row */
    struct ss_json *rows;     /* rows of the JSON document, NULL for text */
    struct ss_grid grid;      /* rows of the text */
    int status;               /* exit status of the worst row */
};

#define NAME_SIZE 160

/* Names a row by the flags that it gives: "tp 1, pp 2". */
static void name_row(const struct ss_csv *csv, size_t row, char name[NAME_SIZE])
{
    name[0] = '\0';
    for (size_t i = 0; i < ss_csv_columns(csv); i++) {
        const char *column = ss_csv_column_name(csv, i), *text = ss_csv_field(csv, row, (int)i);
        if (*text && figure_of(column) < 0)
            ss_append(name, NAME_SIZE, "%s%s %s", *name ? ", " : "", column + strspn(column, "-"), text);
    }
}

static int read_figure(const struct ss_csv *csv, size_t row, size_t column, int figure,
                       struct ss_measurement *m, struct ss_error *err)
{
    const char *text = ss_csv_field(csv, row, (int)column), *name = figures[figure].name;
    char value[72];
    double seconds;

    if (figures[figure].option) {
        snprintf(value, sizeof value, "%.60s%s", text, strstr(name, "per_gpu") ? "/gpu" : "");
        int rc = ss_measurement_add(m, figures[figure].option, value, err);
        if (rc && err) {
            ss_copy(err->file, sizeof err->file, ss_csv_file(csv));
            err->line = ss_csv_line(csv, row);
            err->code = SS_ERR_INPUT;
        }
        return rc ? SS_ERR_INPUT : SS_OK;
    }
    if (m->told[SS_TOLD_SECONDS] > 0)
        return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), ss_csv_line(csv, row),
                       "ms and seconds: give one of them");
    if (ss_parse_double(text, &seconds) || !(seconds > 0))
        return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), ss_csv_line(csv, row),
                       "%s \"%.40s\": not a number above 0", name, text);
    m->told[SS_TOLD_SECONDS] = strcmp(name, "ms") ? seconds : seconds / 1e3;
    return SS_OK;
}

/* Adds the values of a flag, which are separated by blanks. */
static int add_values(struct ss_request *r, const char *text, int line, struct ss_error *err)
{
    char word[256];
    int rc = SS_OK;

    for (const char *p = text + strspn(text, " "); *p && !rc; p += strspn(p, " ")) {
        size_t n = strcspn(p, " ");
        snprintf(word, sizeof word, "%.*s", (int)(n < sizeof word ? n : sizeof word - 1), p);
        rc = ss_request_add(r, word, line, err);
        p += n;
    }
    return rc;
}

/* Reads the request of a row and what was measured. An empty field leaves the flag as the job has it;
 * "on" gives a flag without a value. */
static int read_row(const struct table *t, size_t row, struct ss_request *r, struct ss_measurement *m,
                    struct ss_error *err)
{
    int rc = ss_request_add_place(r, ss_csv_file(t->csv), err);

    for (size_t i = 0; i < ss_csv_columns(t->csv) && !rc; i++) {
        const char *column = ss_csv_column_name(t->csv, i), *text = ss_csv_field(t->csv, row, (int)i);
        int figure = figure_of(column);
        char flag[96];
        if (!*text)
            continue;
        if (figure >= 0) {
            rc = read_figure(t->csv, row, i, figure, m, err);
            continue;
        }
        snprintf(flag, sizeof flag, "%s%.80s", strncmp(column, "--", 2) ? "--" : "", column);
        rc = ss_request_add(r, flag, ss_csv_line(t->csv, row), err);
        if (strcmp(text, "on") != 0)
            SS_THEN(rc, add_values(r, text, ss_csv_line(t->csv, row), err));
    }
    if (!rc && !ss_measurement_tells(m)) {
        rc = ss_fail(err, SS_ERR_INPUT, ss_csv_file(t->csv), ss_csv_line(t->csv, row),
                     "no figure that was measured");
        ss_hint(err, rc,
                "columns of figures: seconds, ms, tokens_per_s, tokens_per_s_per_gpu, samples_per_s, tflops, "
                "mfu, memory");
    }
    return rc;
}

static int put_row(struct table *t, const char *name, const struct ss_error *why)
{
    const struct ss_checked *c = t->check;
    struct ss_row r = {0};
    char a[32], b[32], verdict[sizeof c->doubt + 96];
    int status = why ? ss_status_exit(why->code) : ss_check_status(c);

    t->status = t->status == 0 || (status && status < t->status) ? status : t->status;
    if (t->rows) {
        SS_ADD(&r, SS_KEY("row", name), SS_KEY_IF(why, "verdict", "refused"),
               SS_KEY_IF(why, "reason", why->message));
        if (!why)
            ss_check_row(c, &r);
        SS_ITEM(t->rows, ss_json_object(r.at));
        return SS_OK;
    }
    SS_ADD(&r, SS_KEY("row", name));
    if (why) {
        ss_grid_span(&t->grid, &r, "measured", "refused: %s", why->message);
        return SS_OK;
    }
    const double measured = c->timed ? c->measured_s : c->figure[0].measured;
    const double predicted = c->timed ? c->help.side.summary.iteration_s : c->figure[0].predicted;
    if (c->timed) {
        ss_text_time(measured, a, sizeof a);
        ss_text_time(predicted, b, sizeof b);
    } else {
        snprintf(a, sizeof a, "%.1f GiB", measured / SS_GIB);
        snprintf(b, sizeof b, "%.1f GiB", predicted / SS_GIB);
    }
    snprintf(verdict, sizeof verdict, "%s%s%s%s",
             c->timed ? ss_check_words(c->verdict) : ss_check_memory_words(c->memory_verdict),
             c->timed && c->help.side.summary.outcome == SS_OUTCOME_TOO_LARGE ? "; predicted not to fit" : "",
             c->contradicts ? ": " : "", c->contradicts ? c->doubt : "");
    SS_ADD(&r, SS_KEY("measured", a), SS_KEY("predicted", b), SS_KEY("off", 100 * (measured / predicted - 1)),
           SS_KEY("verdict", verdict));
    ss_grid_row(&t->grid, &r);
    return SS_OK;
}

static int check_row(struct table *t, size_t row, struct ss_error *err)
{
    struct ss_measurement m = {0};
    struct ss_scenario *s = NULL;
    struct ss_error why = {0};
    struct ss_request r;
    struct ss_run run = {0};
    char name[NAME_SIZE];

    SS_TRY(ss_request_copy(t->job, &r, err));
    name_row(t->csv, row, name);
    int rc = read_row(t, row, &r, &m, err);
    if (!rc) {
        rc = ss_scenario_build(&r, t->how, &s, &why);
        SS_THEN(rc, ss_run_weighed(s, t->options, &run, &why));
        SS_THEN(rc, ss_check(&run, t->options, &m, SS_CHECK_VERDICT, t->check, &why));
        if (rc == SS_ERR_NOMEM && err)
            *err = why;
        else
            rc = put_row(t, name, rc ? &why : NULL);
    }
    ss_run_free(&run);
    ss_scenario_free(s);
    ss_request_free(&r);
    return rc;
}

int ss_check_table(const struct ss_request *job, const char *csv, const struct ss_run_options *options,
                   const struct ss_scenario_options *how, enum ss_check_form form,
                   const struct ss_display *view, FILE *out, int *status, struct ss_error *err)
{
    static const struct ss_column columns[] = {{"row", "row", "%-s", 1, 0},
                                               {"measured", "measured", "%9s", 1, 0},
                                               {"predicted", "predicted", "%9s", 1, 0},
                                               {"off", "", "%+.1f %%", 1, 0},
                                               {"verdict", "verdict", "%-s", 1, 0}};
    struct table t = {.job = job, .options = options, .how = how};

    SS_TRY(ss_csv_load(csv, &t.csv, err));
    ss_grid_begin(&t.grid, columns, SS_ARRAY_LEN(columns));
    t.check = ss_calloc(1, sizeof *t.check);
    t.rows = form == SS_CHECK_JSON ? ss_json_begin_list() : NULL;
    int rc = t.check ? SS_OK : ss_nomem(err);
    for (size_t i = 0; i < ss_csv_rows(t.csv) && !rc; i++)
        rc = check_row(&t, i, err);
    *status = t.status;
    if (t.rows && rc)
        ss_json_free(t.rows);
    if (t.rows && !rc) {
        struct ss_json *root = ss_json_document("check");
        SS_PUT(root, SS_KEY("rows", t.rows), SS_KEY("exit_status", t.status));
        rc = ss_json_write(root, out, err);
    } else if (!rc) {
        rc = ss_grid_end(&t.grid, view, out) ? ss_nomem(err) : ss_report_done(out, err);
    } else {
        ss_grid_free(&t.grid);
    }
    free(t.check);
    ss_csv_free(t.csv);
    return rc;
}
