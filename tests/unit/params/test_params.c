/* SPDX-License-Identifier: Apache-2.0 */
/* The registry of ss. props: its rows are sound, and each reader accepts the props that their owner says. */

#include "platform/platform_internal.h"
#include "stepsim/stack.h"
#include "stepsim/study.h"
#include "suite.h"

TEST(rows)
{
    for (int i = 0; i < SS_PROP_COUNT; i++) {
        const struct ss_prop *p = ss_prop_at(i);

        CU_ASSERT_FATAL(p->id != NULL && strncmp(p->id, "ss.", 3) == 0);
        CU_ASSERT(p->doc != NULL && p->doc[0] != 0);
        CU_ASSERT_STRING_NOT_EQUAL(ss_owner_name(p->owner), "");
        CU_ASSERT_EQUAL(ss_prop_find(p->id, SS_OF_ANY), i);
        CU_ASSERT_EQUAL(ss_prop_find(p->id, SS_OF_ANY & ~p->owner), -1);
        CU_ASSERT_EQUAL(i < SS_PROP_PLATFORM_COUNT, (p->owner & SS_OF_PLATFORM) != 0);
        CU_ASSERT_EQUAL(i < SS_PROP_CARD_COUNT, p->owner == SS_OF_CARD);
        if (!p->is_word)
            CU_ASSERT(p->low < p->high);
        if (p->owner == SS_OF_STACK && !p->is_word)
            CU_ASSERT(p->low <= p->def && p->def <= p->high);
        if (p->owner == SS_OF_CARD && !p->required)
            CU_ASSERT(p->low <= p->def && p->def <= p->high);
        if (p->owner == SS_OF_STACK && p->is_word) {
            CU_ASSERT(ss_has_word(p->words, ss_prop_word(i, (int)p->def)));
            CU_ASSERT_PTR_NULL(ss_prop_word(i, 99));
        }
    }
    CU_ASSERT_EQUAL(ss_prop_find("ss.nic.bandwith", SS_OF_ANY), -1);
}

static void value_text(const struct ss_prop *p, double value, char *buf, size_t size)
{
    if (p->is_word)
        snprintf(buf, size, "%.*s", p->words ? (int)strcspn(p->words, " ") : 1, p->words ? p->words : "x");
    else
        ss_unit_format(value, p->unit, buf, size);
}

/* What --set does: every prop but those of the layout, and no other. */
TEST(set)
{
    struct ss_platform_options options = {.nodes = 2};
    struct ss_platform *platform;
    struct ss_stack stack;
    struct ss_error err;
    char text[64];

    CU_ASSERT_EQUAL_FATAL(ss_platform_load("h100", &options, &platform, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2407", NULL, &stack, NULL), 0);
    for (int i = 0; i < SS_PROP_COUNT; i++) {
        const struct ss_prop *p = ss_prop_at(i);
        int of_stack = p->owner == SS_OF_STACK, of_layout = p->owner == SS_OF_LAYOUT;

        CU_ASSERT_EQUAL(ss_prop_is_settable(i), !of_layout);
        value_text(p, p->high, text, sizeof text);
        CU_ASSERT_EQUAL(ss_platform_set(platform, p->id, text, &err),
                        of_stack || of_layout ? SS_ERR_INPUT : 0);
        CU_ASSERT_EQUAL(ss_stack_set(&stack, p->id, text, &err), of_stack ? 0 : SS_ERR_INPUT);
        if (!of_layout && !p->is_word)
            CU_ASSERT_EQUAL(of_stack ? ss_prop_get(i, &stack) : ss_platform_get(platform, i), p->high);
        value_text(p, p->high * 2 + 1, text, sizeof text);
        if (!of_layout && !p->is_word)
            CU_ASSERT_EQUAL(of_stack ? ss_stack_set(&stack, p->id, text, &err)
                                     : ss_platform_set(platform, p->id, text, &err),
                            SS_ERR_INPUT);
    }
    ss_platform_free(platform);
}

/* What calibrate fits: numbers of cards, links and stacks. */
TEST(fit)
{
    for (int i = 0; i < SS_PROP_COUNT; i++) {
        const struct ss_prop *p = ss_prop_at(i);
        int want = (p->owner == SS_OF_CARD || p->owner == SS_OF_LINK || p->owner == SS_OF_STACK) &&
                   !p->is_word && p->unit != SS_UNIT_COUNT;
        struct ss_fit_prop fit;

        CU_ASSERT_EQUAL(ss_prop_is_fittable(i), want);
        CU_ASSERT_EQUAL(ss_fit_prop_parse(p->id, &fit, NULL), want ? 0 : SS_ERR_USAGE);
    }
}

/* What a platform file may say, and where; elsewhere it is refused. */
TEST(places)
{
    static const struct {
        int place;
        const char *head, *tail;
    } files[] = {{SS_AT_ROOT | SS_AT_ZONE, "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">",
                  "<host id=\"h\" speed=\"1Gf\"/></zone></platform>"},
                 {SS_AT_HOST,
                  "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\"><host id=\"h\" speed=\"1Gf\">",
                  "</host></zone></platform>"},
                 {SS_AT_LINK,
                  "<platform version=\"4.1\"><zone id=\"z\" routing=\"Full\">"
                  "<link id=\"l\" bandwidth=\"1GBps\">",
                  "</link><host id=\"h\" speed=\"1Gf\"/></zone></platform>"}};

    for (int i = 0; i < SS_PROP_COUNT; i++)
        for (size_t f = 0; f < SS_ARRAY_LEN(files); f++) {
            const struct ss_prop *p = ss_prop_at(i);
            struct ss_error err = {0};
            struct ss_platform *platform = NULL;
            char text[600], value[64];
            int fits = (p->where & files[f].place) != 0;

            if (i == SS_PROP_BASE)
                continue; /* makes it a variant */
            value_text(p, p->high, value, sizeof value);
            snprintf(text, sizeof text, "%s<prop id=\"%s\" value=\"%s\"/>%s", files[f].head, p->id, value,
                     files[f].tail);
            CU_ASSERT_NOT_EQUAL(ss_platform_parse(text, strlen(text), "x.xml", NULL, &platform, &err), 0);
            int refused = strstr(err.message, "does not belong") || strstr(err.message, "unknown prop");
            CU_ASSERT_EQUAL(refused, !fits);
            if (refused == fits)
                printf("\n  %s in %s: %s\n", p->id, files[f].head, err.message);
        }
}

TEST(nearest)
{
    CU_ASSERT_STRING_EQUAL(ss_prop_nearest("ss.nic.bandwith", ss_prop_is_settable), "ss.nic.bandwidth");
    CU_ASSERT_PTR_NULL(
        ss_prop_nearest("ss.nics_per_nod", ss_prop_is_settable)); /* it is, but of the layout */
    CU_ASSERT_PTR_NULL(ss_prop_nearest("banana", ss_prop_is_settable));
}
