/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include "base/base.h"
#include "report/html/parts.h"

void ss_page_open(FILE *out, const char *title)
{
    fputs("<!doctype html>\n<html lang=\"en\">\n<head>\n<meta charset=\"utf-8\">\n"
          "<meta name=\"viewport\" content=\"width=device-width, initial-scale=1\">\n"
          "<meta http-equiv=\"Content-Security-Policy\" content=\"default-src 'none'; style-src "
          "'unsafe-inline'; "
          "img-src data:\">\n"
          "<meta name=\"color-scheme\" content=\"light dark\">\n<link rel=\"icon\" href=\"data:,\">\n",
          out);
    fprintf(out, "<title>%s</title>\n<style>\n", title);
    fputs(ss_page_ground_css, out);
    fputs(ss_page_style_css, out);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
}

void ss_page_close(FILE *out)
{
    fputs("</main>\n</body>\n</html>\n", out);
}

void ss_page_text(FILE *out, const char *before, const char *text, const char *behind)
{
    fputs(before, out);
    ss_xml_escape(out, text);
    fputs(behind, out);
}

int ss_page_paragraphs(void (*write)(const void *what, FILE *out), const void *what, FILE *out)
{
    char *text = NULL, *rest;
    size_t n;
    FILE *f = open_memstream(&text, &n);

    if (!f)
        return SS_ERR_NOMEM;
    write(what, f);
    if (fclose(f)) {
        free(text);
        return SS_ERR_NOMEM;
    }
    for (char *line = strtok_r(text, "\n", &rest); line; line = strtok_r(NULL, "\n", &rest))
        ss_page_text(out, "<p>", line, "</p>\n");
    free(text);
    return SS_OK;
}
