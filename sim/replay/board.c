/* SPDX-License-Identifier: Apache-2.0 */
/* The board: what an engine writes down, one block, so that another process can fill it in shared memory. */
#include <sys/mman.h>
#include <unistd.h>

#include "base/base.h"
#include "replay/engine.h"

void ss_board_free(struct ss_board *board)
{
    if (!board || !board->mapped) {
        free(board);
        return;
    }
    int fd = board->fd;
    munmap(board, board->mapped);
    close(fd);
}

struct ss_board *ss_board_share(size_t size)
{
    int fd = memfd_create("stepsim-board", MFD_CLOEXEC);
    struct ss_board *b = NULL;
    if (fd >= 0 && ftruncate(fd, (off_t)size) == 0)
        b = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
    if (!b || b == MAP_FAILED) {
        if (fd >= 0)
            close(fd);
        return NULL;
    }
    b->mapped = size;
    b->fd = fd;
    return b;
}

static void blend_init(struct ss_blend *b, const struct ss_mix *mix)
{
    b->n = 0;
    for (int i = 0; i < SS_LABEL_COUNT; i++) {
        if (!(mix->fraction[i] > 0))
            continue;
        b->label[b->n] = i;
        b->fraction[b->n++] = mix->fraction[i];
    }
    if (b->n == 0) {
        b->label[0] = SS_LABEL_COMPUTE;
        b->fraction[b->n++] = 1;
    }
}

size_t ss_template_events(const struct ss_program *p)
{
    size_t n = 0;
    for (int i = 0; i < p->ntemplates; i++)
        n += (size_t)p->templates[i].nevents;
    return n;
}

size_t ss_board_place(struct ss_board *b, const struct ss_program *p, int accounts)
{
    char *block = (char *)b;
    size_t at = sizeof(struct ss_board), classes = (size_t)p->nclasses;
    size_t accounts_at = at + classes * sizeof(struct ss_cursor);
    size_t blends_at, busy_at, event_at, first_at, size = accounts_at;
    accounts_at = (accounts_at + 15) / 16 * 16;
    blends_at = accounts_at + classes * sizeof(struct ss_account);
    busy_at = blends_at + (size_t)p->nmixes * sizeof(struct ss_blend);
    event_at = busy_at + (size_t)p->nlinks * sizeof(double);
    first_at = event_at + ss_template_events(p) * sizeof(double);
    if (accounts)
        size = first_at + (size_t)p->ntemplates * sizeof(int);
    if (b)
        b->at = (struct ss_cursor *)(block + at);
    if (b && accounts) {
        b->accounts = (struct ss_account *)(block + accounts_at);
        b->blends = (struct ss_blend *)(block + blends_at);
        b->link_busy = (double *)(block + busy_at);
        b->event_s = (double *)(block + event_at);
        b->first_event = (int *)(block + first_at);
    }
    return size;
}

struct ss_board *ss_board_new(const struct ss_program *p, int shared, int accounts)
{
    size_t size = ss_board_place(NULL, p, accounts);
    struct ss_board *b = shared ? ss_board_share(size) : ss_calloc(1, size);
    if (!b)
        return NULL;
    ss_board_place(b, p, accounts);
    if (accounts) {
        for (int i = 0, at_event = 0; i < p->ntemplates; at_event += p->templates[i++].nevents)
            b->first_event[i] = at_event;
        for (int i = 0; i < p->nmixes; i++)
            blend_init(&b->blends[i], &p->mixes[i]);
    }
    return b;
}
