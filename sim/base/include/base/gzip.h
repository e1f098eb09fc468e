/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

/* Returns a stream that writes its text gzipped to `under`, the same bytes every time. fclose ends the gzip
 * text (and fails when `under` cannot be written) and leaves `under` open. NULL: out of memory. */
FILE *ss_gzip_open(FILE *under);
/* Returns a stream that reads the text of `under` and unpacks it where it is gzipped. A packed text that is
 * cut or damaged is an error of the stream, EBADMSG. fclose leaves `under` open. NULL: out of memory. */
FILE *ss_gunzip_open(FILE *under);
const char *ss_gzip_version(void); /* of zlib */
