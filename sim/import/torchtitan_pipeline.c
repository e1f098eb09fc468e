/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan: the schedule of a pipeline and its stages (torchtitan/distributed/pipeline_parallel.py of pytorch/torchtitan@40b54e4). */
#include <ctype.h>
#include <string.h>

#include "base/base.h"
#include "import/torchtitan.h"

/* Names of PyTorch's schedules in small letters, without what parts their words. */
static const struct {
    const char *name, *ours;
    int single; /* one stage a rank */
} schedules[] = {
    {"1f1b", "1f1b", 1},
    {"gpipe", "gpipe", 1},
    {"interleaved1f1b", "interleaved", 0},
    {"flexibleinterleaved1f1b", "interleaved", 0},
    {"loopedbfs", "looped-bfs", 0},
    {"interleavedzerobubble", "zb-interleaved", 0},
    {"zbvzerobubble", "zb-v", 0},
    {"dualpipev", "dualpipev", 0},
};

static int schedule_of(const char *name)
{
    char folded[64];
    size_t n = 0;

    for (const char *p = name; *p && n + 1 < sizeof folded; p++)
        if (isalnum((unsigned char)*p))
            folded[n++] = (char)tolower((unsigned char)*p);
    folded[n] = '\0';
    for (size_t i = 0; i < SS_ARRAY_LEN(schedules); i++)
        if (!strcmp(folded, schedules[i].name))
            return (int)i;
    return -1;
}

/* Layers of a virtual stage: embedding and output layer count as so many. */
static int64_t layers_of(int64_t stage, int64_t stages, int64_t layers, int64_t in, int64_t out)
{
    int64_t all = layers + in + out, n = all / stages + (stage < all % stages);

    return n - (stage == 0 ? in : 0) - (stage == stages - 1 ? out : 0);
}

/* "Et*7|t*8|t*8|t*7L" */
static void add_layout(struct ss_titan *x, const struct ss_tree_node *at, int64_t stages, int64_t in,
                       int64_t out)
{
    struct ss_trainer *t = &x->t;
    char text[4096] = "E";
    size_t used = 1;
    int64_t layers = t->model.num_layers;

    for (int64_t i = 0; i < stages && !t->rc; i++) {
        int64_t n = layers_of(i, stages, layers, in, out);
        if (n < 0 || (n == 0 && i > 0 && i < stages - 1))
            ss_trainer_refuse(t, at, "%lld layers are too few for %lld stages", (long long)layers,
                              (long long)stages);
        if (n > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "t*%lld", (long long)n);
        used += (size_t)snprintf(text + used, sizeof text - used, i + 1 < stages ? "|" : "L");
        if (used + 32 > sizeof text)
            ss_trainer_refuse(t, at, "%lld stages are more than are read here", (long long)stages);
    }
    ss_trainer_add(t, at, "--pipeline-model-parallel-layout", text);
}

/* Virtual stages of all ranks. */
static int64_t count_stages(struct ss_titan *x, const struct ss_tree_node *per, int single, int64_t all)
{
    struct ss_trainer *t = &x->t;
    int64_t size = ss_trainer_size(t, "parallelism.pipeline_parallel_layers_per_stage", 0, 0, SS_TITAN_MOST);
    int64_t stages = size ? (all + size - 1) / size : x->pp * (single ? 1 : 2);

    if (stages % x->pp || (single && stages != x->pp) || (!single && stages < 2 * x->pp))
        ss_trainer_refuse(t, per,
                          "%lld stages do not suit %lld ranks and this schedule, which torchtitan refuses",
                          (long long)stages, (long long)x->pp);
    return stages;
}

void ss_titan_map_pipeline(struct ss_titan *x)
{
    struct ss_trainer *t = &x->t;
    const char *path = "parallelism.pipeline_parallel_schedule experimental.pipeline_parallel_schedule";
    const struct ss_tree_node *at = ss_trainer_node(t, path);
    const struct ss_tree_node *per = ss_trainer_node(t, "parallelism.pipeline_parallel_layers_per_stage");
    const char *name = ss_trainer_text(t, path, "1F1B");
    int64_t in = ss_trainer_size(t, "parallelism.pipeline_parallel_first_stage_less_layers", 1, 0, 1000);
    int64_t out = ss_trainer_size(t, "parallelism.pipeline_parallel_last_stage_less_layers", 1, 0, 1000);
    int beside = ss_trainer_truth(t, "parallelism.pipeline_parallel_expert_parallel_overlap", 1);
    int i = schedule_of(name);

    if (x->pp == 1 || t->rc)
        return;
    ss_trainer_add_whole(t,
                         ss_trainer_node(t, "parallelism.pipeline_parallel_degree "
                                            "experimental.pipeline_parallel_degree "
                                            "training.pipeline_parallel_degree"),
                         "--pp", x->pp);
    if (i < 0) {
        ss_trainer_refuse(t, at, "the schedule %.60s is not known: give --schedule", name);
        return;
    }
    if (!strcmp(schedules[i].ours, "dualpipev") && beside && x->ep > 1)
        ss_trainer_assume(t,
                          "a forward and a backward that run beside each other share the GPU as DualPipe's");
    ss_trainer_add(t, at, "--schedule", schedules[i].ours);
    int64_t all = (t->has_model ? t->model.num_layers : 0) + in + out;
    int64_t stages = count_stages(x, per, schedules[i].single, all);
    if (t->has_model)
        add_layout(x, per ? per : at, stages, in, out);
    else
        ss_trainer_assume(t, "layers are split evenly over stages");
}
