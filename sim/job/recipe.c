/* SPDX-License-Identifier: Apache-2.0 */
#include "job/recipe.h"

#include "base/base.h"
#include "job/release.h"

/* Things of which one part without the others is no job. What a job that gives one of the flags `said` says itself: it takes none of a recipe's
 * `parts`. */
static const struct {
    const char *said, *parts;
} things[] = {
    {"--pipeline-model-parallel-layout --decoder-first-pipeline-num-layers "
     "--decoder-last-pipeline-num-layers "
     "--account-for-embedding-in-pipeline-split --account-for-loss-in-pipeline-split",
     "--pipeline-model-parallel-layout --account-for-embedding-in-pipeline-split "
     "--account-for-loss-in-pipeline-split --pp --vp"},
    {"--recompute-granularity --recompute --recompute-activations",
     "--recompute --recompute-granularity --recompute-modules --recompute-method --recompute-num-layers"},
    {"--cuda-graph-impl --enable-cuda-graph --external-cuda-graph", "--cuda-graph-impl --cuda-graph-scope"},
    {"--moe-token-dispatcher-type --moe-enable-deepep",
     "--moe-token-dispatcher-type --moe-flex-dispatcher-backend --moe-hybridep-num-sms"},
    {"--moe-flex-dispatcher-backend", "--moe-hybridep-num-sms"},
    {"--cpu-offloading --cpu-offloading-num-layers --fine-grained-activation-offloading --offload-modules",
     "--cpu-offloading --cpu-offloading-num-layers --fine-grained-activation-offloading --offload-modules"},
    {"--use-megatron-fsdp --data-parallel-sharding-strategy --use-torch-fsdp2 --fsdp "
     "--use-distributed-optimizer",
     "--fsdp --use-megatron-fsdp --data-parallel-sharding-strategy --use-distributed-optimizer "
     "--overlap-grad-reduce "
     "--overlap-param-gather"},
    {"--use-precision-aware-optimizer --optimizer",
     "--use-precision-aware-optimizer --exp-avg-dtype --exp-avg-sq-dtype"},
    {"--moe-router-load-balancing-type --moe-load", "--moe-router-force-load-balancing"},
    {"", "--overlap-moe-expert-parallel-comm --delay-wgrad-compute"},
    {"", "--moe-expert-capacity-factor --moe-pad-expert-input-to-capacity"}};
#define EXCHANGE_FLAGS "--moe-token-dispatcher-type --moe-flex-dispatcher-backend --moe-hybridep-num-sms"
#define LAYOUT_FLAGS                                                                                         \
    "--tp --pp --cp --ep --vp --num-layers-per-virtual-pipeline-stage "                                      \
    "--num-virtual-stages-per-pipeline-rank "

/* ---- the nearest row ---- */

static const char *field(const struct ss_csv *csv, int row, const char *column)
{
    return ss_csv_field(csv, (size_t)row, ss_csv_column(csv, column));
}

static int whole_number(const struct ss_csv *csv, int row, const char *column)
{
    return atoi(field(csv, row, column));
}

/* Months of the release behind a stack's last dash; -1 where there is none such as 26.04. A round of MLPerf, "v5.1", counts like a release:
 * two a year, of which the second is .1. */
static double months(const char *release)
{
    int year = 0, month = 0, patch = 0;

    if (sscanf(release, "v%d.%d", &year, &month) == 2)
        return 12 * year + 6 * month;
    if (sscanf(release, "%d.%d.%d", &year, &month, &patch) < 2 || year > 99)
        return -1;
    return 12 * year + month + patch / 10.;
}

/* Copies the word at p, as far as there is room. Returns its length. */
static size_t copy_word(const char *p, char *out, size_t size)
{
    const size_t n = strcspn(p, " "), kept = n < size ? n : size - 1;

    memcpy(out, p, kept);
    out[kept] = '\0';
    return n;
}

/* How far the nearest stack of a row's list is, in months; -1: there is none of this family. The name is put into `name`. */
static double stack_distance(const char *list, const char *stack, int exact, char name[64])
{
    const char *dash = strrchr(stack, '-');
    const size_t family = dash ? (size_t)(dash - stack) + 1 : 0;
    double best = -1;

    for (const char *p = list; *p; p += strspn(p, " ")) {
        char one[64];
        size_t n = copy_word(p, one, sizeof one);
        double d = !strcmp(one, stack) ? 0 : -1;
        p += n;
        if (d < 0 && !exact && family && !strncmp(one, stack, family) && !strchr(one + family, '-')) {
            double release = months(one + family), at = months(stack + family);
            d = release >= 0 && at >= 0 ? fabs(release - at) : -1;
        }
        if (d < 0 || (best >= 0 && d >= best))
            continue;
        best = d;
        ss_copy(name, 64, one);
    }
    return best;
}

/* The card's family, after the Grace in front of it. */
static char family_of(const char *card)
{
    return card[0] == 'G' ? card[1] : card[0];
}

static double card_distance(const char *row, const char *card)
{
    size_t n = strcspn(card, "-");

    if (!row[0] || !n || (strlen(row) == n && !strncmp(row, card, n)))
        return 0;
    if (family_of(row) != family_of(card))
        return -1;
    return row[0] == card[0] ? 40 : 60;
}

static double precision_distance(const char *row, const char *precision)
{
    if (!row[0] || !precision[0] || !strcmp(row, precision))
        return 0;
    return strcmp(row, "bf16") && strcmp(precision, "bf16") ? 30 : 80;
}

static double size_distance(int row, int told, double weight)
{
    return row > 0 && told > 0 ? weight * fabs(log2((double)row / told)) : 0;
}

/* Columns of the layout, and what a factor of two of each weighs. These weights, and those of cards and precisions above, are a choice and no
 * fit: they only say which row is nearer. A GPU's microbatch shapes its kernels, the number of GPUs does little. */
static const struct {
    const char *column, *words;
    size_t at;
    double weight;
} sizes[] = {{"tp", "tensor parallel", offsetof(struct ss_recipe_key, tp), 6},
             {"pp", "pipeline parallel", offsetof(struct ss_recipe_key, pp), 6},
             {"cp", "context parallel", offsetof(struct ss_recipe_key, cp), 6},
             {"vp", "virtual stages", offsetof(struct ss_recipe_key, vp), 3},
             {"ep", "expert parallel", offsetof(struct ss_recipe_key, ep), 6},
             {"mbs", "microbatch", offsetof(struct ss_recipe_key, mbs), 4},
             {"gpus", "GPUs", offsetof(struct ss_recipe_key, gpus), 1},
             {"gbs", "global batch", offsetof(struct ss_recipe_key, gbs), 0.25}};

/* What the job tells of a size, which a row is held against; 0: nothing. */
static int told(const struct ss_csv *csv, int row, const struct ss_recipe_key *key, size_t i)
{
    int n = *(const int *)(const void *)((const char *)key + sizes[i].at);

    return n >= 0 ? n : strstr(field(csv, row, "words"), SS_RECIPE_STAGES) ? 0 : -n;
}

/* Whether a row's layout of stages, where it has one, is for as many stages as the job has. */
static int fits_stages(const struct ss_csv *csv, int row, const struct ss_recipe_key *key)
{
    return key->pp == whole_number(csv, row, "pp") &&
           (key->vp < 0 || key->vp == whole_number(csv, row, "vp")) &&
           strstr(field(csv, row, "words"), SS_RECIPE_STAGES);
}

/* How far a row of the key's model is; -1: it is no recipe for the key. */
static double distance(const struct ss_csv *csv, int row, const struct ss_recipe_key *key, int must)
{
    char name[64];

    if (must & SS_RECIPE_LAYOUT && !fits_stages(csv, row, key))
        return -1;
    double card = card_distance(field(csv, row, "gpu"), key->card);
    if (card < 0)
        return -1;
    double stack = stack_distance(field(csv, row, "stack"), key->stack, must & SS_RECIPE_RELEASE, name);
    if (stack < 0)
        return -1;
    double sum = 5 * stack + card + precision_distance(field(csv, row, "precision"), key->precision);
    for (size_t i = 0; i < SS_ARRAY_LEN(sizes); i++)
        sum +=
            size_distance(whole_number(csv, row, sizes[i].column), told(csv, row, key, i), sizes[i].weight);
    return sum;
}

static void put_difference(char *text, size_t size, const char *row, const char *job)
{
    ss_append(text, size, "%s%s for %s", text[0] ? ", " : "", row, job);
}

static void put_differences(const struct ss_csv *csv, int row, const struct ss_recipe_key *key, char *text,
                            size_t size)
{
    const char *precision = field(csv, row, "precision");
    char name[64], mine[96], yours[32];

    text[0] = 0;
    if (stack_distance(field(csv, row, "stack"), key->stack, 0, name) > 0)
        put_difference(text, size, name, key->stack);
    if (card_distance(field(csv, row, "gpu"), key->card) > 0)
        put_difference(text, size, field(csv, row, "gpu"), key->card);
    if (precision_distance(precision, key->precision) > 0)
        put_difference(text, size, precision, key->precision);
    for (size_t i = 0; i < SS_ARRAY_LEN(sizes); i++) {
        int is = whole_number(csv, row, sizes[i].column), should = told(csv, row, key, i);
        if (!is || !should || is == should)
            continue;
        snprintf(mine, sizeof mine, "%s %d", sizes[i].words, is);
        snprintf(yours, sizeof yours, "%d", should);
        put_difference(text, size, mine, yours);
    }
}

int ss_recipe_nearest(const struct ss_csv *recipes, const struct ss_recipe_key *key, int must, char *differs,
                      size_t size)
{
    const int model = ss_csv_column(recipes, "model");
    double best = -1;
    int found = -1;

    for (size_t i = 0; (i = ss_csv_find(recipes, i, model, key->model)) < ss_csv_rows(recipes); i++) {
        double d = distance(recipes, (int)i, key, must);
        if (d < 0 || (best >= 0 && d >= best))
            continue;
        best = d;
        found = (int)i;
    }
    if (found >= 0 && size)
        put_differences(recipes, found, key, differs, size);
    return found;
}

/* ---- its words ---- */

static int gives_any(const struct ss_request *r, const char *flags)
{
    for (const char *p = flags; *p; p += strspn(p, " ")) {
        char name[96];
        p += copy_word(p, name, sizeof name);
        if (ss_request_find(r, name) < r->n)
            return 1;
    }
    return 0;
}

int ss_recipe_has_layout(const struct ss_request *r)
{
    return gives_any(r, LAYOUT_FLAGS);
}

static int is_in(const char *flags, const char *flag)
{
    size_t n = strlen(flag);

    for (const char *p = strstr(flags, flag); p; p = strstr(p + 1, flag))
        if ((p == flags || p[-1] == ' ') && (!p[n] || p[n] == ' '))
            return 1;
    return 0;
}

int ss_recipe_same_thing(const char *a, const char *b)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(things); i++)
        if (is_in(things[i].parts, a) && is_in(things[i].parts, b))
            return 1;
    return !strcmp(a, b);
}

/* Whether the job says the thing of which this flag is a part. */
static int is_said(const struct ss_request *said, const char *flag)
{
    if (ss_request_find(said, flag) < said->n)
        return 1;
    for (size_t i = 0; i < SS_ARRAY_LEN(things); i++)
        if (is_in(things[i].parts, flag) && gives_any(said, things[i].said))
            return 1;
    return 0;
}

static int add_size(const struct ss_csv *csv, int row, const char *column, const char *flag, int value,
                    const struct ss_request *said, struct ss_request *out, struct ss_error *err)
{
    char text[16];
    int rc = SS_OK;

    if (value < 1 || ss_request_find(said, flag) < said->n || !field(csv, row, column)[0])
        return SS_OK;
    snprintf(text, sizeof text, "%d", value);
    rc = ss_request_add(out, flag, ss_csv_line(csv, (size_t)row), err);
    SS_THEN(rc, ss_request_add(out, text, ss_csv_line(csv, (size_t)row), err));
    return rc;
}

/* The layout and the batch of a row, the batch in proportion to the GPUs as scripts/performance of Megatron-Bridge scales it. */
static int add_sizes(const struct ss_csv *csv, int row, const struct ss_recipe_key *key,
                     const struct ss_request *said, struct ss_request *out, struct ss_error *err)
{
    static const char *const flags[][2] = {
        {"tp", "--tp"}, {"pp", "--pp"}, {"cp", "--cp"}, {"vp", "--vp"}, {"ep", "--ep"}};
    int gpus = whole_number(csv, row, "gpus"), rc = SS_OK;
    int has_stages = strstr(field(csv, row, "words"), SS_RECIPE_STAGES) != NULL; /* virtual ones, too */
    double scale = gpus > 0 && key->gpus > 0 ? (double)key->gpus / gpus : 1;

    for (size_t i = 0; i < SS_ARRAY_LEN(flags) && !rc; i++)
        if (strcmp(flags[i][0], "vp") || (whole_number(csv, row, "vp") > 1 && !has_stages))
            rc = add_size(csv, row, flags[i][0], flags[i][1], whole_number(csv, row, flags[i][0]), said, out,
                          err);
    SS_THEN(rc, add_size(csv, row, "mbs", "--mbs", whole_number(csv, row, "mbs"), said, out, err));
    SS_THEN(rc,
            add_size(csv, row, "gbs", "--gbs", (int)(scale * whole_number(csv, row, "gbs")), said, out, err));
    return rc;
}

/* Copies a layout of stages with the MTP layers that the job says, before the loss; without a word of the job, as it is. */
static void put_stages(const char *layout, const struct ss_request *said, char *out, size_t size)
{
    size_t at = ss_request_find(said, "--mtp-num-layers");
    int n = at + 1 < said->n ? atoi(said->word[at + 1].text) : -1;

    for (out[0] = 0; *layout; layout++) {
        if (*layout == 'L')
            for (int i = 0; i < n && i < 9; i++)
                ss_append(out, size, "m");
        if (*layout != 'm' || n < 0)
            ss_append(out, size, "%c", *layout);
    }
}

static int is_left_out(const struct ss_csv *csv, int row, const struct ss_recipe_key *key,
                       const struct ss_recipe_use *use, const char *flag)
{
    int stages = !strcmp(flag, SS_RECIPE_STAGES), tp = use->whole ? whole_number(csv, row, "tp") : key->tp;

    if (use->only && !is_in(use->only, flag))
        return 1;
    if ((!use->only || stages) && is_said(use->said, flag))
        return 1;
    if (!strcmp(flag, "--fp8-recipe"))
        return precision_distance(field(csv, row, "precision"), key->precision) > 0;
    if (!strcmp(flag, "--tp-comm-overlap"))
        return tp <= 1;
    if (is_in(EXCHANGE_FLAGS, flag)) /* which Megatron refuses where there is none */
        return tp * (use->whole ? whole_number(csv, row, "ep") : key->ep) <= 1;
    if (use->whole)
        return 0;
    return (stages && !fits_stages(csv, row, key)) ||
           (key->pp > 1 && !strncmp(flag, "--cpu-offloading", 16)) || /* which Megatron refuses */
           (key->pp == 1 && !strncmp(flag, "--account-for-", 14));
}

static int copy_words(const struct ss_request *from, const struct ss_csv *csv, int row,
                      const struct ss_recipe_key *key, const struct ss_recipe_use *use,
                      struct ss_request *out, struct ss_error *err)
{
    char word[512];
    int rc = SS_OK;

    for (size_t i = 0, n; i < from->n && !rc; i += n) {
        const char *flag = from->word[i].text;
        n = ss_request_span(from, i);
        int left = is_left_out(csv, row, key, use, flag) ||
                   (use->stack && ss_flag_is_later(flag, n > 1 ? from->word[i + 1].text : "", use->stack));
        for (size_t k = 0; k < n && !rc && !left; k++) {
            ss_copy(word, sizeof word, from->word[i + k].text);
            if (k && !strcmp(flag, SS_RECIPE_STAGES))
                put_stages(from->word[i + k].text, use->said, word, sizeof word);
            rc = ss_request_add(out, word, ss_csv_line(csv, (size_t)row), err);
        }
    }
    return rc;
}

int ss_recipe_add(const struct ss_csv *recipes, int row, const struct ss_recipe_key *key,
                  const struct ss_recipe_use *use, struct ss_request *out, struct ss_error *err)
{
    const char *words = field(recipes, row, "words");
    struct ss_request from;
    int rc = ss_request_add_place(out, SS_RECIPES_FILE, err);

    ss_request_init(&from);
    for (const char *p = words + strspn(words, " "); *p && !rc; p += strspn(p, " ")) {
        char word[512];
        snprintf(word, sizeof word, "%.*s", (int)strcspn(p, " "), p);
        p += strcspn(p, " ");
        rc = ss_request_add(&from, word, 0, err);
    }
    SS_THEN(rc, copy_words(&from, recipes, row, key, use, out, err));
    if (!use->only) {
        SS_THEN(rc, add_size(recipes, row, "etp", "--etp", whole_number(recipes, row, "etp"), use->said, out,
                             err));
        SS_THEN(rc, add_size(recipes, row, "seq", "--seq", whole_number(recipes, row, "seq"), use->said, out,
                             err));
    }
    if (use->whole)
        SS_THEN(rc, add_sizes(recipes, row, key, use->said, out, err));
    ss_request_free(&from);
    return rc;
}
