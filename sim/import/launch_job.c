/* SPDX-License-Identifier: Apache-2.0 */
/* Which calls of a launch script start a job. */
#include "base/base.h"
#include "import/command.h"
#include "import/hydra.h"
#include "import/sandbox.h"
#include "stepsim/flags.h"

/* Words that a launch command must have in common with the flags of a job, so that it is one. */
#define ENOUGH_FLAGS 3

/* Programs that prepare data or weights for a job, some by flags of one: "preprocess_data.py --tokenizer-type X". */
static int prepares(const struct ss_call *c)
{
    static const char *const begins[] = {"preprocess", "convert", "merge_", "tokenize", "download"};
    const char *name = "";

    for (size_t i = 0; i < c->n && !name[0]; i++) {
        size_t n = strlen(c->word[i]);
        const char *slash = strrchr(c->word[i], '/');
        if (n > 3 && c->word[i][0] != '-' && !strcmp(c->word[i] + n - 3, ".py"))
            name = slash ? slash + 1 : c->word[i];
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(begins); i++)
        if (!strncmp(name, begins[i], strlen(begins[i])))
            return 1;
    return 0;
}

int ss_launch_is_job(const struct ss_call *c)
{
    char name[96];
    int n = 0;

    if (c->kind == SS_CALL_LAUNCHER && prepares(c))
        return 0;

    for (size_t i = 1; i < c->n && c->kind == SS_CALL_LAUNCHER; i++) {
        snprintf(name, sizeof name, "%.*s", (int)strcspn(c->word[i], "="), c->word[i]);
        n += !strncmp(name, "--", 2) ? ss_flag_known(name)
                                     : strchr(name, '.') && ss_hydra_is_override(c->word[i]);
    }
    return n >= ENOUGH_FLAGS || (c->kind == SS_CALL_LAUNCHER && ss_command_is_call(c->word, c->n));
}
