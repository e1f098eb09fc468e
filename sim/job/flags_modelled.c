/* SPDX-License-Identifier: Apache-2.0 */
/* Flags that the prediction reads, and stepsim's own: the table that the rows of stepsim/job_fields.def make. */
#include "job/flags.h"
#include "job/flags_set.h"
#include "stepsim/params.h"

#define MAX_DEGREE (1 << 20)
#define MAX_SIZE (1 << 26)

/* ---- words of flags that a function takes, for those who list them ---- */

#define WORD(name)                                                                                           \
    {                                                                                                        \
        name, 0                                                                                              \
    }
static const struct ss_flag_choice method[] = {
    {"uniform", SS_RECOMPUTE_UNIFORM}, {"block", SS_RECOMPUTE_BLOCK}, {NULL, 0}};
static const struct ss_flag_choice precision[] = {
#define X(symbol, name, bits, rows, peak, efficiency, prologue, recipe, flag) WORD(name),
    SS_PRECISION_LIST(X)
#undef X
        WORD("mxfp8"),
    {NULL, 0}};
static const struct ss_flag_choice recompute[] = {{"none", SS_RECOMPUTE_NONE},
                                                  {"selective", SS_RECOMPUTE_SELECTIVE},
                                                  {"full", SS_RECOMPUTE_FULL},
                                                  {"op-selective", SS_RECOMPUTE_SELECTIVE},
                                                  {NULL, 0}};
static const struct ss_flag_choice granularity[] = {
    {"selective", SS_RECOMPUTE_SELECTIVE}, {"full", SS_RECOMPUTE_FULL}, {NULL, 0}};
static const struct ss_flag_choice fsdp[] = {
    WORD("full"), WORD("grad"), WORD("hybrid"), WORD("none"), {NULL, 0}};
static const struct ss_flag_choice fp8[] = {WORD("hybrid"), WORD("e4m3"), WORD("none"), {NULL, 0}};
static const struct ss_flag_choice optimizer[] = {WORD("adam"), WORD("adamw"),     WORD("hybridadam"),
                                                  WORD("muon"), WORD("dist_muon"), {NULL, 0}};
static const struct ss_flag_choice fp32[] = {WORD("fp32"), {NULL, 0}};
static const struct ss_flag_choice bf16[] = {WORD("bf16"), {NULL, 0}};
static const struct ss_flag_choice moment[] = {WORD("fp32"), WORD("bf16"), {NULL, 0}};
static const struct ss_flag_choice fp4[] = {WORD("e2m1"), WORD("none"), {NULL, 0}};
static const struct ss_flag_choice fp4_recipe[] = {WORD("nvfp4"), {NULL, 0}};

/* ---- actions ---- */

#define AT(path) .offset = offsetof(struct ss_asked, path)
#define SET(path, to) .values = '0', .kind = SS_FLAG_SET, AT(path), .low = to
#define INT(path, least, most) .values = '1', .kind = SS_FLAG_INT, AT(path), .low = least, .high = most
#define NUMBER(path, least, most) .values = '1', .kind = SS_FLAG_DOUBLE, AT(path), .low = least, .high = most
#define CHOICE(path, ...)                                                                                    \
    .values = '1', .kind = SS_FLAG_CHOICE, AT(path), .choices = (const struct ss_flag_choice[])              \
    {                                                                                                        \
        __VA_ARGS__,                                                                                         \
        {                                                                                                    \
            NULL, 0                                                                                          \
        }                                                                                                    \
    }
#define TEXT(path) .values = '1', .kind = SS_FLAG_TEXT, AT(path), .high = sizeof(((struct ss_asked *)0)->path)
#define CALL(number, function) .values = number, .kind = SS_FLAG_CALL, .call = ss_flag_##function
#define WORDS(number, function, list) CALL(number, function), .choices = list
#define PROP .values = '1', .kind = SS_FLAG_PROP

#define SS_FLAG(flag, action, meaning) {.name = flag, .treatment = SS_FLAG_MODELLED, action, .doc = meaning},
#define SS_OWN(flag, action, meaning) {.name = flag, .treatment = SS_FLAG_OWN, action, .doc = meaning},
const struct ss_flag_setter ss_flag_setters[] = {
#include "stepsim/job_fields.def"
    {.name = NULL}};
