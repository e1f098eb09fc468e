/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cache.h"

#include <sys/stat.h>

#include "base/base.h"

enum { CHAINS = 1024, MOST_BYTES = 64 << 20 };

struct item {
    struct ss_cache_key key;
    void *thing;
    void (*destroy)(void *);
    size_t bytes;
    uint64_t asked; /* number of the question that last asked for it */
    int taken;
    struct item *next; /* next item of its chain */
};

struct ss_cache {
    size_t bytes;
    uint64_t now; /* number of questions so far */
    struct ss_cache_counts counts;
    struct item *chain[CHAINS];
};

int ss_cache_open(struct ss_cache **out, struct ss_error *err)
{
    *out = ss_calloc(1, sizeof **out);
    return *out ? SS_OK : ss_nomem(err);
}

/* Takes an item off its chain; `link` is the chain's pointer to it. */
static void drop(struct ss_cache *cache, struct item **link)
{
    struct item *item = *link;
    *link = item->next;
    cache->bytes -= item->bytes;
    item->destroy(item->thing);
    free(item);
}

void ss_cache_close(struct ss_cache *cache)
{
    for (int i = 0; cache && i < CHAINS; i++)
        while (cache->chain[i])
            drop(cache, &cache->chain[i]);
    free(cache);
}

static struct item **find(struct ss_cache *cache, struct ss_cache_key key)
{
    struct item **link = &cache->chain[key.a % CHAINS];
    while (*link && ((*link)->key.a != key.a || (*link)->key.b != key.b))
        link = &(*link)->next;
    return link;
}

void *ss_cache_take(struct ss_cache *cache, struct ss_cache_key key)
{
    struct item *item = *find(cache, key);
    if (!item)
        return NULL;
    item->asked = ++cache->now;
    item->taken++;
    cache->counts.found++;
    return item->thing;
}

/* Drops the untaken item that was unused for the longest time; returns 0 when every item is taken. */
static int drop_oldest(struct ss_cache *cache)
{
    struct item **oldest = NULL;
    for (int i = 0; i < CHAINS; i++)
        for (struct item **link = &cache->chain[i]; *link; link = &(*link)->next)
            if (!(*link)->taken && (!oldest || (*link)->asked < (*oldest)->asked))
                oldest = link;
    if (oldest)
        drop(cache, oldest);
    return oldest != NULL;
}

int ss_cache_put(struct ss_cache *cache, struct ss_cache_key key, void *thing, size_t bytes,
                 void (*destroy)(void *))
{
    struct item *item = ss_calloc(1, sizeof *item);
    if (!item)
        return -1;
    while (cache->bytes + bytes > MOST_BYTES && drop_oldest(cache)) {
    }
    *item = (struct item){.key = key,
                          .thing = thing,
                          .destroy = destroy,
                          .bytes = bytes,
                          .asked = ++cache->now,
                          .taken = 1,
                          .next = cache->chain[key.a % CHAINS]};
    cache->chain[key.a % CHAINS] = item;
    cache->bytes += bytes;
    cache->counts.put++;
    return 0;
}

void ss_cache_give_back(struct ss_cache *cache, struct ss_cache_key key)
{
    struct item *item = *find(cache, key);
    if (item)
        item->taken--;
}

struct ss_cache_counts ss_cache_counts(const struct ss_cache *cache)
{
    return cache->counts;
}

/* ---- files ---- */

void ss_cache_mix_file(struct ss_cache_key *key, const char *path)
{
    struct stat st = {0};

    stat(path, &st);
    ss_cache_mix(key, (uint64_t)st.st_mtim.tv_sec);
    ss_cache_mix(key, (uint64_t)st.st_mtim.tv_nsec);
    ss_cache_mix(key, (uint64_t)st.st_size);
    ss_cache_mix(key, (uint64_t)st.st_ino);
}

int ss_cache_file_hash(struct ss_cache *cache, const char *path, char hash[17], struct ss_error *err)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_HASH);
    struct stat st;

    if (!cache ||
        (!ss_inside(path) && (stat(path, &st) || !S_ISREG(st.st_mode)))) /* a pipe has other bytes */
        return ss_file_hash(path, hash, err);
    ss_cache_mix_bytes(&key, path, strlen(path));
    ss_cache_mix_file(&key, path);
    char *kept = ss_cache_take(cache, key);
    if (kept) {
        memcpy(hash, kept, 17);
        ss_cache_give_back(cache, key);
        return SS_OK;
    }
    SS_TRY(ss_file_hash(path, hash, err));
    kept = strdup(hash);
    if (kept && ss_cache_put(cache, key, kept, 17, free))
        free(kept); /* the next one reads it again */
    else if (kept)
        ss_cache_give_back(cache, key);
    return SS_OK;
}
