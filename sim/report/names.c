/* SPDX-License-Identifier: Apache-2.0 */
#include "report/names.h"

#include "base/base.h"

const char *ss_slot_name(const struct ss_program *p, int cls, int slot, char *buf, size_t size)
{
    const struct ss_program_slot *s = &p->classes[cls].slots[slot];

    if (s->phase < 0)
        snprintf(buf, size, "%s", p->templates[s->template_index].name);
    else if (s->chunk > 0)
        snprintf(buf, size, "%s %d chunk %d", ss_phase_name(s->phase), s->microbatch, s->chunk);
    else
        snprintf(buf, size, "%s %d", ss_phase_name(s->phase), s->microbatch);
    return buf;
}

const char *ss_class_name(const struct ss_program *p, int cls, char *buf, size_t size)
{
    const struct ss_program_class *c = &p->classes[cls];

    if (c->count > 1)
        snprintf(buf, size, "%s: rank %d and %d more like it", c->name, c->first_rank, c->count - 1);
    else
        snprintf(buf, size, "%s: rank %d", c->name, c->first_rank);
    return buf;
}

void ss_put_json_text(const char *text, FILE *out)
{
    fputc('"', out);
    for (; *text; text++) {
        unsigned char c = (unsigned char)*text;
        if (c == '"' || c == '\\')
            fprintf(out, "\\%c", c);
        else if (c < 32 || c == '<')
            fprintf(out, "\\u%04x", c);
        else if (c < 127)
            fputc(c, out);
        else {
            size_t length = ss_utf8_length(text);
            fwrite(length > 1 ? text : "?", 1, length > 1 ? length : 1, out);
            text += length > 1 ? length - 1 : 0;
        }
    }
    fputc('"', out);
}

void ss_put_number(double value, int decimals, FILE *out)
{
    char text[64];

    if (fabs(value) >= 1e15) { /* JSON's readers take no whole number of more than 64 bits */
        fprintf(out, "%.15g", value);
        return;
    }
    int n = snprintf(text, sizeof text, "%.*f", decimals, value);
    if (decimals > 0) {
        while (text[n - 1] == '0')
            n--;
        if (text[n - 1] == '.')
            n--;
    }
    text[n] = '\0';
    fputs(strcmp(text, "-0") ? text : "0", out);
}
