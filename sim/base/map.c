/* SPDX-License-Identifier: Apache-2.0 */
#include "base/map.h"
#include "base/base.h"

static struct ss_map_slot *find(const struct ss_map *m, uint64_t key)
{
    size_t at = (size_t)ss_mix64(key) & (m->size - 1);
    while (m->slot[at].value && m->slot[at].key != key)
        at = (at + 1) & (m->size - 1);
    return &m->slot[at];
}

static int grow(struct ss_map *m)
{
    struct ss_map new = {.size = m->size ? 4 * m->size : 64, .n = m->n};
    new.slot = ss_calloc(new.size, sizeof *new.slot);
    if (!new.slot)
        return -1;
    for (size_t i = 0; i < m->size; i++)
        if (m->slot[i].value)
            *find(&new, m->slot[i].key) = m->slot[i];
    free(m->slot);
    *m = new;
    return 0;
}

static struct ss_map_slot *place(struct ss_map *m, uint64_t key, int value)
{
    if (2 * m->n >= m->size && grow(m))
        return NULL;
    struct ss_map_slot *s = find(m, key);
    if (!s->value) {
        s->key = key;
        s->value = value + 1;
        m->n++;
    }
    return s;
}

int ss_map_put(struct ss_map *m, uint64_t key, int value)
{
    struct ss_map_slot *s = place(m, key, value);
    return s ? s->value - 1 : -1;
}

int ss_map_get(const struct ss_map *m, uint64_t key)
{
    return m->size ? find(m, key)->value - 1 : -1;
}

int ss_map_add(struct ss_map *m, uint64_t key, int more)
{
    struct ss_map_slot *s = place(m, key, 0);
    if (s)
        s->value += more;
    return s ? 0 : -1;
}

void ss_map_free(struct ss_map *m)
{
    free(m->slot);
    m->slot = NULL;
    m->n = m->size = 0;
}
