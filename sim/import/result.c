/* SPDX-License-Identifier: Apache-2.0 */
/* Results of `stepsim run --json` as requests: their inputs hold the words, and the files with their hashes. */
#include <jansson.h>

#include "base/base.h"
#include "import/import.h"

#define OLDEST 2 /* schema_version: before, inputs were not complete */

int ss_result_sniff(const char *text, size_t len)
{
    size_t i = ss_byte_order_mark(text, len);

    while (i < len && strchr(" \t\r\n", text[i]))
        i++;
    return i < len && text[i] == '{';
}

static int bad(const char *file, struct ss_error *err, const char *why)
{
    return ss_fail(err, SS_ERR_INPUT, file, 0,
                   "%s" SS_HINT "give what \"stepsim run --json\" wrote, or a file of flags", why);
}

static int add_words(struct ss_request *r, const json_t *words, const char *file, struct ss_error *err)
{
    int rc = json_is_array(words) ? SS_OK : bad(file, err, "inputs: words are no list");

    for (size_t i = 0; i < json_array_size(words) && !rc; i++) {
        const json_t *word = json_array_get(words, i);
        rc = json_is_string(word) ? ss_request_add(r, json_string_value(word), 0, err)
                                  : bad(file, err, "inputs: a word is no text");
    }
    return rc;
}

static int add_places(struct ss_request *r, const json_t *inputs, const char *file, struct ss_error *err)
{
    const json_t *places = json_object_get(inputs, "request");
    int rc = json_is_array(places) ? ss_request_add_place(r, file, err) /* of no word: the result itself */
                                   : bad(file, err, "inputs have no request: the job cannot be run again");

    for (size_t i = 0; i < json_array_size(places) && !rc; i++) {
        const json_t *place = json_array_get(places, i);
        rc = ss_request_add_place(r, json_string_value(json_object_get(place, "file")), err);
        if (!rc)
            r->place[r->nplaces - 1].program = json_is_true(json_object_get(place, "program"));
        const char *whence = json_string_value(json_object_get(place, "whence"));
        if (!rc && whence && !(r->place[r->nplaces - 1].whence = strdup(whence)))
            rc = ss_nomem(err);
        SS_THEN(rc, add_words(r, json_object_get(place, "words"), file, err));
    }
    if (rc)
        return rc;
    rc = ss_request_add_place(r, NULL, err);
    if (!rc)
        r->place[r->nplaces - 1].how = 1;
    return rc ? rc : add_words(r, json_object_get(inputs, "how"), file, err);
}

/* Adds the notes of the readers of the words; NULL: none. */
static int add_notes(struct ss_notes *notes, const json_t *list, const char *file, struct ss_error *err)
{
    int rc = !list || json_is_array(list) ? SS_OK : bad(file, err, "inputs: notes are no list");

    for (size_t i = 0; i < json_array_size(list) && !rc; i++) {
        const char *text = json_string_value(json_array_get(list, i));
        if (!text)
            rc = bad(file, err, "inputs: a note is no text");
        else if (ss_notes_add(notes, "%s", text))
            rc = ss_nomem(err);
    }
    return rc;
}

static int check_file(const json_t *entry, const char *file, struct ss_error *err)
{
    const char *rest = json_string_value(json_object_get(entry, "data")), *hash, *name;
    char path[4096], now[17];
    int rc = SS_OK;

    name = rest ? rest : json_string_value(json_object_get(entry, "file"));
    hash = json_string_value(json_object_get(entry, "fnv1a"));
    if (!name || !hash || (rest && strstr(rest, "..")))
        return bad(file, err, "inputs: a file without name or hash");
    if (rest)
        rc = ss_data_place(rest, path, sizeof path, err);
    else if (!ss_copy(path, sizeof path, name))
        rc = bad(file, err, "inputs: the path of a file is too long");
    SS_THEN(rc, ss_file_hash(path, now, err));
    if (rc || !strcmp(now, hash))
        return rc;
    return ss_fail(err, SS_ERR_INPUT, file, 0,
                   "%.200s has changed since this result: its hash was %.16s and is %s" SS_HINT
                   "bring the file of then back, or give the job's own flags to predict with today's",
                   name, hash, now);
}

static int add_inputs(struct ss_request *r, const json_t *root, const char *file, struct ss_error *err)
{
    const json_t *inputs = json_object_get(root, "inputs"), *files = json_object_get(inputs, "files");
    int rc = SS_OK;

    if (json_object_get(root, "model_type") || json_object_get(root, "architectures"))
        return ss_fail(err, SS_ERR_INPUT, file, 0,
                       "this is the config.json of a model, not a job" SS_HINT "give it as --model %s", file);
    if (!json_is_object(inputs))
        return bad(file, err, "this JSON has no inputs: it is no result of a run");
    if (json_integer_value(json_object_get(root, "schema_version")) < OLDEST)
        return bad(file, err, "this result is of an earlier version, whose inputs are not complete");
    for (size_t i = 0; i < json_array_size(files) && !rc; i++)
        rc = check_file(json_array_get(files, i), file, err);
    rc = rc ? rc : add_notes(&r->notes, json_object_get(inputs, "notes"), file, err);
    rc = rc ? rc : add_notes(&r->ignored, json_object_get(inputs, "ignored"), file, err);
    return rc ? rc : add_places(r, inputs, file, err);
}

int ss_result_add(struct ss_request *r, const char *text, size_t len, const char *file, struct ss_error *err)
{
    size_t mark = ss_byte_order_mark(text, len);
    json_error_t why;
    json_t *root = json_loadb(text + mark, len - mark, JSON_REJECT_DUPLICATES, &why);

    if (!root)
        return ss_fail(err, SS_ERR_INPUT, file, why.line, "this is no JSON: %.200s", why.text);
    int rc = add_inputs(r, root, file, err);
    json_decref(root);
    return rc;
}
