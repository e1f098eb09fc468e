/* SPDX-License-Identifier: Apache-2.0 */
/* The axes of a layout: which of them a job has, their values, and the words of each value. */
#include "base/base.h"
#include "decide/search_internal.h"
#include "stepsim/flags.h"
#include "stepsim/schedule.h"

/* ---- values of an axis that is `auto` ---- */

static int add(struct ss_find_axis *a, const char *value)
{
    if (a->n == SS_SWEEP_VALUES)
        return SS_ERR_USAGE;
    ss_copy(a->value[a->n++], sizeof a->value[0], value);
    return SS_OK;
}

static int add_number(struct ss_find_axis *a, int value)
{
    char text[24];
    snprintf(text, sizeof text, "%d", value);
    return add(a, text);
}

/* Adds the divisors of `of`, up to `most`. Where they are more than `room`, the smallest that divide `whole`, without which no layout is legal;
 * 0: any. */
static int add_divisors(struct ss_find_axis *a, int of, int most, int whole, int room)
{
    int n = 0, rc = SS_OK;
    for (int d = 1; d <= of && d <= most; d++)
        n += of % d == 0;
    for (int d = 1; d <= of && d <= most && a->n < room && !rc; d++)
        if (of % d == 0 && (n <= room || whole % d == 0))
            rc = add_number(a, d);
    return rc;
}

/* Half of the room is left for whole experts. */
static int tensor(const struct ss_find_cluster *c, struct ss_find_axis *a)
{
    return add_divisors(a, c->world_size, c->stack->tp_offered ? c->model.num_attention_heads : 1,
                        c->model.num_attention_heads, c->experts ? SS_SWEEP_VALUES / 2 : SS_SWEEP_VALUES);
}

static int context(const struct ss_find_cluster *c, struct ss_find_axis *a)
{
    int half = c->asked.job.seq_length > 2 ? c->asked.job.seq_length / 2 : 1;
    return add_divisors(a, c->world_size, half, half, SS_SWEEP_VALUES);
}

/* Adds the values of pipeline parallelism. Embedding and loss may count as layers. */
static int pipeline(const struct ss_find_cluster *c, struct ss_find_axis *a)
{
    return add_divisors(a, c->world_size, c->stack->pp_forms ? c->model.num_layers + 2 : 1, 0,
                        SS_SWEEP_VALUES);
}

static int expert(const struct ss_find_cluster *c, struct ss_find_axis *a)
{
    int rc = SS_OK, experts = c->model.num_experts > 0 ? c->model.num_experts : 1;
    for (int d = 1; d <= experts && d <= c->world_size && !rc; d++)
        if (experts % d == 0 && c->world_size % d == 0)
            rc = add_number(a, d);
    return rc;
}

/* Adds the divisors of the layers, and of the layers with embedding and loss, that leave a layer to each
 * of two stages. */
static int chunks(const struct ss_find_cluster *c, struct ss_find_axis *a)
{
    int layers = c->stack->pp_forms < 2 ? 0 : c->model.num_layers, rc = SS_OK;
    for (int v = 1; 2 * v <= layers + 2 && !rc; v++)
        if (v == 1 || layers % v == 0 || (c->splits && (layers + 2) % v == 0))
            rc = add_number(a, v);
    return rc;
}

static int micro_batch(const struct ss_find_cluster *c, struct ss_find_axis *a)
{
    return add_divisors(a, c->asked.job.global_batch, c->asked.job.global_batch, 0, SS_SWEEP_VALUES);
}

/* Adds selective recompute of modules that the model and the stack's release have: each of those that free much, and
 * together those that cost little. */
static int add_modules(const struct ss_find_cluster *c, struct ss_find_axis *a)
{
    const struct ss_model *m = &c->model;
    const struct {
        const char *name;
        int there, cheap;
    } modules[] = {{"layernorm", c->stack->te_layers <= 0 || m->kv_lora_rank > 0, 1}, /* else fused */
                   {"mla_up_proj", m->q_lora_rank > 0 || m->kv_lora_rank > 0, 1},
                   {"moe_act", m->num_experts > 0, 1},
                   {"mlp", m->num_experts <= 0, 0},
                   {"moe", m->num_experts > 0, 0}};
    char value[sizeof a->value[0]], cheap[sizeof a->value[0]] = "selective --recompute-modules";
    int rc = SS_OK, ncheap = 0;
    if (c->stack->recompute_forms < SS_RECOMPUTE_FORM_MODULES)
        return c->stack->recompute_forms < SS_RECOMPUTE_FORM_MOE || m->num_experts <= 0
                   ? SS_OK
                   : add(a, "none --moe-layer-recompute");
    for (size_t i = 0; i < SS_ARRAY_LEN(modules) && !rc; i++) {
        if (!modules[i].there)
            continue;
        snprintf(value, sizeof value, "selective --recompute-modules %s", modules[i].name);
        rc = add(a, value);
        if (modules[i].cheap && ++ncheap)
            ss_append(cheap, sizeof cheap, " %s", modules[i].name);
    }
    return rc || ncheap < 2 ? rc : add(a, cheap);
}

static int recompute(const struct ss_find_cluster *c, struct ss_find_axis *a)
{
    int rc = add(a, "none");
    if (c->stack->recompute_selective > 0)
        SS_THEN(rc, add(a, "selective"));
    SS_THEN(rc, add_modules(c, a));
    if (!rc && c->stack->recompute_forms >= SS_RECOMPUTE_FORM_BLOCK)
        rc = add(a, SS_FIND_BLOCK);
    return rc ? rc : add(a, "full");
}

static int sharding(const struct ss_find_cluster *c, struct ss_find_axis *a)
{
    int rc = add(a, "none");
    return rc || c->world_size < 2 || c->stack->zero_stages < 3 ? rc : add(a, "full");
}

static int schedule(const struct ss_find_cluster *c, struct ss_find_axis *a)
{
    const char *name, *description;
    int rc = add(a, "auto");
    (void)c;
    for (int i = 0; !rc && ss_schedule_known(i, &name, &description); i++)
        rc = add(a, name);
    return rc;
}

int ss_find_value(const struct ss_find_axis *a, const char *value, int otherwise)
{
    for (int i = 0; i < a->n; i++)
        if (!strcmp(a->value[i], value))
            return i;
    return otherwise;
}

/* ---- which axes there are ---- */

static const struct row {
    const char *flag;  /* NULL: values of other flags */
    const char *fixed; /* a job that gives one of these flags fixes the axis */
    int (*values)(const struct ss_find_cluster *c, struct ss_find_axis *a);
    int usual; /* 1: all values are tried where the job and --vary say nothing */
} rows[SS_FIND_KINDS] = {
    [SS_FIND_TP] = {"--tp", "--tp", tensor, 1},
    [SS_FIND_CP] = {"--cp", "--cp", context, 1},
    [SS_FIND_PP] = {"--pp", "--pp --pipeline-model-parallel-layout", pipeline, 1},
    [SS_FIND_EP] = {"--ep", "--ep", expert, 1},
    [SS_FIND_SCHEDULE] = {"--schedule", "--schedule", schedule, 0},
    [SS_FIND_VP] = {"--vp",
                    "--vp --num-virtual-stages-per-pipeline-rank --num-layers-per-virtual-pipeline-stage "
                    "--pipeline-model-parallel-layout",
                    chunks, 1},
    [SS_FIND_MBS] = {"--mbs", "--mbs", micro_batch, 1},
    [SS_FIND_RECOMPUTE] = {"--recompute",
                           "--recompute --recompute-granularity --recompute-activations "
                           "--recompute-method --recompute-modules --checkpoint-activations "
                           "--cpu-offloading --cpu-offloading-num-layers "
                           "--fine-grained-activation-offloading",
                           recompute, 1},
    [SS_FIND_FSDP] = {"--fsdp",
                      "--fsdp --use-megatron-fsdp --use-torch-fsdp2 --use-distributed-optimizer "
                      "--data-parallel-sharding-strategy --optimizer",
                      sharding, 1},
};

/* Flags of the job that change neither model nor cluster nor work, so that layouts with their values
 * compete. */
static const char extras[] =
    "--etp --sequence-parallel --use-distributed-optimizer --tp-comm-overlap "
    "--overlap-grad-reduce --overlap-param-gather --cp-comm-type --rank-order "
    "--microbatch-group-size-per-vp-stage --num-layers-per-virtual-pipeline-stage "
    "--recompute-num-layers --optimizer-cpu-offload --cpu-offloading-num-layers "
    "--fine-grained-activation-offloading --offload-modules --moe-token-dispatcher-type";

static int names(const char *list, const char *flag)
{
    char name[64];
    for (const char *p = list; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
        if (!strcmp(name, flag) || ss_flag_same(name, flag))
            return 1;
    }
    return 0;
}

/* Returns the kind of a flag's axis; -1: the flag is no axis. */
static int kind_of(const char *flag)
{
    for (int k = 0; k < SS_FIND_KINDS; k++)
        if (rows[k].flag && names(rows[k].flag, flag))
            return k;
    return names(extras, flag) ? SS_FIND_EXTRA : -1;
}

int ss_find_is_axis(const char *flag)
{
    return kind_of(flag) >= 0;
}

int ss_find_gives(const struct ss_request *r, const char *flags)
{
    char name[64];
    for (const char *p = flags; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
        if (ss_request_find(r, name) < r->n)
            return 1;
    }
    return 0;
}

int ss_find_gives_axis(const struct ss_request *r, int kind)
{
    return ss_find_gives(r, rows[kind].fixed);
}

static int is_auto(const struct ss_sweep_flag *f)
{
    return f->nvalues == 1 && !strcmp(f->value[0], "auto");
}

int ss_find_blames(const struct ss_request *r, const struct ss_sweep *vary, const char *flags)
{
    char name[64];
    int n = 0;
    for (const char *p = flags; *p; p += strcspn(p, " "), p += strspn(p, " ")) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
        int asked = ss_find_gives(r, name);
        for (int f = 0; vary && f < vary->nflags && !asked; f++)
            asked = !is_auto(&vary->flags[f]) && ss_flag_same(vary->flags[f].name, name);
        n += asked ? 1 : -ss_find_is_axis(name);
    }
    return n;
}

static int fill(const struct ss_find_cluster *c, struct ss_find_axis *a, const struct row *row,
                const struct ss_sweep_flag *asked, struct ss_error *err)
{
    int rc = SS_OK;
    if (asked && !(row && is_auto(asked)))
        for (int i = 0; i < asked->nvalues && !rc; i++)
            rc = add(a, asked->value[i]);
    else if (row)
        rc = row->values(c, a);
    if (rc)
        return ss_fail(err, rc, NULL, 0, "%s has more than %d values", a->flag, SS_SWEEP_VALUES);
    return SS_OK;
}

/* Adds, for each value of tensor parallelism, a value that leaves experts whole. Where the job does not
 * say, experts are split as the other layers are. */
static int add_whole_experts(struct ss_find_axis *a)
{
    int n = a->n, rc = SS_OK;
    for (int i = 0; i < n && !rc; i++) {
        char text[sizeof a->value[0]];
        if (atoi(a->value[i]) < 2)
            continue;
        snprintf(text, sizeof text, "%d --etp 1", atoi(a->value[i]));
        rc = add(a, text);
    }
    return rc;
}

static int add_axis(struct ss_find_cluster *c, int kind, const struct ss_sweep_flag *asked,
                    struct ss_error *err)
{
    if (c->naxes == SS_FIND_MOST_AXES)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "more than %d axes", SS_FIND_MOST_AXES);
    struct ss_find_axis *a = &c->axes[c->naxes++];
    memset(a, 0, sizeof *a);
    a->kind = kind;
    ss_copy(a->flag, sizeof a->flag, asked ? asked->name : rows[kind].flag);
    int rc = fill(c, a, kind == SS_FIND_EXTRA ? NULL : &rows[kind], asked, err);
    if (kind == SS_FIND_RECOMPUTE) {
        c->block_axis = c->naxes - 1;
        c->block_value = 1 + ss_find_value(a, SS_FIND_BLOCK, -1);
    }
    if (!rc && kind == SS_FIND_TP && c->experts && add_whole_experts(a))
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "%s has more than %d values", a->flag, SS_SWEEP_VALUES);
    return rc;
}

/* Adds an axis with the one value that the job gives, if further words have to go with the value, as they go with one
 * of --vary: whole experts, sequence parallelism, the sharded optimizer, or a split of layers that no axis of virtual
 * stages makes. */
static int add_given(struct ss_find_cluster *c, int kind, struct ss_error *err)
{
    const struct ss_job *job = &c->asked.job;
    int value = kind == SS_FIND_TP && (c->experts || c->sequence) ? job->tp
                : kind == SS_FIND_PP && c->splits && ss_find_gives(&c->request, rows[SS_FIND_VP].fixed)
                    ? job->pp
                    : 1;
    int none = kind == SS_FIND_FSDP && c->shards && ss_find_gives(&c->request, rows[kind].flag);
    struct ss_sweep_flag given = {.nvalues = 1};

    if (value < 2 && !none)
        return SS_OK;
    ss_copy(given.name, sizeof given.name, rows[kind].flag);
    snprintf(given.value[0], sizeof given.value[0], "%d", value);
    if (none)
        ss_copy(given.value[0], sizeof given.value[0], "none");
    return add_axis(c, kind, &given, err);
}

/* Adds the axes of a kind: the varied flags, or else the usual one. */
static int add_kind(struct ss_find_cluster *c, int kind, const struct ss_sweep *vary, struct ss_error *err)
{
    int asked = 0, rc = SS_OK;
    for (int f = 0; vary && f < vary->nflags && !rc; f++)
        if (kind_of(vary->flags[f].name) == kind) {
            rc = add_axis(c, kind, &vary->flags[f], err);
            asked = 1;
        }
    if (rc || asked || kind == SS_FIND_EXTRA || !rows[kind].usual || c->given)
        return rc;
    if (ss_find_gives(&c->request, rows[kind].fixed))
        return add_given(c, kind, err);
    for (int f = 0; vary && f < vary->nflags; f++)
        if (names(rows[kind].fixed, vary->flags[f].name))
            return SS_OK;
    if (kind == SS_FIND_EP && c->model.num_experts <= 0)
        return SS_OK;
    return add_axis(c, kind, NULL, err);
}

static int varies(const struct ss_sweep *vary, const char *flag)
{
    for (int f = 0; vary && f < vary->nflags; f++)
        if (ss_flag_same(vary->flags[f].name, flag))
            return 1;
    return 0;
}

int ss_find_axes_build(struct ss_find_cluster *c, const struct ss_sweep *vary, struct ss_error *err)
{
    static const char splits[] =
        "--decoder-first-pipeline-num-layers --decoder-last-pipeline-num-layers "
        "--pipeline-model-parallel-layout --account-for-embedding-in-pipeline-split "
        "--account-for-loss-in-pipeline-split --num-layers-per-virtual-pipeline-stage";
    int rc = SS_OK;
    for (int kind = 0; kind < SS_FIND_KINDS && c->given && !rc; kind++)
        rc = add_kind(c, kind, vary, err);
    if (c->given)
        return rc;
    c->splits = !c->stack->pp_modules && !ss_find_gives(&c->request, splits) &&
                !varies(vary, "--num-layers-per-virtual-pipeline-stage");
    c->sequence = !ss_find_gives(&c->request, "--sequence-parallel") && !varies(vary, "--sequence-parallel");
    c->shards = !ss_find_gives(&c->request, "--use-distributed-optimizer --use-megatron-fsdp "
                                            "--use-torch-fsdp2 --optimizer") &&
                !c->asked.job.dp.fsdp && !varies(vary, "--use-distributed-optimizer");
    c->experts = c->model.num_experts > 0 && !ss_find_gives(&c->request, "--etp") && !varies(vary, "--etp");
    for (int kind = 0; kind < SS_FIND_KINDS && !rc; kind++)
        rc = add_kind(c, kind, vary, err);
    return rc;
}

/* ---- words ---- */

static int has_axis(const struct ss_find_cluster *c, int kind)
{
    for (int a = 0; a < c->naxes; a++)
        if (c->axes[a].kind == kind)
            return 1;
    return 0;
}

static int number_at(const struct ss_find_cluster *c, const unsigned char *at, int kind, int otherwise)
{
    for (int a = 0; a < c->naxes; a++)
        if (c->axes[a].kind == kind)
            return atoi(c->axes[a].value[at[a]]);
    return otherwise;
}

int ss_find_in_shards(const struct ss_find_cluster *c, const unsigned char *at)
{
    for (int a = 0; a < c->naxes; a++)
        if (c->axes[a].kind == SS_FIND_FSDP)
            return strcmp(c->axes[a].value[at[a]], "none") != 0;
    return c->asked.job.dp.fsdp != 0;
}

double ss_find_labour(const struct ss_find_cluster *c, const unsigned char *at)
{
    double pp = number_at(c, at, SS_FIND_PP, c->asked.job.pp);
    return pp * pp * number_at(c, at, SS_FIND_VP, 1);
}

/* Writes the split of layers that the stages do not divide: embedding and loss count as a layer each, or
 * the last stage has fewer layers, or more. */
static void write_split(const struct ss_find_cluster *c, int pp, int v, char *words, size_t size)
{
    int layers = c->model.num_layers, each;
    words[0] = 0;
    if (!c->splits || pp < 2 || v < 1 || layers % (pp * v) == 0)
        return;
    if ((layers + 2) % (pp * v) == 0) {
        snprintf(words, size,
                 " --account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split");
        return;
    }
    each = layers / pp / v * v;
    if (layers > (each + v) * (pp - 1))
        each += v;
    if (each > 0 && (layers - each * (pp - 1)) % v == 0)
        snprintf(words, size, " --decoder-last-pipeline-num-layers %d", layers - each * (pp - 1));
}

/* Adds a text to words[size] behind the first `used` characters. It does so without printf, because a
 * search calls it millions of times. */
static size_t add_text(char *words, size_t size, size_t used, const char *text)
{
    while (*text && used + 1 < size)
        words[used++] = *text++;
    words[used] = 0;
    return used;
}

void ss_find_words(const struct ss_find_cluster *c, const unsigned char *at, int axis, char *words,
                   size_t size)
{
    const struct ss_find_axis *a = &c->axes[axis];
    const char *value = a->value[at[axis]];
    char more[160] = "";

    if (!strcmp(value, "off")) {
        words[0] = 0;
        return;
    }
    if (a->kind == SS_FIND_RECOMPUTE && !strcmp(value, SS_FIND_BLOCK)) {
        snprintf(words, size,
                 "--recompute-granularity full --recompute-method block --recompute-num-layers %d",
                 at[SS_FIND_BLOCK_LAYERS]);
        return;
    }
    if (a->kind == SS_FIND_TP && c->sequence && strcmp(value, "1") != 0)
        ss_copy(more, sizeof more, " --sequence-parallel");
    if (a->kind == SS_FIND_VP || (a->kind == SS_FIND_PP && !has_axis(c, SS_FIND_VP)))
        write_split(c, number_at(c, at, SS_FIND_PP, c->asked.job.pp),
                    a->kind == SS_FIND_VP ? number_at(c, at, SS_FIND_VP, 1) : ss_job_chunks(&c->asked.job),
                    more, sizeof more);
    if (a->kind == SS_FIND_FSDP && c->shards && !strcmp(value, "none"))
        ss_copy(more, sizeof more, " --use-distributed-optimizer");
    if (a->kind == SS_FIND_FSDP && !strcmp(value, "none")) {
        ss_copy(words, size, more[0] ? more + 1 : "");
        return;
    }
    size_t used = add_text(words, size, 0, a->flag);
    if (strcmp(value, "on") != 0) {
        used = add_text(words, size, used, " ");
        used = add_text(words, size, used, value);
    }
    add_text(words, size, used, more);
}

void ss_find_flags(const struct ss_find_cluster *c, const unsigned char *at, char *words, size_t size)
{
    size_t used = 0;
    words[0] = 0;
    for (int a = 0; a < c->naxes; a++) {
        char one[256];
        ss_find_words(c, at, a, one, sizeof one);
        if (one[0] && used)
            used = add_text(words, size, used, " ");
        used = add_text(words, size, used, one);
    }
}
