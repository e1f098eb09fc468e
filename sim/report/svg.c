/* SPDX-License-Identifier: Apache-2.0 */
#include "report/svg.h"

#include "base/base.h"
#include "report/names.h"

static const char style[] =
    "text{font-family:system-ui,-apple-system,'Segoe UI',Roboto,'DejaVu "
    "Sans',sans-serif;font-size:12px;fill:#1b2430}"
    ".title{font-size:17px;font-weight:600}.small{font-size:11px}.tiny{font-size:10px}.head{font-size:25px;"
    "font-weight:700}.say{font-size:13.5px}.part{font-size:15px;font-weight:600}"
    ".bold{font-weight:700}.halo{paint-order:stroke;stroke:#fff;stroke-width:3px;stroke-linejoin:round}."
    "total{fill:#c3cad4}.bgfill{fill:#fff}.muted{fill:#5b6675}.end{text-anchor:end}"
    ".mid{text-anchor:middle}.bg{fill:#fff}.track{fill:url(#idle)}.grid{stroke:#d9dee6;stroke-width:1}"
    ".axis{stroke:#8892a0;stroke-width:1}.n{font-size:9.5px;text-anchor:middle;pointer-events:none}"
    ".w{fill:#fff}.k{fill:#10161d}.hatch{stroke:#c3cad4;stroke-width:1.2}.idlebg{fill:#f1f3f6}"
    ".cap{stroke:#c62828;stroke-width:1.5;stroke-dasharray:6 4;fill:none}.capt{fill:#b71c1c}"
    ".cut{stroke:#fff;stroke-opacity:.6;stroke-width:2}.pair{fill:none;stroke:#10161d;stroke-width:1.2}"
    ".mark{fill:none;stroke:#1b2430;stroke-width:1.5}.frame{fill:none;stroke:#c3cad4}"
    "rect.b{stroke:#fff;stroke-width:.5;stroke-opacity:.75}rect.b:hover{stroke:#000;stroke-width:1.5;stroke-"
    "opacity:1}"
    "@media(prefers-color-scheme:dark){text{fill:#e6eaf0}.muted{fill:#a3afbd}.bg{fill:#12161c}"
    ".grid{stroke:#2b333e}.axis{stroke:#6b7684}.hatch{stroke:#39424e}.idlebg{fill:#1b212a}.w{fill:#fff}"
    ".k{fill:#10161d}.cap{stroke:#ff6b6b}.total{fill:#39424e}.halo{stroke:#12161c}.bgfill{fill:#12161c}.capt{"
    "fill:#ff8a8a}.mark{"
    "stroke:#e6eaf0}.pair{stroke:#e6eaf0}.frame{stroke:#39424e}"
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

/* Writes the pattern of a tone. A hatch has its own colour on each ground. */
static void put_pattern(FILE *out, const struct ss_tone *t)
{
    int hatch = t->pattern == SS_HATCH;

    fprintf(out,
            "<pattern id=\"%s\" width=\"6\" height=\"6\" patternUnits=\"userSpaceOnUse\" "
            "patternTransform=\"rotate(%d)\"><rect ",
            t->id, hatch ? -45 : 45);
    fprintf(out, hatch ? "class=\"idlebg\"" : "fill=\"%s\"", t->color);
    fputs(" width=\"6\" height=\"6\"/><line class=\"", out);
    fprintf(out, hatch ? "h-%s" : "cut", t->id);
    fputs("\" x1=\"0\" y1=\"0\" x2=\"0\" y2=\"6\"/></pattern>\n", out);
}

void ss_svg_tones(FILE *out, enum ss_tones tones)
{
    fputs("<defs>", out);
    for (int i = 0; i < ss_tones_n(tones); i++) {
        const struct ss_tone *t = ss_tone(tones, i);
        if (t->pattern == SS_HATCH)
            fprintf(out,
                    "<style>.h-%s{stroke:%s;stroke-width:5}@media(prefers-color-scheme:dark){.h-%s{stroke:%s}"
                    "}</style>",
                    t->id, t->color, t->id, t->night);
        if (t->pattern != SS_PLAIN)
            put_pattern(out, t);
    }
    fputs("</defs>\n", out);
}

/* Advance widths of DejaVu Sans, the widest of the fonts of the style sheet, in hundredths of the size. */
static const unsigned char advance[] = {
    32, 40, 46, 84, 64, 95, 78, 27, 39,  39, 50, 84, 32, 36, 32, 34, 64, 64, 64, 64, 64, 64, 64, 64,
    64, 64, 34, 34, 84, 84, 84, 53, 100, 68, 69, 70, 77, 63, 58, 77, 75, 29, 29, 66, 56, 86, 75, 79,
    60, 79, 69, 63, 61, 73, 68, 99, 69,  61, 69, 39, 34, 39, 84, 50, 50, 61, 63, 55, 63, 62, 35, 63,
    63, 28, 28, 58, 28, 97, 63, 61, 63,  63, 41, 52, 39, 63, 59, 82, 59, 59, 52, 64, 34, 64, 84};

double ss_text_width(const char *text, double size)
{
    double sum = 0;

    for (const unsigned char *c = (const unsigned char *)text; *c; c++)
        sum += *c >= 32 && *c < 127 ? advance[*c - 32] : (*c & 0xc0) == 0x80 ? 0 : 84;
    return sum * size / 100;
}

void ss_svg_end(FILE *out)
{
    fputs("</svg>\n", out);
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
    int decimals = step > 0 ? (int)ceil(-log10(step / units[u].unit) - 1e-9) : 0;
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

/* Returns the height of the letters of a class of the style sheet, times how much wider bold ones are. */
static double size_of(const char *class_name, double *wider)
{
    static const struct {
        const char *name;
        double size, wider;
    } sizes[] = {
        {"title", 17, 1.13}, {"head", 25, 1.13}, {"part", 15, 1.13}, {"say", 13.5, 1}, {"small", 11, 1}};

    for (size_t i = 0; i < SS_ARRAY_LEN(sizes); i++)
        if (strstr(class_name, sizes[i].name)) {
            *wider = sizes[i].wider;
            return sizes[i].size;
        }
    *wider = 1;
    return 12;
}

double ss_svg_lines(FILE *out, double x, double y, double width, const char *class_name, const char *text)
{
    double wider, size = size_of(class_name, &wider), height = 0;
    char line[512], longer[512];

    for (const char *at = text; *at;) {
        line[0] = '\0';
        do { /* a word alone stands on its line, however long */
            size_t n = strcspn(at, " ");
            ss_copy(longer, sizeof longer, line);
            ss_append(longer, sizeof longer, "%s%.*s", line[0] ? " " : "", (int)n, at);
            if (line[0] && wider * ss_text_width(longer, size) > width)
                break;
            ss_copy(line, sizeof line, longer);
            at += n;
            at += strspn(at, " ");
        } while (*at);
        if (out)
            ss_svg_text(out, x, y + height, class_name, line);
        height += *at ? floor(1.3 * size) : 0;
    }
    return height;
}

void ss_legend_begin(struct ss_legend *l, double left, double right, double y, FILE *out)
{
    *l = (struct ss_legend){.out = out, .left = left, .right = right, .x = left, .y = y};
}

void ss_legend_add(struct ss_legend *l, const char *fill, const char *text)
{
    double wide = 18 + ss_text_width(text, 11);

    if (l->x > l->left && l->x + wide > l->right) {
        l->x = l->left;
        l->y += SS_LEGEND_LINE;
    }
    if (l->out) {
        fputs("<rect x=\"", l->out);
        ss_svg_number(l->out, l->x);
        fputs("\" y=\"", l->out);
        ss_svg_number(l->out, l->y - 10);
        fprintf(l->out, "\" width=\"13\" height=\"12\" rx=\"2\" fill=\"%s\"/>", fill);
        ss_svg_text(l->out, l->x + 18, l->y, "small", text);
    }
    l->x += wide + 16;
}

void ss_legend_tone(struct ss_legend *l, const struct ss_tone *t, const char *text)
{
    char fill[40];

    ss_legend_add(l, ss_tone_fill(t, fill), text);
}

void ss_svg_mark(FILE *out, int shape, double x, double y, double r)
{
    static const char *const paths[] = {NULL,
                                        "m-1 -1h2v2h-2z",
                                        "m0 -1.3l1.25 2.2h-2.5z",
                                        "m0 -1.4l1.4 1.4l-1.4 1.4l-1.4 -1.4z",
                                        "m0 1.3l1.25 -2.2h-2.5z",
                                        "m-.4 -1.2h.8v.8h.8v.8h-.8v.8h-.8v-.8h-.8v-.8h.8z"};
    const char *path = paths[shape % (int)SS_ARRAY_LEN(paths)];

    if (!path)
        fprintf(out, "<circle cx=\"%.2f\" cy=\"%.2f\" r=\"%g\"", x, y, r);
    else
        fprintf(out,
                "<path transform=\"translate(%.2f %.2f) scale(%g)\" vector-effect=\"non-scaling-stroke\" "
                "d=\"M0 0%s\"",
                x, y, r, path);
}

void ss_svg_whisker(FILE *out, double x1, double x2, double y)
{
    if (isfinite(x1) && isfinite(x2))
        fprintf(out, "<path class=\"mark\" d=\"M%.2f %.2fH%.2fM%.2f %.2fv8M%.2f %.2fv8\"/>\n", x1, y, x2, x1,
                y - 4, x2, y - 4);
}

void ss_svg_line(FILE *out, const char *class_name, double x1, double y1, double x2, double y2)
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

void ss_svg_time_axis_in(FILE *out, double x, double y, double width, double top, double start, double end,
                         int seconds, double room)
{
    double step = ss_round_step(end - start, (int)(width / 90)), range = end - start,
           first = ceil(start / step - 1e-9);
    int ticks = range > 0 ? (int)fmin(floor(end * (1 + 1e-12) / step) - first + 1, width) : 0;
    char text[48];

    ss_svg_line(out, "axis", x, y, x + width, y);
    for (int n = 0; n < ticks; n++) {
        double i = first + n, at = x + (i * step - start) / range * width;
        ss_svg_line(out, "grid", at, top, at, y);
        if (seconds)
            ss_axis_time(i * step, step, end, text, sizeof text);
        else
            snprintf(text, sizeof text, "%.6g", i * step);
        double half = ss_text_width(text, 11) / 2;
        if (at - half >= x - room && at + half <= x + width + room)
            ss_svg_text(out, at, y + 15, "small muted mid", text);
    }
}

void ss_svg_time_axis(FILE *out, double x, double y, double width, double top, double start, double end,
                      int seconds)
{
    ss_svg_time_axis_in(out, x, y, width, top, start, end, seconds, INFINITY);
}
