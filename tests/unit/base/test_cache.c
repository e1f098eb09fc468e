/* SPDX-License-Identifier: Apache-2.0 */
/* What predictions share: a cache, and costs of stages that are alike. */
#include <fcntl.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include "job_helper.h"
#include "plan/plan_internal.h"
#include "suite.h"

static int freed;

static void destroy(void *thing)
{
    freed++;
    free(thing);
}

static int *new_thing(int value)
{
    int *thing = malloc(sizeof *thing);
    CU_ASSERT_PTR_NOT_NULL_FATAL(thing);
    *thing = value;
    return thing;
}

static struct ss_cache_key key_of(int number)
{
    struct ss_cache_key key = ss_cache_key(SS_CACHE_BANDS);
    ss_cache_mix_ints(&key, &number, 1);
    return key;
}

/* A third of what a cache holds each: three stay, those taken whatever comes, of the others those asked for last. */
TEST(cache)
{
    const size_t third = (64u << 20) / 3;
    struct ss_cache *cache;
    freed = 0;
    CU_ASSERT_FATAL(!ss_cache_open(&cache, NULL));
    CU_ASSERT_PTR_NULL(ss_cache_take(cache, key_of(1)));
    for (int i = 1; i <= 3; i++)
        CU_ASSERT_FATAL(!ss_cache_put(cache, key_of(i), new_thing(i), third, destroy));
    for (int i = 2; i <= 3; i++)
        ss_cache_give_back(cache, key_of(i));
    CU_ASSERT_PTR_NOT_NULL_FATAL(ss_cache_take(cache, key_of(2)));
    ss_cache_give_back(cache, key_of(2));
    CU_ASSERT_EQUAL(freed, 0);
    CU_ASSERT_FATAL(
        !ss_cache_put(cache, key_of(4), new_thing(4), third, destroy)); /* 3 was asked for before 2 */
    ss_cache_give_back(cache, key_of(4));
    CU_ASSERT_EQUAL(freed, 1);
    CU_ASSERT_PTR_NULL(ss_cache_take(cache, key_of(3)));
    for (int i = 5; i <= 6; i++) {
        CU_ASSERT_FATAL(!ss_cache_put(cache, key_of(i), new_thing(i), third, destroy));
        ss_cache_give_back(cache, key_of(i));
    }
    CU_ASSERT_EQUAL(freed, 3);
    ss_cache_weigh(cache, key_of(6), 2 * third); /* what was put as a third leaves no room for another */
    ss_cache_weigh(cache, key_of(9), third);
    CU_ASSERT_FATAL(!ss_cache_put(cache, key_of(7), new_thing(7), third / 2, destroy));
    ss_cache_give_back(cache, key_of(7));
    CU_ASSERT_PTR_NULL(ss_cache_take(cache, key_of(6)));
    CU_ASSERT_EQUAL(freed, 5);
    const int *taken = ss_cache_take(cache, key_of(1)); /* still, from the beginning */
    CU_ASSERT_PTR_NOT_NULL_FATAL(taken);
    CU_ASSERT_EQUAL(*taken, 1);
    ss_cache_close(cache);
    CU_ASSERT_EQUAL(freed, 7);
    ss_cache_close(NULL);
}

/* What one process tells others take; unless it had no room, or somebody told it before. */
TEST(shared)
{
    static char block[1 << 20];
    struct ss_cache *cache;
    int status;
    CU_ASSERT_FATAL(!ss_cache_open(&cache, NULL));
    CU_ASSERT_PTR_NULL(ss_cache_copy(cache, block, 1)); /* nobody shares */
    ss_cache_tell(cache, key_of(0), NULL);
    ss_cache_share(cache);
    CU_ASSERT_PTR_NULL(ss_cache_copy(cache, NULL, 1));
    pid_t child = fork();
    if (!child) {
        for (int i = 1; i <= 2; i++) {
            ss_cache_tell(cache, key_of(1), ss_cache_copy(cache, &i, sizeof i)); /* the first one holds */
            ss_cache_tell(cache, key_of(1 + i), ss_cache_copy(cache, &i, sizeof i));
        }
        int *late = ss_cache_copy(cache, &status, sizeof status);
        for (int i = 0; i < 64; i++) /* others have no room for all of these */
            ss_cache_copy(cache, block, sizeof block);
        ss_cache_tell(cache, key_of(4), late);
        ss_cache_tell(cache, key_of(5), ss_cache_copy(cache, "", 1));
        _exit(*(int *)ss_cache_take(cache, key_of(1)) != 1);
    }
    CU_ASSERT_FATAL(child > 0 && waitpid(child, &status, 0) == child);
    CU_ASSERT_EQUAL(status, 0);
    for (int i = 1; i <= 5; i++) {
        const int *told = ss_cache_take(cache, key_of(i));
        CU_ASSERT_EQUAL(told != NULL, i <= 3);
        CU_ASSERT(!told || *told == (i < 3 ? 1 : 2));
        ss_cache_give_back(cache, key_of(i));
    }
    freed = 0; /* who has made what is told keeps it until the last one gives it back */
    CU_ASSERT_FATAL(!ss_cache_put(cache, key_of(2), new_thing(3), sizeof(int), destroy));
    CU_ASSERT_EQUAL(*(int *)ss_cache_take(cache, key_of(2)), 3);
    ss_cache_give_back(cache, key_of(2));
    CU_ASSERT_EQUAL(freed, 0);
    ss_cache_give_back(cache, key_of(2));
    CU_ASSERT_EQUAL(freed, 1);
    CU_ASSERT_EQUAL(*(int *)ss_cache_take(cache, key_of(2)), 1);
    ss_cache_close(cache);
}

/* Keys of things that differ in a bit, an order or a length differ. */
TEST(keys)
{
    static const char *const texts[] = {"", "a", "b", "ab", "ba", "12345678", "123456789", "12345678a"};
    const int n = sizeof texts / sizeof *texts;
    for (int i = 0; i < n; i++)
        for (int j = 0; j < n; j++) {
            struct ss_cache_key a = ss_cache_key(SS_CACHE_LAYOUT), b = a;
            ss_cache_mix_bytes(&a, texts[i], strlen(texts[i]));
            ss_cache_mix_bytes(&b, texts[j], strlen(texts[j]));
            CU_ASSERT_EQUAL(a.a == b.a && a.b == b.b, i == j);
        }
    struct ss_cache_key a = ss_cache_key(SS_CACHE_LAYOUT), b = ss_cache_key(SS_CACHE_BANDS);
    CU_ASSERT(a.a != b.a && a.b != b.b);
}

/* The builder of a job's plan up to its groups, and what its costs are made of. */
static void open_plan(const char *words, struct ss_scenario **s, struct ss_schedule **schedule,
                      struct ss_plan_builder *b)
{
    static const struct ss_plan_options none;
    char text[1024], *argv[JOB_MAX_ARGS];
    struct ss_request r;
    struct ss_error err;
    snprintf(text, sizeof text, "%s", words);
    ss_request_init(&r);
    CU_ASSERT_FATAL(!ss_request_read(&r, split(text, argv), argv, &err));
    CU_ASSERT_FATAL(!ss_scenario_build(&r, NULL, s, &err));
    ss_request_free(&r);
    const struct ss_job *job = (*s)->job;
    const struct ss_schedule_params params = {.stages = job->pp,
                                              .chunks = ss_job_chunks(job),
                                              .microbatches = ss_job_microbatches(job, (*s)->world_size)};
    CU_ASSERT_FATAL(!ss_schedule_build(ss_schedule_default(params.chunks), &params, schedule, &err));
    CU_ASSERT_FATAL(!ss_plan_begin(b, job, (*s)->stack, (*s)->platform, *schedule, &none, &err));
    CU_ASSERT_FATAL(!ss_plan_group(b, &err));
}

static void same_cost(const struct ss_rank_cost *a, const struct ss_rank_cost *b, int chunks)
{
    CU_ASSERT_EQUAL(memcmp(a->chunks, b->chunks, (size_t)chunks * sizeof *a->chunks), 0);
    for (int k = 0; k < chunks; k++) { /* not the bytes between fields */
        const struct ss_param_count *p = &a->params[k], *q = &b->params[k];
        CU_ASSERT(p->all == q->all && p->gemm == q->gemm && p->layer == q->layer && p->loss == q->loss &&
                  p->border == q->border && p->tensor == q->tensor && p->shapes == q->shapes &&
                  p->tensors == q->tensors);
    }
    CU_ASSERT_EQUAL(memcmp(a->memory, b->memory, sizeof a->memory), 0);
    CU_ASSERT(a->parameters == b->parameters && a->step_bytes == b->step_bytes &&
              a->host_bytes == b->host_bytes && a->gradients_s == b->gradients_s &&
              a->optimizer_s == b->optimizer_s);
    for (int k = 0; k < chunks; k++)
        for (int layers = 0; layers < 3; layers++)
            CU_ASSERT_EQUAL(ss_chunk_place_at(a->set, k, SS_PHASE_B, layers).fraction,
                            ss_chunk_place_at(b->set, k, SS_PHASE_B, layers).fraction);
}

/* Checks that stages that are alike share one cost, by copy; returns how many pairs of them there are. */
static int pairs_alike(const char *words)
{
    struct ss_scenario *s;
    struct ss_schedule *schedule;
    struct ss_plan_builder b;
    struct ss_error err;
    int found = 0;
    open_plan(words, &s, &schedule, &b);
    const struct ss_cost_input in = ss_plan_cost_input(b.plan, &b.net);
    for (int i = 0; i < schedule->stages; i++)
        for (int j = 0; j < schedule->stages; j++) {
            if (i == j || !ss_stages_alike(&in, i, j))
                continue;
            struct ss_rank_site here = ss_plan_site(&b, 0, i), there = here;
            struct ss_rank_cost from, copy, own;
            there.stage = j;
            CU_ASSERT_FATAL(!ss_rank_cost_build(&in, &here, NULL, &from, &err));
            CU_ASSERT_FATAL(!ss_rank_cost_copy(&in, &from, j, &copy, &err));
            ss_rank_cost_free(&from); /* before its copy */
            CU_ASSERT_FATAL(!ss_rank_cost_build(&in, &there, NULL, &own, &err));
            same_cost(&copy, &own, schedule->chunks);
            ss_rank_cost_free(&copy);
            ss_rank_cost_free(&own);
            found++;
        }
    ss_plan_end(&b);
    ss_plan_free(b.plan);
    ss_schedule_free(schedule);
    ss_scenario_free(s);
    return found;
}

/* Pairs counted by hand: the stages in the middle, but for those with other layers. */
TEST(alike)
{
#define JOB                                                                                                  \
    "--platform h800 --nodes 4 --model llama3.1-8b --bf16 --seq 4096 --gbs 64 --mbs 1 "                      \
    "--use-distributed-optimizer "
    CU_ASSERT_EQUAL(pairs_alike(JOB "--pp 8"), 6 * 5);
    CU_ASSERT_EQUAL(pairs_alike(JOB "--pp 8 --vp 2 --recompute full"), 6 * 5);
    CU_ASSERT_EQUAL(pairs_alike(JOB "--pp 2"), 0);
    CU_ASSERT_EQUAL(pairs_alike(JOB "--pp 4 --pipeline-model-parallel-layout Et*9|t*9|t*8|t*6L"), 0);
    CU_ASSERT_EQUAL(
        pairs_alike(JOB "--nodes 5 --gbs 64 --pp 5 --pipeline-model-parallel-layout Et*5|t*7|t*8|t*7|t*5L"),
        2);
#undef JOB
}

static void put_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
}

/* A hash is kept as long as the file has its time and length; FNV-1a of "a" and "b" by hand: (0xcbf29ce484222325 ^ c) * 0x100000001b3. */
TEST(file_hash)
{
    const struct timespec then[2] = {{.tv_sec = 1000}, {.tv_sec = 1000}},
                          now[2] = {{.tv_sec = 1001}, {.tv_sec = 1001}};
    char path[] = "/tmp/ss_cache.XXXXXX", hash[17];
    struct ss_cache *cache;
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0 && !ss_cache_open(&cache, NULL));
    close(fd);
    put_text(path, "a");
    utimensat(AT_FDCWD, path, then, 0);
    CU_ASSERT_EQUAL(ss_cache_file_hash(cache, path, hash, NULL), 0);
    CU_ASSERT_STRING_EQUAL(hash, "af63dc4c8601ec8c");
    put_text(path, "b");
    utimensat(AT_FDCWD, path, then, 0); /* so that nothing tells */
    CU_ASSERT_EQUAL(ss_cache_file_hash(cache, path, hash, NULL), 0);
    CU_ASSERT_STRING_EQUAL(hash, "af63dc4c8601ec8c");
    CU_ASSERT_EQUAL(ss_cache_file_hash(NULL, path, hash, NULL), 0);
    CU_ASSERT_STRING_EQUAL(hash, "af63df4c8601f1a5");
    utimensat(AT_FDCWD, path, now, 0);
    CU_ASSERT_EQUAL(ss_cache_file_hash(cache, path, hash, NULL), 0);
    CU_ASSERT_STRING_EQUAL(hash, "af63df4c8601f1a5");
    unlink(path);
    CU_ASSERT_EQUAL(ss_cache_file_hash(cache, path, hash, NULL), SS_ERR_IO);
    ss_cache_close(cache);
}
