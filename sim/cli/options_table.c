/* SPDX-License-Identifier: Apache-2.0 */
/* Every option of the program beside those of a job. */
#include "cli/cli.h"
#include "cli/verbs.h"

#define AT(field) offsetof(struct ss_options, field)
#define PROGRAM_AT(field) offsetof(struct cli_flags, field)
#define V(verb) ((uint64_t)1 << CLI_##verb)
_Static_assert(CLI_VERB_COUNT <= 64, "a bit a verb");
_Static_assert(offsetof(struct cli_flags, options) == 0, "AT is as good as PROGRAM_AT");

/* Sets of verbs: those that write JSON, that lower a job to a program, that draw pictures, that need the
 * shape of a pipeline */
#define JSON                                                                                                 \
    (V(RUN) | V(SEARCH) | V(SWEEP) | V(COMPARE) | V(EXPLAIN) | V(CHECK) | V(SHARE) | V(CAPACITY) | V(PLAN) | \
     V(IMPORT) | V(PROGRAM_READ) | V(PROGRAM_CHECK) | V(SCHEDULE_LIST) | V(SCHEDULE_SHOW) |                  \
     V(SCHEDULE_CHECK) | ORDERS | SEARCH | V(PLATFORM_SHOW) | V(PLATFORM_CHECK) | V(VALIDATE) |              \
     V(CALIBRATE) | V(LIST) | V(DOCTOR) | V(VERSION))
#define OUTPUT                                                                                               \
    (V(RUN) | V(SEARCH) | V(SWEEP) | V(COMPARE) | V(EXPLAIN) | V(CHECK) | V(SHARE) | V(CAPACITY) | V(PLAN) | \
     V(IMPORT) | V(PROGRAM_WRITE) | V(PROGRAM_READ) | V(SCHEDULE_SHOW) | V(SCHEDULE_WRITE) | ORDERS |        \
     V(PLATFORM_SHOW) | V(VALIDATE))
#define ORDERS (V(SCHEDULE_COMPARE) | V(SCHEDULE_COMPARE_JOB))
#define SEARCH (V(SCHEDULE_SEARCH) | V(SCHEDULE_SEARCH_JOB))
#define DRAW (V(RUN) | V(PROGRAM_READ))
#define SHAPE (V(SCHEDULE_SHOW) | V(SCHEDULE_WRITE) | V(SCHEDULE_COMPARE) | V(SCHEDULE_SEARCH))
#define ALL UINT64_MAX

#define MAX_RANKS 65536
#define EXPORTS "for other simulators (docs/reference/formats-export.md)"
#define PICTURES "pictures (docs/guide/pictures.md)"
#define SHAPES "shape of the pipeline"
#define SEARCHES "search"
#define PICTURE_FILES "--report --gantt --card --memory --trace --kineto-trace"

static const char *color(int i)
{
    return i == SS_COLOR_PHASE ? "phase" : i == SS_COLOR_MICROBATCH ? "microbatch" : NULL;
}

const char *cli_shell(int i)
{
    static const char *const names[] = {"bash", "zsh", "fish", NULL};

    return i >= 0 && i < 3 ? names[i] : NULL;
}

#define SS_OPTION(...) {__VA_ARGS__},
#define SS_PROGRAM_OPTION(...) {__VA_ARGS__},
static const struct ss_option table[] = {
#include "stepsim/options.def"
};
_Static_assert(sizeof table / sizeof table[0] <= CLI_MOST_OPTIONS,
               "given of struct cli_flags has a place for each row");

const struct ss_option *cli_option_at(int i)
{
    return i >= 0 && i < (int)cli_option_count() ? &table[i] : NULL;
}

size_t cli_option_count(void)
{
    return sizeof table / sizeof table[0];
}
