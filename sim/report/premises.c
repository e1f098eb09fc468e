/* SPDX-License-Identifier: Apache-2.0 */
#include "report/premises.h"

#include "report/common.h"
#include "stepsim/flags.h"
#include "stepsim/job.h"

static const char precisions[] = "--precision --bf16 --fp16 --fp8-format --fp8-recipe --fp4-format";

/* Returns whether a flag is one of these, by any of its names. */
static int is_among(const char *flags, const char *flag)
{
    char name[96];

    for (const char *p = flags; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
        if (!strcmp(name, flag) || ss_flag_same(name, flag))
            return 1;
    }
    return 0;
}

static int varies(const char *varied, const char *flags)
{
    char name[96];

    for (const char *p = varied; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
        if (is_among(flags, name))
            return 1;
    }
    return 0;
}

/* Finds who gave the precision, and the recipe, of words that nobody gave. */
static void find_assumed(const struct ss_request *r, const char **precision, char *recipe, size_t size)
{
    struct ss_assumption a;

    for (size_t at = 0; r && ss_request_assumption(r, &at, &a);) {
        if (is_among(precisions, a.flag))
            *precision = " (assumed)";
        if (!strncmp(a.whence, "recipe ", 7) && !recipe[0])
            snprintf(recipe, size, ", %.*s", 7 + (int)strcspn(a.whence + 7, " :"), a.whence);
    }
}

/* Whether somebody gave the number of nodes, which a platform's file may say, too. */
static int gives_nodes(const struct ss_request *r, const char *varied)
{
    static const char *const flags[] = {"--nodes", "--gpus", "--on-nodes", "--cluster-nodes"};

    for (size_t i = 0; r && i < SS_ARRAY_LEN(flags); i++)
        if (varies(varied, flags[i]) || ss_request_find(r, flags[i]) < r->n)
            return 1;
    return !r;
}

char *ss_report_premises(const struct ss_scenario *s, const char *varied, char *buf, size_t size)
{
    const struct ss_job *job = s->job;
    const char *said = job->precision == SS_FP32 ? " (no --bf16 given)" : "";
    char precision[64], recipe[200] = "";

    varied = varied ? varied : "";
    find_assumed(s->request, &said, recipe, sizeof recipe);
    buf[0] = '\0';
    if (!varies(varied, "--model"))
        ss_append(buf, size, ", %s", job->model.name[0] ? job->model.name : "model");
    if (!varies(varied, precisions))
        ss_append(buf, size, ", %s%s", ss_report_precision(job, precision, sizeof precision), said);
    if (!varies(varied, "--seq-length"))
        ss_append(buf, size, ", sequence %d", job->seq_length);
    if (!varies(varied, "--global-batch-size"))
        ss_append(buf, size, ", batch %d", job->global_batch);
    if (!varies(varied, "--platform"))
        ss_append(buf, size, "%s on %s", buf[0] ? "" : ",", ss_platform_name(s->platform));
    if (!varies(varied, "--platform") && !gives_nodes(s->request, varied))
        ss_append(buf, size, " (%d node%s, as its file says)", s->world_size / s->gpus_per_node,
                  ss_plural(s->world_size / s->gpus_per_node));
    if (!varies(varied, "--stack"))
        ss_append(buf, size, ", stack %s", s->stack->name);
    ss_append(buf, size, "%s", recipe);
    if (buf[0])
        memmove(buf, buf + 2, strlen(buf + 2) + 1);
    return buf;
}
