/* SPDX-License-Identifier: Apache-2.0 */
/* What one answer leaves for the next: files that were read, error bands, parts of plans. */
#include <pthread.h>
#include <unistd.h>

#include "ask/shelf.h"
#include "base/base.h"
#include "base/cache.h"
#include "stepsim/replay.h"

#define MOST_IDLE 8
#define MOST_ANSWERS 1000 /* then all is read anew, so that it does not pile up */

struct ss_shelves {
    pthread_mutex_t lock;
    struct ss_shelf *idle;
    int nidle;
};

int ss_shelves_new(struct ss_shelves **out, struct ss_error *err)
{
    struct ss_shelves *s = ss_calloc(1, sizeof *s);

    SS_NEED(s, err);
    pthread_mutex_init(&s->lock, NULL);
    *out = s;
    return SS_OK;
}

static void free_shelf(struct ss_shelf *shelf)
{
    ss_cache_close(shelf->cache);
    ss_scenario_free(shelf->like);
    ss_bands_free(shelf->bands);
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

static void mix_text(struct ss_cache_key *key, const char *text)
{
    ss_cache_mix_bytes(key, text ? text : "", text ? strlen(text) : 0);
}

/* A hash of where files are looked for, and of the files. */
static uint64_t stamp_of(const struct ss_files *files)
{
    struct ss_cache_key key = ss_cache_key(0);
    char here[4096];

    mix_text(&key, getcwd(here, sizeof here));
    mix_text(&key, getenv("STEPSIM_DATA"));
    for (size_t i = 0; i < files->n; i++)
        ss_cache_mix_file(&key, files->path[i]);
    return key.a;
}

static int new_shelf(const struct ss_request *start, struct ss_shelf **out, struct ss_error *err)
{
    struct ss_shelf *shelf = ss_calloc(1, sizeof *shelf);
    int rc = shelf ? ss_cache_open(&shelf->cache, err) : ss_nomem(err);

    for (size_t i = 0; start && i < start->n && !rc; i++) {
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
    shelf->answers++;
    if (shelf->answers == 1 || shelf->files.n > shelf->stamped) { /* else it is from before the answer */
        shelf->stamp = stamp_of(&shelf->files);
        shelf->stamped = shelf->files.n;
    }
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

int ss_shelf_build(struct ss_shelf *shelf, const struct ss_request *r, struct ss_files *files,
                   struct ss_scenario **out, struct ss_error *err)
{
    struct ss_scenario_options how = ss_shelf_how(shelf);
    struct ss_files read = {0};

    how.files = &read;
    int rc = ss_scenario_build(r, &how, out, err);
    if (!rc && !shelf->like) {
        how.like = *out;
        rc = ss_scenario_build(r, &how, &shelf->like, err);
        if (rc)
            ss_scenario_free(*out);
    }
    const int noted = ss_files_add_all(&shelf->files, &read, NULL);
    SS_THEN(rc, ss_files_add_all(files, &read, err));
    ss_files_free(&read);
    if (noted) /* a change of a file would not be seen */
        shelf->answers = MOST_ANSWERS;
    return rc;
}

int ss_shelf_bands(struct ss_shelf *shelf, const struct ss_bands **out, struct ss_error *err)
{
    int rc = shelf->bands ? SS_OK : ss_bands_load(NULL, &shelf->files, &shelf->bands, err);

    *out = shelf->bands;
    return rc;
}

struct ss_scenario_options ss_shelf_how(struct ss_shelf *shelf)
{
    return (struct ss_scenario_options){
        .asker = ss_simgrid_ask_routes, .files = &shelf->files, .like = shelf->like};
}
