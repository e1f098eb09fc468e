/* SPDX-License-Identifier: Apache-2.0 */
/* Processes of a team, of which this one is real: what the others say is written here, by way of a module in the place of MPI's. */
#include <dlfcn.h>
#include <signal.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "suite.h"
#include "workers/mpi.h"
#include "workers/pool.h"
#include "workers/team.h"

enum { ITEMS = 12, MOST = 64, BAD = 7, DEADLY = 9 };

/* A message that waits for this process, or that it has sent. */
struct letter {
    int peer;
    const void *copy; /* where the message stood that was sent */
    size_t n;
    struct ss_team_message head;
    char data[sizeof(struct ss_error)];
};
static struct {
    struct letter come[MOST], sent[MOST];
    int ncome, taken, nsent;
    int gone;         /* a process to which nothing can be sent, 0: none */
    int left, status; /* what was said at leaving: all_there + 1 */
    uint64_t digest;  /* of the pool, as a process says that is not the first */
    pid_t victim;     /* ends when process 1 gets an item */
    void (*get)(int to, const struct ss_team_message *m); /* what the others do about a message */
} post;

static void come(int from, const struct ss_team_message *head, const void *data, size_t n)
{
    struct letter *l = &post.come[post.ncome++];
    CU_ASSERT_FATAL(post.ncome < MOST && n <= sizeof l->data);
    *l = (struct letter){.peer = from, .n = sizeof l->head + n, .head = *head};
    if (n)
        memcpy(l->data, data, n);
}

static int send_letter(int to, const void *data, size_t n)
{
    struct letter *l = &post.sent[post.nsent];
    if (post.gone && to == post.gone)
        return -1;
    CU_ASSERT_FATAL(n >= sizeof l->head);
    *l = (struct letter){.peer = to, .copy = data, .n = n};
    memcpy(&l->head, data, sizeof l->head);
    memcpy(l->data, (const char *)data + sizeof l->head,
           n - sizeof l->head <= sizeof l->data ? n - sizeof l->head : 0);
    if (l->head.kind == SS_TEAM_PING)
        return 0;
    CU_ASSERT_FATAL(++post.nsent < MOST);
    if (post.get)
        post.get(to, &l->head);
    return 0;
}

static int take_letter(int *from, const void **data, size_t *n)
{
    static char whole[sizeof(struct letter)];
    struct letter *l = &post.come[post.taken];
    if (post.taken == post.ncome)
        return 0;
    post.taken++;
    memcpy(whole, &l->head, sizeof l->head);
    memcpy(whole + sizeof l->head, l->data, l->n < sizeof l->head ? 0 : l->n - sizeof l->head);
    *from = l->peer;
    *data = whole;
    *n = l->n;
    return 1;
}

static void leave(int all_there, int status)
{
    post.left = all_there + 1;
    post.status = status;
}

static struct ss_mpi mpi = {.send = send_letter, .take = take_letter, .leave = leave};

/* A team of `size` in which this process is `rank`. */
static struct ss_team *open_team(int rank, int size)
{
    struct ss_team *team = NULL;
    uint64_t digest = post.digest;
    void *handle = dlopen(STAND_IN "/stepsim-mpi.so", RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE);
    CU_ASSERT_PTR_NOT_NULL_FATAL(handle);
    const struct ss_mpi **place = dlsym(handle, "stand_in");
    CU_ASSERT_PTR_NOT_NULL_FATAL(place);
    *place = size ? &mpi : NULL;
    memset(&post, 0, sizeof post);
    post.digest = digest;
    mpi.rank = rank;
    mpi.size = size;
    setenv("STEPSIM_MODULE_DIR", STAND_IN, 1);
    setenv("OMPI_COMM_WORLD_SIZE", "3", 1);
    struct ss_error err = {0};
    int rc = ss_team_open(&team, &err);
    CU_ASSERT_EQUAL(rc, size ? SS_OK : SS_ERR_ENGINE);
    CU_ASSERT_STRING_EQUAL(err.message, size ? "" : "MPI cannot be started");
    return team;
}

/* 10 + item squared; one item is bad, at another the worker dies the first time. */
static int work(void *ctx, int item, void *answer, struct ss_error *err)
{
    int *dead = ctx;
    if (item == BAD)
        return ss_fail(err, SS_ERR_INPUT, NULL, 0, "item %d is bad", item);
    if (item == DEADLY && !(*dead)++)
        raise(SIGKILL);
    *(long *)answer = 10 + (long)item * item;
    return SS_OK;
}

static int *shared(void)
{
    static int *number;
    if (!number)
        number = mmap(NULL, sizeof *number, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
    CU_ASSERT_FATAL(number != MAP_FAILED);
    *number = 0;
    return number;
}

static int deal(struct ss_team *team, const int *items, int n, long *answers, struct ss_error *err)
{
    const struct ss_pool pool = {.workers = {.n = 1, .team = team},
                                 .nitems = ITEMS,
                                 .size = sizeof *answers,
                                 .work = work,
                                 .ctx = shared(),
                                 .digest = 5};
    struct ss_crew *crew;
    CU_ASSERT_EQUAL_FATAL(ss_pool_open(&pool, &crew, err), SS_OK);
    int rc = ss_pool_deal(crew, items, n, answers, err);
    ss_pool_close(crew);
    return rc;
}

/* ---- who has a team ---- */

TEST(alone)
{
    static const char *const names[] = {"OMPI_COMM_WORLD_SIZE", "PMIX_RANK",  "PMI_RANK", "PMI_SIZE",
                                        "SLURM_STEP_NUM_TASKS", "STEPSIM_MPI"};
    static const struct {
        const char *name[2], *value[2];
        int others;
    } rows[] = {
        {{NULL}, {NULL}, 0},
        {{"OMPI_COMM_WORLD_SIZE"}, {"1"}, 0},
        {{"OMPI_COMM_WORLD_SIZE"}, {"2"}, 1},
        {{"OMPI_COMM_WORLD_SIZE", "STEPSIM_MPI"}, {"2", "off"}, 0},
        {{"OMPI_COMM_WORLD_SIZE", "STEPSIM_MPI"}, {"2", "on"}, 1},
        {{"PMIX_RANK"}, {"0"}, 1},
        {{"PMIX_RANK", "SLURM_STEP_NUM_TASKS"}, {"0", "1"}, 0},
        {{"PMI_RANK", "PMI_SIZE"}, {"0", "1"}, 0},
        {{"PMI_RANK", "PMI_SIZE"}, {"0", "2"}, 1},
    };
    setenv("STEPSIM_MODULE_DIR", "/no/such/folder", 1);
    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_team *team;
        struct ss_error err = {0};
        for (size_t k = 0; k < SS_ARRAY_LEN(names); k++)
            unsetenv(names[k]);
        for (int k = 0; k < 2 && rows[i].name[k]; k++)
            setenv(rows[i].name[k], rows[i].value[k], 1);
        CU_ASSERT_EQUAL(ss_team_open(&team, &err), rows[i].others ? SS_ERR_UNSUPPORTED : SS_OK);
        CU_ASSERT_PTR_NULL(team);
        CU_ASSERT_EQUAL(strstr(err.message, "/no/such/folder/stepsim-mpi.so") != NULL, rows[i].others);
        CU_ASSERT_EQUAL(strstr(err.hint, "STEPSIM_MPI=off") != NULL, rows[i].others);
    }
    for (size_t k = 0; k < SS_ARRAY_LEN(names); k++)
        unsetenv(names[k]);
    CU_ASSERT_EQUAL(ss_team_rank(NULL), 0);
    CU_ASSERT_EQUAL(ss_team_close(NULL, 3, NULL), 0);
    CU_ASSERT_PTR_NULL(open_team(0, 0));
}

/* ---- one that is not the first ---- */

static void give(int slot, int item)
{
    const struct ss_team_message m = {.kind = SS_TEAM_GIVE, .list = 1, .slot = slot, .item = item};
    come(0, &m, NULL, 0);
}

/* All answers, in two parts. */
static void say_done(void)
{
    static const long answers[4] = {14, 19, 26, 0};
    struct ss_team_message done = {.kind = SS_TEAM_DONE, .list = 1};
    come(0, &done, answers, 2 * sizeof *answers);
    done.item = 2;
    done.slot = 1;
    come(0, &done, answers + 2, 2 * sizeof *answers);
}

/* The first one: gives items when this process is there, and ends the list when all three were told. */
static void first(int to, const struct ss_team_message *m)
{
    CU_ASSERT_EQUAL(to, 0);
    if (m->kind == SS_TEAM_READY && m->list == 1) {
        memcpy(&post.digest, post.sent[post.nsent - 1].data, sizeof post.digest);
        give(0, 2);
        give(99, 3); /* there is one slot */
        give(-1, 3);
    } else if (m->kind == SS_TEAM_ANSWER && m->item == 2) {
        give(0, BAD);
    } else if (m->kind == SS_TEAM_ANSWER && m->item == BAD) {
        give(0, DEADLY);
    } else if (m->kind == SS_TEAM_LOST) {
        say_done();
    }
}

TEST(served)
{
    static const int items[4] = {2, 3, 4, BAD};
    struct ss_team *team = open_team(1, 2);
    struct ss_error err = {0}, told;
    long answers[4] = {0};
    int status = 77;
    post.get = first;
    CU_ASSERT_EQUAL(ss_team_rank(team), 1);
    CU_ASSERT_EQUAL(deal(team, items, 4, answers, &err), SS_OK);
    CU_ASSERT(answers[0] == 14 && answers[1] == 19 && answers[2] == 26 && answers[3] == 0);
    /* hello, ready, item 2 is 14, item 7 is bad, the worker died at item 9 */
    CU_ASSERT_EQUAL_FATAL(post.nsent, 5);
    CU_ASSERT_EQUAL(post.sent[1].head.status, 1); /* worker */
    CU_ASSERT_EQUAL(post.sent[2].head.status, 0);
    CU_ASSERT_EQUAL(*(long *)(void *)post.sent[2].data, 14);
    CU_ASSERT_EQUAL(post.sent[3].head.status, SS_ERR_INPUT);
    memcpy(&told, post.sent[3].data, sizeof told);
    CU_ASSERT_STRING_EQUAL(told.message, "item 7 is bad");
    CU_ASSERT_EQUAL(post.sent[4].head.kind, SS_TEAM_LOST);
    CU_ASSERT_EQUAL(post.sent[4].head.item, DEADLY);
    come(0, &(struct ss_team_message){.kind = SS_TEAM_END, .status = 3, .slot = 1}, NULL, 0);
    CU_ASSERT_EQUAL(ss_team_close(team, 0, &status), 0);
    CU_ASSERT(status == 3 && post.left == 2 && post.status == 0);
}

/* The list ends with an error, and the first one ends in the middle of one. */
TEST(not_served)
{
    static const int items[2] = {2, 3};
    for (int ended = 0; ended < 2; ended++) {
        struct ss_team *team = open_team(1, 2);
        struct ss_error err = {0}, why = {0};
        long answers[2];
        ss_fail(&why, SS_ERR_CONFIG, "job.args", 4, "no");
        come(0,
             &(struct ss_team_message){
                 .kind = ended ? SS_TEAM_END : SS_TEAM_DONE, .list = 1, .slot = 1, .status = SS_ERR_CONFIG},
             &why, sizeof why);
        CU_ASSERT_EQUAL(deal(team, items, 2, answers, &err), ended ? SS_ERR_ENGINE : SS_ERR_CONFIG);
        CU_ASSERT_STRING_EQUAL(err.message,
                               ended ? "the first process of the team has ended before the work" : "no");
        CU_ASSERT_EQUAL(err.line, ended ? 0 : 4);
        if (!ended)
            come(0, &(struct ss_team_message){.kind = SS_TEAM_END}, NULL, 0);
        CU_ASSERT_EQUAL(ss_team_close(team, 3, NULL),
                        !ended); /* all are there where the slot of the end is 1 */
        CU_ASSERT_EQUAL(post.status, 3);
    }
}

/* ---- the first one ---- */

static void say_ready(int from, int workers, uint64_t digest, long pid)
{
    struct ss_team_ready ready;
    ss_team_ready_fill(&ready, digest);
    ready.pid = pid ? pid : ready.pid;
    come(from, &(struct ss_team_message){.kind = SS_TEAM_READY, .list = 1, .status = workers}, &ready,
         sizeof ready);
}

static void answer(int from, const struct ss_team_message *m, long value, size_t n)
{
    struct ss_team_message reply = *m;
    reply.kind = SS_TEAM_ANSWER;
    reply.took = 1e-4f;
    come(from, &reply, &value, n);
}

/* Process 1 loses what it gets first, and its answers are twice a wrong one: of another list, and too short. Process 2 answers. */
static void others(int to, const struct ss_team_message *m)
{
    static int lost;
    if (m->kind != SS_TEAM_GIVE)
        return;
    CU_ASSERT_EQUAL(m->list, 1);
    if (to == 1 && !lost++) {
        struct ss_team_message loss = *m;
        loss.kind = SS_TEAM_LOST;
        come(1, &loss, NULL, 0);
        loss.kind = SS_TEAM_ANSWER;
        loss.list = 8;
        come(1, &loss, &(long){1}, sizeof(long));
        loss.list = 1;
        come(1, &loss, &(long){1}, 3);
        return;
    }
    answer(to, m, 10 + (long)m->item * m->item, sizeof(long));
}

static const int all_items[] = {0, 1, 2, 3, 4, 5, 6, 8, 10, 11};
enum { ALL = sizeof all_items / sizeof *all_items };

static void check_answers(const long *answers)
{
    for (int i = 0; i < ALL; i++)
        CU_ASSERT_EQUAL(answers[i], 10 + (long)all_items[i] * all_items[i]);
}

/* How many messages of a kind were sent to a process. */
static int sent(int to, enum ss_team_kind kind)
{
    int n = 0;
    for (int i = 0; i < post.nsent; i++)
        n += post.sent[i].peer == to && post.sent[i].head.kind == (int)kind;
    return n;
}

TEST(dealt)
{
    struct ss_team *team = open_team(0, 3);
    struct ss_error err = {0};
    long answers[ALL];
    int status;
    CU_ASSERT_EQUAL(sent(1, SS_TEAM_READY) + sent(2, SS_TEAM_READY), 2); /* where the first one is */
    say_ready(1, 2, post.digest, 0);
    say_ready(2, 1, post.digest, 0);
    post.get = others;
    CU_ASSERT_EQUAL(deal(team, all_items, ALL, answers, &err), SS_OK);
    check_answers(answers);
    CU_ASSERT(sent(1, SS_TEAM_GIVE) >= 2 && sent(2, SS_TEAM_GIVE) >= 1);
    for (int to = 1; to < 3; to++)
        CU_ASSERT_EQUAL(sent(to, SS_TEAM_DONE), 1);
    for (int i = 0; i < post.nsent; i++)
        if (post.sent[i].head.kind == SS_TEAM_DONE) {
            CU_ASSERT_EQUAL(post.sent[i].n, sizeof(struct ss_team_message) + sizeof answers);
            CU_ASSERT_EQUAL(memcmp(post.sent[i].data, answers, sizeof answers), 0);
        }
    CU_ASSERT_EQUAL(ss_team_close(team, 1, &status), 0);
    CU_ASSERT(post.left == 2 && status == 1 && sent(1, SS_TEAM_END) == 1 && sent(2, SS_TEAM_END) == 1);
}

/* ---- answers of many lengths ---- */

/* Item i: its number, and i times 7. */
static int repeat(void *ctx, int item, void *answer, struct ss_error *err)
{
    int *out = answer;
    (void)ctx;
    (void)err;
    out[0] = item;
    for (int i = 1; i <= item; i++)
        out[i] = 7;
    return SS_OK;
}

static size_t repeated(const void *answer)
{
    return (size_t)(*(const int *)answer + 1) * sizeof(int);
}

static const int few[] = {0, 3, 1};
static const size_t packed[] = {4, 16, 8}; /* bytes of their answers */

static void repeat_all(struct ss_team *team)
{
    const struct ss_pool pool = {.workers = {.n = 1, .team = team},
                                 .nitems = 4,
                                 .size = 16,
                                 .used = repeated,
                                 .work = repeat,
                                 .digest = 5};
    struct ss_crew *crew;
    int *answers[3] = {NULL};
    CU_ASSERT_EQUAL_FATAL(ss_pool_open(&pool, &crew, NULL), SS_OK);
    CU_ASSERT_EQUAL(ss_pool_deal(crew, few, 3, answers, NULL), SS_OK);
    for (int i = 0; i < 3; i++) {
        CU_ASSERT_EQUAL(answers[i][0], few[i]);
        for (int k = 1; k <= few[i]; k++)
            CU_ASSERT_EQUAL(answers[i][k], 7);
        free(answers[i]);
    }
    ss_pool_close(crew);
}

/* Process 1 answers what it gets. */
static void repeat_there(int to, const struct ss_team_message *m)
{
    struct ss_team_message reply = *m;
    int answer[4];
    if (m->kind != SS_TEAM_GIVE)
        return;
    repeat(NULL, m->item, answer, NULL);
    reply.kind = SS_TEAM_ANSWER;
    come(to, &reply, answer, repeated(answer));
}

/* All answers in one message, each behind its length. */
static size_t pack_few(char *data)
{
    char *at = data;
    for (int i = 0; i < 3; i++) {
        memcpy(at, &packed[i], sizeof packed[i]);
        repeat(NULL, few[i], at + sizeof packed[i], NULL);
        at += sizeof packed[i] + packed[i];
    }
    return (size_t)(at - data);
}

static void note_digest(int to, const struct ss_team_message *m)
{
    (void)to;
    if (m->kind == SS_TEAM_READY && m->list == 1)
        memcpy(&post.digest, post.sent[post.nsent - 1].data, sizeof post.digest);
}

/* One process is served, and one deals. */
TEST(lengths)
{
    const uint64_t digest = post.digest; /* of the pool of other tests */
    struct ss_team *team = open_team(1, 2);
    char data[128] __attribute__((aligned(8)));
    size_t n = pack_few(data);
    post.get = note_digest;
    come(0, &(struct ss_team_message){.kind = SS_TEAM_DONE, .list = 1, .slot = 1}, data, n);
    repeat_all(team);
    come(0, &(struct ss_team_message){.kind = SS_TEAM_END, .slot = 1}, NULL, 0);
    ss_team_close(team, 0, NULL);
    team = open_team(0, 2);
    say_ready(1, 2, post.digest, 0);
    post.get = repeat_there;
    repeat_all(team);
    CU_ASSERT(sent(1, SS_TEAM_GIVE) >= 1);
    CU_ASSERT_EQUAL(sent(1, SS_TEAM_DONE), 1);
    for (int i = 0; i < post.nsent; i++)
        if (post.sent[i].head.kind == SS_TEAM_DONE) {
            CU_ASSERT_EQUAL(post.sent[i].head.slot, 1);
            CU_ASSERT_EQUAL(post.sent[i].n, sizeof(struct ss_team_message) + n);
            CU_ASSERT_EQUAL(memcmp(post.sent[i].data, data, n), 0);
        }
    ss_team_close(team, 0, NULL);
    post.digest = digest;
}

/* The only worker of process 1 holds its second item back until it has the third, loses the third, and then answers the second: only
 * the third is dealt out again. */
static void lose_behind(int to, const struct ss_team_message *m)
{
    static struct ss_team_message held;
    static int given;
    if (m->kind != SS_TEAM_GIVE || to != 1)
        return;
    given++;
    if (given == 2) {
        held = *m;
        return;
    }
    if (given == 3) {
        struct ss_team_message loss = *m;
        loss.kind = SS_TEAM_LOST;
        come(1, &loss, NULL, 0);
        answer(1, &held, 10 + (long)held.item * held.item, sizeof(long));
        return;
    }
    answer(to, m, 10 + (long)m->item * m->item, sizeof(long));
}

TEST(lost_behind)
{
    struct ss_team *team = open_team(0, 3);
    struct ss_error err = {0};
    long answers[ALL];
    int status;
    say_ready(1, 1, post.digest, 0);
    post.get = lose_behind;
    CU_ASSERT_EQUAL(deal(team, all_items, ALL, answers, &err), SS_OK);
    check_answers(answers);
    CU_ASSERT(sent(1, SS_TEAM_GIVE) >= 3);
    ss_team_close(team, 1, &status);
}

/* The process that process 1 said to be ends when it gets its first item, and nothing can be sent to process 2. */
static void end_victim(int to, const struct ss_team_message *m)
{
    if (to == 1 && m->kind == SS_TEAM_GIVE && post.victim) {
        kill(post.victim, SIGKILL);
        waitpid(post.victim, NULL, 0);
        post.victim = 0;
    }
}

TEST(dead)
{
    struct ss_team *team = open_team(0, 3);
    struct ss_error err = {0};
    long answers[ALL];
    pid_t victim = fork();
    if (victim == 0) {
        prctl(PR_SET_PDEATHSIG, SIGKILL);
        pause();
        _exit(0);
    }
    post.victim = victim;
    post.get = end_victim;
    post.gone = 2;
    say_ready(1, 1, post.digest, (long)victim);
    CU_ASSERT_EQUAL(deal(team, all_items, ALL, answers, &err), SS_OK);
    check_answers(answers);
    CU_ASSERT_EQUAL(sent(1, SS_TEAM_GIVE), 1);
    CU_ASSERT_EQUAL(ss_team_close(team, 0, NULL), 1);
    CU_ASSERT_EQUAL(post.left, 1);
}

/* The first one has died before anybody read where it is: the others end, though no word of theirs failed to arrive. */
TEST(first_dead)
{
    struct ss_team *team = open_team(1, 2);
    struct ss_error err = {0};
    struct ss_team_ready ready;
    long answers[ALL];
    pid_t victim = fork();
    if (victim == 0)
        _exit(0);
    CU_ASSERT_EQUAL_FATAL(waitpid(victim, NULL, 0), victim);
    ss_team_ready_fill(&ready, 0);
    ready.pid = (long)victim;
    come(0, &(struct ss_team_message){.kind = SS_TEAM_READY}, &ready, sizeof ready);
    CU_ASSERT_EQUAL(deal(team, all_items, ALL, answers, &err), SS_ERR_ENGINE);
    CU_ASSERT_STRING_EQUAL(err.message, "the first process of the team has ended before the work");
    CU_ASSERT_EQUAL(ss_team_close(team, 0, NULL), 1);
    CU_ASSERT_EQUAL(post.left, 1);
}

/* A process with other files, one whose word is too short to tell, an item that is bad: the list ends for all. */
TEST(refused)
{
    static const int items[] = {0, 1, BAD, 3};
    for (int i = 0; i < 3; i++) {
        struct ss_team *team = open_team(0, 2);
        struct ss_error err = {0}, told;
        long answers[4];
        if (i == 0)
            say_ready(1, 1, post.digest + 1, 0);
        if (i == 1)
            come(1, &(struct ss_team_message){.kind = SS_TEAM_READY, .list = 1, .status = 1}, "no", 2);
        CU_ASSERT_EQUAL(deal(team, items, 4, answers, &err), SS_ERR_INPUT);
        CU_ASSERT_STRING_EQUAL(
            err.message,
            i < 2 ? "process 1 of the team has another build of stepsim, other words or other files"
                  : "item 7 is bad");
        CU_ASSERT_EQUAL(sent(1, SS_TEAM_DONE), 1);
        memcpy(&told, post.sent[post.nsent - 1].data, sizeof told);
        CU_ASSERT_STRING_EQUAL(told.message, err.message);
        CU_ASSERT_EQUAL(ss_team_close(team, 3, NULL), 0);
    }
}

/* What all are told is copied once: processes are many, and answers long. A dead one gets nothing. */
TEST(told)
{
    struct ss_team *team = open_team(0, 5);
    const struct ss_team_message done = {.kind = SS_TEAM_DONE, .list = 1, .item = 7};
    const long answers[2] = {3, 4};
    int before = post.nsent;
    post.gone = 2;
    ss_team_tell(team, &done, answers, sizeof answers);
    CU_ASSERT_EQUAL_FATAL(post.nsent, before + 3);
    CU_ASSERT(ss_team_is_dead(team, 2) && !ss_team_is_dead(team, 1) && !ss_team_is_dead(team, 4));
    static const int peers[] = {1, 3, 4};
    for (int i = 0; i < 3; i++) {
        const struct letter *l = &post.sent[before + i];
        CU_ASSERT(l->peer == peers[i] && l->head.item == 7 && !memcmp(l->data, answers, sizeof answers));
        CU_ASSERT_PTR_EQUAL(l->copy, post.sent[before].copy);
    }
    ss_team_close(team, 0, NULL);
}
