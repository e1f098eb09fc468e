/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the inputs with their defaults as tables, from the document that run --json writes. */
#include "report/common.h"
#include "report/html.h"

/* Writes a value of a part of the inputs, which has no lists; null is an empty cell. */
static void put_value(FILE *out, const json_t *value)
{
    if (json_is_string(value))
        ss_xml_escape(out, json_string_value(value));
    else if (json_is_boolean(value))
        fputs(json_is_true(value) ? "yes" : "no", out);
    else if (json_is_integer(value))
        fprintf(out, "%" JSON_INTEGER_FORMAT, json_integer_value(value));
    else if (json_is_real(value))
        fprintf(out, "%.6g", json_real_value(value));
}

static void put_rows(FILE *out, json_t *object, const char *prefix)
{
    const char *key;
    json_t *value;

    json_object_foreach(object, key, value)
    {
        char name[160];
        snprintf(name, sizeof name, "%s%s%s", prefix, prefix[0] ? "." : "", key);
        if (json_is_object(value)) {
            put_rows(out, value, name);
            continue;
        }
        fputs("<tr><th scope=\"row\"><code>", out);
        ss_xml_escape(out, name);
        fputs("</code></th><td class=\"text\">", out);
        put_value(out, value);
        fputs("</td></tr>\n", out);
    }
}

int ss_html_inputs(const struct ss_page *page)
{
    json_t *inputs = ss_json_inputs(page->run->plan, page->options), *part;
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
        if (!json_is_object(part)) /* the words and files that asked for the job */
            continue;
        fprintf(page->out,
                "<details%s><summary>%s</summary><div class=\"wide\"><table class=\"kv\"><tbody>\n",
                strcmp(key, "job") ? "" : " open", key);
        put_rows(page->out, part, "");
        fputs("</tbody></table></div></details>\n", page->out);
    }
    json_decref(inputs);
    return SS_OK;
}
