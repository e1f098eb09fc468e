/* SPDX-License-Identifier: Apache-2.0 */
/* The job of a layout, and the words that make it. */
#include "base/base.h"
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

int ss_find_set(const struct ss_find_cluster *c, const unsigned char *at, int from, int to,
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
