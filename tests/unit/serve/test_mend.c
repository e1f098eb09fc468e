/* SPDX-License-Identifier: Apache-2.0 */
/* Every model and every cluster that is chosen on the page with each of the committed jobs has an answer, a legal layout, or a number of nodes
 * that holds it. usage: unit_serve mend [all] */
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "serve/page.h"
#include "suite.h"

#define SAMPLE 131 /* one in so many pairs, where not all are asked for */

static struct ss_serve *page;
static int every = SAMPLE;

static int setup(void)
{
    return ss_serve_new(NULL, &page, NULL);
}

static int teardown(void)
{
    ss_serve_free(page);
    return 0;
}

static json_t *json_of(const char *path, const char *job, int *status)
{
    const struct ss_serve_argument arguments[] = {{"job", job}};
    struct ss_serve_reply reply;

    CU_ASSERT_EQUAL_FATAL(ss_serve_answer(page, path, arguments, job ? 1 : 0, &reply), SS_OK);
    json_t *o = json_loadb(reply.body, reply.size, 0, NULL);
    CU_ASSERT_PTR_NOT_NULL_FATAL(o);
    free(reply.body);
    *status = reply.status;
    return o;
}

static int holds(const json_t *list, const char *text)
{
    size_t i;
    json_t *item;

    json_array_foreach((json_t *)list, i, item) if (!strcmp(json_string_value(item), text)) return 1;
    return 0;
}

/* The words of a job with another value of a control, as the page makes them: without what was measured, and without the flags `shape` where
 * another model is chosen. */
static void replace(const json_t *units, const json_t *shape, const char *flag, const char *value, char *out,
                    size_t size)
{
    size_t i, k;
    json_t *unit, *word;

    out[0] = 0;
    json_array_foreach((json_t *)units, i, unit)
    {
        const char *name = json_string_value(json_array_get(unit, 0));
        if (!strncmp(name, "--measured", 10) || (!strcmp(flag, "--model") && holds(shape, name)))
            continue;
        json_array_foreach(unit, k, word)
            snprintf(out + strlen(out), size - strlen(out), " %s",
                     k == 1 && !strcmp(name, flag) ? value : json_string_value(word));
    }
}

static void words_of(const json_t *list, char *out, size_t size)
{
    size_t i;
    json_t *word;

    out[0] = 0;
    json_array_foreach((json_t *)list, i, word)
        snprintf(out + strlen(out), size - strlen(out), " %s", json_string_value(word));
}

struct count {
    int asked, fit, layout, nodes, none;
};

/* What is found is a job that the page can run, with the same time. */
static void check_found(const json_t *found)
{
    char job[SS_SERVE_JOB_BYTES];
    int status;

    words_of(json_object_get(found, "words"), job, sizeof job);
    json_t *run = json_of("/run.json", job, &status);
    const char *verdict = json_string_value(json_object_get(run, "verdict"));
    CU_ASSERT_EQUAL(status, 200);
    CU_ASSERT(verdict && (!strcmp(verdict, "fits") || !strcmp(verdict, "near limit")));
    CU_ASSERT_DOUBLE_EQUAL(json_number_value(json_object_get(run, "iteration_ms")),
                           json_number_value(json_object_get(found, "iteration_ms")), 1e-6);
    json_decref(run);
}

static void ask(const char *recipe, const char *value, const char *job, struct count *n)
{
    int status;
    json_t *o = json_of("/nearest.json", job, &status);
    int found = json_is_true(json_object_get(o, "found"));

    CU_ASSERT_EQUAL(status, 200);
    n->asked++;
    n->none += !found;
    if (!found)
        printf("\n  none: %s with %s: %s", recipe, value, json_string_value(json_object_get(o, "why")));
    else if (!json_integer_value(json_object_get(o, "tried")))
        n->fit++;
    else if (json_equal(json_object_get(o, "nodes"), json_object_get(o, "asked_nodes")))
        n->layout++;
    else
        n->nodes++;
    if (found && (every == 1 ? n->asked % SAMPLE == 0 : 1))
        check_found(o);
    json_decref(o);
}

TEST(every_choice)
{
    static const char *const lists[][2] = {{"models", "--model"}, {"platforms", "--platform"}};
    struct count n = {0};
    char job[SS_SERVE_JOB_BYTES];
    const char *recipe;
    json_t *units, *name;
    int status, at = 0;
    size_t i;
    json_t *choices = json_of("/choices.json", NULL, &status);

    json_object_foreach(json_object_get(choices, "recipes"), recipe, units) for (int k = 0; k < 2; k++)
        json_array_foreach(json_object_get(choices, lists[k][0]), i, name)
    {
        if (at++ % every)
            continue;
        replace(units, json_object_get(choices, "shape"), lists[k][1], json_string_value(name), job,
                sizeof job);
        ask(recipe, json_string_value(name), job, &n);
    }
    json_decref(choices);
    printf("%d asked: %d fit as they are, %d by another layout, %d on more nodes, %d on none ", n.asked,
           n.fit, n.layout, n.nodes, n.none);
    CU_ASSERT(n.asked > 10);
    /* gpt2-01 alone, whose batch has 4 sequences and whose card 32 GiB, has models that no number of nodes holds */
    CU_ASSERT(n.none * 100 <= n.asked);
}

SUITE(mend)
{
    every = (int)suite_stride(argc, argv, SAMPLE);
    return suite_file(argv[0], setup, teardown);
}
