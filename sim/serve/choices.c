/* SPDX-License-Identifier: Apache-2.0 */
/* The values that the controls of the page may have. */
#include <jansson.h>

#include "base/base.h"
#include "decide/card.h"
#include "job/flags.h"
#include "report/common.h"
#include "report/html/parts.h"
#include "report/palette.h"
#include "serve/page.h"
#include "stepsim/explain.h"
#include "stepsim/flags.h"
#include "stepsim/import.h"
#include "stepsim/types.h"

/* Flags that have a control, by the name that the page writes. */
static const char controls[] =
    "--model --platform --stack --nodes --gpus-per-node --tp --pp --cp --ep --vp --mbs --gbs "
    "--seq --recompute --bf16 --fp8-format --sequence-parallel --use-distributed-optimizer "
    "--fsdp --overlap-grad-reduce --overlap-param-gather --tp-comm-overlap --schedule --etp "
    "--moe-token-dispatcher-type --moe-grouped-gemm --moe-permute-fusion "
    "--overlap-moe-expert-parallel-comm";

static void add_name(void *ctx, const char *name, const char *description)
{
    (void)description;
    ss_json_append(ctx, ss_json_string(name));
}

static int add_list(json_t *o, const char *what, struct ss_error *err)
{
    json_t *names = json_array();
    int rc = ss_list_names(what, add_name, names, err);

    ss_json_set(o, what, names);
    return rc;
}

/* {"--tp": ["--tp", "--tensor-model-parallel-size"]} */
static json_t *names_of_controls(void)
{
    json_t *all = json_object();

    for (const char *p = controls; *p; p += strcspn(p, " "), p += *p == ' ') {
        char flag[64];
        struct ss_flag_cursor at = {0};
        struct ss_flag_info info;
        json_t *names = json_array();
        snprintf(flag, sizeof flag, "%.*s", (int)strcspn(p, " "), p);
        while (ss_flag_list(&at, &info))
            if (info.read && ss_flag_same(info.name, flag))
                ss_json_append(names, ss_json_string(info.name));
        ss_json_set(all, flag, names);
    }
    return all;
}

/* Flags that go when another model is chosen. */
static json_t *flags_of_model(void)
{
    json_t *all = json_array();
    struct ss_flag_walk at = {0};
    struct ss_flag f;

    while (ss_flag_next(&at, &f))
        if (ss_flag_is_of_model(&f))
            ss_json_append(all, ss_json_string(f.name));
    return all;
}

/* The words that the page begins with, each with its values: [["--tp", "4"], ["--bf16"]]. */
static json_t *words(const struct ss_request *start)
{
    json_t *all = json_array();

    for (size_t i = 0; i < start->n;) {
        size_t span = ss_request_span(start, i);
        json_t *one = json_array();
        for (size_t k = 0; k < span; k++)
            ss_json_append(one, ss_json_string(start->word[i + k].text));
        ss_json_append(all, one);
        i += span;
    }
    return all;
}

/* The committed jobs: {"70b-14": [["--tp", "4"], ...]}. */
static int add_recipes(json_t *o, struct ss_error *err)
{
    char **names = NULL;
    size_t n = 0;
    json_t *all = json_object();
    int rc = ss_data_list("workloads/jobs", ".args", &names, &n, err);

    for (size_t i = 0; i < n && !rc; i++) {
        char *job[] = {"--job", names[i]};
        struct ss_request r;
        ss_request_init(&r);
        rc = ss_request_read(&r, 2, job, err);
        SS_THEN(rc, ss_serve_speak(&r, err));
        if (!rc)
            ss_json_set(all, names[i], words(&r));
        ss_request_free(&r);
    }
    ss_names_free(names, n);
    ss_json_set(o, "recipes", all);
    return rc;
}

int ss_serve_choices(const struct ss_request *start, char **out, struct ss_error *err)
{
    static const char *const lists[] = {"models", "platforms", "stacks", "schedules"};
    json_t *o = ss_json_document("serve");
    int rc = SS_OK;

    for (size_t i = 0; i < SS_ARRAY_LEN(lists) && !rc; i++)
        rc = add_list(o, lists[i], err);
    SS_THEN(rc, add_recipes(o, err));
    ss_json_set(o, "controls", names_of_controls());
    ss_json_set(o, "shape", flags_of_model());
    ss_json_set(o, "start", words(start));
    *out = !rc && ss_json_is_whole(o) ? json_dumps(o, JSON_COMPACT) : NULL;
    ss_json_free(o);
    return rc || *out ? rc : ss_nomem(err);
}

/* ---- words and colours ---- */

/* Tones of parts of the time, of memory, and of steps from the peak to the answer: they stand in one page, each under its own name. */
static const enum ss_tones used[] = {SS_TONES_LABEL, SS_TONES_MEMORY, SS_TONES_STEP};

void ss_serve_look_css(FILE *out)
{
    char css[160];

    fputs(ss_page_ground_css, out);
    for (size_t i = 0; i < SS_ARRAY_LEN(used); i++) {
        ss_tones_css(used[i], out);
        fputs(":root {", out);
        for (int t = 0; t < ss_tones_n(used[i]); t++)
            fprintf(out, " --tone-%s: %s;", ss_tone(used[i], t)->id, ss_tone_css(ss_tone(used[i], t), css));
        fputs(" }\n", out);
    }
    fputs(ss_serve_style_css, out);
}

/* Writes `const NAME = {"tp": ["exposed TP", "tp"], ...};`: of each key of JSON its words and its tone. */
static void put_words(const char *name, int n, const char *(*key)(int), const char *(*told)(int),
                      enum ss_tones tones, int (*tone)(int), FILE *out)
{
    fprintf(out, "const %s = {", name);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s\"%s\": [\"%s\", \"%s\"]", i ? ", " : "", key(i), told(i),
                ss_tone(tones, tone ? tone(i) : i)->id);
    fputs("};\n", out);
}

void ss_serve_look_js(FILE *out)
{
    put_words("TIMES", SS_LABEL_COUNT, ss_label_name, ss_label_words, SS_TONES_LABEL, NULL, out);
    put_words("MEMORY", SS_MEM_COUNT, ss_mem_name, ss_mem_name, SS_TONES_MEMORY, NULL, out);
    put_words("TERMS", SS_TERMS, ss_term_key, ss_term_words, SS_TONES_STEP, ss_term_tone, out);
}
