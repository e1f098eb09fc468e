/* SPDX-License-Identifier: Apache-2.0 */
#ifndef SS_GZIP_H
#define SS_GZIP_H

#include <stdio.h>

/* A stream whose text goes gzipped to `under`, the same bytes every time. fclose ends it (and fails when
 * `under` cannot be written) but leaves `under` open. NULL: out of memory. */
FILE *ss_gzip_open(FILE *under);
/* A stream of the text of `under`, unpacked where that is gzipped, as it is else. A packed text that is cut or damaged is an
 * error of the stream, EBADMSG. fclose leaves `under` open. NULL: out of memory. */
FILE *ss_gunzip_open(FILE *under);

#endif
