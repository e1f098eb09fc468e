/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Documents of unequal length packed into rows of a fixed number of tokens, as fine-tuning does
 * (docs/reference/model.md, "Packed sequences"). The functions map numbers to numbers and know no job. The
 * same input gives the same rows on every machine.
 */
#pragma once

#include <stdint.h>

#include "stepsim/error.h"

#define SS_DOCUMENT_MAX (1 << 26) /* tokens of the longest document */

/* Lengths of documents in a file (docs/reference/formats.md, "Lengths of documents"). */
struct ss_lengths {
    size_t n;
    int *length;      /* [n], >= 1, as the file has them */
    double *count;    /* [n], >= 0, whole: documents of this length */
    double documents; /* sum of count, >= 1 */
};
/* Reads lengths. The caller frees them with ss_lengths_free. `name` stands for the file in messages. SS_ERR_INPUT with the
 * line, SS_ERR_IO, SS_ERR_NOMEM. */
int ss_lengths_parse(const char *text, size_t len, const char *name, struct ss_lengths *out,
                     struct ss_error *err);
int ss_lengths_read(const char *path, struct ss_lengths *out, struct ss_error *err);
/* Frees what a struct holds; one that is all zero is allowed. */
void ss_lengths_free(struct ss_lengths *lengths);

struct ss_packing_input {
    int law;                          /* enum ss_packed_law (stepsim/job.h), not SS_PACKED_NONE */
    double low, high;                 /* its numbers, as in struct ss_job */
    const struct ss_lengths *lengths; /* of SS_PACKED_FILE; else not read */
    int row;                          /* tokens of a row, >= 1 */
    int multiple;                     /* documents are padded to a multiple of this, 1 .. row */
    int algorithm;                    /* enum ss_packed_algorithm */
    uint64_t seed;
};

/* Packed rows. Attention sees documents with their padding, and the rest of a row as a document of its
 * own. */
struct ss_packing {
    int nlengths;
    int *length;   /* [nlengths], ascending: lengths of what attends */
    double *share; /* [nlengths]: how many of that length a row has on average */
    int nrows;
    double *square;   /* [nrows], ascending: of each row the sum of squares of what attends, over its mean */
    double sigma;     /* standard deviation of these, 0: all rows are alike */
    double documents; /* of a row, mean */
    double tokens;    /* of its documents, without padding, mean */
    double token_squares; /* squares of their lengths without padding, sum over a row, mean */
    double cut;           /* share of the documents that were longer than a row; their ends are dropped */
    double scale;         /* 1. Another number: a row whose squares are so many times the mean */
    int row, multiple;    /* as in the input */
    uint64_t seed;        /* as in the input */
};

/* Packs rows of documents of these lengths: all documents of a small file, else a sample. The caller frees what *out holds with
 * ss_packing_free. SS_ERR_NOMEM. */
int ss_packing_build(const struct ss_packing_input *in, struct ss_packing *out, struct ss_error *err);
void ss_packing_free(struct ss_packing *packing);

/* Length of the causal sequence in which queries see as many keys on average. `window`: keys that a query sees at most;
 * `chunk`: length of the pieces that see themselves alone; 0: all. */
double ss_packing_keys(const struct ss_packing *packing, double window, double chunk);
/* Does so for one document of `length` tokens. */
double ss_document_keys(double length, double window, double chunk);

/* Squares of the k-th row that is drawn, over their mean: the same seed and k give the same row. */
double ss_packing_draw(const struct ss_packing *packing, uint64_t k);
