/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that take more than storing a number. */
#pragma once

#include "job/flags.h"

/* Each function that a flag is said to call. */
#define SET(path, to)
#define INT(path, least, most)
#define NUMBER(path, least, most)
#define CHOICE(path, list)
#define TEXT(path)
#define ONLY(later, text, list)
#define PROP
#define CALL(number, function)                                                                               \
    int ss_flag_##function(struct ss_asked *asked, int n, char *const *values, const char **why);
#define WORDS(number, function, list) CALL(number, function)
#define SS_FLAG(flag, action, meaning) action
#define SS_OWN(flag, action, meaning) action
#include "stepsim/job_fields.def"
#undef SET
#undef INT
#undef NUMBER
#undef CHOICE
#undef TEXT
#undef ONLY
#undef PROP
#undef CALL
#undef WORDS

/* Defines such a function; parameters that it does not read are allowed. */
#define SS_FLAG_CALLED(name)                                                                                 \
    int ss_flag_##name(struct ss_asked *asked __attribute__((unused)), int n __attribute__((unused)),        \
                       char *const *values __attribute__((unused)),                                          \
                       const char **why __attribute__((unused)))

/* Words of --cp-comm-type, --moe-token-dispatcher-type, --moe-flex-dispatcher-backend and --moe-router-load-balancing-type; each ends
 * with a name of NULL. */
extern const struct ss_flag_choice ss_flag_cp_comms[], ss_flag_dispatchers[], ss_flag_backends[],
    ss_flag_balancings[];
