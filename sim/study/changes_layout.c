/* SPDX-License-Identifier: Apache-2.0 */
/* Changes of the layout: of a degree of parallelism, alone or in exchange for another, and of the layers
 * of each stage. */
#include "base/base.h"
#include "study/changes_table.h"

/* ---- degrees ---- */

/* Returns `degree` times 2 to the power `twos`; 0: the degree cannot be divided so. */
static int times(int degree, int twos)
{
    if (twos >= 0)
        return degree << twos;
    return degree % (1 << -twos) ? 0 : degree >> -twos;
}

/* Returns the words for virtual stages on pp stages. They stay, by their layers or by their number, where
 * they can; else each rank has one chunk. NULL: the layers do not divide. */
static const char *virtual_stages_on(const struct ss_job *job, int pp)
{
    int layers = ss_job_split_layers(job), per_stage = layers / pp;
    int had = job->layers_per_virtual_stage > 0 || job->virtual_stages > 0;
    int keep = job->layers_per_virtual_stage > 0 && job->layers_per_virtual_stage < per_stage &&
               per_stage % job->layers_per_virtual_stage == 0;

    if (ss_job_has_stage_layers(job) || layers % pp)
        return NULL;
    keep |= job->virtual_stages > 1 && per_stage % job->virtual_stages == 0;
    return had && (!keep || pp == 1) ? " --vp 1" : "";
}

int ss_change_degrees(const struct ss_job *job, int dp, struct ss_degrees_twos by, char *words, size_t size)
{
    int tp = times(job->tp, by.tp), pp = times(job->pp, by.pp), cp = times(job->cp, by.cp);
    int64_t ranks = (int64_t)dp * job->tp * job->pp * job->cp;
    const char *chunks = by.pp && pp ? virtual_stages_on(job, pp) : "";

    if (!tp || !pp || !cp || !chunks || ranks % ((int64_t)tp * pp * cp))
        return 0;
    words[0] = '\0';
    if (by.tp)
        ss_append(words, size, " --tensor-model-parallel-size %d%s", tp,
                  by.tp > 0 ? " --sequence-parallel" : "");
    if (by.pp)
        ss_append(words, size, " --pipeline-model-parallel-size %d%s", pp, chunks);
    if (by.cp)
        ss_append(words, size, " --context-parallel-size %d", cp);
    memmove(words, words + 1, strlen(words));
    return 1;
}

#define DEGREES(name, ...)                                                                                   \
    DEFINE(name)                                                                                             \
    {                                                                                                        \
        return ss_change_degrees(job, dp, (struct ss_degrees_twos){__VA_ARGS__}, words, size);               \
    }
DEGREES(halve_tp, .tp = -1)
DEGREES(halve_pp, .pp = -1)
DEGREES(halve_cp, .cp = -1)
DEGREES(tp_for_pp, .tp = 1, .pp = -1)
DEGREES(tp_for_cp, .tp = 1, .cp = -1)
DEGREES(pp_for_tp, .tp = -1, .pp = 1)
DEGREES(pp_for_cp, .pp = 1, .cp = -1)
DEGREES(cp_for_tp, .tp = -1, .cp = 1)
DEGREES(cp_for_pp, .pp = -1, .cp = 1)
DEGREES(halve_tp_and_pp, .tp = -1, .pp = -1)
DEGREES(halve_tp_and_cp, .tp = -1, .cp = -1)
DEGREES(quarter_tp, .tp = -2)

DEFINE(halve_ep)
{
    (void)dp;
    snprintf(words, size, "--expert-model-parallel-size %d", job->ep / 2);
    return job->ep % 2 == 0;
}

/* Leaves experts whole on the same number of ranks, each of which then has more of them. */
DEFINE(whole_experts)
{
    (void)dp;
    snprintf(words, size, "--expert-tensor-parallel-size 1");
    return job->model.num_experts > 0 && job->etp > 1;
}

/* Leaves experts whole on all ranks that shared them. */
DEFINE(ep_for_etp)
{
    (void)dp;
    snprintf(words, size, "--expert-tensor-parallel-size 1 --expert-model-parallel-size %d",
             job->ep * job->etp);
    return job->model.num_experts > 0 && job->etp > 1 && job->model.num_experts % (job->ep * job->etp) == 0;
}

/* ---- which stage has which layers ---- */

/* Gives a rank twice the chunks, with equally many layers in each. */
DEFINE(double_virtual_stages)
{
    int chunks = 2 * ss_job_chunks(job);

    (void)dp;
    snprintf(words, size, "--vp %d", chunks);
    return job->pp >= 2 && !ss_job_has_stage_layers(job) &&
           ss_job_split_layers(job) % (job->pp * chunks) == 0;
}

/* Makes each layer a chunk, which gives the smallest bubble. */
DEFINE(most_virtual_stages)
{
    int layers = ss_job_split_layers(job);

    (void)dp;
    snprintf(words, size, "--vp %d", layers / job->pp);
    return job->pp >= 2 && !ss_job_has_stage_layers(job) && layers % job->pp == 0 &&
           layers / job->pp > 2 * ss_job_chunks(job);
}

/* Returns 1 if there are at least two stages, all with equally many layers, and the job says nothing
 * about any of them. */
static int is_even(const struct ss_job *job)
{
    return job->pp >= 2 && !ss_job_has_stage_layers(job) && ss_job_split_layers(job) == job->model.num_layers;
}

/* Gives the last stage, which also has the loss, fewer layers, and each of the others equally many. */
DEFINE(shorten_last_stage)
{
    int each = job->model.num_layers / job->pp + 1, last = job->model.num_layers - each * (job->pp - 1);

    (void)dp;
    snprintf(words, size, "--decoder-last-pipeline-num-layers %d%s", last,
             ss_job_chunks(job) > 1 ? " --vp 1" : "");
    return is_even(job) && last >= 1;
}

DEFINE(count_embedding_and_loss)
{
    (void)dp;
    snprintf(words, size, "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split");
    return is_even(job) && (job->model.num_layers + 2) % (job->pp * ss_job_chunks(job)) == 0;
}

static const char *layers_text(int n, char text[16])
{
    snprintf(text, 16, n > 1 ? "t*%d" : n == 1 ? "t" : "", n);
    return text;
}

/* Adds n virtual stages with these layers. */
static void add_stages(char *out, size_t size, const char *layers, int n)
{
    if (n)
        ss_append(out, size, n > 1 ? "(%s|)*%d" : "%s|", layers, n);
}

/* Moves `less` layers of the last virtual stage, which also has the loss, to the first virtual stages of
 * other ranks, one to each. The first stage, which has the embedding, gets one only if there are two
 * stages. */
static int move_layers(const struct ss_job *job, int less, char *words, size_t size)
{
    int chunks = ss_job_chunks(job), stages = job->pp * chunks, each = job->model.num_layers / stages;
    int to_first = job->pp == 2, rest = stages - 2 - (to_first ? 0 : less);
    char few[16], usual[16], more[16];
    const char *flag = job->layers_per_virtual_stage ? "--without num-layers-per-virtual-pipeline-stage "
                       : job->virtual_stages         ? "--without num-virtual-stages-per-pipeline-rank "
                                                     : "";

    if (!is_even(job) || job->model.mtp_num_layers || job->model.num_layers % stages || stages < 3 ||
        each - less < (chunks == 1) || (to_first ? less > 1 : less > job->pp - 2))
        return 0;
    layers_text(each - less, few);
    layers_text(each, usual);
    layers_text(each + 1, more);
    snprintf(words, size, "%s--pipeline-model-parallel-layout E%s|", flag, to_first ? more : usual);
    if (!to_first)
        add_stages(words, size, more, less);
    add_stages(words, size, usual, rest);
    return ss_append(words, size, "%sL", few);
}

DEFINE(move_one_layer)
{
    (void)dp;
    return move_layers(job, 1, words, size);
}

DEFINE(move_two_layers)
{
    (void)dp;
    return move_layers(job, 2, words, size);
}

#define TIME SS_CHANGE_FOR_TIME
#define NEWER "a release that knows the flag"
const struct ss_change_row ss_changes_of_layout[] = {
    {halve_tp, TIME, SS_CHANGE_PLAIN, NULL},
    {quarter_tp, TIME, SS_CHANGE_PLAIN, NULL},
    {halve_cp, TIME, SS_CHANGE_PLAIN, NULL},
    {halve_ep, TIME, SS_CHANGE_PLAIN, NULL},
    {whole_experts, TIME, SS_CHANGE_PLAIN, NULL},
    {ep_for_etp, TIME, SS_CHANGE_PLAIN, NULL},
    {halve_pp, TIME, SS_CHANGE_PLAIN, NULL},
    {tp_for_pp, TIME, SS_CHANGE_PLAIN, NULL},
    {tp_for_cp, TIME, SS_CHANGE_PLAIN, NULL},
    {pp_for_tp, TIME, SS_CHANGE_PLAIN, NULL},
    {pp_for_cp, TIME, SS_CHANGE_PLAIN, NULL},
    {cp_for_tp, TIME, SS_CHANGE_PLAIN, NULL},
    {cp_for_pp, TIME, SS_CHANGE_PLAIN, NULL},
    {halve_tp_and_pp, TIME, SS_CHANGE_PLAIN, NULL},
    {halve_tp_and_cp, TIME, SS_CHANGE_PLAIN, NULL},
    {double_virtual_stages, TIME, SS_CHANGE_PLAIN, NULL},
    {most_virtual_stages, TIME, SS_CHANGE_PLAIN, NULL},
    {shorten_last_stage, TIME, SS_CHANGE_SPLIT, NULL},
    {count_embedding_and_loss, TIME, SS_CHANGE_SPLIT, NULL},
    {move_one_layer, TIME, SS_CHANGE_SPLIT, NEWER},
    {move_two_layers, TIME, SS_CHANGE_SPLIT, NEWER},
};
const int ss_nchanges_of_layout = (int)SS_ARRAY_LEN(ss_changes_of_layout);
