/* SPDX-License-Identifier: Apache-2.0 */
/* torchtitan: the schedule of a pipeline and its stages (torchtitan/distributed/pipeline_parallel.py of pytorch/torchtitan@40b54e4). */
#include "base/base.h"
#include "import/torchtitan.h"

/* Returns what the map has for one of PyTorch's schedules, by its name without separators; NULL: not
 * known. */
static const char *schedule_of(const struct ss_reading *r, const char *name)
{
    char folded[64];
    size_t n = 0;

    for (const char *p = name; *p && n + 1 < sizeof folded; p++)
        if (isalnum((unsigned char)*p))
            folded[n++] = *p;
    folded[n] = '\0';
    return ss_reading_lookup(r, "$schedules", folded);
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
    struct ss_reading *r = &x->r;
    char text[4096] = "E";
    size_t used = 1;
    int64_t layers = r->model.num_layers;

    for (int64_t i = 0; i < stages && !r->rc; i++) {
        int64_t n = layers_of(i, stages, layers, in, out);
        if (n < 0 || (n == 0 && i > 0 && i < stages - 1))
            ss_reading_refuse(r, at, "%lld layers are too few for %lld stages", (long long)layers,
                              (long long)stages);
        if (n > 0)
            used += (size_t)snprintf(text + used, sizeof text - used, "t*%lld", (long long)n);
        used += (size_t)snprintf(text + used, sizeof text - used, i + 1 < stages ? "|" : "L");
        if (used + 32 > sizeof text)
            ss_reading_refuse(r, at, "%lld stages are more than are read here", (long long)stages);
    }
    ss_reading_flag(r, at, "--pipeline-model-parallel-layout", text);
}

static int64_t count_stages(struct ss_titan *x, const struct ss_tree_node *per, int single, int64_t all)
{
    struct ss_reading *r = &x->r;
    int64_t size = ss_reading_size(r, "parallelism.pipeline_parallel_layers_per_stage", 0, 0, SS_TITAN_MOST);
    int64_t stages = size ? (all + size - 1) / size : x->pp * (single ? 1 : 2);

    if (stages % x->pp || (single && stages != x->pp) || (!single && stages < 2 * x->pp))
        ss_reading_refuse(r, per,
                          "%lld stages do not suit %lld ranks and this schedule, which torchtitan refuses",
                          (long long)stages, (long long)x->pp);
    return stages;
}

SS_KEY_CALLED(ss_titan_pipeline)
{
    struct ss_titan *x = ss_titan_of(r);
    const char *path = "parallelism.pipeline_parallel_schedule";
    const struct ss_tree_node *at = ss_reading_node(r, path);
    const struct ss_tree_node *per = ss_reading_node(r, "parallelism.pipeline_parallel_layers_per_stage");
    const char *name = ss_reading_text(r, path, "1F1B");
    int64_t in = ss_reading_size(r, "parallelism.pipeline_parallel_first_stage_less_layers", 1, 0, 1000);
    int64_t out = ss_reading_size(r, "parallelism.pipeline_parallel_last_stage_less_layers", 1, 0, 1000);
    int beside = ss_reading_truth(r, "parallelism.pipeline_parallel_expert_parallel_overlap", 1);
    const char *schedule = schedule_of(r, name);

    if (x->pp == 1 || r->rc)
        return;
    ss_reading_whole_flag(r, ss_reading_node(r, "parallelism.pipeline_parallel_degree"), "--pp", x->pp);
    if (!schedule) {
        ss_reading_refuse(r, at, "the schedule %.60s is not known: give --schedule", name);
        return;
    }
    if (!strcmp(schedule, "dualpipev") && beside && x->ep > 1)
        ss_reading_assume(r,
                          "a forward and a backward that run beside each other share the GPU as DualPipe's");
    ss_reading_flag(r, at, "--schedule", schedule);
    int64_t all = (r->has_model ? r->model.num_layers : 0) + in + out;
    int64_t stages = count_stages(x, per, ss_has_word("1f1b gpipe", schedule), all);
    if (r->has_model)
        add_layout(x, per ? per : at, stages, in, out);
    else
        ss_reading_assume(r, "layers are split evenly over stages");
}
