/* SPDX-License-Identifier: Apache-2.0 */
/* The resolved inputs, from the same document as run --json, as tables. */
#include <string.h>

#include "report/common.h"
#include "report/html.h"

static int put_value(FILE *out, const json_t *value)
{
    char *text = NULL;

    switch (json_typeof(value)) {
    case JSON_STRING: ss_xml_escape(out, json_string_value(value)); return SS_OK;
    case JSON_TRUE: fputs("yes", out); return SS_OK;
    case JSON_FALSE: fputs("no", out); return SS_OK;
    case JSON_INTEGER: fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value)); return SS_OK;
    case JSON_REAL: fprintf(out, "%.6g", json_real_value(value)); return SS_OK;
    case JSON_NULL: return SS_OK;
    default: break;
    }
    text = json_dumps(value, JSON_COMPACT | JSON_REAL_PRECISION(6) | JSON_ENCODE_ANY);
    if (text)
        ss_xml_escape(out, text);
    free(text);
    return text ? SS_OK : SS_ERR_NOMEM;
}

static int put_rows(FILE *out, json_t *object, const char *prefix)
{
    const char *key;
    json_t *value;
    int rc = SS_OK;

    json_object_foreach(object, key, value)
    {
        char name[160];
        snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "." : "", key);
        if (json_is_object(value)) {
            rc = put_rows(out, value, name);
            if (rc)
                break;
            continue;
        }
        fputs("<tr><th scope=\"row\"><code>", out);
        ss_xml_escape(out, name);
        fputs("</code></th><td class=\"text\">", out);
        rc = put_value(out, value);
        if (rc)
            break;
        fputs("</td></tr>\n", out);
    }
    return rc;
}

int ss_html_inputs(const struct ss_page *page)
{
    json_t *inputs = ss_json_inputs(page->run->plan, NULL), *part;
    const char *key;
    int rc = ss_json_is_whole(inputs) ? SS_OK : SS_ERR_NOMEM;

    if (rc) {
        ss_json_free(inputs);
        return rc;
    }
    fputs("<p class=\"lead\">Everything that the prediction read, resolved; figures in SI units.</p>\n",
          page->out);
    json_object_foreach(inputs, key, part)
    {
        fprintf(page->out,
                "<details%s><summary>%s</summary><div class=\"wide\"><table class=\"kv\"><tbody>\n",
                strcmp(key, "job") ? "" : " open", key);
        rc = put_rows(page->out, part, "");
        if (rc)
            break;
        fputs("</tbody></table></div></details>\n", page->out);
    }
    json_decref(inputs);
    return rc;
}
