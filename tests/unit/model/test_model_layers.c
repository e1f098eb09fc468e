/* SPDX-License-Identifier: Apache-2.0 */
/* Every model that comes with stepsim: the operators of its layers have the parameters that the model's own count has. */
#include <dirent.h>

#include "scale_job.h"
#include "suite.h"

/* Every rank has all of the model. */
static void expect_parameters(const char *model)
{
    struct scale_job s;
    struct ss_run run;
    struct ss_parameter_counts count;
    char text[512];
    snprintf(text, sizeof text, "h800 1;--model %s --bf16 --seq 1024 --mbs 1 --gbs 8", model);
    CU_ASSERT_EQUAL_FATAL(scale_open(&s, text), 0);
    CU_ASSERT_EQUAL_FATAL(scale_run(&s, NULL, &run), 0);
    ss_model_count(&s.job.model, run.plan->padded_vocab, &count);
    double layers = run.plan->classes[0].parameters, all = count.total + count.mtp;
    if (fabs(layers - all) > 0.5)
        printf("%s: layers have %.0f parameters, the model %.0f\n", model, layers, all);
    CU_ASSERT_DOUBLE_EQUAL(layers, all, 0.5);
    ss_run_free(&run);
    scale_close(&s);
}

static void test_all_models(void)
{
    DIR *folder = opendir(SS_SOURCE_DIR "/workloads/models");
    int n = 0;
    CU_ASSERT_PTR_NOT_NULL_FATAL(folder);
    for (const struct dirent *entry; (entry = readdir(folder)) != NULL;) {
        size_t length = strlen(entry->d_name);
        char name[256];
        if (length < 6 || strcmp(entry->d_name + length - 5, ".json"))
            continue;
        snprintf(name, sizeof name, "%.*s", (int)length - 5, entry->d_name);
        expect_parameters(name);
        n++;
    }
    closedir(folder);
    CU_ASSERT(n > 20);
}

SUITE(model_layers)
{
    CU_TestInfo tests[] = {{"parameters of all models", test_all_models}, CU_TEST_INFO_NULL};
    return suite_run("model layers", NULL, NULL, tests);
}
