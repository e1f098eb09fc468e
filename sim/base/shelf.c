/* SPDX-License-Identifier: Apache-2.0 */
#include "base/shelf.h"

#include <stdlib.h>

#include "base/base.h"

enum { CHAINS = 1024, MOST_BYTES = 64 << 20 };

struct item {
    struct ss_shelf_key key;
    void *thing;
    void (*destroy)(void *);
    size_t bytes;
    uint64_t asked; /* when it was last asked for, in questions */
    int taken;
    struct item *next; /* of its chain */
};

struct ss_shelf {
    size_t bytes;
    uint64_t now; /* questions so far */
    struct item *chain[CHAINS];
};

int ss_shelf_open(struct ss_shelf **out, struct ss_error *err)
{
    *out = ss_calloc(1, sizeof **out);
    return *out ? SS_OK : ss_nomem(err);
}

/* Takes the item off its chain, of which `link` points to it. */
static void drop(struct ss_shelf *shelf, struct item **link)
{
    struct item *item = *link;
    *link = item->next;
    shelf->bytes -= item->bytes;
    item->destroy(item->thing);
    free(item);
}

void ss_shelf_close(struct ss_shelf *shelf)
{
    for (int i = 0; shelf && i < CHAINS; i++)
        while (shelf->chain[i])
            drop(shelf, &shelf->chain[i]);
    free(shelf);
}

static struct item **find(struct ss_shelf *shelf, struct ss_shelf_key key)
{
    struct item **link = &shelf->chain[key.a % CHAINS];
    while (*link && ((*link)->key.a != key.a || (*link)->key.b != key.b))
        link = &(*link)->next;
    return link;
}

void *ss_shelf_take(struct ss_shelf *shelf, struct ss_shelf_key key)
{
    struct item *item = *find(shelf, key);
    if (!item)
        return NULL;
    item->asked = ++shelf->now;
    item->taken++;
    return item->thing;
}

/* Of those that nobody has taken the one that was not asked for the longest; 0: there is none. */
static int drop_oldest(struct ss_shelf *shelf)
{
    struct item **oldest = NULL;
    for (int i = 0; i < CHAINS; i++)
        for (struct item **link = &shelf->chain[i]; *link; link = &(*link)->next)
            if (!(*link)->taken && (!oldest || (*link)->asked < (*oldest)->asked))
                oldest = link;
    if (oldest)
        drop(shelf, oldest);
    return oldest != NULL;
}

int ss_shelf_put(struct ss_shelf *shelf, struct ss_shelf_key key, void *thing, size_t bytes,
                 void (*destroy)(void *))
{
    struct item *item = ss_calloc(1, sizeof *item);
    if (!item)
        return -1;
    while (shelf->bytes + bytes > MOST_BYTES && drop_oldest(shelf)) {
    }
    *item = (struct item){.key = key,
                          .thing = thing,
                          .destroy = destroy,
                          .bytes = bytes,
                          .asked = ++shelf->now,
                          .taken = 1,
                          .next = shelf->chain[key.a % CHAINS]};
    shelf->chain[key.a % CHAINS] = item;
    shelf->bytes += bytes;
    return 0;
}

void ss_shelf_give_back(struct ss_shelf *shelf, struct ss_shelf_key key)
{
    struct item *item = *find(shelf, key);
    if (item)
        item->taken--;
}
