/* SPDX-License-Identifier: Apache-2.0 */
/* The job of a layout, and the words that make it. */
#include "base/base.h"
#include "base/map.h"
#include "decide/search_internal.h"
#include "study/study_internal.h"

/* Adds the words of an axis in a place of their own, so that they beat the job's as a later flag beats
 * an earlier one. */
static int add_axis_words(const struct ss_find_cluster *c, const unsigned char *at, int axis,
                          struct ss_request *r)
{
    char words[256];
    ss_find_words(c, at, axis, words, sizeof words);
    r->edited = 0;
    return ss_study_add_words(r, words);
}

/* Sets the words of some axes as they are read. */
static int set_words(const struct ss_find_cluster *c, const unsigned char *at, int from, int to,
                     struct ss_asked *asked, struct ss_error *err)
{
    struct ss_request r;
    int rc = SS_OK;

    ss_request_init(&r);
    for (int a = from; a < to && !rc; a++)
        rc = add_axis_words(c, at, a, &r);
    if (rc)
        ss_fail(err, rc, NULL, 0, "out of memory");
    else
        rc = ss_asked_add(asked, &r, NULL, NULL, err);
    ss_request_free(&r);
    return rc;
}

/* What values of axes set, which are set millions of times. */
struct ss_find_typed {
    struct ss_map at; /* by axis, value and what else decides its words */
    int n;
    size_t cap;
    struct typed {
        int n; /* -1: they are more than settings */
        struct ss_setting setting[4];
    } * typed;
};

struct ss_find_typed *ss_find_typed_new(void)
{
    return ss_calloc(1, sizeof(struct ss_find_typed));
}

void ss_find_typed_free(struct ss_find_typed *t)
{
    if (!t)
        return;
    ss_map_free(&t->at);
    SS_FREE(t->typed, t);
}

static struct typed *type(const struct ss_find_cluster *c, const unsigned char *at, int axis, uint64_t key)
{
    struct ss_find_typed *t = c->typed;
    struct ss_request r;
    if (ss_grow(&t->typed, &t->cap, (size_t)t->n + 1, sizeof *t->typed) || ss_map_put(&t->at, key, t->n) < 0)
        return NULL;
    struct typed *typed = &t->typed[t->n++];
    ss_request_init(&r);
    typed->n = add_axis_words(c, at, axis, &r)
                   ? -1
                   : ss_asked_settings(&c->asked, &r, typed->setting, SS_ARRAY_LEN(typed->setting));
    ss_request_free(&r);
    return typed;
}

/* Returns what a value sets: the words of virtual stages follow from the stages, too, and those of block recompute from its layers. */
static struct typed *typed_at(const struct ss_find_cluster *c, const unsigned char *at, int axis)
{
    const int kind = c->axes[axis].kind;
    uint64_t key = (uint64_t)axis << 24 | (uint64_t)at[axis] << 16;
    for (int a = 0; a < axis && kind == SS_FIND_VP; a++)
        key |= c->axes[a].kind == SS_FIND_PP ? at[a] : 0u;
    key |= kind == SS_FIND_RECOMPUTE ? (uint64_t)at[SS_FIND_BLOCK_LAYERS] << 8 : 0u;
    int i = c->typed ? ss_map_get(&c->typed->at, key) : -1;
    return i >= 0 ? &c->typed->typed[i] : c->typed ? type(c, at, axis, key) : NULL;
}

int ss_find_set(const struct ss_find_cluster *c, const unsigned char *at, int from, int to,
                struct ss_asked *asked, struct ss_error *err)
{
    for (int a = from; a < to; a++) {
        struct typed *typed = typed_at(c, at, a);
        if (!typed || typed->n < 0 || ss_asked_apply(asked, typed->setting, typed->n))
            return set_words(c, at, a, to, asked, err);
    }
    return SS_OK;
}

int ss_find_ask(const struct ss_find_space *s, const struct ss_find_cluster *c, const struct ss_asked *asked,
                struct ss_job *job, struct ss_find_refusal *why, struct ss_error *err)
{
    why->code =
        ss_input_cache_ask(s->loaded, asked, c->stack, c->world_size, c->gpus_per_node, job, why->flags);
    if (!why->code || ss_status_refuses(why->code))
        return SS_OK;
    return ss_input_cache_finish(s->loaded, asked, c->stack, c->world_size, c->gpus_per_node, NULL, job, err);
}

int ss_find_plain_job(const struct ss_find_space *s, const struct ss_find_leaf *leaf, struct ss_asked *asked,
                      struct ss_job *job, struct ss_error *err)
{
    const struct ss_find_cluster *c = &s->clusters[leaf->cluster];
    *asked = c->asked;
    int rc = ss_find_set(c, leaf->at, 0, c->naxes, asked, err);
    return rc ? rc
              : ss_input_cache_finish(s->loaded, asked, c->stack, c->world_size, c->gpus_per_node, NULL, job,
                                      err);
}

int ss_find_job(const struct ss_find_space *s, const struct ss_find_leaf *leaf, struct ss_job *job,
                struct ss_error *err)
{
    unsigned set = ss_find_switches_of(leaf->at);
    struct ss_asked asked;
    int rc = ss_find_plain_job(s, leaf, &asked, job, err);
    return rc || !set ? rc : ss_find_switch_job(s, &s->clusters[leaf->cluster], &asked, set, job, err);
}

int ss_find_leaf_switch(const struct ss_find_space *s, struct ss_find_leaf *leaf, unsigned set,
                        struct ss_job *job, struct ss_error *err)
{
    const struct ss_find_cluster *c = &s->clusters[leaf->cluster];
    struct ss_asked asked;
    int rc = ss_find_plain_job(s, leaf, &asked, job, err);
    if (!rc)
        ss_find_switches_set(leaf->at, ss_find_switches_legal(s, c, &asked, job, set));
    return rc;
}

int ss_find_leaf_words(const struct ss_find_space *s, const struct ss_find_leaf *leaf, char *words,
                       size_t size, struct ss_error *err)
{
    const struct ss_find_cluster *c = &s->clusters[leaf->cluster];
    unsigned set = ss_find_switches_of(leaf->at);
    struct ss_asked asked;
    struct ss_job job;
    ss_find_flags(c, leaf->at, words, size);
    int rc = set ? ss_find_plain_job(s, leaf, &asked, &job, err) : SS_OK;
    size_t used = strlen(words);
    if (!rc && set && used + 2 < size) {
        words[used] = ' ';
        ss_find_switch_words(&job, ss_job_dp(&job, c->world_size), set, words + used + (used > 0),
                             size - used - (used > 0));
    }
    if (c->recipe)
        ss_append(words, size, "%s--recipe none", words[0] ? " " : "");
    return rc;
}
