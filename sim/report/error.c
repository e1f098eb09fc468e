/* SPDX-License-Identifier: Apache-2.0 */
/* Writes errors and checks as JSON. */
#include "report/common.h"

int ss_report_error(const struct ss_error *e, FILE *out)
{
    struct ss_json *document = ss_json_document(NULL);

    SS_PUT(document, SS_KEY_IF(ss_status_refuses(e->code), "verdict", ss_outcome_word(SS_OUTCOME_REFUSED)),
           SS_KEY("error",
                  SS_OBJECT(SS_KEY("code", ss_status_name(e->code)), SS_SAME(e, message),
                            SS_KEY_IF(e->file[0], "file", e->file), SS_KEY_IF(e->line > 0, "line", e->line),
                            SS_KEY_IF(e->hint[0], "hint", e->hint))));
    return ss_json_write(document, out, NULL);
}

int ss_report_checked(const char *command, int n, const char *const *names, FILE *out, struct ss_error *err)
{
    struct ss_json *document = ss_json_document(command), *files = ss_json_begin_list();

    for (int i = 0; i < n; i++)
        SS_ITEM(files, SS_OBJECT(SS_KEY("file", names[i]), SS_KEY("ok", (bool)1)));
    SS_PUT(document, SS_KEY("checked", files));
    return ss_json_write(document, out, err);
}
