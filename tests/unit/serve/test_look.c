/* SPDX-License-Identifier: Apache-2.0 */
/* The page of `serve` has the palette of pictures and the words of text and JSON, by day and by night. */
#include <stdlib.h>
#include <string.h>

#include "decide/card.h"
#include "eyes.h"
#include "report/palette.h"
#include "stepsim/explain.h"
#include "stepsim/serve.h"
#include "suite.h"

static char *page;

static int setup(void)
{
    struct ss_serve *serve;
    struct ss_serve_reply reply = {0};
    int rc = ss_serve_new(NULL, &serve, NULL);

    rc = rc ? rc : ss_serve_answer(serve, "/", NULL, 0, &reply);
    page = reply.body;
    ss_serve_free(serve);
    return rc;
}

static int teardown(void)
{
    free(page);
    return 0;
}

/* The value of a custom property of the page as "#rrggbb"; at night that of the dark scheme. A property without a night of its own is that of
 * the day. */
static void property(const char *name, int night, char out[8])
{
    char declared[64];
    const char *at = NULL, *dark = NULL;

    snprintf(declared, sizeof declared, " --%s: #", name);
    for (const char *p = page; (p = strstr(p, declared)); p++) {
        const char *media = p; /* the rule is of the dark scheme where the @media before it is still open */
        int depth = 0;
        while (media > page && strncmp(media, "@media", 6) != 0 && strncmp(media, "<style>", 7) != 0)
            depth += (*media == '{') - (*media == '}'), media--;
        if (depth == 2)
            dark = p;
        else
            at = p;
    }
    at = night && dark ? dark : at;
    CU_ASSERT_PTR_NOT_NULL_FATAL(at);
    at += strlen(declared) - 1;
    if (strspn(at + 1, "0123456789abcdef") == 3) /* #fff */
        snprintf(out, 8, "#%c%c%c%c%c%c", at[1], at[1], at[2], at[2], at[3], at[3]);
    else
        snprintf(out, 8, "%.7s", at);
    CU_ASSERT_EQUAL(strlen(out), 7);
}

static void holds(const char *text)
{
    if (!strstr(page, text))
        fprintf(stderr, "the page lacks %s\n", text);
    CU_ASSERT_PTR_NOT_NULL(strstr(page, text));
}

/* Each key of JSON has the words of text and pictures, and their tone. */
TEST(words)
{
    char row[256];

    holds("const TIMES = {\"compute\": [\"compute\", \"compute\"], ");
    holds("\"imbalance\": [\"slower stages\", \"imbalance\"]");
    holds("\"optimizer\": [\"optimizer\", \"states\"]");
    holds("const TERMS = {\"ideal\": [\"FLOP of the model at the card's peak\", \"ideal\"], ");
    for (int i = 0; i < SS_LABEL_COUNT; i++) {
        snprintf(row, sizeof row, "\"%s\": [\"%s\", \"%s\"]", ss_label_name(i), ss_label_words(i),
                 ss_tone(SS_TONES_LABEL, i)->id);
        holds(row);
    }
    for (int i = 0; i < SS_TERMS; i++) {
        snprintf(row, sizeof row, "\"%s\": [\"%s\", \"%s\"]", ss_term_key(i), ss_term_words(i),
                 ss_tone(SS_TONES_STEP, ss_term_tone(i))->id);
        holds(row);
    }
}

/* Tones are those of the palette, and stand out from the ground on which the page has them; nothing else on the page has a colour of its own. */
TEST(tones)
{
    static const enum ss_tones legends[] = {SS_TONES_LABEL, SS_TONES_MEMORY, SS_TONES_STEP};
    char ground[2][8], css[160], row[224];

    for (int night = 0; night < 2; night++)
        property("card", night, ground[night]);
    for (int night = 0; night < 2; night++)
        for (size_t l = 0; l < 3; l++)
            for (int i = 0; i < ss_tones_n(legends[l]); i++) {
                const struct ss_tone *t = ss_tone(legends[l], i);
                snprintf(row, sizeof row, " --tone-%s: %s;", t->id, ss_tone_css(t, css));
                holds(row);
                if (strcmp(t->color, t->night) != 0) {
                    char ink[8];
                    property(t->id, night, ink);
                    CU_ASSERT_STRING_EQUAL(ink, night ? t->night : t->color);
                }
                for (int eyes = 0; eyes < EYES; eyes++)
                    CU_ASSERT(distance(night ? t->night : t->color, ground[night], eyes) >= SS_TONE_APART);
            }
    for (const char *p = strstr(page, "/* Grounds and tones"); (p = strchr(p, '#'));) {
        size_t digits = strspn(++p, "0123456789abcdef");
        CU_ASSERT(digits != 3 && digits != 6);
    }
}

/* Texts are read by everybody (WCAG 2.1, AA), and verdicts are told apart by their words alone. */
TEST(texts)
{
    static const char *const texts[] = {"ink", "muted", "accent", "good", "warn", "bad"}, *const grounds[] = {
                                                                                              "card", "bg"};
    char text[8], ground[8];

    CU_ASSERT_DOUBLE_EQUAL(contrast("#000000", "#ffffff"), 21, 1e-9);
    for (int night = 0; night < 2; night++)
        for (size_t i = 0; i < 6; i++)
            for (int g = 0; g < 2; g++) {
                property(texts[i], night, text);
                property(grounds[g], night, ground);
                if (contrast(text, ground) < 4.5)
                    fprintf(stderr, "%s on %s, night %d: %.2f\n", texts[i], grounds[g], night,
                            contrast(text, ground));
                CU_ASSERT(contrast(text, ground) >= 4.5);
            }
}

SUITE(look)
{
    return suite_file(argv[0], setup, teardown);
}
