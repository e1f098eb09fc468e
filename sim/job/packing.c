/* SPDX-License-Identifier: Apache-2.0 */
/* Draws documents and packs them into rows. */
#include "job/packing.h"
#include "base/base.h"
#include "base/csv.h"
#include "base/draw.h"
#include "base/map.h"
#include "base/stats.h"
#include "stepsim/job.h"

/* A sample has documents for this many rows, but at most this many documents. */
#define SAMPLE_ROWS 1024
#define SAMPLE_DOCUMENTS (1 << 17)

struct work {
    const struct ss_packing_input *in;
    int most;               /* longest document that a row takes */
    size_t n, cap;          /* documents */
    int *length;            /* [n], without padding */
    int sample;             /* 1: there are more documents than these */
    double *below;          /* [lengths->n]: documents of the file up to this line */
    int *row_of;            /* [n] */
    int rows;               /* rows that count; later rows do not */
    struct row *row;        /* [rows] */
    int *attends, nattends; /* lengths of what attends in the counted rows */
};
struct row {
    double square, tokens, token_squares;
    int filled; /* tokens with padding */
};

/* ---- draws ---- */

static uint64_t draw(uint64_t seed, uint64_t k)
{
    return ss_mix64(ss_mix64(seed * 0x9e3779b97f4a7c15ULL + 1) + (k + 1) * 0x9e3779b97f4a7c15ULL);
}

double ss_packing_draw(const struct ss_packing *p, uint64_t k)
{
    uint64_t bits =
        draw(ss_mix64(p->seed + 1), k); /* a stream of its own: the seed's own one drew the lengths */
    return p->square[(size_t)((ss_uniform(bits) - 0x1p-53) * p->nrows)];
}

static double length_in_file(const struct work *w, double u)
{
    size_t low = 0, high = w->in->lengths->n - 1;
    double at = u * w->in->lengths->documents;
    while (low < high) {
        size_t middle = (low + high) / 2;
        if (w->below[middle] < at)
            low = middle + 1;
        else
            high = middle;
    }
    return w->in->lengths->length[low];
}

/* Length of the i-th document of a sample. */
static double drawn_length(const struct work *w, uint64_t i)
{
    const struct ss_packing_input *in = w->in;
    double u = ss_uniform(draw(in->seed, 2 * i));
    switch (in->law) {
    case SS_PACKED_FIXED: return in->low;
    case SS_PACKED_UNIFORM: return fmin(in->high, in->low + floor((u - 0x1p-53) * (in->high - in->low + 1)));
    case SS_PACKED_FILE: return length_in_file(w, u);
    default: break;
    }
    /* of the mean `low`, as Megatron's mock data set draws them */
    double normal = ss_normal(draw(in->seed, 2 * i), draw(in->seed, 2 * i + 1));
    return fmax(1, floor(in->low * exp(in->high * normal - in->high * in->high / 2) + 0.5));
}

static int padded(const struct work *w, int length)
{
    int m = w->in->multiple;
    return (length + m - 1) / m * m;
}

/* A longer document is cut to a row. */
static int add_document(struct work *w, double length, double *cut)
{
    if (ss_grow(&w->length, &w->cap, w->n + 1, sizeof *w->length))
        return SS_ERR_NOMEM;
    *cut += length > w->most;
    w->length[w->n++] = (int)fmin(length, w->most);
    return SS_OK;
}

static void shuffle(const struct work *w)
{
    for (size_t i = w->n; i > 1; i--) {
        size_t j = (size_t)(draw(w->in->seed, i) % i);
        int other = w->length[j];
        w->length[j] = w->length[i - 1];
        w->length[i - 1] = other;
    }
}

static int all_of_file(struct work *w, double *cut)
{
    const struct ss_lengths *l = w->in->lengths;
    for (size_t i = 0; i < l->n; i++)
        for (double k = 0; k < l->count[i]; k++)
            if (add_document(w, l->length[i], cut))
                return SS_ERR_NOMEM;
    if (w->in->algorithm == SS_PACKED_SHUFFLE)
        shuffle(w);
    return SS_OK;
}

static int draw_documents(struct work *w, double *cut)
{
    const struct ss_packing_input *in = w->in;
    double tokens = 0, rows = in->law == SS_PACKED_FIXED ? 1 : SAMPLE_ROWS, sum = 0;
    if (in->law == SS_PACKED_FILE && in->lengths->documents <= SAMPLE_DOCUMENTS)
        return all_of_file(w, cut);
    w->sample = in->law != SS_PACKED_FIXED; /* which fill a row like every other */
    if (in->law == SS_PACKED_FILE) {
        w->below = ss_calloc(in->lengths->n, sizeof *w->below);
        if (!w->below)
            return SS_ERR_NOMEM;
        for (size_t i = 0; i < in->lengths->n; i++)
            w->below[i] = sum += in->lengths->count[i];
    }
    while (tokens < rows * in->row && (w->n < SAMPLE_DOCUMENTS || in->law == SS_PACKED_FIXED)) {
        double length = drawn_length(w, w->n);
        if (in->law == SS_PACKED_FIXED && tokens + padded(w, (int)fmin(length, w->most)) > in->row)
            break;
        if (add_document(w, length, cut))
            return SS_ERR_NOMEM;
        tokens += padded(w, w->length[w->n - 1]);
    }
    return SS_OK;
}

/* ---- rows ---- */

static int longer_first(const void *a, const void *b)
{
    int x = *(const int *)a, y = *(const int *)b;
    return (x < y) - (x > y);
}

/* Each document goes to the first row that has room for it. Leaves of the tree are rows, a node has the most room of those below. */
static int first_fit(struct work *w)
{
    size_t leaves = 1;
    while (leaves < w->n)
        leaves *= 2;
    int *room = ss_calloc(2 * leaves, sizeof *room);
    if (!room)
        return SS_ERR_NOMEM;
    for (size_t i = 1; i < 2 * leaves; i++)
        room[i] = w->in->row;
    for (size_t d = 0; d < w->n; d++) {
        int length = padded(w, w->length[d]);
        size_t at = 1;
        while (at < leaves)
            at = 2 * at + (room[2 * at] < length);
        room[at] -= length;
        w->row_of[d] = (int)(at - leaves);
        while (at /= 2)
            room[at] = room[2 * at] > room[2 * at + 1] ? room[2 * at] : room[2 * at + 1];
    }
    free(room);
    return SS_OK;
}

/* Documents in their order; one that does not fit begins the next row. */
static void in_order(struct work *w)
{
    int row = 0, filled = 0;
    for (size_t d = 0; d < w->n; d++) {
        int length = padded(w, w->length[d]);
        if (filled + length > w->in->row) {
            row++;
            filled = 0;
        }
        filled += length;
        w->row_of[d] = row;
    }
}

static int pack(struct work *w)
{
    int rc = SS_OK;
    w->row_of = ss_calloc(w->n, sizeof *w->row_of);
    if (!w->row_of)
        return SS_ERR_NOMEM;
    if (w->in->algorithm == SS_PACKED_DECREASING)
        qsort(w->length, w->n, sizeof *w->length, longer_first);
    if (w->in->algorithm == SS_PACKED_IN_ORDER)
        in_order(w);
    else
        rc = first_fit(w);
    for (size_t d = 0; d < w->n; d++)
        w->rows = w->row_of[d] >= w->rows ? w->row_of[d] + 1 : w->rows;
    if (w->sample && w->rows > 1)
        w->rows--; /* which further documents would have filled */
    return rc;
}

static int fill_rows(struct work *w)
{
    w->row = ss_calloc((size_t)w->rows, sizeof *w->row);
    w->attends = ss_calloc(w->n + (size_t)w->rows, sizeof *w->attends);
    if (!w->row || !w->attends)
        return SS_ERR_NOMEM;
    for (size_t d = 0; d < w->n; d++) {
        if (w->row_of[d] >= w->rows)
            continue;
        struct row *row = &w->row[w->row_of[d]];
        double own = w->length[d], attends = padded(w, w->length[d]);
        row->filled += (int)attends;
        row->tokens += own;
        row->token_squares += own * own;
        row->square += attends * attends;
        w->attends[w->nattends++] = (int)attends;
    }
    return SS_OK;
}

/* ---- figures of the rows ---- */

static int count_lengths(struct work *w, struct ss_packing *p)
{
    ss_sort_int(w->attends, (size_t)w->nattends);
    p->length = ss_calloc((size_t)w->nattends, sizeof *p->length);
    p->share = ss_calloc((size_t)w->nattends, sizeof *p->share);
    if (!p->length || !p->share)
        return SS_ERR_NOMEM;
    for (int i = 0; i < w->nattends; i++) {
        if (i == 0 || w->attends[i] != w->attends[i - 1])
            p->length[p->nlengths++] = w->attends[i];
        p->share[p->nlengths - 1]++;
    }
    for (int i = 0; i < p->nlengths; i++)
        p->share[i] /= w->rows;
    return SS_OK;
}

static int sum_up(struct work *w, struct ss_packing *p)
{
    double mean = 0, variance = 0;
    p->documents = (double)w->nattends / w->rows;
    p->nrows = w->rows;
    p->square = ss_calloc((size_t)w->rows, sizeof *p->square);
    if (!p->square)
        return SS_ERR_NOMEM;
    for (int r = 0; r < w->rows; r++) {
        const struct row *row = &w->row[r];
        double rest = w->in->row - row->filled;
        if (rest > 0)
            w->attends[w->nattends++] = (int)rest;
        p->square[r] = row->square + rest * rest;
        mean += p->square[r];
        p->tokens += row->tokens;
        p->token_squares += row->token_squares;
    }
    mean /=
        w->rows; /* behind the sums of whole numbers, which are exact: no row has more tokens than it holds */
    p->tokens /= w->rows;
    p->token_squares /= w->rows;
    for (int r = 0; r < w->rows; r++) {
        p->square[r] /= mean;
        variance += (p->square[r] - 1) * (p->square[r] - 1) / w->rows;
    }
    p->sigma = variance > 1e-24 ? sqrt(variance) : 0; /* less is rounding */
    ss_sort(p->square, (size_t)w->rows);
    return count_lengths(w, p);
}

int ss_packing_build(const struct ss_packing_input *in, struct ss_packing *out, struct ss_error *err)
{
    struct work w = {.in = in, .most = in->row / in->multiple * in->multiple};
    memset(out, 0, sizeof *out);
    out->scale = 1;
    out->seed = in->seed;
    out->row = in->row;
    out->multiple = in->multiple;
    int rc = draw_documents(&w, &out->cut);
    SS_THEN(rc, pack(&w));
    SS_THEN(rc, fill_rows(&w));
    SS_THEN(rc, sum_up(&w, out));
    out->cut /= w.n > 0 ? (double)w.n : 1;
    SS_FREE(w.length, w.below, w.row_of, w.row, w.attends);
    if (rc) {
        ss_packing_free(out);
        return ss_fail(err, rc, NULL, 0, "out of memory for rows of documents");
    }
    return SS_OK;
}

void ss_packing_free(struct ss_packing *p)
{
    SS_FREE(p->length, p->share, p->square);
    memset(p, 0, sizeof *p);
}

/* ---- keys ---- */

double ss_document_keys(double length, double window, double chunk)
{
    if (chunk > 0 && chunk < length) {
        double rest = fmod(length, chunk);
        return ((length - rest) * chunk + rest * rest) / length;
    }
    return window > 0 && window < length ? 2 * window - window * window / length : length;
}

double ss_packing_keys(const struct ss_packing *p, double window, double chunk)
{
    double scores = 0, tokens = 0;
    for (int i = 0; i < p->nlengths; i++) {
        tokens += p->share[i] * p->length[i];
        scores += p->share[i] * p->length[i] * ss_document_keys(p->length[i], window, chunk);
    }
    /* Where all are as long this is the keys of one, to the last bit. */
    return p->scale * (p->nlengths == 1 ? ss_document_keys(p->length[0], window, chunk) : scores / tokens);
}

/* ---- files ---- */

#define FILE_MAX (256UL << 20)
#define COUNT_MAX 1000000000000 /* 1e12 */

static int read_rows(const struct ss_csv *csv, struct ss_lengths *out, struct ss_error *err)
{
    int column = ss_csv_column(csv, "length"), counts = ss_csv_column(csv, "count");
    if (column < 0)
        return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 1,
                       "no column \"length\": the first line is length, or length,count");
    for (out->n = 0; out->n < ss_csv_rows(csv); out->n++) {
        int64_t length, count = 1;
        int rc = ss_csv_whole(csv, out->n, column, 1, SS_DOCUMENT_MAX, &length, err);
        if (!rc && counts >= 0)
            rc = ss_csv_whole(csv, out->n, counts, 0, COUNT_MAX, &count, err);
        if (rc)
            return rc;
        out->length[out->n] = (int)length;
        out->count[out->n] = (double)count;
        out->documents += (double)count;
    }
    if (out->documents < 1)
        return ss_fail(err, SS_ERR_INPUT, ss_csv_file(csv), 0, "the file has no documents");
    return SS_OK;
}

int ss_lengths_parse(const char *text, size_t len, const char *name, struct ss_lengths *out,
                     struct ss_error *err)
{
    struct ss_csv *csv;
    SS_TRY(ss_csv_parse(text, len, name, &csv, err));
    memset(out, 0, sizeof *out);
    out->length = ss_calloc(ss_csv_rows(csv) + 1, sizeof *out->length);
    out->count = ss_calloc(ss_csv_rows(csv) + 1, sizeof *out->count);
    int rc = out->length && out->count ? read_rows(csv, out, err) : ss_nomem(err);
    if (rc)
        ss_lengths_free(out);
    ss_csv_free(csv);
    return rc;
}

int ss_lengths_read(const char *path, struct ss_lengths *out, struct ss_error *err)
{
    char *text = NULL;
    size_t len = 0;
    int rc = ss_file_read(path, FILE_MAX, &text, &len, err);
    SS_THEN(rc, ss_lengths_parse(text, len, path, out, err));
    free(text);
    return rc;
}

void ss_lengths_free(struct ss_lengths *lengths)
{
    SS_FREE(lengths->length, lengths->count);
    memset(lengths, 0, sizeof *lengths);
}
