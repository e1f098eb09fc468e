/* SPDX-License-Identifier: Apache-2.0 */
/* Observed events on their way to the observers: sorted within an instant, through a pipe if need be. */
#include <errno.h>
#include <string.h>
#include <unistd.h>

#include "replay/engine.h"

#define TAPE_OUT (64 * 1024)

void ss_tape_init(struct ss_tape *tape, const struct ss_program *p, struct ss_board *board,
                  const struct ss_observer *observers, int nobservers)
{
    memset(tape, 0, sizeof *tape);
    tape->program = p;
    tape->board = board;
    tape->accounts = board->accounts;
    tape->observers = observers;
    tape->nobservers = nobservers;
    tape->fd = -1;
    for (int i = 0; i < nobservers; i++)
        tape->wanted |= observers[i].span || observers[i].transfer || observers[i].memory;
}

void ss_tape_free(struct ss_tape *tape)
{
    free(tape->records);
    free(tape->out);
}

void ss_tape_observe(const struct ss_observer *observers, int nobservers, const struct ss_record *r)
{
    for (int i = 0; i < nobservers; i++) {
        const struct ss_observer *o = &observers[i];
        if (r->kind == SS_RECORD_SPAN && o->span)
            o->span(o->ctx, r->cls, r->slot, r->event, r->start, r->value, r->time);
        else if (r->kind == SS_RECORD_TRANSFER && o->transfer)
            o->transfer(o->ctx, r->slot, r->event, r->start, r->time, r->value);
        else if (r->kind == SS_RECORD_MEMORY && o->memory)
            o->memory(o->ctx, r->cls, r->slot, r->event, r->time, r->extra, r->value);
    }
}

/* Transfers (cls -1) first, channels before collectives; then (class, slot, event). */
static int compare(const void *pa, const void *pb)
{
    const struct ss_record *a = pa, *b = pb;
    if (a->cls != b->cls)
        return a->cls < b->cls ? -1 : 1;
    if (a->cls < 0 && (a->slot < 0) != (b->slot < 0))
        return a->slot < 0 ? 1 : -1;
    if (a->slot != b->slot)
        return a->slot < b->slot ? -1 : 1;
    if (a->event != b->event)
        return a->event < b->event ? -1 : 1;
    return (a->order > b->order) - (a->order < b->order);
}

static void sort(struct ss_record *r, size_t n)
{
    if (n > 16) {
        qsort(r, n, sizeof *r, compare);
        return;
    }
    for (size_t i = 1; i < n; i++) {
        if (compare(&r[i - 1], &r[i]) <= 0)
            continue;
        struct ss_record moved = r[i];
        size_t j = i;
        for (; j > 0 && compare(&r[j - 1], &moved) > 0; j--)
            r[j] = r[j - 1];
        r[j] = moved;
    }
}

static void drain(struct ss_tape *tape)
{
    size_t done = 0;
    while (done < tape->nout && !tape->failed) {
        ssize_t n = write(tape->fd, tape->out + done, tape->nout - done);
        if (n > 0)
            done += (size_t)n;
        else if (errno != EINTR)
            tape->failed = 1;
    }
    tape->nout = 0;
}

static void send_record(struct ss_tape *tape, const struct ss_record *r)
{
    if (!tape->out && !(tape->out = malloc(TAPE_OUT))) {
        tape->failed = 1;
        return;
    }
    if (tape->nout + sizeof *r > TAPE_OUT)
        drain(tape);
    memcpy(tape->out + tape->nout, r, sizeof *r);
    tape->nout += sizeof *r;
}

void ss_tape_flush(struct ss_tape *tape)
{
    if (tape->n > 1)
        sort(tape->records, tape->n);
    for (size_t i = 0; i < tape->n; i++) {
        if (tape->fd >= 0)
            send_record(tape, &tape->records[i]);
        else
            ss_tape_observe(tape->observers, tape->nobservers, &tape->records[i]);
    }
    tape->n = 0;
}

void ss_tape_end(struct ss_tape *tape)
{
    ss_tape_flush(tape);
    if (tape->fd >= 0)
        drain(tape);
}
