/* SPDX-License-Identifier: Apache-2.0 */
#include "report/svg.h"

#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/base.h"
#include "report/names.h"

static const char style[] =
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
    "Sans',sans-serif;font-size:12px;fill:#1b2430}"
    ".title{font-size:17px;font-weight:600}.small{font-size:11px}.muted{fill:#5b6675}.end{text-anchor:end}"
    ".mid{text-anchor:middle}.bg{fill:#fff}.track{fill:url(#idle)}.grid{stroke:#d9dee6;stroke-width:1}"
    ".axis{stroke:#8892a0;stroke-width:1}.n{font-size:9.5px;text-anchor:middle;pointer-events:none}"
    ".w{fill:#fff}.k{fill:#10161d}.hatch{stroke:#c3cad4;stroke-width:1.2}.idlebg{fill:#f1f3f6}"
    ".cap{stroke:#c62828;stroke-width:1.5;stroke-dasharray:6 4;fill:none}.capt{fill:#b71c1c}"
    ".mark{fill:none;stroke:#1b2430;stroke-width:1.5}.frame{fill:none;stroke:#c3cad4}"
    "rect.b{stroke:#fff;stroke-width:.5;stroke-opacity:.75}rect.b:hover{stroke:#000;stroke-width:1.5;stroke-"
    "opacity:1}"
    "@media(prefers-color-scheme:dark){text{fill:#e6eaf0}.muted{fill:#a3afbd}.bg{fill:#12161c}"
    ".grid{stroke:#2b333e}.axis{stroke:#6b7684}.hatch{stroke:#39424e}.idlebg{fill:#1b212a}.w{fill:#fff}"
    ".k{fill:#10161d}.cap{stroke:#ff6b6b}.capt{fill:#ff8a8a}.mark{stroke:#e6eaf0}.frame{stroke:#39424e}"
    "rect.b{stroke:#12161c}rect.b:hover{stroke:#fff}}";

void ss_svg_number(FILE *out, double value)
{
    ss_put_number(value, 2, out);
}

void ss_svg_begin(FILE *out, double width, double height, const char *title, const char *description)
{
    fprintf(
        out,
        "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%.0f\" height=\"%.0f\" viewBox=\"0 0 %.0f %.0f\" "
        "role=\"img\" aria-labelledby=\"title desc\">\n<title id=\"title\">",
        width, height, width, height);
    ss_xml_escape(out, title);
    fputs("</title>\n<desc id=\"desc\">", out);
    ss_xml_escape(out, description);
    fprintf(out, "</desc>\n<style>%s</style>\n", style);
    fputs("<defs><pattern id=\"idle\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
          "patternTransform=\"rotate(45)\"><rect class=\"idlebg\" width=\"6\" height=\"6\"/>"
          "<line class=\"hatch\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\"/></pattern></defs>\n",
          out);
    fprintf(out, "<rect class=\"bg\" width=\"%.0f\" height=\"%.0f\"/>\n", width, height);
}

void ss_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
}

static void blend(unsigned from, unsigned to, double share, char buf[8])
{
    unsigned mixed = 0;

    for (int shift = 16; shift >= 0; shift -= 8) {
        double a = (double)(from >> shift & 255), b = (double)(to >> shift & 255);
        mixed |= (unsigned)lround(a + (b - a) * share) << shift;
    }
    snprintf(buf, 8, "#%06x", mixed);
}

const char *ss_color_phase(int phase, int chunk, int chunks, char buf[8])
{
    static const unsigned range[SS_PHASE_COUNT + 1][2] = {
        {0x1f5fbf, 0xa9cbf5}, {0x1d7a4c, 0xa6dcbf}, {0x0c7b83, 0x9fdde0},
        {0xb07208, 0xf3d08a}, {0x5b4bb5, 0xc6bff0}, {0x6b7280, 0x6b7280},
    };
    const unsigned *r = range[phase < 0 || phase >= SS_PHASE_COUNT ? SS_PHASE_COUNT : phase];

    blend(r[0], r[1], chunks > 1 && chunk >= 0 ? (double)chunk / (chunks - 1) : 0, buf);
    return buf;
}

const char *ss_color_microbatch(int microbatch, int backward, char buf[8])
{
    static const unsigned wheel[SS_MICROBATCH_COLORS] = {0x3b78d8, 0xd9822b, 0x2f9e6b, 0xc64f7b, 0x7a5cc4,
                                                         0x9a8a1c, 0x1f9bb0, 0xb5533c, 0x5f8f2f, 0x8a6d5a};

    blend(wheel[microbatch % SS_MICROBATCH_COLORS], 0x000000, backward ? 0.35 : 0, buf);
    return buf;
}

const char *ss_color_label(int label)
{
    static const char *const colors[] = {"#1f5fbf", "#0c7b83", "#5aa9c9", "#b8860b", "#a0522d",
                                         "#9d71f4", "#91466c", "#607d3b", "#e07b39", "#d5dae1",
                                         "#aab4c0", "#c2536b", "#8c8c8c"};

    return label >= 0 && label < SS_LABEL_COUNT ? colors[label] : "#8c8c8c";
}

const char *ss_color_memory(int mem)
{
    static const char *const colors[] = {"#1f5fbf", "#2f9e6b", "#7a5cc4", "#e0923b", "#c64f7b", "#7d8794"};

    return mem >= 0 && mem < SS_MEM_COUNT ? colors[mem] : "#b6bec9";
}

int ss_color_light(const char *hex)
{
    unsigned long rgb = strtoul(hex + 1, NULL, 16);

    return 0.299 * (double)(rgb >> 16 & 255) + 0.587 * (double)(rgb >> 8 & 255) +
               0.114 * (double)(rgb & 255) >
           140;
}

double ss_round_step(double range, int most)
{
    static const double steps[] = {1, 2, 5, 10};
    double raw = range / (most > 0 ? most : 1), power = raw > 0 ? pow(10, floor(log10(raw))) : 1;

    for (int i = 0; i < 4; i++)
        if (steps[i] * power >= raw * (1 - 1e-9))
            return steps[i] * power;
    return 10 * power;
}

const char *ss_axis_time(double time, double step, double most, char *buf, size_t size)
{
    static const struct {
        double unit;
        const char *name;
    } units[] = {{1, "s"}, {1e-3, "ms"}, {1e-6, "\302\265s"}, {1e-9, "ns"}};
    int u = 0;

    while (u < 3 && most < units[u].unit * 0.9999)
        u++;
    int decimals = (int)ceil(-log10(step / units[u].unit) - 1e-9);
    snprintf(buf, size, "%.*f %s", decimals > 0 ? decimals : 0, time / units[u].unit + 0.0, units[u].name);
    return buf;
}

void ss_svg_text(FILE *out, double x, double y, const char *class_name, const char *text)
{
    fputs("<text x=\"", out);
    ss_svg_number(out, x);
    fputs("\" y=\"", out);
    ss_svg_number(out, y);
    fprintf(out, "\" class=\"%s\">", class_name);
    ss_xml_escape(out, text);
    fputs("</text>\n", out);
}

double ss_svg_key(FILE *out, double x, const char *fill, const char *text)
{
    if (out) {
        fprintf(out, "<rect x=\"%.0f\" y=\"46\" width=\"14\" height=\"12\" rx=\"2\" fill=\"%s\"/>", x, fill);
        ss_svg_text(out, x + 19, 56, "small", text);
    }
    return x + 34 + 6.4 * (double)strlen(text);
}

const char *ss_svg_phase(int phase)
{
    static const char *const phases[] = {"forward", "backward", "input gradient", "weight gradient",
                                         "forward + backward"};

    return phase >= 0 && phase < SS_PHASE_COUNT ? phases[phase] : "outside the schedule";
}

static void line(FILE *out, const char *class_name, double x1, double y1, double x2, double y2)
{
    fprintf(out, "<path class=\"%s\" d=\"M", class_name);
    ss_svg_number(out, x1);
    fputc(' ', out);
    ss_svg_number(out, y1);
    fputc('L', out);
    ss_svg_number(out, x2);
    fputc(' ', out);
    ss_svg_number(out, y2);
    fputs("\"/>\n", out);
}

void ss_svg_time_axis(FILE *out, double x, double y, double width, double top, double start, double end,
                      int seconds)
{
    double step = ss_round_step(end - start, (int)(width / 90)), range = end - start,
           first = ceil(start / step - 1e-9);
    int ticks = range > 0 ? (int)fmin(floor(end * (1 + 1e-12) / step) - first + 1, width) : 0;
    char text[48];

    line(out, "axis", x, y, x + width, y);
    for (int n = 0; n < ticks; n++) {
        double i = first + n, at = x + (i * step - start) / range * width;
        line(out, "grid", at, top, at, y);
        if (seconds)
            ss_axis_time(i * step, step, end, text, sizeof text);
        else
            snprintf(text, sizeof text, "%.6g", i * step);
        ss_svg_text(out, at, y + 15, "small muted mid", text);
    }
}
