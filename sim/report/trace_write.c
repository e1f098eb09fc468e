/* SPDX-License-Identifier: Apache-2.0 */
#include "report/trace_write.h"

#include <math.h>

#include "report/names.h"

#define TID_STRIDE 1000

int ss_trace_tid(int cls, int number)
{
    return (cls + 1) * TID_STRIDE + number;
}

/* Returns a time in whole picoseconds, as a double: an integer of 64 bits would end after 107 days, and
 * SS_LONGEST_S is far longer. */
static double picoseconds(double seconds)
{
    return round(seconds * 1e12);
}

static void put_us(double ps, FILE *out)
{
    char text[48];
    size_t n = (size_t)snprintf(text, sizeof text, "%07.0f", ps), point = n - 6;

    while (n > point && text[n - 1] == '0')
        n--;
    fwrite(text, 1, point, out);
    if (n > point) {
        fputc('.', out);
        fwrite(text + point, 1, n - point, out);
    }
}

void ss_trace_us(struct ss_trace_writer *w, double seconds)
{
    put_us(picoseconds(seconds), w->out);
}

void ss_trace_event(struct ss_trace_writer *w, char ph, int cls, int number, double time)
{
    fprintf(w->out, "%s{\"ph\":\"%c\",\"pid\":%d,\"tid\":%d,\"ts\":", w->nevents++ ? ",\n" : "", ph, cls + 1,
            ss_trace_tid(cls, number));
    ss_trace_us(w, time);
}

void ss_trace_duration(struct ss_trace_writer *w, double start, double end)
{
    fputs(",\"dur\":", w->out);
    put_us(picoseconds(end) - picoseconds(start), w->out);
}

void ss_trace_name(struct ss_trace_writer *w, const char *name, const char *category)
{
    fputs(",\"name\":", w->out);
    ss_put_json_text(name, w->out);
    fprintf(w->out, ",\"cat\":\"%s\"", category);
}

void ss_trace_title(struct ss_trace_writer *w, const char *what, int cls, int number, const char *name)
{
    fprintf(w->out, "%s{\"ph\":\"M\",\"pid\":%d,\"tid\":%d,\"name\":\"%s\",\"args\":{\"name\":",
            w->nevents++ ? ",\n" : "", cls + 1, ss_trace_tid(cls, number), what);
    ss_put_json_text(name, w->out);
    fputs("}}", w->out);
}
