/* SPDX-License-Identifier: Apache-2.0 */
/* What values and flags of a sweep are one thing. */
#include "base/base.h"
#include "job/flags.h"
#include "stepsim/flags.h"
#include "stepsim/params.h"
#include "stepsim/sweep.h"
#include "study/study_internal.h"

/* Returns whether two names are of one file of the data. */
static int same_file(const char *flag, const char *a, const char *b)
{
    static const char *const kinds[][3] = {{"--platform", "platforms", ".xml"},
                                           {"--model", "workloads/models", ".json"},
                                           {"--stack", "workloads/stacks", ".xml"}};
    char path[2][1024];

    for (size_t k = 0; k < SS_ARRAY_LEN(kinds); k++)
        if (!strcmp(flag, kinds[k][0]))
            return !ss_data_find(kinds[k][1], a, kinds[k][2], path[0], sizeof path[0], NULL) &&
                   !ss_data_find(kinds[k][1], b, kinds[k][2], path[1], sizeof path[1], NULL) &&
                   !strcmp(path[0], path[1]);
    return 0;
}

/* Reads "nic.bandwidth=100Gbps" of --set, "nic.bandwidth=2x" of --scale: the name with "ss." and the number, in SI. Returns 0 where the value
 * is no number. */
static int read_prop(const char *text, int scales, char name[80], double *number)
{
    const size_t n = strcspn(text, "=");
    char factor[64];

    if (!text[n] || n >= 64)
        return 0;
    snprintf(name, 80, "%s%.*s", strncmp(text, "ss.", 3) ? "ss." : "", (int)n, text);
    text += n + 1;
    if (scales) {
        snprintf(factor, sizeof factor, "%.*s", (int)strcspn(text, "x"), text);
        return !ss_parse_double(factor, number);
    }
    const int prop = ss_prop_find(name, SS_OF_ANY);
    return prop >= 0 && !ss_prop_at(prop)->words && !ss_prop_parse(prop, text, NULL, 0, number, NULL);
}

static int same_prop(const char *flag, const char *a, const char *b)
{
    const int scales = !strcmp(flag, "--scale");
    char name[2][80];
    double number[2];

    return (scales || !strcmp(flag, "--set")) && read_prop(a, scales, name[0], &number[0]) &&
           read_prop(b, scales, name[1], &number[1]) && !strcmp(name[0], name[1]) && number[0] == number[1];
}

/* Adds what value i of a flag asks for. Returns 0 where that is no matter of the job's fields, or wrong. */
static int ask(struct ss_asked *asked, const struct ss_sweep_flag *f, int i)
{
    char *value[] = {(char *)f->value[i]}, buf[512];
    const int bare = !strcmp(value[0], "on");
    struct ss_flag flag;
    const char *why;

    return strcmp(value[0], "off") != 0 && ss_flag_find(f->name, &flag) && flag.setter &&
           flag.setter->kind <= SS_FLAG_CALL && bare == (flag.values == '0') &&
           !ss_flag_apply(flag.setter, asked, !bare, value, buf, sizeof buf, &why);
}

int ss_sweep_same_value(const struct ss_sweep_flag *f, int i, int k)
{
    struct ss_asked a, b;

    if (!strcmp(f->value[i], f->value[k]) || same_file(f->name, f->value[i], f->value[k]) ||
        same_prop(f->name, f->value[i], f->value[k]))
        return 1;
    ss_asked_init(&a);
    ss_asked_init(&b);
    return ask(&a, f, i) && ask(&b, f, k) && !memcmp(&a, &b, sizeof a);
}

int ss_sweep_hides(const struct ss_sweep_flag *over, const struct ss_sweep_flag *under)
{
    /* told by the last of them where a job is made */
    static const char *const derived[] = {"--nodes --gpus",
                                          "--gbs --global-batch-size --gradient-accumulation-steps"};
    struct ss_asked nothing, both, one;
    int heard = 0;

    for (size_t k = 0; k < SS_ARRAY_LEN(derived); k++)
        if (ss_has_word(derived[k], over->name) && ss_has_word(derived[k], under->name))
            return 1;
    ss_asked_init(&nothing);
    for (int i = 0; i < under->nvalues; i++)
        for (int k = 0; k < over->nvalues; k++) {
            ss_asked_init(&both);
            ss_asked_init(&one);
            if (!ask(&both, under, i))
                return 0;
            heard |= memcmp(&both, &nothing, sizeof both) != 0;
            if (!ask(&both, over, k) || !ask(&one, over, k) || memcmp(&both, &one, sizeof both) != 0)
                return 0;
        }
    return heard;
}
