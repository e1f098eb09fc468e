/* SPDX-License-Identifier: Apache-2.0 */
/* Worker processes: the same answers for any number of them, and when they die. */
#include <pthread.h>
#include <semaphore.h>
#include <signal.h>
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "suite.h"
#include "workers/deal.h"

enum { ITEMS = 200 };

struct trial {
    int fails[2];     /* items, -1: none */
    int kills;        /* item whose workers die, -1: none */
    int times;        /* so often */
    int *shared_dead; /* counted by all processes */
    int told, falls;
};

static int work(void *ctx, int item, void *answer, struct ss_error *err)
{
    struct trial *t = ctx;
    long value = 7L * item * item + 1;
    if (item == t->fails[0] || item == t->fails[1])
        return ss_fail(err, SS_ERR_INPUT, NULL, 0, "item %d is bad", item);
    if (item == t->kills && (*t->shared_dead)++ < t->times)
        raise(SIGKILL);
    memcpy(answer, &value, sizeof value);
    return SS_OK;
}

static void tell(void *ctx, int done)
{
    struct trial *t = ctx;
    t->falls += done != ++t->told;
}

static int run(struct trial *t, int workers, long answers[ITEMS], struct ss_error *err)
{
    const struct ss_pool pool = {.workers = {.n = workers},
                                 .nitems = ITEMS,
                                 .size = sizeof *answers,
                                 .work = work,
                                 .ctx = t,
                                 .on_answer = tell,
                                 .on_answer_ctx = t};
    memset(answers, 0, ITEMS * sizeof *answers);
    *t->shared_dead = t->told = t->falls = 0;
    return ss_pool_run(&pool, answers, err);
}

static void check(const struct trial *t, const long answers[ITEMS])
{
    CU_ASSERT_EQUAL(t->told, ITEMS);
    CU_ASSERT_EQUAL(t->falls, 0);
    for (int i = 0; i < ITEMS; i++)
        CU_ASSERT_EQUAL(answers[i], 7L * i * i + 1);
}

static struct trial trial(void)
{
    struct trial t = {.fails = {-1, -1}, .kills = -1};
    t.shared_dead = mmap(NULL, sizeof(int), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(t.shared_dead != MAP_FAILED);
    return t;
}

TEST(answers)
{
    static const int workers[] = {0, 1, 2, 7, 2 * ITEMS};
    struct trial t = trial();
    long answers[ITEMS];
    CU_ASSERT(ss_pool_cores() >= 1);
    for (size_t i = 0; i < SS_ARRAY_LEN(workers); i++) {
        CU_ASSERT_EQUAL(run(&t, workers[i], answers, NULL), SS_OK);
        check(&t, answers);
    }
    munmap(t.shared_dead, sizeof(int));
}

/* The answer to an item: the item that its worker did first. */
static int work_first(void *ctx, int item, void *answer, struct ss_error *err)
{
    int *first = ctx; /* each worker has a copy */
    (void)err;
    *first = *first < 0 ? item : *first;
    memcpy(answer, first, sizeof *first);
    return SS_OK;
}

static uint64_t half_of(void *ctx, int item)
{
    (void)ctx;
    return item >= ITEMS / 2 ? 2 : 0; /* not those of workers */
}

static uint64_t quarter_of(void *ctx, int item)
{
    (void)ctx;
    return (uint64_t)item / 4;
}

/* A worker whose homes are dealt out goes on with the first item that is left, for lists begin with what takes long. */
TEST(no_home_left)
{
    const int items[] = {0, 1, 2, 3, 4, 5, 6, 7}, workers[] = {0, 1, 1, 1, 1, 1, 0},
              places[] = {0, 4, 5, 6, 7, 1, 2};
    const struct ss_pool pool = {.home = quarter_of};
    struct ss_worker two[2] = {{0}};
    struct ss_crew crew = {.pool = &pool, .nworkers = 2, .workers = two};
    int todo[8], n = 8;
    char given[9] = {0};
    for (int i = 0; i < n; i++)
        todo[i] = i;
    struct ss_deal d = {
        .crew = &crew, .items = items, .n = n, .todo = todo, .ntodo = n, .failed = n, .given = given};
    CU_ASSERT_FATAL(ss_homes_find(&d) == 0);
    for (size_t i = 0; i < SS_ARRAY_LEN(workers); i++) {
        while (given[d.next])
            d.next++;
        int at = ss_homes_place(&d, workers[i]);
        CU_ASSERT_EQUAL(at, places[i]);
        given[at] = 1;
    }
    free(d.home);
    free(d.follow);
    free(crew.homes.home);
    ss_map_free(&crew.homes.at);
}

/* The process of a worker starts at the worker's first item, when the worker has found its home. */
TEST(home_kept)
{
    const struct ss_pool pool = {.size = sizeof(int)};
    struct ss_worker s = {.home = 2, .look = 3};
    CU_ASSERT_EQUAL_FATAL(ss_worker_hire(&pool, &s), 0);
    CU_ASSERT_EQUAL(s.home, 2);
    CU_ASSERT_EQUAL(s.look, 3);
    ss_worker_dismiss(&s);
}

/* Two workers begin with the first item of their homes; without homes, with the first two items. */
TEST(homes)
{
    for (int homes = 0; homes < 2; homes++) {
        int first = -1, answers[ITEMS];
        const struct ss_pool pool = {.workers = {.n = 2},
                                     .nitems = ITEMS,
                                     .size = sizeof *answers,
                                     .work = work_first,
                                     .home = homes ? half_of : NULL,
                                     .ctx = &first};
        CU_ASSERT_EQUAL(ss_pool_run(&pool, answers, NULL), SS_OK);
        CU_ASSERT_EQUAL(answers[0], 0);
        if (homes)
            CU_ASSERT_EQUAL(answers[ITEMS / 2], ITEMS / 2);
        for (int i = 0; i < ITEMS; i++)
            CU_ASSERT(answers[i] == 0 || answers[i] == (homes ? ITEMS / 2 : 1));
    }
}

/* Whichever worker is faster, the error is that of the lowest item. */
TEST(errors)
{
    struct trial t = trial();
    long answers[ITEMS];
    t.fails[0] = 60;
    t.fails[1] = 41;
    for (int workers = 1; workers < 5; workers++) {
        struct ss_error err = {0};
        CU_ASSERT_EQUAL(run(&t, workers, answers, &err), SS_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(err.message, "item 41 is bad");
        CU_ASSERT(t.told >= 41 && t.told < ITEMS);
    }
    munmap(t.shared_dead, sizeof(int));
}

TEST(deaths)
{
    struct trial t = trial();
    long answers[ITEMS];
    struct ss_error err = {0};
    t.kills = 17;
    t.times = 1;
    CU_ASSERT_EQUAL(run(&t, 3, answers, &err), SS_OK);
    CU_ASSERT(*t.shared_dead == 2);
    check(&t, answers);
    t.times = 100;
    CU_ASSERT_EQUAL(run(&t, 3, answers, &err), SS_ERR_ENGINE);
    CU_ASSERT_EQUAL(*t.shared_dead, 2);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "item 17 of 200"));
    munmap(t.shared_dead, sizeof(int));
}

/* Several lists for one crew: workers stay, and what they have seen of the caller's memory is that of their start. */
static int work_of_start(void *ctx, int item, void *answer, struct ss_error *err)
{
    const int *base = ctx;
    int *out = answer;
    (void)err;
    out[0] = *base + item;
    out[1] += 1; /* answers begin at 0 */
    return SS_OK;
}

TEST(crew)
{
    static const int items[] = {9, 2, 0, 7, 5, 11};
    int base = 100, answers[6][2];
    struct ss_crew *crew;
    const struct ss_pool pool = {
        .workers = {.n = 2}, .nitems = 12, .size = sizeof answers[0], .work = work_of_start, .ctx = &base};
    CU_ASSERT_EQUAL_FATAL(ss_pool_open(&pool, &crew, NULL), SS_OK);
    for (int round = 0; round < 3; round++) {
        memset(answers, 1, sizeof answers);
        CU_ASSERT_EQUAL(ss_pool_deal(crew, items, 6 - round, answers, NULL), SS_OK);
        for (int i = 0; i < 6 - round; i++) {
            CU_ASSERT_EQUAL(answers[i][0], 100 + items[i]);
            CU_ASSERT_EQUAL(answers[i][1], 1);
        }
        base += 1000;
    }
    CU_ASSERT_EQUAL(ss_pool_deal(crew, items, 0, answers, NULL), SS_OK);
    ss_pool_close(crew);
    ss_pool_close(NULL);
}

/* Items that wait behind the one at which a worker dies are dealt out again, and are not to blame: of 30 items each kills one process. */
static int work_once(void *ctx, int item, void *answer, struct ss_error *err)
{
    int *seen = ctx;
    (void)err;
    if (item >= 100 && item < 130 && !seen[item]++)
        raise(SIGKILL);
    memcpy(answer, &item, sizeof item);
    return SS_OK;
}

TEST(deaths_in_a_row)
{
    int *seen = mmap(NULL, ITEMS * sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0),
        answers[ITEMS], wrong = 0;
    const struct ss_pool pool = {
        .workers = {.n = 2}, .nitems = ITEMS, .size = sizeof(int), .work = work_once, .ctx = seen};
    CU_ASSERT_FATAL(seen != MAP_FAILED);
    CU_ASSERT_EQUAL(ss_pool_run(&pool, answers, NULL), SS_OK);
    for (int i = 0; i < ITEMS; i++)
        wrong += answers[i] != i || (i >= 100 && i < 130 && seen[i] != 2);
    CU_ASSERT_EQUAL(wrong, 0);
    munmap(seen, ITEMS * sizeof *seen);
}

/* Item i answers i % 7 numbers behind their count; what is behind them in the buffer counts for nothing. */
static int count_up(void *ctx, int item, void *answer, struct ss_error *err)
{
    int *out = answer;
    work_once(ctx, item, answer, err);
    memset(answer, 0x5a, 8 * sizeof *out);
    out[0] = item % 7;
    for (int i = 1; i <= item % 7; i++)
        out[i] = item + i;
    return SS_OK;
}

static size_t counted(const void *answer)
{
    return (size_t)(*(const int *)answer + 1) * sizeof(int);
}

TEST(lengths)
{
    int *seen = mmap(NULL, ITEMS * sizeof *seen, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(seen != MAP_FAILED);
    for (int workers = 1; workers <= 5; workers += 2) {
        struct ss_pool pool = {.workers = {.n = workers},
                               .nitems = ITEMS,
                               .size = 8 * sizeof(int),
                               .used = counted,
                               .work = count_up,
                               .ctx = seen};
        int *answers[ITEMS] = {NULL}, wrong = 0;
        for (int i = 0; i < ITEMS; i++) /* alone nobody may die */
            seen[i] = workers == 1;
        CU_ASSERT_EQUAL(ss_pool_run(&pool, answers, NULL), SS_OK);
        for (int i = 0; i < ITEMS; i++) {
            wrong += answers[i][0] != i % 7;
            for (int k = 1; k <= i % 7; k++)
                wrong += answers[i][k] != i + k;
            free(answers[i]);
        }
        CU_ASSERT_EQUAL(wrong, 0);
    }
    munmap(seen, ITEMS * sizeof *seen);
}

/* ---- work before it is asked for ---- */

enum { FIRST = 10, AHEAD = 6 }; /* items of the first list, and those that come after it */
#define EARLY_BYTES (ITEMS * sizeof(int) + sizeof(sem_t))

struct early {
    int next;   /* item that is begun next */
    int told;   /* answers that nobody had asked for */
    int *begun; /* [ITEMS], of all processes: how often */
    sem_t *is_ahead;
    int lone_fail; /* an item that is bad */
};

/* The last item of the first list ends when the caller has noted an item behind the list. Item 11 ends its first process. */
static int work_early(void *ctx, int item, void *answer, struct ss_error *err)
{
    const struct early *e = ctx;
    if (item == e->lone_fail)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0, "item %d is bad", item);
    if (item == FIRST - 1)
        sem_wait(e->is_ahead);
    if (!e->begun[item]++ && item == FIRST + 1)
        raise(SIGKILL);
    memcpy(answer, &item, sizeof item);
    return SS_OK;
}

/* Items in their order, the first one twice. */
static int next_early(void *ctx, int worker)
{
    (void)worker;
    struct early *e = ctx;
    int item = e->next < FIRST ? FIRST : e->next;
    e->next = e->next < FIRST ? FIRST : e->next + 1;
    return item < FIRST + AHEAD ? item : -1;
}

static void note_early(void *ctx, int item, const void *answer)
{
    struct early *e = ctx;
    CU_ASSERT_EQUAL(memcmp(answer, &item, sizeof item), 0);
    e->told += item >= FIRST && item < FIRST + AHEAD;
    if (item == FIRST + 3)
        sem_post(e->is_ahead);
}

TEST(ahead)
{
    struct early e = {.lone_fail = FIRST + 2};
    e.begun = mmap(NULL, EARLY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(e.begun != MAP_FAILED);
    e.is_ahead = (sem_t *)(void *)(e.begun + ITEMS);
    CU_ASSERT_EQUAL_FATAL(sem_init(e.is_ahead, 1, 0), 0);
    const struct ss_pool pool = {.workers = {.n = 3},
                                 .nitems = ITEMS,
                                 .size = sizeof(int),
                                 .work = work_early,
                                 .ahead = next_early,
                                 .on_item = note_early,
                                 .ctx = &e};
    struct ss_error err = {0};
    struct ss_crew *crew;
    int items[ITEMS], answers[ITEMS], wrong = 0;
    for (int i = 0; i < ITEMS; i++)
        items[i] = i < FIRST + 2 ? i : i + 1; /* without the bad one */
    CU_ASSERT_EQUAL_FATAL(ss_pool_open(&pool, &crew, NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_pool_deal(crew, items, FIRST, answers, NULL), SS_OK);
    CU_ASSERT(e.told >= 1);
    CU_ASSERT_EQUAL(ss_pool_deal(crew, items + FIRST, 20, answers + FIRST, NULL), SS_OK);
    for (int i = 0; i < FIRST + 20; i++)
        wrong += answers[i] != items[i];
    for (int i = FIRST; i < FIRST + AHEAD; i++) /* nothing is done twice but what a process died at */
        wrong += i != FIRST + 2 && e.begun[i] != 1 + (i == FIRST + 1);
    CU_ASSERT_EQUAL(wrong, 0);
    CU_ASSERT_EQUAL(ss_pool_deal(crew, &e.lone_fail, 1, answers, &err), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.message, "item 12 is bad");
    ss_pool_close(crew);
    munmap(e.begun, EARLY_BYTES);
}

/* A crew whose first item ends when one of the next crew is done, and that crew. */
struct two_crews {
    struct early e;
    struct ss_crew *next;
};

static int work_until_next(void *ctx, int item, void *answer, struct ss_error *err)
{
    const struct two_crews *t = ctx;
    (void)err;
    if (item == 0)
        sem_wait(t->e.is_ahead);
    memcpy(answer, &item, sizeof item);
    return SS_OK;
}

static struct ss_crew *next_crew(void *ctx)
{
    const struct two_crews *t = ctx;
    return t->next;
}

/* Workers in the place of those that idle begin what the next crew's list will ask for; one of them dies. */
TEST(next_crew)
{
    struct two_crews t = {.e.lone_fail = FIRST + 2};
    t.e.begun = mmap(NULL, EARLY_BYTES, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(t.e.begun != MAP_FAILED);
    t.e.is_ahead = (sem_t *)(void *)(t.e.begun + ITEMS);
    CU_ASSERT_EQUAL_FATAL(sem_init(t.e.is_ahead, 1, 0), 0);
    const struct ss_pool next = {.workers = {.n = 3},
                                 .nitems = ITEMS,
                                 .size = sizeof(int),
                                 .work = work_early,
                                 .ahead = next_early,
                                 .on_item = note_early,
                                 .ctx = &t.e};
    const struct ss_pool pool = {.workers = {.n = 3},
                                 .nitems = 4,
                                 .size = sizeof(int),
                                 .work = work_until_next,
                                 .next = next_crew,
                                 .ctx = &t};
    static const int items[] = {0, 1, 2, 3, FIRST, FIRST + 1, FIRST + 3, FIRST + 4};
    struct ss_crew *crew;
    int answers[8], wrong = 0;
    CU_ASSERT_EQUAL_FATAL(ss_pool_open(&pool, &crew, NULL), SS_OK);
    CU_ASSERT_EQUAL_FATAL(ss_pool_open(&next, &t.next, NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_pool_deal(crew, items, 4, answers, NULL), SS_OK);
    CU_ASSERT(t.e.told >= 1);
    CU_ASSERT_EQUAL(ss_pool_deal(t.next, items + 4, 4, answers + 4, NULL), SS_OK);
    for (int i = 0; i < 8; i++)
        wrong += answers[i] != items[i] || (i >= 4 && t.e.begun[items[i]] != 1 + (items[i] == FIRST + 1));
    CU_ASSERT_EQUAL(wrong, 0);
    ss_pool_close(t.next);
    t.next = NULL;
    CU_ASSERT_EQUAL(ss_pool_deal(crew, items + 1, 3, answers, NULL), SS_OK);
    ss_pool_close(crew);
    munmap(t.e.begun, EARLY_BYTES);
}

static int square(void *ctx, int item, void *answer, struct ss_error *err)
{
    long value = (long)item * item;

    (void)ctx;
    (void)err;
    memcpy(answer, &value, sizeof value);
    return SS_OK;
}

static void *run_pools(void *wrong)
{
    const struct ss_pool pool = {.workers = {.n = 2}, .nitems = 8, .size = sizeof(long), .work = square};

    for (int k = 0; k < 40; k++) {
        long answers[8] = {0};
        *(int *)wrong += ss_pool_run(&pool, answers, NULL) != SS_OK;
        for (int i = 0; i < 8; i++)
            *(int *)wrong += answers[i] != (long)i * i;
    }
    return NULL;
}

/* Workers of one thread that kept the ends of another's would wait for each other for ever. */
TEST(threads)
{
    pthread_t thread[4];
    int wrong[4] = {0};

    for (int i = 0; i < 4; i++)
        CU_ASSERT_EQUAL_FATAL(pthread_create(&thread[i], NULL, run_pools, &wrong[i]), 0);
    for (int i = 0; i < 4; i++) {
        pthread_join(thread[i], NULL);
        CU_ASSERT_EQUAL(wrong[i], 0);
    }
}

static int stop_behind(void *ctx)
{
    const struct trial *t = ctx;
    return t->told >= 10;
}

/* Who wants no more is asked between two answers, and while nobody answers: item 17 sleeps until it is ended. */
static int sleep_at_17(void *ctx, int item, void *answer, struct ss_error *err)
{
    if (item == 17 && ctx)
        for (;;)
            pause();
    return work(&(struct trial){.fails = {-1, -1}, .kills = -1}, item, answer, err);
}

TEST(stop)
{
    struct trial t = {0};
    long answers[ITEMS];
    for (int workers = 1; workers <= 3; workers++) {
        struct ss_error err = {0};
        struct ss_pool pool = {.workers = {.n = workers, .stop = stop_behind, .stop_ctx = &t},
                               .nitems = ITEMS,
                               .size = sizeof *answers,
                               .work = sleep_at_17,
                               .ctx = workers == 1 ? NULL : &t,
                               .on_answer = tell,
                               .on_answer_ctx = &t};
        t.told = 0;
        CU_ASSERT_EQUAL(ss_pool_run(&pool, answers, &err), SS_ERR_STOPPED);
        CU_ASSERT(t.told >= 10 && t.told < ITEMS);
        CU_ASSERT_STRING_EQUAL(err.message, "stopped before the end");
    }
}
