/* SPDX-License-Identifier: Apache-2.0 */
/* The flag that says how long the documents of packed sequences are. */
#include "base/base.h"
#include "job/flags_set.h"
#include "job/packing.h"

#define SIGMA_MAX 10

/* "LOW:HIGH" behind a law's name, or "LOW,HIGH": two numbers, or one where `high` is NULL. 0: there are none. */
static int read_numbers(const char *text, double *low, double *high)
{
    const char *mark = strpbrk(text, ":,");
    char first[64];

    if (!high)
        return !ss_parse_double(text, low);
    if (!mark || (size_t)(mark - text) >= sizeof first)
        return 0;
    memcpy(first, text, (size_t)(mark - text));
    first[mark - text] = '\0';
    return !ss_parse_double(first, low) && !ss_parse_double(mark + 1, high);
}

static int is_length(double v)
{
    return v >= 1 && v <= SS_DOCUMENT_MAX && v == (double)(int)v;
}

/* Returns the law that a value begins with; *why says what is wrong with its numbers. */
static int read_law(const char *text, double *low, double *high, const char **why)
{
    if (!strncmp(text, "fixed:", 6)) {
        *high = *low = 0;
        if (!read_numbers(text + 6, low, NULL) || !is_length(*low))
            *why = "it is fixed:TOKENS, a whole number from 1";
        return SS_PACKED_FIXED;
    }
    if (!strncmp(text, "uniform:", 8)) {
        if (!read_numbers(text + 8, low, high) || !is_length(*low) || !is_length(*high) || *low > *high)
            *why = "it is uniform:LOW:HIGH, whole numbers from 1, the smaller one first";
        return SS_PACKED_UNIFORM;
    }
    if (!strncmp(text, "lognormal:", 10)) {
        if (!read_numbers(text + 10, low, high) || !(*low >= 1 && *low <= SS_DOCUMENT_MAX) ||
            !(*high >= 0 && *high <= SIGMA_MAX))
            *why = "it is lognormal:MEAN:SIGMA, a mean from 1 and a sigma in 0..10";
        return SS_PACKED_LOGNORMAL;
    }
    return SS_PACKED_FILE;
}

SS_FLAG_CALLED(packed_lengths)
{
    const char *text = values[0], *wrong = NULL;
    double low = 0, high = 0;
    int law = read_law(text, &low, &high, &wrong);

    if (!text[0] || strlen(text) >= sizeof asked->job.packed.source)
        wrong = text[0] ? "the value is too long" : "the value is empty";
    if (wrong) {
        *why = wrong;
        return SS_ERR_INPUT;
    }
    memset(asked->job.packed.source, 0, sizeof asked->job.packed.source);
    if (law == SS_PACKED_FILE)
        ss_copy(asked->job.packed.source, sizeof asked->job.packed.source, text);
    asked->job.packed.law = (enum ss_packed_law)law;
    asked->job.packed.low = low;
    asked->job.packed.high = high;
    return SS_OK;
}
