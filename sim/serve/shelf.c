/* SPDX-License-Identifier: Apache-2.0 */
/* What one answer of the page leaves for the next: files that were read, parts of plans, and whole answers. */
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "base/base.h"
#include "base/cache.h"
#include "serve/shelf.h"
#include "stepsim/replay.h"

#define MOST_IDLE 8
#define MOST_ANSWERS 1000 /* found, not recalled; then all is read anew, so that it does not pile up */

struct ss_shelves {
    pthread_mutex_t lock;
    struct ss_shelf *idle;
    int nidle;
};

int ss_shelves_new(struct ss_shelves **out, struct ss_error *err)
{
    struct ss_shelves *s = ss_calloc(1, sizeof *s);

    if (!s)
        return ss_nomem(err);
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return SS_OK;
}

static void free_shelf(struct ss_shelf *shelf)
{
    ss_cache_close(shelf->cache);
    ss_scenario_free(shelf->like);
    ss_files_free(&shelf->files);
    free(shelf);
}

void ss_shelves_free(struct ss_shelves *s)
{
    if (!s)
        return;
    for (struct ss_shelf *shelf = s->idle, *next; shelf; shelf = next) {
        next = shelf->next;
        free_shelf(shelf);
    }
    pthread_mutex_destroy(&s->lock);
    free(s);
}

/* A hash of when the files were changed, and how long they are; one that is not there counts too. */
static uint64_t stamp_of(const struct ss_files *files)
{
    struct ss_cache_key key = ss_cache_key(0);

    for (size_t i = 0; i < files->n; i++) {
        struct stat st = {0};
        stat(files->path[i], &st);
        ss_cache_mix(&key, (uint64_t)st.st_mtim.tv_sec);
        ss_cache_mix(&key, (uint64_t)st.st_mtim.tv_nsec);
        ss_cache_mix(&key, (uint64_t)st.st_size);
        ss_cache_mix(&key, (uint64_t)st.st_ino);
    }
    return key.a;
}

static int new_shelf(const struct ss_request *start, struct ss_shelf **out, struct ss_error *err)
{
    struct ss_shelf *shelf = ss_calloc(1, sizeof *shelf);
    int rc = shelf ? ss_cache_open(&shelf->cache, err) : ss_nomem(err);

    for (size_t i = 0; i < start->n && !rc; i++) {
        const char *word = start->word[i].text, *equal = strchr(word, '=');
        rc = ss_files_add(&shelf->files, equal ? equal + 1 : word, err);
    }
    if (rc && shelf)
        free_shelf(shelf);
    else
        *out = shelf;
    return rc;
}

int ss_shelf_take(struct ss_shelves *s, const struct ss_request *start, struct ss_shelf **out,
                  struct ss_error *err)
{
    pthread_mutex_lock(&s->lock);
    struct ss_shelf *shelf = s->idle;
    if (shelf) {
        s->idle = shelf->next;
        s->nidle--;
    }
    pthread_mutex_unlock(&s->lock);
    if (shelf && (shelf->answers >= MOST_ANSWERS || stamp_of(&shelf->files) != shelf->stamp)) {
        free_shelf(shelf);
        shelf = NULL;
    }
    *out = shelf;
    return shelf ? SS_OK : new_shelf(start, out, err);
}

void ss_shelf_give_back(struct ss_shelves *s, struct ss_shelf *shelf)
{
    shelf->stamp = stamp_of(&shelf->files);
    pthread_mutex_lock(&s->lock);
    int kept = s->nidle < MOST_IDLE;
    if (kept) {
        shelf->next = s->idle;
        s->idle = shelf;
        s->nidle++;
    }
    pthread_mutex_unlock(&s->lock);
    if (!kept)
        free_shelf(shelf);
}

int ss_shelf_build(struct ss_shelf *shelf, const struct ss_request *r, struct ss_scenario **out,
                   struct ss_error *err)
{
    const struct ss_scenario_options how = ss_shelf_how(shelf);
    int rc = ss_scenario_build(r, &how, out, err);

    if (rc || shelf->like)
        return rc;
    return ss_scenario_build(
        r, &(struct ss_scenario_options){.asker = how.asker, .files = how.files, .like = *out}, &shelf->like,
        err);
}

struct ss_scenario_options ss_shelf_how(struct ss_shelf *shelf)
{
    return (struct ss_scenario_options){
        .asker = ss_simgrid_ask_routes, .files = &shelf->files, .like = shelf->like};
}

/* ---- whole answers ---- */

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

int ss_shelf_recall(struct ss_shelf *shelf, const char *path, const struct ss_serve_argument *arguments,
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

void ss_shelf_keep(struct ss_shelf *shelf, const char *path, const struct ss_serve_argument *arguments, int n,
                   const struct ss_serve_reply *reply)
{
    const struct ss_cache_key key = key_of(path, arguments, n);
    struct kept *kept = malloc(sizeof *kept + reply->size + 1);

    if (!kept)
        return; /* the next one asks again */
    shelf->answers++;
    kept->reply = *reply;
    memcpy(kept->body, reply->body, reply->size + 1); /* with the zero of the stream */
    if (ss_cache_put(shelf->cache, key, kept, sizeof *kept + reply->size, free))
        free(kept);
    else
        ss_cache_give_back(shelf->cache, key);
}
