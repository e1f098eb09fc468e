/* SPDX-License-Identifier: Apache-2.0 */
#include "base/arena.h"

#include <stdlib.h>
#include <string.h>

#define FIRST (2u << 10)
#define BLOCK (64u << 10) /* and the largest, unless one thing is larger */

struct ss_arena_block {
    struct ss_arena_block *next;
    size_t used, size;
    _Alignas(max_align_t) char data[];
};

void *ss_arena_take(struct ss_arena *arena, size_t size, size_t align)
{
    struct ss_arena_block *b = arena->blocks;
    size_t at = b ? (b->used + align - 1) / align * align : 0;

    if (!b || at + size > b->size) {
        size_t room = b ? 2 * b->size : FIRST;
        room = room < BLOCK ? room : BLOCK;
        room = room < size ? size : room;
        struct ss_arena_block *fresh = malloc(sizeof *fresh + room);
        if (!fresh)
            return NULL;
        fresh->next = b;
        fresh->size = room;
        arena->blocks = b = fresh;
        at = 0;
    }
    b->used = at + size;
    return b->data + at;
}

char *ss_arena_text(struct ss_arena *arena, const char *text, size_t len)
{
    char *copy = ss_arena_take(arena, len + 1, 1);

    if (!copy)
        return NULL;
    memcpy(copy, text, len);
    copy[len] = '\0';
    return copy;
}

void ss_arena_join(struct ss_arena *to, struct ss_arena *from)
{
    struct ss_arena_block **end = &to->blocks;

    while (*end)
        end = &(*end)->next;
    *end = from->blocks;
    from->blocks = NULL;
}

void ss_arena_free(struct ss_arena *arena)
{
    while (arena->blocks) {
        struct ss_arena_block *next = arena->blocks->next;
        free(arena->blocks);
        arena->blocks = next;
    }
}
