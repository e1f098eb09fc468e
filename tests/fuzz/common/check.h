/* SPDX-License-Identifier: Apache-2.0 */
/* What holds of everything that is written: each function aborts where it does not. */
#ifndef FUZZ_CHECK_H
#define FUZZ_CHECK_H

#include <stdint.h>
#include <stdio.h>

#include "stepsim/error.h"

/* Hashes of the texts of one run, in their order. */
struct fuzz_digest {
    int n;
    uint64_t hash[64];
};

/* A text that is written into memory. */
struct fuzz_text {
    FILE *out;
    char *text;
    size_t size;
};
void fuzz_text_begin(struct fuzz_text *t);
/* Closes the stream: `text` ends with a 0. Adds its hash to the digest. */
void fuzz_text_end(struct fuzz_text *t, struct fuzz_digest *d);
void fuzz_text_free(struct fuzz_text *t);

/* A JSON document, each name of an object once. */
void fuzz_check_json(const struct fuzz_text *t);
/* A well-formed SVG, where no number is infinite or none. */
void fuzz_check_svg(const struct fuzz_text *t);
/* A page: from its doctype to its end, and no scripts but its own. */
void fuzz_check_html(const struct fuzz_text *t, int scripts);
/* Text of people: UTF-8 or not, but no zero byte. */
void fuzz_check_plain(const struct fuzz_text *t);
/* A status and its error: 0 and untouched, or an error with code and message. Returns rc. */
int fuzz_check_status(int rc, const struct ss_error *err);
/* A finite number, not below 0 but for rounding of `scale`. */
void fuzz_check_amount(double value, double scale);

#endif
