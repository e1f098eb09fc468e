/* SPDX-License-Identifier: Apache-2.0 */
#include "report/page.h"

#include <stdarg.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "report/html/parts.h"
#include "report/names.h"

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
    fputs(ss_page_style_css, out);
    fputs("</style>\n</head>\n<body>\n<main>\n", out);
}

void ss_page_close(FILE *out)
{
    fputs("</main>\n</body>\n</html>\n", out);
}

/* Writes the argument of the conversion that `p` begins; returns what is behind it. */
static const char *put_argument(FILE *out, const char *p, va_list *args)
{
    char spec[16], cut[256];
    const size_t n = 2 + strcspn(p + 1, "%sdefg");

    snprintf(spec, sizeof spec, "%.*s", (int)n, p);
    if (p[n - 1] == '%')
        fputc('%', out);
    else if (p[n - 1] == 's' && n == 2)
        ss_xml_escape(out, va_arg(*args, const char *));
    else if (p[n - 1] == 's') {
        const char *text = va_arg(*args, const char *);
        snprintf(cut, sizeof cut, "%.*s", ss_utf8_cut(text, atoi(spec + 2)), text);
        ss_xml_escape(out, cut);
    } else if (p[n - 1] == 'd' && p[n - 2] == 'l')
        fprintf(out, spec, va_arg(*args, long long));
    else if (p[n - 1] == 'd')
        fprintf(out, spec, va_arg(*args, int));
    else if (n == 2)
        ss_put_number(va_arg(*args, double), 2, out);
    else
        fprintf(out, spec, va_arg(*args, double));
    return p + n;
}

void ss_markup(FILE *out, const char *format, ...)
{
    va_list args;

    va_start(args, format);
    for (const char *p = format; *p;) {
        size_t n = strcspn(p, "%");
        fwrite(p, 1, n, out);
        p = p[n] ? put_argument(out, p + n, &args) : p + n;
    }
    va_end(args);
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
        ss_markup(out, "<p>%s</p>\n", line);
    free(text);
    return SS_OK;
}
