/* SPDX-License-Identifier: Apache-2.0 */
#include "base/cache.h"

#include <sys/mman.h>
#include <sys/stat.h>

#include "base/base.h"

enum { CHAINS = 1024, MOST_BYTES = 64 << 20 }; /* CHAINS: at first */

/* Memory of this process and of those forked from it, at one address in all of them. What is told stays as
 * long as the memory does. */
enum { PLACES = 1 << 16, LOOKS = 32 };
enum { FREE, CLAIMED, TOLD }; /* claimed: by a process that writes, or that has died at it */
struct shared {
    size_t used; /* bytes of `room` */
    struct place {
        struct ss_cache_key key;
        void *thing;
        int state;
    } place[PLACES];
    _Alignas(16) char room[MOST_BYTES];
};

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
    size_t nitems, nchains;
    struct item **chain;
    struct shared *shared; /* NULL: none */
    int full;              /* 1: a copy had no room there, so this process makes no more */
};

int ss_cache_open(struct ss_cache **out, struct ss_error *err)
{
    struct ss_cache *cache = ss_calloc(1, sizeof *cache);
    SS_NEED(cache, err);
    cache->nchains = CHAINS;
    cache->chain = ss_calloc(CHAINS, sizeof *cache->chain);
    if (cache->chain) {
        *out = cache;
        return SS_OK;
    }
    free(cache);
    return ss_nomem(err);
}

/* Takes an item off its chain; `link` is the chain's pointer to it. */
static void drop(struct ss_cache *cache, struct item **link)
{
    struct item *item = *link;
    *link = item->next;
    cache->bytes -= item->bytes;
    cache->nitems--;
    item->destroy(item->thing);
    free(item);
}

void ss_cache_close(struct ss_cache *cache)
{
    if (!cache)
        return;
    for (size_t i = 0; i < cache->nchains; i++)
        while (cache->chain[i])
            drop(cache, &cache->chain[i]);
    free(cache->chain);
    if (cache->shared)
        munmap(cache->shared, sizeof *cache->shared);
    free(cache);
}

/* ---- what processes share ---- */

void ss_cache_share(struct ss_cache *cache)
{
    void *shared = mmap(NULL, sizeof *cache->shared, PROT_READ | PROT_WRITE,
                        MAP_SHARED | MAP_ANONYMOUS | MAP_NORESERVE, -1, 0);
    cache->shared = shared == MAP_FAILED ? NULL : shared;
}

int ss_cache_is_shared(const struct ss_cache *cache)
{
    return cache->shared != NULL;
}

void *ss_cache_copy(struct ss_cache *cache, const void *block, size_t bytes)
{
    struct shared *s = cache->shared;
    if (!s || cache->full || !block)
        return NULL;
    size_t at = __atomic_fetch_add(&s->used, (bytes + 15) / 16 * 16, __ATOMIC_RELAXED);
    cache->full = at > sizeof s->room || bytes > sizeof s->room - at;
    return cache->full ? NULL : memcpy(s->room + at, block, bytes);
}

/* Returns the place of a key, or claims one for it; NULL: it has none, or is told already. */
static struct place *place_of(struct shared *s, struct ss_cache_key key, int claim)
{
    for (size_t i = 0; i < LOOKS; i++) {
        struct place *at = &s->place[(key.a + i) % PLACES];
        int state = __atomic_load_n(&at->state, __ATOMIC_ACQUIRE);
        if (state == FREE && !claim)
            return NULL;
        if (state == FREE &&
            __atomic_compare_exchange_n(&at->state, &state, CLAIMED, 0, __ATOMIC_ACQUIRE, __ATOMIC_ACQUIRE))
            return at;
        if (state == TOLD && at->key.a == key.a && at->key.b == key.b)
            return claim ? NULL : at;
    }
    return NULL;
}

void ss_cache_tell(struct ss_cache *cache, struct ss_cache_key key, void *copy)
{
    struct place *at = copy && !cache->full ? place_of(cache->shared, key, 1) : NULL;
    if (!at)
        return;
    at->key = key;
    at->thing = copy;
    __atomic_store_n(&at->state, TOLD, __ATOMIC_RELEASE);
}

/* ---- what one process has ---- */

static struct item **find(struct ss_cache *cache, struct ss_cache_key key)
{
    struct item **link = &cache->chain[key.a % cache->nchains];
    while (*link && ((*link)->key.a != key.a || (*link)->key.b != key.b))
        link = &(*link)->next;
    return link;
}

void *ss_cache_take(struct ss_cache *cache, struct ss_cache_key key)
{
    struct item *item = *find(cache, key);
    const struct place *told = item || !cache->shared ? NULL : place_of(cache->shared, key, 0);
    if (!item && !told)
        return NULL;
    cache->counts.found++;
    if (!item)
        return told->thing;
    item->asked = ++cache->now;
    item->taken++;
    return item->thing;
}

/* Drops the untaken items that were unused for the longest time: the oldest one, and others of the oldest eighth of all questions since,
 * so that few of many items ask for a look at all of them. Returns 0 when every item is taken. */
static int drop_oldest(struct ss_cache *cache)
{
    uint64_t oldest = cache->now + 1;
    for (size_t i = 0; i < cache->nchains; i++)
        for (const struct item *item = cache->chain[i]; item; item = item->next)
            oldest = !item->taken && item->asked < oldest ? item->asked : oldest;
    if (oldest > cache->now)
        return 0;
    oldest += (cache->now - oldest) / 8;
    for (size_t i = 0; i < cache->nchains; i++)
        for (struct item **link = &cache->chain[i]; *link;) {
            if (!(*link)->taken && (*link)->asked <= oldest)
                drop(cache, link);
            else
                link = &(*link)->next;
        }
    return 1;
}

/* Doubles the chains. Without memory they get longer. */
static void grow(struct ss_cache *cache)
{
    const size_t n = 2 * cache->nchains;
    struct item **chain = ss_calloc(n, sizeof *chain);
    if (!chain)
        return;
    for (size_t i = 0; i < cache->nchains; i++)
        for (struct item *item = cache->chain[i], *next; item; item = next) {
            next = item->next;
            item->next = chain[item->key.a % n];
            chain[item->key.a % n] = item;
        }
    free(cache->chain);
    cache->chain = chain;
    cache->nchains = n;
}

int ss_cache_put(struct ss_cache *cache, struct ss_cache_key key, void *thing, size_t bytes,
                 void (*destroy)(void *))
{
    struct item *item = ss_calloc(1, sizeof *item);
    if (!item)
        return -1;
    while (cache->bytes + bytes > MOST_BYTES && drop_oldest(cache)) {
    }
    if (cache->nitems > cache->nchains)
        grow(cache);
    struct item **first = &cache->chain[key.a % cache->nchains];
    *item = (struct item){.key = key,
                          .thing = thing,
                          .destroy = destroy,
                          .bytes = bytes,
                          .asked = ++cache->now,
                          .taken = 1,
                          .next = *first};
    *first = item;
    cache->nitems++;
    cache->bytes += bytes;
    cache->counts.put++;
    return 0;
}

void ss_cache_weigh(struct ss_cache *cache, struct ss_cache_key key, size_t bytes)
{
    struct item *item = *find(cache, key);
    if (!item)
        return;
    cache->bytes += bytes - item->bytes;
    item->bytes = bytes;
}

void ss_cache_give_back(struct ss_cache *cache, struct ss_cache_key key)
{
    struct item **link = find(cache, key);
    if (!*link)
        return;
    (*link)->taken--;
    if (!(*link)->taken && cache->shared && place_of(cache->shared, key, 0))
        drop(cache, link); /* the copy that all have is taken from now on */
}

struct ss_cache_counts ss_cache_counts(const struct ss_cache *cache)
{
    return cache->counts;
}

/* ---- files ---- */

static void mix_stat(struct ss_cache_key *key, const struct stat *st)
{
    ss_cache_mix(key, (uint64_t)st->st_mtim.tv_sec);
    ss_cache_mix(key, (uint64_t)st->st_mtim.tv_nsec);
    ss_cache_mix(key, (uint64_t)st->st_size);
    ss_cache_mix(key, (uint64_t)st->st_ino);
}

void ss_cache_mix_file(struct ss_cache_key *key, const char *path)
{
    struct stat st = {0};

    stat(path, &st);
    mix_stat(key, &st);
}

int ss_cache_file_hash(struct ss_cache *cache, const char *path, char hash[17], struct ss_error *err)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_HASH);
    struct stat st = {0};

    if (!cache ||
        (!ss_inside(path) && (stat(path, &st) || !S_ISREG(st.st_mode)))) /* a pipe has other bytes */
        return ss_file_hash(path, hash, err);
    ss_cache_mix_bytes(&key, path, strlen(path));
    mix_stat(&key, &st);
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
