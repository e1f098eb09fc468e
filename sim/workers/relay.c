/* SPDX-License-Identifier: Apache-2.0 */
#include "workers/relay.h"

#include "base/base.h"

/* Milliseconds between two looks for messages: waiting for MPI would take a core of its own. */
#define NAP_MS 1

/* A list that this process works at. */
struct service {
    struct ss_relay *relay;
    struct ss_team *team;
    int list, n;
    void *answers;
    void *answer; /* room for one answer */
    int done, status;
    struct ss_error error;
};

void ss_relay_watch(const struct ss_worker *workers, struct pollfd *ready, int n)
{
    for (int i = 0; i < n; i++) /* poll passes over negative descriptors */
        ready[i] = (struct pollfd){.fd = workers[i].n ? workers[i].fd : -1, .events = POLLIN};
}

static void tell_lost(struct service *s, int slot, int item)
{
    const struct ss_team_message lost = {.kind = SS_TEAM_LOST, .list = s->list, .slot = slot, .item = item};
    ss_team_send(s->team, 0, &lost, NULL, 0);
}

static void dismiss(struct ss_worker *worker)
{
    ss_worker_dismiss(worker);
    worker->n = 0;
    worker->took = 0;
}

/* Passes a reply on; for a dead worker it reports the loss, and the first process deals the item out
 * again. */
static void pass_reply(struct service *s, struct ss_worker *worker)
{
    struct ss_reply reply;
    struct ss_error error;
    int slot = (int)(worker - s->relay->workers), item = worker->at[0];
    if (ss_worker_read(worker, &reply, &error) ||
        (!reply.status && ss_worker_read_answer(worker, s->answer, reply.bytes))) {
        dismiss(worker);
        tell_lost(s, slot, item);
        return;
    }
    ss_worker_next(worker);
    const struct ss_team_message m = {.kind = SS_TEAM_ANSWER,
                                      .list = s->list,
                                      .slot = slot,
                                      .item = item,
                                      .status = reply.status,
                                      .took = (float)worker->took};
    ss_team_send(s->team, 0, &m, reply.status ? (const void *)&error : s->answer,
                 reply.status ? sizeof error : reply.bytes);
}

/* Waits a little for the workers, and passes on what they say. */
static void pass_replies(struct service *s)
{
    const struct ss_relay *r = s->relay;
    ss_relay_watch(r->workers, r->ready, r->nworkers);
    if (poll(r->ready, (nfds_t)r->nworkers, NAP_MS) <= 0)
        return;
    for (int i = 0; i < r->nworkers; i++)
        if (r->ready[i].revents)
            pass_reply(s, &r->workers[i]);
}

static void take_item(struct service *s, const struct ss_team_message *m)
{
    struct ss_relay *r = s->relay;
    struct ss_worker *worker = m->slot >= 0 && m->slot < r->nworkers ? &r->workers[m->slot] : NULL;
    if (!worker)
        return;
    if (worker->n >= (int)SS_ARRAY_LEN(worker->at) || (!worker->pid && ss_worker_hire(r->pool, worker)))
        tell_lost(s, m->slot, m->item);
    else
        ss_worker_give(worker, m->item, m->item);
}

/* Takes answers of many lengths, each behind its length (ss_deal_tell). Returns 0 without memory. */
static int take_blocks(struct service *s, int at, const char *data, size_t n)
{
    void **blocks = s->answers;
    for (size_t bytes, used = 0; at < s->n && used + sizeof bytes <= n; used += sizeof bytes + bytes, at++) {
        memcpy(&bytes, data + used, sizeof bytes);
        if (bytes > n - used - sizeof bytes || !(blocks[at] = malloc(bytes)))
            return 0;
        memcpy(blocks[at], data + used + sizeof bytes, bytes);
    }
    return 1;
}

static void take_answers(struct service *s, const struct ss_team_message *m, const void *data, size_t n)
{
    size_t size = s->relay->pool->size;
    s->done = m->slot;
    s->status = m->status;
    if (m->status)
        memcpy(&s->error, data, n < sizeof s->error ? n : sizeof s->error);
    else if (s->relay->pool->used && m->item >= 0 && !take_blocks(s, m->item, data, n))
        s->done = s->status = ss_nomem(&s->error);
    else if (!s->relay->pool->used && m->item >= 0 && n / size <= (size_t)(s->n - m->item))
        memcpy((char *)s->answers + (size_t)m->item * size, data, n);
}

static void take_messages(struct service *s)
{
    struct ss_team_message m;
    const void *data;
    size_t n;
    int from;
    while (!s->done && ss_team_take(s->team, &from, &m, &data, &n)) {
        if (m.kind == SS_TEAM_END) {
            s->done = 1;
            s->status = ss_fail(&s->error, SS_ERR_ENGINE, NULL, 0,
                                "the first process of the team has ended before the work");
        } else if (m.list == s->list && m.kind == SS_TEAM_GIVE) {
            take_item(s, &m);
        } else if (m.list == s->list && m.kind == SS_TEAM_DONE) {
            take_answers(s, &m, data, n);
        }
    }
}

static void say_ready(const struct service *s)
{
    const struct ss_team_message m = {.kind = SS_TEAM_READY, .list = s->list, .status = s->relay->nworkers};
    struct ss_team_ready ready;
    ss_team_ready_fill(&ready, s->relay->digest);
    ss_team_send(s->team, 0, &m, &ready, sizeof ready);
}

int ss_relay_serve(struct ss_relay *r, int n, void *answers, struct ss_error *err)
{
    struct service s = {.relay = r, .team = r->pool->workers.team, .n = n, .answers = answers};
    s.list = ss_team_next_list(s.team);
    s.answer = malloc(r->pool->size);
    SS_NEED(s.answer, err);
    say_ready(&s);
    while (!s.done) {
        take_messages(&s);
        if (!s.done)
            pass_replies(&s);
    }
    for (int i = 0; i < r->nworkers; i++)
        if (r->workers[i].n) /* nobody wants its answers any more */
            dismiss(&r->workers[i]);
    free(s.answer);
    if (s.status && err)
        *err = s.error;
    return s.status;
}
