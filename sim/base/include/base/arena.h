/* SPDX-License-Identifier: Apache-2.0 */
/* Memory that is freed all at once, for the millions of small strings of a large document. */
#pragma once

#include <stddef.h>

/* An arena begins with {0}. */
struct ss_arena {
    struct ss_arena_block *blocks;
};
/* Returns `size` bytes, not cleared, at a multiple of `align`; NULL: out of memory. */
void *ss_arena_take(struct ss_arena *arena, size_t size, size_t align);
/* Returns a copy of text[0 .. len-1] with a final 0; NULL: out of memory. */
char *ss_arena_text(struct ss_arena *arena, const char *text, size_t len);
/* Gives all that one arena has to another one. */
void ss_arena_join(struct ss_arena *to, struct ss_arena *from);
void ss_arena_free(struct ss_arena *arena);
