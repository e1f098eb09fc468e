/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Switches: flags that leave a layout as it is and train the same. A set of them is on in all layouts of a cluster, as far
 * as each applies and is legal there, so a set is searched as exactly as none; which set is best is found by trying
 * sets (search_sets.c).
 */
#include "base/base.h"
#include "decide/search_internal.h"
#include "job/recipe.h"
#include "job/release.h"
#include "stepsim/flags.h"
#include "study/changes.h"
#include "study/study_internal.h"

/* Returns the number of the change behind switch `bit`, or -1. */
static int change_of(int bit)
{
    for (int i = 0; i < ss_change_count(); i++)
        if (ss_change_serves(i, SS_CHANGE_SWITCH) && bit-- == 0)
            return i;
    return -1;
}

int ss_find_switches(void)
{
    int n = 0;
    while (n < SS_FIND_MOST_SWITCHES && change_of(n) >= 0)
        n++;
    return n;
}

unsigned ss_find_switches_usual(void)
{
    unsigned set = 0;
    for (int i = 0; i < ss_find_switches(); i++)
        if (ss_change_serves(change_of(i), SS_CHANGE_FOR_TIME))
            set |= 1u << i;
    return set;
}

/* Returns whether the first flag of a switch is among the words of others, which it would beat. */
static int begins_alike(const char *words, const char *one)
{
    char flag[64];
    snprintf(flag, sizeof flag, "%.*s", (int)strcspn(one, " "), one);
    return strstr(words, flag) != NULL;
}

unsigned ss_find_switch_words(const struct ss_job *job, int dp, unsigned set, char *words, size_t size)
{
    unsigned on = 0;
    words[0] = '\0';
    for (int i = 0; set >> i; i++) {
        char one[200];
        if (!(set >> i & 1) || !ss_change_words(change_of(i), SS_CHANGE_SWITCH, job, dp, one, sizeof one) ||
            begins_alike(words, one))
            continue;
        ss_append(words, size, "%s%s", words[0] ? " " : "", one);
        on |= 1u << i;
    }
    return on;
}

unsigned ss_find_switches_of(const unsigned char *at)
{
    return at[SS_FIND_SWITCHES] | (unsigned)at[SS_FIND_SWITCHES + 1] << 8;
}

void ss_find_switches_set(unsigned char *at, unsigned set)
{
    at[SS_FIND_SWITCHES] = (unsigned char)(set & 255);
    at[SS_FIND_SWITCHES + 1] = (unsigned char)(set >> 8);
}

int ss_find_switch_job(const struct ss_find_space *s, const struct ss_find_cluster *c,
                       const struct ss_asked *asked, unsigned set, struct ss_job *job, struct ss_error *err)
{
    struct ss_asked with = *asked;
    struct ss_request r;
    char words[1024];
    ss_find_switch_words(job, ss_job_dp(job, c->world_size), set, words, sizeof words);
    ss_request_init(&r);
    int rc = ss_study_add_words(&r, words);
    if (rc)
        ss_nomem(err);
    SS_THEN(rc, ss_asked_parse(&with, &r, NULL, NULL, err));
    ss_request_free(&r);
    return rc ? rc
              : ss_input_cache_finish(s->loaded, &with, c->stack, c->world_size, c->gpus_per_node, NULL, job,
                                      err);
}

unsigned ss_find_switches_legal(const struct ss_find_space *s, const struct ss_find_cluster *c,
                                const struct ss_asked *asked, struct ss_job *job, unsigned set)
{
    char words[1024];
    set &= ~c->said;
    if (!set)
        return 0;
    const struct ss_job plain = *job;
    struct ss_job with = plain;
    unsigned all = ss_find_switch_words(job, ss_job_dp(job, c->world_size), set, words, sizeof words), on = 0;
    if (all && !ss_find_switch_job(s, c, asked, all, &with, NULL)) {
        *job = with;
        return all;
    }
    for (int i = 0; all >> i; i++) {
        with = plain;
        if (!(all >> i & 1) || ss_find_switch_job(s, c, asked, on | 1u << i, &with, NULL))
            continue;
        on |= 1u << i;
        *job = with;
    }
    return on;
}

/* Writes the words of a switch for a job of no flags, to which nearly none applies. */
static void usual_words(int bit, char words[200])
{
    struct ss_job job;
    ss_job_init(&job);
    job.dp.distributed_optimizer = job.sequence_parallel = 1; /* which go with sharded ranks */
    ss_change_words(change_of(bit), SS_CHANGE_SWITCH, &job, 1, words, 200);
}

unsigned ss_find_switches_said(const struct ss_find_cluster *c)
{
    unsigned set = 0;
    for (int bit = 0, n = ss_find_switches(); bit < n; bit++) {
        char words[200] = "", flag[64];
        usual_words(bit, words);
        for (const char *p = words, *next; *p; p = next) {
            snprintf(flag, sizeof flag, "%.*s", (int)strcspn(p, " "), p);
            next = p + strlen(flag);
            next += *next == ' ';
            int is_flag = flag[0] == '-', value = *next && *next != '-';
            int said = is_flag && value && ss_find_gives(&c->request, flag);
            for (int a = 0; a < c->naxes && is_flag && !said; a++)
                said = ss_flag_same(c->axes[a].flag, flag);
            set |= (unsigned)said << bit;
        }
    }
    return set;
}

/* Reads the job of a cluster with more words, which is not finished. Returns 0 where they cannot be read. */
static int read_with(const struct ss_find_cluster *c, const char *words, struct ss_job *job)
{
    struct ss_asked with = c->asked;
    struct ss_request r;
    ss_request_init(&r);
    int rc = ss_study_add_words(&r, words);
    SS_THEN(rc, ss_asked_parse(&with, &r, NULL, NULL, NULL));
    ss_request_free(&r);
    *job = with.job;
    job->model = c->model;
    job->moe.grouped_gemm &= SS_GIVEN(&with, grouped_gemm);
    if (with.flex_backend >= 0)
        job->moe.dispatcher = (enum ss_dispatcher)with.flex_backend;
    return !rc;
}

unsigned ss_find_switches_lacking(struct ss_find_cluster *c)
{
    struct ss_job job;
    const unsigned every = ss_stack_is_assumed(c->stack) ? 0 : ~0u,
                   before = read_with(c, "", &job) ? ss_job_later(&job, c->stack) : ~0u;
    unsigned set = 0;
    for (int bit = 0; bit < ss_find_switches(); bit++) {
        char words[200] = "";
        usual_words(bit, words);
        if (!read_with(c, words, &job))
            continue;
        const unsigned later = ss_job_later(&job, c->stack) & ~before & every;
        const int attention = !strncmp(words, "--attention-backend", 19) &&
                              !ss_stack_has_attention(c->stack, (int)job.attention),
                  rope = !strcmp(words, "--fused-single-qkv-rope") && !ss_job_fuses_qkv_rope(&job, c->stack);
        c->later |= later;
        set |= (unsigned)(later || attention || rope) << bit;
    }
    return set;
}

/* Returns whether a recipe has the words of a switch: the first flag, or all where another switch begins with that flag, too. */
static int has_switch(const char *recipe, int bit)
{
    char words[200] = "";
    usual_words(bit, words);
    if (!strncmp(words, "--moe-token-dispatcher-type", 27))
        return strstr(recipe, "--moe-flex-dispatcher-backend deepep") != NULL;
    if (strncmp(words, "--attention-backend", 19) != 0 && !strstr(words, "--delay-wgrad-compute"))
        words[strcspn(words, " ")] = '\0';
    return words[0] && strstr(recipe, words) != NULL;
}

int ss_find_switches_of_recipe(const struct ss_find_space *s, struct ss_find_cluster *c, struct ss_error *err)
{
    const struct ss_job *job = &c->asked.job;
    const struct ss_recipe_key key = {.stack = job->stack,
                                      .model = job->model_ref,
                                      .card = ss_platform_card(c->platform)->name,
                                      .precision = ss_precision_name(job->precision),
                                      .gpus = c->world_size,
                                      .gbs = job->global_batch};
    const struct ss_csv *recipes;
    size_t none = ss_request_find(&c->request, "--recipe");
    if (ss_request_find(&c->request, "--stack") >= c->request.n)
        return SS_OK; /* the default stack has no recipes */
    if (none < c->request.n && !c->request.place[c->request.word[none].place].whence)
        return SS_OK; /* somebody said so */
    int rc = ss_input_cache_recipes(s->loaded, &recipes, err);
    int row = rc ? -1 : ss_recipe_nearest(recipes, &key, 0, NULL, 0);
    c->recipe = row >= 0 && none < c->request.n;
    for (int i = 0; row >= 0 && i < ss_find_switches(); i++)
        if (ss_find_switches_usual() >> i & 1 &&
            has_switch(ss_csv_field(recipes, (size_t)row, ss_csv_column(recipes, "words")), i))
            c->switches |= 1u << i;
    return rc;
}
