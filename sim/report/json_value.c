/* SPDX-License-Identifier: Apache-2.0 */
#include "report/common.h"

/* A value that something is missing of has a type that jansson does not know: it cannot be dumped, nor can what holds it, and
 * nothing can be added to it. A flag of ours would need memory where there is none. */
enum { SPOILED = 100 };

static void spoil(json_t *value)
{
    if (value && (int)value->type < SPOILED)
        value->type = (json_type)((int)value->type + SPOILED);
}

void ss_json_set(json_t *object, const char *key, json_t *value)
{
    const char *end = key;

    while (*end > 0 && *end < 127) /* such a key is UTF-8, which jansson looks for much longer */
        end++;
    if (*end ? json_object_set_new(object, key, value) : json_object_set_new_nocheck(object, key, value))
        spoil(object);
}

void ss_json_append(json_t *array, json_t *value)
{
    if (json_array_append_new(array, value))
        spoil(array);
}

bool ss_json_is_whole(const json_t *value)
{
    const char *key;
    json_t *part;
    size_t i;

    if (!value || (int)value->type >= SPOILED)
        return false;
    json_object_foreach((json_t *)value, key, part)
    {
        if (!ss_json_is_whole(part))
            return false;
    }
    json_array_foreach(value, i, part)
    {
        if (!ss_json_is_whole(part))
            return false;
    }
    return true;
}

/* Gives jansson back the types that it frees by. */
static void mend(json_t *value)
{
    const char *key;
    json_t *part;
    size_t i;

    if ((int)value->type >= SPOILED)
        value->type = (json_type)((int)value->type - SPOILED);
    json_object_foreach(value, key, part) mend(part);
    json_array_foreach(value, i, part) mend(part);
}

void ss_json_free(json_t *value)
{
    if (value)
        mend(value);
    json_decref(value);
}

json_t *ss_json_string(const char *text)
{
    json_t *value = json_string(text);
    char ascii[1024];
    size_t n = 0;

    if (value || !text)
        return value;
    for (; text[n] && n + 1 < sizeof ascii; n++)
        ascii[n] = (unsigned char)text[n] < 128 ? text[n] : '?';
    ascii[n] = '\0';
    return json_string(ascii);
}
