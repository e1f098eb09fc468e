/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that the prediction reads, and stepsim's own: the table that the rows of stepsim/job_fields.def make. */
#include "job/flags_set.h"
#include "stepsim/params.h"

#define MAX_DEGREE (1 << 20)
#define MAX_SIZE (1 << 26)

/* The words of --precision, which a function takes. */
static const struct ss_flag_choice precision[] = {
#define X(symbol, name, bits, rows, peak, efficiency, prologue, recipe, flag) {name, 0},
    SS_PRECISION_LIST(X)
#undef X
        {"mxfp8", 0},
    {NULL, 0}};

/* Actions and their lists. */
#define AT(path) .offset = offsetof(struct ss_asked, path)
#define SET(path, to) .values = '0', .kind = SS_FLAG_SET, AT(path), .low = to
#define INT(path, least, most) .values = '1', .kind = SS_FLAG_INT, AT(path), .low = least, .high = most
#define NUMBER(path, least, most) .values = '1', .kind = SS_FLAG_DOUBLE, AT(path), .low = least, .high = most
#define CHOICE(path, list) .values = '1', .kind = SS_FLAG_CHOICE, AT(path), .choices = list
#define TEXT(path) .values = '1', .kind = SS_FLAG_TEXT, AT(path), .high = sizeof(((struct ss_asked *)0)->path)
#define CALL(number, function) .values = number, .kind = SS_FLAG_CALL, .call = ss_flag_##function
#define WORDS(number, function, list) CALL(number, function), .choices = list
#define ONLY(others, text, list)                                                                             \
    .values = '1', .kind = SS_FLAG_ONLY, .later = others, .wrong = text, .choices = list
#define PROP .values = '1', .kind = SS_FLAG_PROP
#define OF(...)                                                                                              \
    (const struct ss_flag_choice[])                                                                          \
    {                                                                                                        \
        __VA_ARGS__,                                                                                         \
        {                                                                                                    \
            NULL, 0                                                                                          \
        }                                                                                                    \
    }

#define SS_FLAG(flag, action, meaning) {.name = flag, .treatment = SS_FLAG_MODELLED, action, .doc = meaning},
#define SS_OWN(flag, action, meaning) {.name = flag, .treatment = SS_FLAG_OWN, action, .doc = meaning},
const struct ss_flag_setter ss_flag_setters[] = {
#include "stepsim/job_fields.def"
    {.name = NULL}};
