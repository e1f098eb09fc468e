/* SPDX-License-Identifier: Apache-2.0 */
/* Whole answers of the page, on a shelf. */
#include "base/base.h"
#include "base/cache.h"
#include "serve/answer.h"

struct kept {
    struct ss_serve_reply reply;
    char body[];
};

static struct ss_cache_key key_of(const char *path, const struct ss_serve_argument *arguments, int n)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_ANSWER);

    ss_cache_mix_bytes(&key, path, strlen(path));
    for (int i = 0; i < n; i++) {
        ss_cache_mix_bytes(&key, arguments[i].name, strlen(arguments[i].name));
        ss_cache_mix_bytes(&key, arguments[i].value, strlen(arguments[i].value));
    }
    return key;
}

int ss_answer_recall(struct ss_shelf *shelf, const char *path, const struct ss_serve_argument *arguments,
                     int n, struct ss_serve_reply *reply)
{
    const struct ss_cache_key key = key_of(path, arguments, n);
    struct kept *kept = ss_cache_take(shelf->cache, key);

    if (!kept)
        return 0;
    *reply = kept->reply;
    reply->body = malloc(reply->size + 1);
    if (reply->body)
        memcpy(reply->body, kept->body, reply->size + 1);
    ss_cache_give_back(shelf->cache, key);
    return reply->body != NULL;
}

void ss_answer_keep(struct ss_shelf *shelf, const char *path, const struct ss_serve_argument *arguments,
                    int n, const struct ss_serve_reply *reply)
{
    const struct ss_cache_key key = key_of(path, arguments, n);
    struct kept *kept = malloc(sizeof *kept + reply->size + 1);

    if (!kept)
        return; /* the next one asks again */
    kept->reply = *reply;
    memcpy(kept->body, reply->body, reply->size + 1); /* with the zero of the stream */
    if (ss_cache_put(shelf->cache, key, kept, sizeof *kept + reply->size, free))
        free(kept);
    else
        ss_cache_give_back(shelf->cache, key);
}
