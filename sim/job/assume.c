/* SPDX-License-Identifier: Apache-2.0 */
/* What words leave open: the precision, and the recipe of the framework's release. */
#include "base/base.h"
#include "job/input_cache.h"
#include "job/job_internal.h"
#include "job/recipe.h"

/* Whether people typed all words; a file or a launch script has its framework's defaults. */
static int is_typed(const struct ss_request *r)
{
    for (int i = 0; i < r->nplaces; i++)
        if (r->place[i].file || r->place[i].whence)
            return 0;
    return r->n > 0;
}

static int gives(const struct ss_request *r, const char *flag)
{
    return ss_request_find(r, flag) < r->n;
}

/* Whether a release is named: the default stack has no recipes, and the table is not read for it. */
static int names_stack(const struct ss_request *r)
{
    return gives(r, "--stack");
}

/* Whether the type of the stored parameters is said. The formats of fp8 and fp4 are of GEMMs alone. */
static int gives_storage(const struct ss_request *r)
{
    return gives(r, "--precision") || gives(r, "--bf16") || gives(r, "--fp16");
}

static int gives_precision(const struct ss_request *r)
{
    return gives_storage(r) || gives(r, "--fp8-format") || gives(r, "--fp4-format");
}

static const char *precision_of(const struct ss_asked *asked)
{
    const struct ss_job *job = &asked->job;

    if (job->precision == SS_FP8 && (job->fp8_recipe == SS_FP8_MXFP8 || asked->precision_mxfp8))
        return "mxfp8";
    if (job->precision == SS_FP8 && job->fp8_recipe == SS_FP8_BLOCKWISE)
        return "fp8_block";
    return ss_precision_name(job->precision);
}

/* As in struct ss_recipe_key. */
static int virtual_stages(const struct ss_asked *asked, const struct ss_request *r)
{
    if (asked->job.virtual_stages > 0)
        return asked->job.virtual_stages;
    if (asked->job.layers_per_virtual_stage > 0 || gives(r, SS_RECIPE_STAGES))
        return 0;
    return gives(r, "--vp") || gives(r, "--num-virtual-stages-per-pipeline-rank") ? 1 : -1;
}

/* Adds what is used of the nearest row, with whence it is; nothing where *found says that there is none. */
static int add_nearest(const struct ss_csv *recipes, const struct ss_recipe_key *key, int must,
                       const struct ss_recipe_use *use, int *found, struct ss_request *out,
                       struct ss_error *err)
{
    char differs[512] = "", whence[1024];
    int row = ss_recipe_nearest(recipes, key, must, differs, sizeof differs), rc;

    *found = row >= 0;
    if (row < 0)
        return SS_OK;
    rc = ss_recipe_add(recipes, row, key, use, out, err);
    snprintf(whence, sizeof whence, "recipe %.300s%s%s%s",
             ss_csv_field(recipes, (size_t)row, ss_csv_column(recipes, "source")),
             differs[0] ? " (nearest: " : "", differs, differs[0] ? ")" : "");
    return rc ? rc : ss_request_assumed(out, whence, err);
}

/* The recipe, and where it has no stages for the job's pipeline, those of the nearest one that has. */
static int add_recipe(const struct ss_assume *a, const struct ss_asked *asked, const struct ss_request *said,
                      struct ss_request *out, struct ss_error *err)
{
    const struct ss_job *job = &asked->job;
    const struct ss_csv *recipes;
    int found = 0, layout = ss_recipe_has_layout(said), rc = ss_input_cache_recipes(a->inputs, &recipes, err);
    struct ss_recipe_key key = {.stack = job->stack,
                                .model = job->model_ref,
                                .card = a->card,
                                .precision = gives_precision(said) ? precision_of(asked) : "bf16",
                                .gpus = a->gpus,
                                .mbs = job->micro_batch,
                                .gbs = job->global_batch};

    if (layout) {
        key.tp = job->tp, key.pp = job->pp, key.cp = job->cp, key.ep = job->ep;
        key.vp = virtual_stages(asked, said);
    }
    struct ss_stack stack;
    const int known = !rc && !ss_input_cache_stack(a->inputs, job->stack, a->card, NULL, &stack, NULL);
    struct ss_recipe_use use = {.said = said, .whole = !layout, .stack = known ? &stack : NULL};
    SS_THEN(rc, add_nearest(recipes, &key, 0, &use, &found, out, err));
    use.whole = 0;
    use.only = SS_RECIPE_STAGES;
    if (!rc && found && key.pp > 1 && key.vp && !gives(out, SS_RECIPE_STAGES))
        rc = add_nearest(recipes, &key, SS_RECIPE_LAYOUT, &use, &found, out, err);
    return rc;
}

static int add_defaults(const struct ss_request *said, struct ss_request *out, struct ss_error *err)
{
    int rc = ss_request_add_place(out, NULL, err);

    SS_THEN(rc, ss_request_assumed(out, "default", err));
    if (!rc && !gives_storage(said))
        rc = ss_request_add(out, "--bf16", 0, err);
    return rc;
}

/* Moves the words behind those that are assumed. */
static int put_before(struct ss_request *assumed, struct ss_request *r, int rc, struct ss_error *err)
{
    SS_THEN(rc, ss_request_move(assumed, r, err));
    ss_request_free(rc ? assumed : r);
    if (!rc)
        *r = *assumed;
    return rc;
}

int ss_assume_defaults(struct ss_request *r, struct ss_error *err)
{
    struct ss_request out;

    ss_request_init(&out);
    return put_before(&out, r, add_defaults(r, &out, err), err);
}

int ss_assume(const struct ss_assume *a, const struct ss_asked *asked, struct ss_request *r,
              struct ss_error *err)
{
    struct ss_request out;

    ss_request_init(&out);
    int rc = add_defaults(r, &out, err);
    if (!rc && asked->recipe != SS_RECIPE_NONE && names_stack(r))
        rc = add_recipe(a, asked, r, &out, err);
    if (!rc && gives(&out, SS_RECIPE_STAGES)) { /* Megatron refuses both */
        ss_request_drop(r, "--vp");
        ss_request_drop(r, "--num-virtual-stages-per-pipeline-rank");
    }
    return put_before(&out, r, rc, err);
}

/* Notes that recipes of the stack are left out, where it has any for the model. */
static int note_recipes(const struct ss_asked *asked, struct ss_request *out, struct ss_error *err)
{
    const struct ss_recipe_key key = {
        .stack = asked->job.stack, .model = asked->job.model_ref, .card = "", .precision = ""};
    struct ss_csv *recipes;
    char path[4096];
    int rc = ss_data_find("workloads", "recipes", ".csv", path, sizeof path, err);

    SS_THEN(rc, ss_csv_load(path, &recipes, err));
    if (rc)
        return rc;
    if (ss_recipe_nearest(recipes, &key, 0, NULL, 0) >= 0)
        rc = ss_notes_add(&out->notes,
                          "recipes of %s are of a layout and left out here but for the switches of the "
                          "nearest: run takes them whole without --recipe none, which the flags that are "
                          "found have",
                          asked->job.stack);
    ss_csv_free(recipes);
    return rc ? ss_nomem(err) : SS_OK;
}

static int open_words(const struct ss_request *r, struct ss_request *out, struct ss_error *err)
{
    struct ss_asked asked;
    int rc = ss_request_said(r, &asked);

    if (!rc && asked.recipe == SS_RECIPE_AUTO) {
        ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0,
                "--recipe auto: a recipe is of a layout, and layouts are searched here");
        ss_request_locate(r, "--recipe", err);
        return ss_hint(err, SS_ERR_UNSUPPORTED,
                       "leave it out; run takes the recipe of the layout that is found");
    }
    if (rc || !is_typed(r)) /* what is wrong is told by who reads the words */
        return ss_request_copy(r, out, err);
    ss_request_init(out);
    rc = ss_request_add_place(out, NULL, err);
    SS_THEN(rc, ss_request_assumed(out, "default", err));
    SS_THEN(rc, ss_request_add(out, "--recipe", 0, err));
    SS_THEN(rc, ss_request_add(out, "none", 0, err));
    if (!rc && !gives_storage(r))
        rc = ss_request_add(out, "--bf16", 0, err);
    SS_THEN(rc, ss_request_append(out, r, err));
    if (!rc && asked.recipe != SS_RECIPE_NONE && names_stack(r))
        rc = note_recipes(&asked, out, err);
    if (rc)
        ss_request_free(out);
    return rc;
}

int ss_request_open(const struct ss_request *r, struct ss_request *out, struct ss_error *err)
{
    static const char *const of_one[] = {"--measured", "--measured-memory"};
    int rc = open_words(r, out, err);

    if (rc)
        return rc;
    for (size_t i = 0; i < sizeof of_one / sizeof *of_one && !rc; i++) {
        size_t at = ss_request_find(r, of_one[i]);
        if (at < r->n && !r->place[r->word[at].place].file)
            rc = ss_notes_add(
                &out->notes,
                "%s is of one layout and changes nothing here: stepsim check holds a layout against it",
                of_one[i]);
    }
    if (!rc)
        return SS_OK;
    ss_request_free(out);
    return ss_nomem(err);
}

int ss_request_said(const struct ss_request *r, struct ss_asked *asked)
{
    struct ss_request copy;

    ss_asked_init(asked);
    if (!ss_request_has_what_if(r))
        return ss_asked_add(asked, r, NULL, NULL, NULL);
    SS_TRY(ss_request_copy(r, &copy, NULL));
    ss_request_drop(&copy, "--without");
    int rc = ss_request_resolve(&copy, NULL, NULL);
    SS_THEN(rc, ss_asked_parse(asked, &copy, NULL, NULL, NULL));
    ss_request_free(&copy);
    return rc;
}

int ss_assume_may_apply(const struct ss_request *r)
{
    return is_typed(r) || gives(r, "--recipe");
}

int ss_assume_asks_job(const struct ss_request *r)
{
    return !is_typed(r) || names_stack(r);
}

int ss_assume_applies(const struct ss_request *r, const struct ss_asked *asked)
{
    return asked->job.platform[0] && (asked->recipe == SS_RECIPE_AUTO || is_typed(r));
}
