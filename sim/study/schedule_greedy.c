/* SPDX-License-Identifier: Apache-2.0 */
/* Builds orders pass by pass: keeps what each rank has done and when, and places W. */
#include "study/schedule_greedy.h"
#include "base/base.h"
#include "study/schedule_order.h"

static int *greedy_count(const struct ss_greedy *g, int rank, int phase, int chunk)
{
    int kind = phase == SS_PHASE_F ? 0 : phase == SS_PHASE_I ? 1 : 2;
    return &g->count[(rank * g->q->chunks + chunk) * 3 + kind];
}

static double *end_of(const struct ss_greedy *g, int phase, int stage, int mb)
{
    int stages = g->q->stages * g->q->chunks, back = phase == SS_PHASE_I;
    return &g->end[((size_t)back * (size_t)stages + (size_t)stage) * (size_t)g->q->microbatches + (size_t)mb];
}

static double greedy_input(const struct ss_greedy *g, int rank, int phase, int chunk)
{
    int stage = ss_search_stage(g->q, rank, chunk), mb = *greedy_count(g, rank, phase, chunk);
    if (mb == g->q->microbatches)
        return -1;
    if (phase == SS_PHASE_F)
        return stage ? *end_of(g, SS_PHASE_F, stage - 1, mb) : 0;
    double own = *end_of(g, SS_PHASE_F, stage, mb);
    if (own < 0 || stage + 1 == g->q->stages * g->q->chunks)
        return own;
    double next = *end_of(g, SS_PHASE_I, stage + 1, mb);
    return next < 0 ? -1 : fmax(own, next);
}

static double more_memory(const struct ss_greedy *g, int at, int phase)
{
    if (phase == SS_PHASE_F)
        return g->q->activation[at];
    return phase == SS_PHASE_I ? g->q->weight[at] - g->q->activation[at] : -g->q->weight[at];
}

/* Returns how many W a rank owes, and sets *next to the chunk of the oldest of them. */
static int greedy_owed(const struct ss_greedy *g, int rank, int *next)
{
    int made = 0, done = 0;
    for (int c = 0; c < g->q->chunks; c++) {
        made += *greedy_count(g, rank, SS_PHASE_I, c);
        done += *greedy_count(g, rank, SS_PHASE_W, c);
    }
    if (made > done)
        *next = g->owed[rank * g->q->chunks * g->q->microbatches + done];
    return made - done;
}

static void append(struct ss_greedy *g, int rank, int phase, int chunk, double start)
{
    const struct ss_search *q = g->q;
    int at = rank * q->chunks + chunk, *count = greedy_count(g, rank, phase, chunk), mb = (*count)++;
    const double *seconds = phase == SS_PHASE_F ? q->f : phase == SS_PHASE_I ? q->i : q->w;
    if (g->s->nslots[rank])
        g->bubble[rank] += start - g->now[rank];
    g->now[rank] = start + seconds[at];
    g->memory[rank] += more_memory(g, at, phase);
    if (phase != SS_PHASE_W)
        *end_of(g, phase, ss_search_stage(q, rank, chunk), mb) = g->now[rank];
    g->s->slots[rank][g->s->nslots[rank]++] = (struct ss_slot){phase, chunk, mb, -1, -1};
}

/* Returns when the pass ends for which the next pass of this kind waits; < 0: it has not been placed yet. */
static void greedy_put(struct ss_greedy *g, int rank, int phase, int chunk)
{
    double input = greedy_input(g, rank, phase, chunk);
    int room = g->q->chunks * g->q->microbatches, made = 0;
    g->failed |= input < 0;
    if (g->failed)
        return;
    if (phase == SS_PHASE_I) {
        for (int c = 0; c < g->q->chunks; c++)
            made += *greedy_count(g, rank, SS_PHASE_I, c);
        g->owed[rank * room + made] = chunk;
    }
    append(g, rank, phase, chunk, fmax(input, g->now[rank]));
}

/* Places the oldest W that a rank owes. Returns 0 where it owes none. */
static int greedy_put_w(struct ss_greedy *g, int rank)
{
    int chunk, any = greedy_owed(g, rank, &chunk);
    if (any)
        append(g, rank, SS_PHASE_W, chunk, g->now[rank]);
    return any > 0;
}

/* Places W until a pass fits under the cap. */
static void greedy_make_room(struct ss_greedy *g, int rank, int phase, int chunk)
{
    double more = more_memory(g, rank * g->q->chunks + chunk, phase);
    while (!g->failed && !ss_search_fits(g->q, rank, g->memory[rank] + more))
        g->failed = !greedy_put_w(g, rank);
}

static double greedy_worst(const struct ss_greedy *g)
{
    double worst = 0;
    for (int r = 0; r < g->q->stages; r++)
        worst = fmax(worst, g->bubble[r]);
    return worst;
}

/* Returns how long a rank may still idle: until it has idled as long as the worst rank, or until its
 * idle times of this run and of the one before sum to the worst of that run, whichever is later. */
static double greedy_slack(const struct ss_greedy *g, int rank)
{
    return fmax(greedy_worst(g), g->most_approved - g->approved[rank]) - g->bubble[rank];
}

/* Places W until the next pass of this kind has its input. The last gap is too short for a W. There a W
 * is placed all the same if `small` is set and the rank could idle without becoming the worst, or if
 * `large` is set and it could not. */
static void greedy_fill(struct ss_greedy *g, int rank, int phase, int chunk, int small, int large)
{
    double input = greedy_input(g, rank, phase, chunk);
    int next = 0;
    while (greedy_owed(g, rank, &next) && g->now[rank] + g->q->w[rank * g->q->chunks + next] <= input)
        greedy_put_w(g, rank);
    double gap = input - g->now[rank];
    if (gap > 0 && (gap <= greedy_slack(g, rank) ? small : large))
        greedy_put_w(g, rank);
}

static void greedy_begin(struct ss_greedy *g)
{
    const struct ss_search *q = g->q;
    size_t p = (size_t)q->stages, n = p * (size_t)q->chunks, all = n * (size_t)q->microbatches;
    for (size_t i = 0; i < 2 * all; i++)
        g->end[i] = -1;
    memset(g->count, 0, 3 * n * sizeof *g->count);
    memset(g->s->nslots, 0, p * sizeof *g->s->nslots);
    memset(g->now, 0, 3 * p * sizeof *g->now); /* now, memory, bubble */
    g->failed = 0;
}

/* The generator of zero-bubble for one chunk a rank (Qi et al., arXiv:2401.10241, section 3.1): as many forwards before the first
 * gradient as time and memory leave room for, then a forward and a gradient in turn on all ranks; W where a rank would wait, and
 * where it is the rank that idles most even in gaps that are too short for one. Every choice that the rules leave open is made
 * both ways. */

struct choices {
    int wait;   /* 1: before the first gradient no forward is placed that would delay it */
    int prompt; /* 1: gradients go before forwards that run too far ahead */
    int small;  /* 1: W also goes into short gaps of ranks that may still idle */
};

/* Counts the forwards of each rank between its first and the first gradient; a rank has fewer than the rank
 * before. */
static void count_ahead(const struct ss_greedy *g, int wait, int *ahead)
{
    const struct ss_search *q = g->q;
    int p = q->stages;
    double back = g->now[p - 1] + q->i[p - 1];
    ahead[p - 1] = 0;
    for (int r = p - 2; r >= 0; r--) {
        double now = g->now[r], memory = g->memory[r];
        for (ahead[r] = 0; ahead[r] + 1 < q->microbatches; ahead[r]++) {
            memory += q->activation[r];
            if (!ss_search_fits(q, r, memory) || (wait ? now + q->f[r] > back : now >= back))
                break;
            now += q->f[r];
        }
        back = fmax(now, back) + q->i[r];
    }
    for (int r = 1; r < p; r++)
        while (ahead[r] > 0 && ahead[r] >= ahead[r - 1] && ahead[r] + 1 < q->microbatches)
            ahead[r]--;
}

static int wants_forward(const struct ss_greedy *g, int r, int prompt)
{
    const struct ss_search *q = g->q;
    int made = *greedy_count(g, r, SS_PHASE_F, 0);
    if (made == q->microbatches)
        return 0;
    if (!prompt || r + 1 == q->stages || made < *greedy_count(g, r + 1, SS_PHASE_F, 0) + 2)
        return 1;
    double back = g->now[r + 1] + q->f[r + 1] + q->i[r + 1], end = g->now[r] + q->f[r],
           memory = g->memory[r] + q->activation[r];
    int next, left = greedy_owed(g, r, &next);
    if (g->now[r] >= back)
        return 0;
    for (; left && !ss_search_fits(q, r, memory); left--) {
        memory -= q->weight[r];
        end += q->w[r];
    }
    return end <= back || back - g->now[r] > greedy_slack(g, r);
}

static void round_of_forwards(struct ss_greedy *g, const struct choices *c, int *wants)
{
    int p = g->q->stages;
    for (int r = p - 1; r >= 0; r--)
        wants[r] = wants_forward(g, r, c->prompt) && (r + 1 == p || wants[r + 1]);
    for (int r = 0; r < p; r++) {
        if (!wants[r])
            continue;
        greedy_make_room(g, r, SS_PHASE_F, 0);
        greedy_fill(g, r, SS_PHASE_F, 0, c->small, 1);
        greedy_put(g, r, SS_PHASE_F, 0);
    }
}

/* Builds an order with one chunk a rank. `choices` has 3 bits; numbers[stages] is scratch. */
static void greedy_one(struct ss_greedy *g, int choices, int *numbers)
{
    struct choices own = {.wait = choices & 1, .prompt = choices >> 1 & 1, .small = choices >> 2}, *c = &own;
    const struct ss_search *q = g->q;
    int p = q->stages;
    for (int r = 0; r < p; r++)
        greedy_put(g, r, SS_PHASE_F, 0);
    count_ahead(g, c->wait, numbers);
    for (int r = 0; r < p; r++)
        for (int n = 0; n < numbers[r]; n++)
            greedy_put(g, r, SS_PHASE_F, 0);
    for (int i = 0; i < q->microbatches; i++) {
        if (i)
            round_of_forwards(g, c, numbers);
        for (int r = p - 1; r >= 0; r--) {
            greedy_make_room(g, r, SS_PHASE_I, 0);
            greedy_fill(g, r, SS_PHASE_I, 0, c->small, 1);
            while (r == 0 && *greedy_count(g, 0, SS_PHASE_F, 0) == q->microbatches && greedy_put_w(g, 0))
                ;
            greedy_put(g, r, SS_PHASE_I, 0);
        }
    }
}

/* The generator of zero-bubble for a V of two chunks a rank (Qi et al., arXiv:2401.10241, section 6): the first microbatch comes
 * down and back while others follow as far as time and memory allow; then every rank in turn takes one gradient and one forward,
 * the second chunk's whenever its input is there. */

static int made(const struct ss_greedy *g, int rank, int phase, int chunk)
{
    return *greedy_count(g, rank, phase, chunk);
}

/* Brings the first microbatch down and up again. While it is on its way to rank r, other microbatches
 * follow as far as r. */
static void first_comes_back(struct ss_greedy *g)
{
    const struct ss_search *q = g->q;
    int p = q->stages;
    for (int r = 0; r < p; r++)
        greedy_put(g, r, SS_PHASE_F, 0);
    for (int r = p - 1; r >= 0; r--) {
        double back = greedy_input(g, r, SS_PHASE_F, 1), one = q->activation[2 * r];
        while (r < p - 1 && ss_search_fits(q, r, g->memory[r] + one * (2 + 2 * r)) &&
               g->now[r] + q->f[2 * r] <= back && made(g, r, SS_PHASE_F, 0) < q->microbatches)
            for (int j = 0; j <= r; j++)
                greedy_put(g, j, SS_PHASE_F, 0);
        greedy_put(g, r, SS_PHASE_F, 1);
    }
}

static int is_behind(const struct ss_greedy *g, int r)
{
    int own = made(g, r, SS_PHASE_F, 0) + made(g, r, SS_PHASE_F, 1), second = made(g, r - 1, SS_PHASE_F, 1);
    return own < made(g, r - 1, SS_PHASE_F, 0) + second ||
           (made(g, r, SS_PHASE_F, 1) <= second && second < g->q->microbatches);
}

/* Lets later ranks take as many forwards as earlier ones, of each chunk in turn. */
static void catch_up(struct ss_greedy *g)
{
    int p = g->q->stages, chunk = 0;
    for (int r = 1; r < p; r++)
        for (int idle = 0; !g->failed && idle < 2 && is_behind(g, r); chunk = !chunk) {
            idle++;
            for (int j = p - 1; j >= r; j--)
                if (made(g, j, SS_PHASE_F, chunk) < g->q->microbatches) {
                    greedy_put(g, j, SS_PHASE_F, chunk);
                    idle = 0;
                }
        }
}

/* Returns the chunk whose gradient a rank takes: the gradient of the second chunk comes first. */
static int chunk_of_gradient(const struct ss_greedy *g, int r)
{
    int m = g->q->microbatches, turned = made(g, r, SS_PHASE_I, 1), back = made(g, r, SS_PHASE_I, 0);
    if (back >= turned)
        return 1;
    return r == g->q->stages - 1 || turned >= m || made(g, r + 1, SS_PHASE_I, 0) > back ? 0 : 1;
}

static void gradient(struct ss_greedy *g, int r, int chunk, int fill)
{
    greedy_make_room(g, r, SS_PHASE_I, chunk);
    greedy_fill(g, r, SS_PHASE_I, chunk, 0, chunk == 0 || fill);
    greedy_put(g, r, SS_PHASE_I, chunk);
}

static void gradients(struct ss_greedy *g, char *chunk, int fill)
{
    int p = g->q->stages;
    for (int r = 0; r < p; r++)
        chunk[r] = (char)chunk_of_gradient(g, r);
    for (int r = p - 1; r >= 0; r--)
        if (!chunk[r])
            gradient(g, r, 0, fill);
    for (int r = 0; r < p; r++)
        if (chunk[r])
            gradient(g, r, 1, fill);
}

/* Returns the chunk whose forward a rank takes; -1: none can be taken. */
static int chunk_of_forward(const struct ss_greedy *g, int r)
{
    int m = g->q->microbatches, first = made(g, r, SS_PHASE_F, 0), second = made(g, r, SS_PHASE_F, 1);
    if (second >= m)
        return -1;
    if (second >= first)
        return 0;
    if (r == g->q->stages - 1 || made(g, r + 1, SS_PHASE_F, 1) > second)
        return 1;
    return first < m && (r == 0 || made(g, r - 1, SS_PHASE_F, 0) > first) ? 0 : -1;
}

static void forwards(struct ss_greedy *g, int fill)
{
    for (int r = 0; r < g->q->stages && !g->failed; r++) {
        int chunk = chunk_of_forward(g, r);
        if (chunk < 0)
            continue;
        greedy_make_room(g, r, SS_PHASE_F, chunk);
        greedy_fill(g, r, SS_PHASE_F, chunk, 0, fill);
        greedy_put(g, r, SS_PHASE_F, chunk);
    }
}

/* Builds an order on the V. Returns SS_OK or SS_ERR_NOMEM. */
static int greedy_v(struct ss_greedy *g, int fill_forward, int fill_backward)
{
    char *chunk = ss_calloc((size_t)g->q->stages, 1);
    if (!chunk)
        return SS_ERR_NOMEM;
    first_comes_back(g);
    catch_up(g);
    for (int n = 0; n < 2 * g->q->microbatches && !g->failed; n++) {
        gradients(g, chunk, fill_backward);
        forwards(g, fill_forward);
    }
    free(chunk);
    return SS_OK;
}

/* ---- both ---- */

#define MOST_RETRIES 50

static int finish(struct ss_greedy *g, ss_greedy_take take, void *user)
{
    for (int r = 0; r < g->q->stages && !g->failed; r++)
        while (greedy_put_w(g, r))
            ;
    return g->failed ? SS_OK : take(user, g);
}

static int run_one_chunk(struct ss_greedy *g, ss_greedy_take take, void *user)
{
    int *numbers = ss_calloc((size_t)g->q->stages, sizeof *numbers), rc = numbers ? SS_OK : SS_ERR_NOMEM;
    for (int n = 0; n < 8 && !rc; n++) {
        greedy_begin(g);
        greedy_one(g, n, numbers);
        rc = finish(g, take, user);
    }
    free(numbers);
    return rc;
}

/* Repeats the generator as long as the worst rank idles less than before: the other ranks may then idle
 * as long from the start. */
static int run_v(struct ss_greedy *g, int fill_forward, int fill_backward, ss_greedy_take take, void *user)
{
    size_t size = (size_t)g->q->stages * sizeof *g->approved;
    double best = INFINITY;
    int rc = SS_OK;
    memset(g->approved, 0, size);
    g->most_approved = 0;
    for (int n = 0; n < MOST_RETRIES && !rc; n++) {
        greedy_begin(g);
        rc = greedy_v(g, fill_forward, fill_backward);
        SS_THEN(rc, finish(g, take, user));
        if (g->failed || greedy_worst(g) >= best)
            break;
        best = g->most_approved = greedy_worst(g);
        memcpy(g->approved, g->bubble, size);
    }
    return rc;
}

int ss_greedy_run(const struct ss_search *q, struct ss_schedule *s, ss_greedy_take take, void *user)
{
    size_t p = (size_t)q->stages, n = p * (size_t)q->chunks, all = n * (size_t)q->microbatches;
    struct ss_greedy g = {.q = q, .s = s};
    int rc = SS_OK;
    if (!q->split || (q->chunks > 1 && !q->v_shape))
        return SS_OK;
    g.end = ss_calloc(2 * all + 4 * p, sizeof *g.end);
    g.count = ss_calloc(3 * n + all, sizeof *g.count);
    if (!g.end || !g.count)
        rc = SS_ERR_NOMEM;
    if (!rc) {
        g.now = g.end + 2 * all;
        g.memory = g.now + p;
        g.bubble = g.memory + p;
        g.approved = g.bubble + p;
        g.owed = g.count + 3 * n;
        if (!q->v_shape)
            rc = run_one_chunk(&g, take, user);
        for (int k = 0; k < 4 && q->v_shape && !rc; k++)
            rc = run_v(&g, k & 1, k >> 1, take, user);
    }
    SS_FREE(g.end, g.count);
    return rc;
}
