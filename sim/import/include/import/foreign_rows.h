/* SPDX-License-Identifier: Apache-2.0 */
/* Short words for rows of foreign names (foreign.h). */
#ifndef SS_IMPORT_FOREIGN_ROWS_H
#define SS_IMPORT_FOREIGN_ROWS_H

#include "import/foreign.h"

/* clang-format off */
#define VALUE(key, flag) {key, SS_ROW_VALUE, flag, NULL, NULL}
#define WHOLE(key, flag) {key, SS_ROW_WHOLE, flag, NULL, NULL}
#define TRUE(key, words) {key, SS_ROW_TRUE, words, NULL, NULL}
#define FALSE(key, words) {key, SS_ROW_FALSE, words, NULL, NULL}
#define CHOICE(key, choices) {key, SS_ROW_CHOICE, choices, NULL, NULL}
#define REFUSE(key, harmless, why) {key, SS_ROW_REFUSE, harmless, why, NULL}
#define NONE(key) {key, SS_ROW_NONE, NULL, NULL, NULL}
#define CALL(key, call) {key, SS_ROW_CALL, NULL, NULL, call}
/* clang-format on */

#endif
