/* SPDX-License-Identifier: Apache-2.0 */
/* What a job lacks: names that nothing has, and flags that nobody gave. All of these are told in one error. */
#include "base/base.h"
#include "job/job_internal.h"

static const struct {
    unsigned need;
    const char *flag, *example;
} needs_of[] = {
    {SS_NEED_PLATFORM, "--platform NAME", "--platform h800"},
    {SS_NEED_MODEL, "--model NAME", "--model llama3.1-8b"},
    {SS_NEED_NODES, "--nodes N (or --gpus N)", "--nodes 8"},
    {SS_NEED_SEQ, "--seq N", "--seq 4096"},
    {SS_NEED_MBS, "--mbs N", "--mbs 1"},
    {SS_NEED_GBS, "--gbs N", "--gbs 512"},
    {SS_NEED_TOKENS, "--tokens N", "--tokens 1T"},
    {SS_NEED_VARY, "--vary FLAG=V1,V2,...", "--vary nodes=8,16"},
};

/* The value of the last such flag; NULL: there is none, or it is too long to be a name. */
static const char *last_value(const struct ss_request *r, const char *flag)
{
    size_t i = ss_request_find(r, flag);
    const char *value = i < r->n ? ss_request_value_of(r, i, flag) : NULL;

    return value && strlen(value) < sizeof(ss_job_text) ? value : NULL;
}

int ss_request_check_names(const struct ss_request *r, struct ss_error *err)
{
    const char *platform = last_value(r, "--platform"), *model = last_value(r, "--model");
    struct ss_model m;
    char path[4096];
    int rc = platform ? ss_data_find("platforms", platform, ".xml", path, sizeof path, err) : SS_OK;

    if (rc)
        ss_request_locate(r, "--platform", err);
    if (rc || !model)
        return rc;
    rc = ss_model_load(model, &m, err);
    if (rc)
        ss_request_locate(r, "--model", err);
    return rc;
}

/* A file of a platform says how many nodes there are. A name stands for a kind of node, of which any number would be a guess. */
static int knows_nodes(const struct ss_job *job)
{
    return job->nodes || job->gpus || ss_job_is_placed(job) || ss_data_is_path(job->platform, ".xml");
}

static int says_model(const struct ss_job *job)
{
    return job->model_ref[0] || job->model.num_layers || job->model.hidden_size;
}

int ss_asked_check_given(const struct ss_asked *asked, const struct ss_request *r, unsigned needs,
                         struct ss_error *err)
{
    const struct ss_job *job = &asked->job;
    const unsigned has = (job->platform[0] ? SS_NEED_PLATFORM : 0) | (says_model(job) ? SS_NEED_MODEL : 0) |
                         (knows_nodes(job) ? SS_NEED_NODES : 0) | (job->seq_length ? SS_NEED_SEQ : 0) |
                         (job->micro_batch ? SS_NEED_MBS : 0) | (job->global_batch ? SS_NEED_GBS : 0),
                   missing = needs & ~has;
    char flags[256] = "", example[256] = "";

    if (!missing)
        return SS_OK;
    SS_TRY(ss_request_check_names(r, err));
    for (size_t i = 0; i < SS_ARRAY_LEN(needs_of); i++)
        if (missing & needs_of[i].need) {
            ss_append(flags, sizeof flags, "%s%s", flags[0] ? ", " : "", needs_of[i].flag);
            ss_append(example, sizeof example, " %s", needs_of[i].example);
        }
    ss_fail(err, SS_ERR_USAGE, NULL, 0, "missing: %s; example:%s", flags, example);
    return missing & (SS_NEED_PLATFORM | SS_NEED_MODEL)
               ? ss_hint(err, SS_ERR_USAGE, "\"stepsim list %s\" shows the names",
                         missing & SS_NEED_PLATFORM ? "platforms" : "models")
               : SS_ERR_USAGE;
}
