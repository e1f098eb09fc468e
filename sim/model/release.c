/* SPDX-License-Identifier: Apache-2.0 */
/* Names of stacks: a framework and its release. */
#include "base/base.h"
#include "model/stack_internal.h"

/* Where the release begins in "megatron-bridge-26.06.01" or "mlperf-v5.0": at the first part that is a number; NULL: none does. */
static const char *release_of(const char *name)
{
    for (const char *at = strchr(name, '-'); at; at = strchr(at + 1, '-')) {
        const char *digits = at + 1 + (tolower((unsigned char)at[1]) == 'v');
        if (isdigit((unsigned char)*digits))
            return digits;
    }
    return NULL;
}

static size_t family_length(const char *name, const char *release)
{
    size_t n = (size_t)(release - name);
    return tolower((unsigned char)name[n - 1]) == 'v' ? n - 1 : n;
}

/* Months since the year 0 where the release is a date (2021, 2407, 24.07), else twelve for each major number; a third number
 * tells releases of one month apart. */
static double release_months(const char *release)
{
    double part[3] = {0};
    for (int i = 0; i < 3 && isdigit((unsigned char)*release); i++) {
        char *end;
        part[i] = (double)strtoul(release, &end, 10);
        release = *end == '.' ? end + 1 : "";
    }
    if (part[0] >= 2100 && part[0] <= 9999) { /* yymm */
        part[1] = fmod(part[0], 100);
        part[0] = 2000 + floor(part[0] / 100);
    } else if (part[0] >= 20 && part[0] < 100) {
        part[0] += 2000;
    }
    return part[0] * 12 + part[1] + part[2] / 1000;
}

/* Whether a release is a number, or several with points between, and no thirteenth month. */
static int is_release(const char *release)
{
    size_t n = strspn(release, "0123456789.");
    unsigned long year = strtoul(release, NULL, 10);
    const char *point = strchr(release, '.');

    if (release[n] || release[n - 1] == '.' || strstr(release, ".."))
        return 0;
    if (year >= 2100 && year <= 9999)
        return year % 100 >= 1 && year % 100 <= 12;
    return year < 20 || !point || strtoul(point + 1, NULL, 10) <= 12;
}

const char *ss_release_nearest(const char *const *names, size_t n, const char *name, int *months_apart)
{
    const char *wanted = release_of(name), *best = NULL;
    double least = INFINITY, when = 0;
    size_t length = wanted ? family_length(name, wanted) : 0;
    for (size_t i = 0; i < n && wanted; i++) {
        const char *release = release_of(names[i]);
        if (!release || family_length(names[i], release) != length ||
            strncasecmp(names[i], name, length) != 0)
            continue;
        double months = release_months(release), apart = fabs(months - release_months(wanted));
        if (apart < least || (apart == least && months < when)) {
            least = apart;
            when = months;
            best = names[i];
        }
    }
    *months_apart = best && is_release(wanted) ? (int)fmin(ceil(least), INT_MAX) : INT_MAX;
    return best;
}

void ss_stack_note(const struct ss_stack *s, struct ss_notes *notes)
{
    if (s->asked[0])
        ss_note(
            notes,
            "no stack \"%s\": its nearest release, %s, is taken, and what changed between them is not known",
            s->asked, s->name);
}
