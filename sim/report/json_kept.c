/* SPDX-License-Identifier: Apache-2.0 */
/* Parts of documents that are the same for many jobs, kept as text. */
#include <assert.h>

#include "report/common.h"

/* The text, with a 0 behind it. */
static char *text_of(json_t *value, int depth)
{
    struct ss_json_text text = {0};

    if (!value || !ss_json_add(&text, value, depth)) {
        ss_json_free(value);
        free(text.at);
        return NULL;
    }
    json_decref(value);
    char *cut = realloc(text.at, text.n + 1);
    if (cut)
        cut[text.n] = '\0';
    else
        free(text.at);
    return cut;
}

json_t *ss_json_keep(struct ss_json_kept *kept, struct ss_cache_key key, json_t *(*object)(const void *of),
                     const void *of, int depth)
{
    if (!kept || !kept->cache)
        return object(of);
    assert(kept->n < SS_JSON_KEPT_MOST);
    char *text = ss_cache_take(kept->cache, key);
    if (!text) {
        text = text_of(object(of), depth);
        if (!text)
            return NULL;
        if (ss_cache_put(kept->cache, key, text, strlen(text), free)) {
            free(text);
            return NULL;
        }
    }
    json_t *hole = json_object();
    kept->part[kept->n++] = (struct ss_json_kept_part){.hole = hole, .text = text, .key = key};
    return hole;
}

int ss_json_write_kept(json_t *document, struct ss_json_kept *kept, FILE *out, struct ss_error *err)
{
    struct ss_json_text text = {.kept = kept};
    const bool whole = ss_json_add(&text, document, 0);

    if (whole)
        json_decref(document); /* nothing of it is marked */
    else
        ss_json_free(document);
    for (int i = 0; kept && i < kept->n; i++)
        ss_cache_give_back(kept->cache, kept->part[i].key);
    if (whole) {
        fwrite(text.at, 1, text.n, out);
        fputc('\n', out);
    }
    free(text.at);
    return whole ? ss_report_done(out, err) : ss_nomem(err);
}

int ss_json_write(json_t *document, FILE *out, struct ss_error *err)
{
    return ss_json_write_kept(document, NULL, out, err);
}
