/* SPDX-License-Identifier: Apache-2.0 */
/* Reads options whose values are more than a number, a word or a file. */
#include "cli/cli.h"

/* Reads "2" or "2%". */
int cli_read_tolerance(void *values, const char *name, const char *value, struct ss_error *err)
{
    struct cli_flags *f = values;
    size_t n = strlen(value);
    char number[32];

    if (n > 0 && n < sizeof number && value[n - 1] == '%')
        n--;
    snprintf(number, sizeof number, "%.*s", (int)n, value);
    return cli_number(name, n < sizeof number ? number : value, 0, 1e6, &f->tolerance, err);
}

/* Reads "1.5s", "20ms", or seconds without a unit. */
static int read_time(const char *text, double *out)
{
    return ss_unit_parse(text, SS_UNIT_TIME, out, NULL) && (ss_parse_double(text, out) || *out < 0);
}

int cli_read_window(void *values, const char *name, const char *value, struct ss_error *err)
{
    struct cli_flags *f = values;
    const char *colon = strchr(value, ':');
    char first[64];
    double from, to;

    f->pictures.whole = !strcmp(value, "all");
    if (f->pictures.whole)
        return SS_OK;
    snprintf(first, sizeof first, "%.*s", colon ? (int)(colon - value) : 0, value);
    if (!colon || read_time(first, &from) || read_time(colon + 1, &to) || to <= from)
        return cli_usage(err, "write it as --window 0s:2s, --window 150ms:200ms or --window all",
                         "%s %s: not FROM:TO", name, value);
    if (to - from < 1e-9 * to) /* the window is too narrow for the figures of an axis */
        return cli_usage(err, "take a wider one", "%s %s is narrower than a billionth of its end", name,
                         value);
    f->pictures.window[0] = from;
    f->pictures.window[1] = to;
    return SS_OK;
}

int cli_number(const char *name, const char *value, double lo, double hi, double *out, struct ss_error *err)
{
    double number;

    if (ss_parse_double(value, &number) || !(number >= lo && number <= hi))
        return cli_usage(err, "", "%s %s: not a number from %.10g to %.10g", name, value, lo, hi);
    *out = number;
    return SS_OK;
}
