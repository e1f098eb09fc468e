/* SPDX-License-Identifier: Apache-2.0 */
/* The values that the controls of the page may have. */
#include <jansson.h>

#include "decide/card.h"
#include "job/flags.h"
#include "report/common.h"
#include "report/html/parts.h"
#include "report/palette.h"
#include "serve/page.h"
#include "stepsim/explain.h"
#include "stepsim/flags.h"
#include "stepsim/import.h"

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
    SS_ITEM((struct ss_json *)ctx, name);
}

static int add_list(struct ss_json *o, const char *what, struct ss_error *err)
{
    struct ss_json *names = ss_json_begin_list();
    int rc = ss_list_names(what, add_name, names, err);

    SS_PUT(o, SS_KEY(what, names));
    return rc;
}

/* {"--tp": ["--tp", "--tensor-model-parallel-size"]} */
static struct ss_json *names_of_controls(void)
{
    struct ss_json *all = ss_json_begin_object();

    for (const char *p = controls; *p; p += strcspn(p, " "), p += *p == ' ') {
        char flag[64];
        struct ss_flag_cursor at = {0};
        struct ss_flag_info info;
        struct ss_json *names = ss_json_begin_list();
        snprintf(flag, sizeof flag, "%.*s", (int)strcspn(p, " "), p);
        while (ss_flag_list(&at, &info))
            if (info.read && ss_flag_same(info.name, flag))
                SS_ITEM(names, info.name);
        SS_PUT(all, SS_KEY(flag, names));
    }
    return all;
}

/* Flags that go when another model is chosen. */
static struct ss_json *flags_of_model(void)
{
    struct ss_json *all = ss_json_begin_list();
    struct ss_flag_walk at = {0};
    struct ss_flag f;

    while (ss_flag_next(&at, &f))
        if (ss_flag_is_of_model(&f))
            SS_ITEM(all, f.name);
    return all;
}

/* The words that the page begins with, each with its values: [["--tp", "4"], ["--bf16"]]. */
static struct ss_json *words(const struct ss_request *start)
{
    struct ss_json *all = ss_json_begin_list();

    for (size_t i = 0; i < start->n;) {
        size_t span = ss_request_span(start, i);
        struct ss_json *one = ss_json_begin_list();
        for (size_t k = 0; k < span; k++)
            SS_ITEM(one, start->word[i + k].text);
        SS_ITEM(all, one);
        i += span;
    }
    return all;
}

/* The committed jobs: {"70b-14": [["--tp", "4"], ...]}. */
static int add_recipes(struct ss_json *o, struct ss_error *err)
{
    char **names = NULL;
    size_t n = 0;
    struct ss_json *all = ss_json_begin_object();
    int rc = ss_data_list("workloads/jobs", ".args", &names, &n, err);

    for (size_t i = 0; i < n && !rc; i++) {
        char *job[] = {"--job", names[i]};
        struct ss_request r;
        ss_request_init(&r);
        rc = ss_request_read(&r, 2, job, err);
        SS_THEN(rc, ss_serve_speak(&r, err));
        if (!rc)
            SS_PUT(all, SS_KEY(names[i], words(&r)));
        ss_request_free(&r);
    }
    ss_names_free(names, n);
    SS_PUT(o, SS_KEY("recipes", all));
    return rc;
}

int ss_serve_choices(const struct ss_request *start, char **out, struct ss_error *err)
{
    static const char *const lists[] = {"models", "platforms", "stacks", "schedules"};
    struct ss_json *o = ss_json_document("serve");
    int rc = SS_OK;

    for (size_t i = 0; i < SS_ARRAY_LEN(lists) && !rc; i++)
        rc = add_list(o, lists[i], err);
    SS_THEN(rc, add_recipes(o, err));
    SS_PUT(o, SS_KEY("controls", names_of_controls()));
    SS_PUT(o, SS_KEY("shape", flags_of_model()));
    SS_PUT(o, SS_KEY("start", words(start)));
    char *text = ss_json_text(o);
    json_t *whole = text && !rc ? json_loads(text, 0, NULL) : NULL;
    *out = whole ? json_dumps(whole, JSON_COMPACT) : NULL;
    json_decref(whole);
    free(text);
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
