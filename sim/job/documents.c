/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that jobs share: lengths that were read, rows that were packed. */
#include "job/documents.h"

#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "stepsim/job.h"

struct named_lengths {
    char *path;
    struct ss_lengths lengths;
    struct named_lengths *next;
};
struct made_packing {
    struct ss_packing_input in; /* lengths: a named_lengths' or NULL */
    struct ss_packing packing;
    struct made_packing *next;
};
struct ss_documents {
    struct named_lengths *lengths;
    struct made_packing *packings;
};

struct ss_documents *ss_documents_new(void)
{
    return ss_calloc(1, sizeof(struct ss_documents));
}

static void free_lengths(struct named_lengths *n)
{
    if (!n)
        return;
    ss_lengths_free(&n->lengths);
    free(n->path);
    free(n);
}

void ss_documents_free(struct ss_documents *d)
{
    if (!d)
        return;
    for (struct named_lengths *n = d->lengths, *next; n; n = next) {
        next = n->next;
        free_lengths(n);
    }
    for (struct made_packing *m = d->packings, *next; m; m = next) {
        next = m->next;
        ss_packing_free(&m->packing);
        free(m);
    }
    free(d);
}

static int find_lengths(struct ss_documents *d, const char *path, const struct ss_lengths **out,
                        struct ss_error *err)
{
    struct named_lengths *n = d->lengths;

    while (n && strcmp(n->path, path) != 0)
        n = n->next;
    if (!n) {
        n = ss_calloc(1, sizeof *n);
        int rc = n && (n->path = strdup(path)) ? ss_lengths_read(path, &n->lengths, err) : ss_nomem(err);
        if (rc) {
            free_lengths(n);
            return rc;
        }
        n->next = d->lengths;
        d->lengths = n;
    }
    *out = &n->lengths;
    return SS_OK;
}

static int same_packing(const struct ss_packing_input *a, const struct ss_packing_input *b)
{
    return a->law == b->law && a->low == b->low && a->high == b->high && a->lengths == b->lengths &&
           a->row == b->row && a->multiple == b->multiple && a->algorithm == b->algorithm &&
           a->seed == b->seed;
}

int ss_documents_packing(struct ss_documents *d, const struct ss_job *job, const struct ss_packing **out,
                         struct ss_error *err)
{
    struct ss_packing_input in = {.law = job->packed.law,
                                  .low = job->packed.low,
                                  .high = job->packed.high,
                                  .row = job->seq_length,
                                  .multiple = job->packed.multiple,
                                  .algorithm = job->packed.algorithm,
                                  .seed = (uint64_t)job->packed.seed};
    int rc = in.law == SS_PACKED_FILE ? find_lengths(d, job->packed.source, &in.lengths, err) : SS_OK;
    struct made_packing *m = d->packings;

    while (m && !rc && !same_packing(&m->in, &in))
        m = m->next;
    if (!rc && !m) {
        m = ss_calloc(1, sizeof *m);
        rc = m ? ss_packing_build(&in, &m->packing, err) : ss_nomem(err);
        if (rc) {
            free(m);
            return rc;
        }
        m->in = in;
        m->next = d->packings;
        d->packings = m;
    }
    if (!rc)
        *out = &m->packing;
    return rc;
}
