/* SPDX-License-Identifier: Apache-2.0 */
/* JSON as a stream of tokens, for files that are too large to hold: memory is a buffer and one token. Strict about structure; a
 * text longer than SS_TOKEN_MOST is cut, a character that is no UTF-8 passes. */
#pragma once

#include <stdio.h>

#include "stepsim/error.h"

#define SS_TOKEN_MOST 4096

enum ss_json_token {
    SS_JSON_END, /* the end of the document */
    SS_JSON_OBJECT,
    SS_JSON_OBJECT_END,
    SS_JSON_ARRAY,
    SS_JSON_ARRAY_END,
    SS_JSON_TEXT,
    SS_JSON_NUMBER,
    SS_JSON_WORD /* true, false, null */
};

struct ss_json_stream {
    FILE *in;
    const char *name; /* name of the file in messages */
    struct ss_error *err;
    int line, next; /* the line of the next character; the next character, or EOF */
    char text[SS_TOKEN_MOST];
    size_t len;
};

/* Begins to read. Skips a byte order mark. */
void ss_json_stream_begin(struct ss_json_stream *s, FILE *in, const char *name, struct ss_error *err);
/* Reads the next token and returns its enum ss_json_token, or an error with the line. The text, number
 * or word is in s->text. Commas and colons are left to the functions below. */
int ss_json_stream_token(struct ss_json_stream *s);
/* Walks over an object whose '{' was read. Returns 1 with the next key in s->text, and its value comes
 * next; 0 once '}' was read; or an error. The caller sets *first to 1 before the first call. */
int ss_json_stream_key(struct ss_json_stream *s, int *first);
/* Walks over an array whose '[' was read. Returns 1 if an item comes next, 0 once ']' was read, or an
 * error. */
int ss_json_stream_item(struct ss_json_stream *s, int *first);
/* Passes over a value. Returns 0 or an error. */
int ss_json_stream_skip(struct ss_json_stream *s);
/* Passes over a value whose first token was read. */
int ss_json_stream_skip_rest(struct ss_json_stream *s, int token);
/* Fills in an error of the present line. Returns SS_ERR_INPUT. */
#define ss_json_stream_fail(s, ...) ss_fail((s)->err, SS_ERR_INPUT, (s)->name, (s)->line, __VA_ARGS__)
