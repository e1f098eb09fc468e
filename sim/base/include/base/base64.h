/* SPDX-License-Identifier: Apache-2.0 */
#pragma once

#include <stdio.h>

/* Returns a stream that writes its bytes as base64 to `under`. fclose writes the last bytes and leaves
 * `under` open. NULL: out of memory. */
FILE *ss_base64_open(FILE *under);
