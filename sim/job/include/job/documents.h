/* SPDX-License-Identifier: Apache-2.0 */
/* Documents that jobs share: lengths that were read from files, and the rows that they were packed into. */
#ifndef SS_DOCUMENTS_H
#define SS_DOCUMENTS_H

#include "job/packing.h"

struct ss_job;

struct ss_documents;
/* Makes an empty store of documents; NULL: out of memory. The caller frees it with ss_documents_free. */
struct ss_documents *ss_documents_new(void);
/* Frees it and all rows that were asked for; NULL is allowed. */
void ss_documents_free(struct ss_documents *d);
/* Finds the rows of a job whose packed_ fields are complete; they live as long as *d. Errors: those of
 * reading its file, SS_ERR_NOMEM. */
int ss_documents_packing(struct ss_documents *d, const struct ss_job *job, const struct ss_packing **out,
                         struct ss_error *err);

#endif
