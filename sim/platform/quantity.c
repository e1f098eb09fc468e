/* SPDX-License-Identifier: Apache-2.0 */
/* Values of SimGrid's own attributes, which have more units than ss. props. */
#include "platform/platform_internal.h"

struct scale {
    const char *unit;
    double factor;
};

static const struct scale times[] = {{"s", 1},  {"ms", 1e-3}, {"us", 1e-6}, {"ns", 1e-9},    {"ps", 1e-12},
                                     {"m", 60}, {"h", 3600},  {"d", 86400}, {"w", 7 * 86400}};
static const struct scale prefixes[] = {{"", 1},
                                        {"k", 1e3},
                                        {"M", 1e6},
                                        {"G", 1e9},
                                        {"T", 1e12},
                                        {"P", 1e15},
                                        {"E", 1e18},
                                        {"Ki", 1024.0},
                                        {"Mi", 1048576.0},
                                        {"Gi", 1073741824.0},
                                        {"Ti", 1099511627776.0},
                                        {"Pi", 1125899906842624.0},
                                        {"Ei", 1152921504606846976.0}};
static const struct scale words[] = {{"", 1},        {"kilo", 1e3},  {"mega", 1e6}, {"giga", 1e9},
                                     {"tera", 1e12}, {"peta", 1e15}, {"exa", 1e18}};

static bool scaled(const char *unit, const char *base, const struct scale *scales, size_t n, double *factor)
{
    size_t len = strlen(unit), tail = strlen(base);

    if (len < tail || strcmp(unit + len - tail, base) != 0)
        return false;
    for (size_t i = 0; i < n; i++)
        if (strlen(scales[i].unit) == len - tail && strncmp(unit, scales[i].unit, len - tail) == 0) {
            *factor = scales[i].factor;
            return true;
        }
    return false;
}

static bool unit_factor(const char *unit, int quantity, double *factor)
{
    switch (quantity) {
    case SS_QUANTITY_TIME:
        for (size_t i = 0; i < SS_ARRAY_LEN(times); i++)
            if (strcmp(unit, times[i].unit) == 0) {
                *factor = times[i].factor;
                return true;
            }
        return false;
    case SS_QUANTITY_BANDWIDTH:
        if (scaled(unit, "Bps", prefixes, SS_ARRAY_LEN(prefixes), factor))
            return true;
        if (!scaled(unit, "bps", prefixes, SS_ARRAY_LEN(prefixes), factor))
            return false;
        *factor /= 8;
        return true;
    default:
        return scaled(unit, "flops", words, SS_ARRAY_LEN(words), factor) ||
               scaled(unit, "f", prefixes, 7, factor);
    }
}

static int parse_one(const char *text, size_t len, int quantity, double *out, const char **why)
{
    static const char *const wanted[] = {"needs a unit, like 50GBps or 400Gbps", "needs a unit, like 2us",
                                         "needs a unit, like 100Gf"};
    static const int units[] = {SS_UNIT_BANDWIDTH, SS_UNIT_TIME, SS_UNIT_FLOPS};
    char buf[64];
    char *end;
    double number, factor = 1;

    *why = "is not a number";
    if (len == 0 || len >= sizeof(buf))
        return SS_ERR_INPUT;
    memcpy(buf, text, len);
    buf[len] = 0;
    if (strchr(buf, ' ') != NULL) { /* our own units may have one, SimGrid's not */
        *why = "holds a blank";
        return SS_ERR_INPUT;
    }
    /* Where the unit is one of ours, its reader rounds correctly: what was written reads back exactly. */
    if (ss_unit_parse(buf, units[quantity], out, why) == SS_OK)
        return SS_OK;
    *why = "is not a number";
    /* strtod would also take blanks, hexadecimal, inf and nan. */
    if (strspn(buf, "+-.0123456789") == 0 || strpbrk(buf, "xX") != NULL)
        return SS_ERR_INPUT;
    number = strtod(buf, &end);
    if (end == buf || !isfinite(number))
        return SS_ERR_INPUT;
    *why = wanted[quantity];
    if (*end == 0 ? number != 0 : !unit_factor(end, quantity, &factor))
        return SS_ERR_INPUT;
    *why = "is out of range";
    *out = number * factor;
    return isfinite(*out) ? SS_OK : SS_ERR_INPUT;
}

int ss_quantity_parse(const char *text, int quantity, double *out, const char **why)
{
    double first = 0, next;
    size_t len = strcspn(text, ",");

    SS_TRY(parse_one(text, len, quantity, &first, why));
    if (text[len] == ',' && quantity != SS_QUANTITY_SPEED) {
        *why = "is a list";
        return SS_ERR_INPUT;
    }
    while (text[len] == ',') {
        text += len + 1;
        text += strspn(text, " ");
        len = strcspn(text, ",");
        SS_TRY(parse_one(text, len, quantity, &next, why));
        if (next < 0) { /* 0: a state in which the host is off */
            *why = "holds a negative speed";
            return SS_ERR_INPUT;
        }
    }
    *out = first;
    return SS_OK;
}

double ss_quantity_of(const struct ss_xml_node *node, const char *attr, int quantity)
{
    const char *text = ss_xml_attr(node, attr), *why;
    double value = 0;

    return text != NULL && ss_quantity_parse(text, quantity, &value, &why) == SS_OK ? value : 0;
}
