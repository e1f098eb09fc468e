/* SPDX-License-Identifier: Apache-2.0 */
/* Schedules kept by their names and parameters, which decide all of a schedule. */
#include "base/base.h"
#include "base/cache.h"
#include "schedule/builder.h"

static struct ss_cache_key key_of(const char *name, const struct ss_schedule_params *p, int microbatches)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_SCHEDULE);
    const int numbers[] = {p->stages,      p->chunks,      microbatches, p->microbatch_group_size,
                           p->overlap_p2p, p->ordered_p2p, p->paired};
    ss_cache_mix_ints(&key, numbers, (int)(sizeof numbers / sizeof numbers[0]));
    ss_cache_mix_bytes(&key, name, strlen(name));
    return key;
}

static size_t bytes_of(const struct ss_schedule *s)
{
    size_t stages = (size_t)s->stages, bytes = sizeof *s + 2 * stages * (size_t)s->chunks * sizeof(int);
    bytes += stages * (sizeof *s->slots + sizeof *s->nslots + sizeof *s->warmup + sizeof *s->loop_first);
    for (size_t r = 0; r < stages; r++)
        bytes += (size_t)s->nslots[r] * sizeof **s->slots;
    return bytes;
}

static void destroy(void *thing)
{
    ss_schedule_free(thing);
}

static int pipelines_of(const struct ss_schedule *s)
{
    return s->pipelines > 1 ? s->pipelines : 1;
}

/* The loop with as many turns as make so many microbatches. */
static int turn_again(const struct ss_schedule *loop, int microbatches, struct ss_schedule **out,
                      struct ss_error *err)
{
    struct ss_schedule *s;
    SS_TRY(ss_schedule_turns(loop, 0, &s, err));
    if (!(s->loop_first = ss_calloc((size_t)s->stages, sizeof *s->loop_first))) {
        ss_schedule_free(s);
        return ss_nomem(err);
    }
    memcpy(s->loop_first, loop->loop_first, (size_t)s->stages * sizeof *s->loop_first);
    s->loop_length = loop->loop_length;
    s->loop_step = loop->loop_step;
    s->loop_more = (microbatches / pipelines_of(loop) - loop->microbatches) / loop->loop_step;
    *out = s;
    return SS_OK;
}

/* A schedule of many microbatches is the loop of another one that leaves as much of a period. */
static int build(const char *name, const struct ss_schedule_params *params, struct ss_cache *cache,
                 struct ss_schedule **out, struct ss_error *err)
{
    SS_TRY(ss_schedule_check_params(name, params, err));
    const int rest = ss_schedule_loop_rest(params);
    if (rest < 0)
        return ss_schedule_build_loop(name, params, out, err);
    struct ss_cache_key key = key_of(name, params, rest);
    ss_cache_mix(&key, SS_CACHE_SCHEDULE);
    struct ss_schedule *loop = ss_cache_take(cache, key);
    int rc = loop ? turn_again(loop, params->microbatches, out, err)
                  : ss_schedule_build_loop(name, params, out, err);
    if (loop) {
        ss_cache_give_back(cache, key);
    } else if (!rc && (*out)->loop_more > 0 && !ss_cache_put(cache, key, *out, bytes_of(*out), destroy)) {
        (*out)->sharers++;
        ss_cache_give_back(cache, key);
    }
    return rc;
}

int ss_schedule_build_kept(const char *name, const struct ss_schedule_params *params, struct ss_cache *cache,
                           struct ss_schedule **out, struct ss_error *err)
{
    if (!cache || !name || !params)
        return ss_schedule_build_loop(name, params, out, err);
    const struct ss_cache_key key = key_of(name, params, params->microbatches);
    struct ss_schedule *s = ss_cache_take(cache, key);
    if (!s) {
        SS_TRY(build(name, params, cache, &s, err));
        *out = s;
        if (ss_cache_put(cache, key, s, bytes_of(s), destroy))
            return SS_OK; /* the next one is built again */
        /* a loop has the slots of few microbatches */
        const struct ss_cache_key slots =
            key_of(name, params, params->microbatches - s->loop_more * s->loop_step * pipelines_of(s));
        s->kept[0] = slots.a;
        s->kept[1] = slots.b;
    }
    s->sharers++;
    ss_cache_give_back(cache, key);
    *out = s;
    return SS_OK;
}
