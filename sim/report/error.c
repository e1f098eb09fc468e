/* SPDX-License-Identifier: Apache-2.0 */
/* Errors and checks as JSON. */
#include "report/common.h"

int ss_report_error(const struct ss_error *e, FILE *out)
{
    json_t *document = ss_json_document(NULL), *error = json_object();

    if (ss_status_refuses(e->code))
        ss_json_text(document, "verdict", ss_outcome_word(SS_OUTCOME_REFUSED));
    ss_json_text(error, "code", ss_status_name(e->code));
    ss_json_text(error, "message", e->message);
    if (e->file[0])
        ss_json_text(error, "file", e->file);
    if (e->line > 0)
        ss_json_integer(error, "line", e->line);
    if (e->hint[0])
        ss_json_text(error, "hint", e->hint);
    ss_json_set(document, "error", error);
    return ss_json_write(document, out, NULL);
}

int ss_report_checked(const char *command, int n, const char *const *names, FILE *out, struct ss_error *err)
{
    json_t *document = ss_json_document(command), *files = json_array();

    for (int i = 0; i < n; i++) {
        json_t *file = json_object();
        ss_json_text(file, "file", names[i]);
        ss_json_flag(file, "ok", 1);
        ss_json_append(files, file);
    }
    ss_json_set(document, "checked", files);
    return ss_json_write(document, out, err);
}
