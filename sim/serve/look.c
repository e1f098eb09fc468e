/* SPDX-License-Identifier: Apache-2.0 */
/* The words and colours of the page: those of text, JSON, report and pictures. */
#include "base/base.h"
#include "decide/card.h"
#include "report/html/parts.h"
#include "report/palette.h"
#include "serve/page.h"
#include "stepsim/explain.h"
#include "stepsim/types.h"

/* Tones of parts of the time, of memory, and of steps from the peak to the answer: they stand in one page, each under its own name. */
static const enum ss_tones used[] = {SS_TONES_LABEL, SS_TONES_MEMORY, SS_TONES_STEP};

void ss_serve_look_css(FILE *out)
{
    char css[160];

    fputs(ss_page_ground_css, out);
    for (size_t i = 0; i < SS_ARRAY_LEN(used); i++) {
        ss_tones_css(used[i], out);
        fputs(":root {", out);
        for (int t = 0; t < ss_tones_n(used[i]); t++)
            fprintf(out, " --tone-%s: %s;", ss_tone(used[i], t)->id, ss_tone_css(ss_tone(used[i], t), css));
        fputs(" }\n", out);
    }
    fputs(ss_serve_style_css, out);
}

/* Writes `const NAME = {"tp": ["exposed TP", "tp"], ...};`: of each key of JSON its words and its tone. */
static void put_words(const char *name, int n, const char *(*key)(int), const char *(*words)(int),
                      enum ss_tones tones, int (*tone)(int), FILE *out)
{
    fprintf(out, "const %s = {", name);
    for (int i = 0; i < n; i++)
        fprintf(out, "%s\"%s\": [\"%s\", \"%s\"]", i ? ", " : "", key(i), words(i),
                ss_tone(tones, tone ? tone(i) : i)->id);
    fputs("};\n", out);
}

void ss_serve_look_js(FILE *out)
{
    put_words("TIMES", SS_LABEL_COUNT, ss_label_name, ss_label_words, SS_TONES_LABEL, NULL, out);
    put_words("MEMORY", SS_MEM_COUNT, ss_mem_name, ss_mem_name, SS_TONES_MEMORY, NULL, out);
    put_words("TERMS", SS_TERMS, ss_term_key, ss_term_words, SS_TONES_STEP, ss_term_tone, out);
}
