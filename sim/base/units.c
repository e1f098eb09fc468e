/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <locale.h>

#include "base/base.h"

/* One spelling of a unit: value = number x 10^ten x 2^two. */
struct spelling {
    enum ss_unit unit;
    const char *suffix;
    int ten, two;
};

/* The largest spelling of each unit comes first: ss_unit_format prefers it. */
static const struct spelling spellings[] = {
    {SS_UNIT_NONE, "", 0, 0},
    {SS_UNIT_COUNT, "", 0, 0},
    {SS_UNIT_FRACTION, "", 0, 0},
    {SS_UNIT_FRACTION, "%", -2, 0},
    {SS_UNIT_BYTES, "TB", 12, 0},
    {SS_UNIT_BYTES, "TiB", 0, 40},
    {SS_UNIT_BYTES, "GB", 9, 0},
    {SS_UNIT_BYTES, "GiB", 0, 30},
    {SS_UNIT_BYTES, "MB", 6, 0},
    {SS_UNIT_BYTES, "MiB", 0, 20},
    {SS_UNIT_BYTES, "kB", 3, 0},
    {SS_UNIT_BYTES, "KiB", 0, 10},
    {SS_UNIT_BYTES, "B", 0, 0},
    {SS_UNIT_BANDWIDTH, "TBps", 12, 0},
    {SS_UNIT_BANDWIDTH, "TiBps", 0, 40},
    {SS_UNIT_BANDWIDTH, "GBps", 9, 0},
    {SS_UNIT_BANDWIDTH, "GiBps", 0, 30},
    {SS_UNIT_BANDWIDTH, "MBps", 6, 0},
    {SS_UNIT_BANDWIDTH, "MiBps", 0, 20},
    {SS_UNIT_BANDWIDTH, "kBps", 3, 0},
    {SS_UNIT_BANDWIDTH, "KiBps", 0, 10},
    {SS_UNIT_BANDWIDTH, "Bps", 0, 0},
    {SS_UNIT_BANDWIDTH, "Tbps", 12, -3},
    {SS_UNIT_BANDWIDTH, "Gbps", 9, -3},
    {SS_UNIT_BANDWIDTH, "Mbps", 6, -3},
    {SS_UNIT_BANDWIDTH, "kbps", 3, -3},
    {SS_UNIT_BANDWIDTH, "bps", 0, -3},
    {SS_UNIT_FLOPS, "Ef", 18, 0},
    {SS_UNIT_FLOPS, "Pf", 15, 0},
    {SS_UNIT_FLOPS, "Tf", 12, 0},
    {SS_UNIT_FLOPS, "Gf", 9, 0},
    {SS_UNIT_FLOPS, "Mf", 6, 0},
    {SS_UNIT_FLOPS, "kf", 3, 0},
    {SS_UNIT_FLOPS, "f", 0, 0},
    {SS_UNIT_FLOPS, "PFLOPs", 15, 0},
    {SS_UNIT_FLOPS, "TFLOPs", 12, 0},
    {SS_UNIT_FLOPS, "GFLOPs", 9, 0},
    {SS_UNIT_FLOPS, "MFLOPs", 6, 0},
    {SS_UNIT_TIME, "s", 0, 0},
    {SS_UNIT_TIME, "ms", -3, 0},
    {SS_UNIT_TIME, "us", -6, 0},
    {SS_UNIT_TIME, "ns", -9, 0},
    {SS_UNIT_WATT, "kW", 3, 0},
    {SS_UNIT_WATT, "W", 0, 0},
    {SS_UNIT_PRICE, "USD/h", 0, 0},
    {SS_UNIT_HOURS, "h", 0, 0},
};

static const char *const unknown_suffix[] = {
    [SS_UNIT_NONE] = "takes no unit",
    [SS_UNIT_COUNT] = "takes no unit",
    [SS_UNIT_FRACTION] = "takes no unit but %",
    [SS_UNIT_BYTES] = "unknown unit; use B, kB, MB, GB, TB, KiB, MiB, GiB or TiB",
    [SS_UNIT_BANDWIDTH] = "unknown unit; use Bps, kBps, MBps, GBps, TBps, GiBps or Gbps",
    [SS_UNIT_FLOPS] = "unknown unit; use f, Mf, Gf, Tf, Pf or TFLOPs",
    [SS_UNIT_TIME] = "unknown unit; use s, ms, us or ns",
    [SS_UNIT_WATT] = "unknown unit; use W or kW",
    [SS_UNIT_PRICE] = "unknown unit; use USD/h",
    [SS_UNIT_HOURS] = "unknown unit; use h",
};

static const char *const missing_suffix[] = {
    [SS_UNIT_BYTES] = "lacks a unit, such as GB or GiB",
    [SS_UNIT_BANDWIDTH] = "lacks a unit, such as GBps or Gbps",
    [SS_UNIT_FLOPS] = "lacks a unit, such as Tf",
    [SS_UNIT_TIME] = "lacks a unit, such as ms or us",
    [SS_UNIT_WATT] = "lacks a unit, such as W",
    [SS_UNIT_PRICE] = "lacks a unit, USD/h",
    [SS_UNIT_HOURS] = "lacks a unit, h",
};

const char *ss_unit_example(enum ss_unit unit)
{
    static const char *const examples[] = {[SS_UNIT_NONE] = "a number",
                                           [SS_UNIT_COUNT] = "a whole number",
                                           [SS_UNIT_FRACTION] = "0.85 or 85%",
                                           [SS_UNIT_BYTES] = "80GB or 81559MiB",
                                           [SS_UNIT_BANDWIDTH] = "50GBps or 400Gbps",
                                           [SS_UNIT_FLOPS] = "989.4Tf",
                                           [SS_UNIT_TIME] = "2us",
                                           [SS_UNIT_WATT] = "700W",
                                           [SS_UNIT_PRICE] = "2.5USD/h",
                                           [SS_UNIT_HOURS] = "30000h"};

    return examples[unit];
}

static bool is_digit(char c)
{
    return c >= '0' && c <= '9';
}

/* Returns the length of the decimal number at the start of text, 0 if there is none. *exponent is where its
 * exponent starts (or the end). Spaces, hexadecimal, inf and nan are no number. */
static size_t number_length(const char *text, size_t *exponent)
{
    size_t i = text[0] == '+' || text[0] == '-', digits = 0;
    for (; is_digit(text[i]); i++)
        digits++;
    if (text[i] == '.')
        for (i++; is_digit(text[i]); i++)
            digits++;
    if (!digits)
        return 0;
    *exponent = i;
    if (text[i] == 'e' || text[i] == 'E') {
        size_t k = i + 1 + (text[i + 1] == '+' || text[i + 1] == '-');
        if (is_digit(text[k]))
            for (i = k; is_digit(text[i]); i++)
                ;
    }
    return i;
}

/* Reads text[0..len) x 10^power where digits and power are whole numbers that a double holds: one
 * multiplication or division then rounds correctly. Returns false elsewhere. */
static bool read_short(const char *text, size_t len, long power, double *out)
{
    static const double ten[] = {1e0,  1e1,  1e2,  1e3,  1e4,  1e5,  1e6,  1e7,  1e8,  1e9,  1e10, 1e11,
                                 1e12, 1e13, 1e14, 1e15, 1e16, 1e17, 1e18, 1e19, 1e20, 1e21, 1e22};
    const long most = (long)SS_ARRAY_LEN(ten) - 1;
    size_t i = text[0] == '+' || text[0] == '-';
    int64_t digits = 0;
    if (len > 17) /* at most 17 digits, which an int64_t holds */
        return false;
    for (bool point = false; i < len; i++) {
        if (text[i] == '.') {
            point = true;
        } else {
            digits = 10 * digits + (text[i] - '0');
            power -= point;
        }
    }
    if (digits > (int64_t)1 << 53 || power < -most || power > most)
        return false;
    double value = power < 0 ? (double)digits / ten[-power] : (double)digits * ten[power];
    *out = text[0] == '-' ? -value : value;
    return true;
}

/* Reads text[0..len) x 10^ten, correctly rounded: the power of ten goes into the text, so that "4.35ms" is
 * the double next to 0.00435. Returns false when the number is too long or not finite. */
static bool read_number(const char *text, size_t len, size_t exponent, int ten, double *out)
{
    char buf[512];
    long power = 0;
    size_t n = 0;
    if (exponent < len)
        power = strtol(text + exponent + 1, NULL, 10); /* stops at the unit and clamps */
    if (power > 100000)
        power = 100000;
    if (power < -100000)
        power = -100000;
    if (read_short(text, exponent, power + ten, out))
        return true;
    const char *point = localeconv()->decimal_point; /* the host program may have set a locale */
    size_t point_len = strlen(point);
    if (len + point_len + 32 > sizeof buf)
        return false;
    for (size_t i = 0; i < exponent; i++) {
        if (text[i] == '.') {
            memcpy(buf + n, point, point_len);
            n += point_len;
        } else
            buf[n++] = text[i];
    }
    snprintf(buf + n, sizeof buf - n, "e%ld", power + ten);
    *out = strtod(buf, NULL);
    return isfinite(*out);
}

static const struct spelling *find_spelling(enum ss_unit unit, const char *suffix)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(spellings); i++)
        if (spellings[i].unit == unit && !strcmp(spellings[i].suffix, suffix))
            return &spellings[i];
    return NULL;
}

static const char *range_complaint(double value, enum ss_unit unit)
{
    if (value < 0 && unit != SS_UNIT_NONE)
        return "must not be negative";
    if (unit == SS_UNIT_COUNT && (value != floor(value) || value > 9007199254740992.0))
        return "must be a whole number";
    if (unit == SS_UNIT_FRACTION && value > 1)
        return "must be between 0 and 1 (or 0% and 100%)";
    return NULL;
}

int ss_unit_parse(const char *text, enum ss_unit unit, double *out, const char **why)
{
    const char *unused, **complaint = why ? why : &unused;
    size_t exponent = 0, len = number_length(text, &exponent);
    double value;
    if (!len) {
        *complaint = text[0] ? "is not a number" : "is empty";
        return SS_ERR_INPUT;
    }
    const char *suffix = text + len;
    suffix += strspn(suffix, " "); /* "25 GBps" */
    const struct spelling *s = find_spelling(unit, suffix);
    if (!s) {
        *complaint = *suffix ? unknown_suffix[unit] : missing_suffix[unit];
        return SS_ERR_INPUT;
    }
    if (!read_number(text, len, exponent, s->ten, &value) || !isfinite(value = ldexp(value, s->two))) {
        *complaint = "is too large";
        return SS_ERR_INPUT;
    }
    if ((*complaint = range_complaint(value, unit)) != NULL)
        return SS_ERR_INPUT;
    *out = value + 0.0; /* no -0 */
    return SS_OK;
}

/* Makes "1e5" of "1e+05", with a decimal point in every locale. */
static void tidy_number(char *text)
{
    const char *point = localeconv()->decimal_point;
    char *at = strcmp(point, ".") ? strstr(text, point) : NULL;
    if (at) {
        *at = '.';
        memmove(at + 1, at + strlen(point), strlen(at + strlen(point)) + 1);
    }
    char *e = strchr(text, 'e');
    if (!e)
        return;
    char *to = e + 1, *from = e + 1;
    if (*from == '-')
        to++;
    from++;
    while (*from == '0' && from[1])
        from++;
    memmove(to, from, strlen(from) + 1);
}

/* Writes the shortest number with this spelling that reads back exactly; returns false if there is none. */
static bool format_as(double value, const struct spelling *s, char *text, size_t size)
{
    double scaled = ldexp(value, -s->two), back;
    scaled = s->ten >= 0 ? scaled / pow(10, s->ten) : scaled * pow(10, -s->ten);
    bool plain = fabs(scaled) >= 1e-4 && fabs(scaled) < 1e6; /* people expect no exponent in this range */
    for (int digits = 1; digits <= 17; digits++) {
        int n = snprintf(text, size, "%.*g", digits, scaled);
        tidy_number(text);
        if (n < 0 || (size_t)n >= size || (plain && strchr(text, 'e')))
            continue;
        strncat(text, s->suffix, size - strlen(text) - 1);
        if (ss_unit_parse(text, s->unit, &back, NULL) == SS_OK && back == value)
            return true;
    }
    return false;
}

char *ss_unit_format(double value, enum ss_unit unit, char *buf, size_t size)
{
    char best[64] = "", text[64];
    size_t best_cost = SIZE_MAX;
    for (size_t i = 0; i < SS_ARRAY_LEN(spellings); i++) {
        const struct spelling *s = &spellings[i];
        if (s->unit != unit || !format_as(value, s, text, sizeof text) || !strcmp(s->suffix, "%"))
            continue;
        /* 500MB beats 0.5GB, which is as long, and 5e8B, which is shorter. */
        size_t cost = 2 * strlen(text) + (text[0] == '0' && text[1] == '.');
        if (strchr(text, 'e'))
            cost += sizeof text;
        if (value == 0 && s->ten == 0 && s->two == 0)
            cost = 0;
        if (cost < best_cost) {
            best_cost = cost;
            ss_copy(best, sizeof best, text);
        }
    }
    if (best_cost == SIZE_MAX) /* a value outside the unit's range is shown, though not readable */
        snprintf(best, sizeof best, "%.17g", value);
    ss_copy(buf, size, best);
    return buf;
}

int ss_parse_i64(const char *text, int64_t lo, int64_t hi, int64_t *out)
{
    size_t i = text[0] == '+' || text[0] == '-';
    if (!is_digit(text[i]))
        return SS_ERR_INPUT;
    while (is_digit(text[i]))
        i++;
    if (text[i])
        return SS_ERR_INPUT;
    errno = 0;
    long long value = strtoll(text, NULL, 10);
    if (errno || value < lo || value > hi)
        return SS_ERR_INPUT;
    *out = value;
    return SS_OK;
}

int ss_parse_double(const char *text, double *out)
{
    size_t exponent = 0, len = number_length(text, &exponent);
    double value;
    if (!len || text[len] || !read_number(text, len, exponent, 0, &value))
        return SS_ERR_INPUT;
    *out = value;
    return SS_OK;
}
