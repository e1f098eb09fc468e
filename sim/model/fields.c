/* SPDX-License-Identifier: Apache-2.0 */
/* Every use of the fields of a model, by the rows of stepsim/model_fields.def. */
#include "base/base.h"
#include "model/model_internal.h"

#define NUMBER .told = SS_TOLD_NUMBER
#define FLAG .told = SS_TOLD_FLAG
#define WORD(list) .told = SS_TOLD_WORD, .words = list
#define CONFIG .told = SS_TOLD_CONFIG
#define BY_HAND .keys = NULL
#define KEYS(names) .keys = names
#define FACTOR(number, names) .is_factor = 1, .neutral = number, .keys = names
#define OPEN SS_MODEL_UNSET
#define SS_FIELD(kind_, field, number_, told_, read_)                                                        \
    {.name = #field,                                                                                         \
     .kind = SS_MODEL_IS_##kind_,                                                                            \
     .offset = offsetof(struct ss_model, field),                                                             \
     .number = number_,                                                                                      \
     told_,                                                                                                  \
     read_},
const struct ss_model_field ss_model_fields[SS_MODEL_FIELDS] = {
#include "stepsim/model_fields.def"
};

static const void *at_const(const struct ss_model *m, const struct ss_model_field *f)
{
    return (const char *)m + f->offset;
}

static void *at(struct ss_model *m, const struct ss_model_field *f)
{
    return (char *)m + f->offset;
}

void ss_model_init(struct ss_model *m)
{
    memset(m, 0, sizeof(*m));
    for (const struct ss_model_field *f = ss_model_fields; f < ss_model_fields + SS_MODEL_FIELDS; f++) {
        if (f->kind == SS_MODEL_IS_CHOICE)
            *(int *)at(m, f) = SS_MODEL_UNSET;
        else if (f->kind == SS_MODEL_IS_RATE)
            *(double *)at(m, f) = SS_MODEL_UNSET;
    }
}

static void overlay_rule(struct ss_layer_rule *base, const struct ss_layer_rule *given)
{
    if (given->period || given->n)
        *base = *given;
}

/* Straight code: walks over spaces of layouts spend a twentieth of their time in a loop over the table. */
void ss_model_overlay(struct ss_model *base, const struct ss_model *given)
{
    if (given->vocab_size) /* rows that the config adds belong to its own vocabulary */
        base->extra_vocab_size = 0;
#define SS_TAKE_IF(is_given, field)                                                                          \
    if (is_given)                                                                                            \
        base->field = given->field;
#define SS_TAKE_NEED(field) SS_TAKE_IF(given->field, field)
#define SS_TAKE_SIZE(field) SS_TAKE_IF(given->field, field)
#define SS_TAKE_CHOICE(field) SS_TAKE_IF(given->field != SS_MODEL_UNSET, field)
#define SS_TAKE_SHARE(field) SS_TAKE_IF(given->field > 0, field)
#define SS_TAKE_LAYERS(field) overlay_rule(&base->field, &given->field);
#define SS_TAKE_MARK(field)
#define SS_TAKE_RATE(field)
#define SS_TAKE_TEXT(field)
#define SS_TAKE_ENCODER(field)
#define SS_TAKE_MIXER(field) SS_TAKE_LAYERS(field)
#define SS_FIELD(kind, field, number, told, read) SS_TAKE_##kind(field)
#include "stepsim/model_fields.def"
}

void ss_model_fill(struct ss_model *m)
{
    for (const struct ss_model_field *f = ss_model_fields; f < ss_model_fields + SS_MODEL_FIELDS; f++)
        if (f->kind == SS_MODEL_IS_CHOICE && *(int *)at(m, f) == SS_MODEL_UNSET)
            *(int *)at(m, f) = (int)f->number;
}

/* The row's name as Megatron's flag. */
static const char *flag_of(const struct ss_model_field *f, char *out, size_t size)
{
    snprintf(out, size, "--%s", f->name);
    for (char *c = out; *c; c++)
        *c = *c == '_' ? '-' : *c;
    return out;
}

int ss_model_check_sizes(const struct ss_model *m, struct ss_error *err)
{
    char flag[64];

    for (const struct ss_model_field *f = ss_model_fields; f < ss_model_fields + SS_MODEL_FIELDS; f++) {
        int need = f->kind == SS_MODEL_IS_NEED;
        if (!need && f->kind != SS_MODEL_IS_SIZE)
            continue;
        int value = *(const int *)at_const(m, f);
        if (value >= need && value <= (int)f->number)
            continue;
        flag_of(f, flag, sizeof flag);
        if (value == 0)
            return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                           "the model has no %s" SS_HINT "name a model with --model or give %s", flag, flag);
        return ss_fail(err, SS_ERR_CONFIG, NULL, 0,
                       "%s %d is outside %d..%d" SS_HINT "is this the right model?", flag, value, need,
                       (int)f->number);
    }
    return SS_OK;
}
