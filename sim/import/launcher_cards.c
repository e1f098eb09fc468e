/* SPDX-License-Identifier: Apache-2.0 */
/* Options of schedulers and launchers that ask for cards which the platform does not have. */
#include "base/base.h"
#include "import/launcher.h"
#include "stepsim/platform.h"

/* Options whose values may name cards: resources, features of nodes, queues. */
static const char naming[] = "--gres --gpus --gpus-per-node --gpus-per-task --gpus-per-socket -G -g "
                             "--constraint -C --prefer --partition -p --queue -q -l -gpu -R";
/* Cards as schedulers call them. */
static const char cards[] = "p100 v100 v100s a100 a800 h100 h800 h20 h200 b200 b300 gb200 gb300 gh200 vr200 "
                            "a10 a10g a16 a30 a40 l4 l40 l40s t4 rtx6000 rtx8000 rtx3090 rtx4090 mi100 mi210 "
                            "mi250 mi250x mi300a mi300x mi325x mi355x";

/* The card's name that letters and digits begin with, "NVIDIAA100", "gpuA100x4"; 0: none. */
static int named(const char *text, size_t n, char card[16])
{
    static const char *const makers[] = {"nvidia", "tesla", "amd", "gpu"};
    char word[32];

    for (size_t i = 0; i < n && i < sizeof word - 1; i++)
        word[i] = (char)tolower((unsigned char)text[i]);
    word[n < sizeof word ? n : sizeof word - 1] = '\0';
    const char *at = word;
    for (size_t i = 0; i < SS_ARRAY_LEN(makers); i++)
        at += !strncmp(at, makers[i], strlen(makers[i])) ? strlen(makers[i]) : 0;
    for (size_t length = strlen(at); length > 1; length--) { /* the longest name that no digit goes on */
        snprintf(card, 16, "%.*s", length < 16 ? (int)length : 0, at);
        if (ss_has_word(cards, card) && !isdigit((unsigned char)at[length]))
            return 1;
    }
    return 0;
}

/* The card that the platform has, "a100"; "": it is not known. */
static void card_of(const struct ss_cluster *cluster, char card[16])
{
    struct ss_platform_options options = {.card = cluster ? cluster->card : NULL};
    struct ss_platform *p;

    card[0] = '\0';
    if (!cluster || !cluster->platform || ss_platform_load(cluster->platform, &options, &p, NULL))
        return;
    const char *name = ss_platform_card(p)->name;
    (void)named(name, strcspn(name, "-"), card);
    ss_platform_free(p);
}

/* Whether a value names cards, none of which is the platform's; the chip of a GB200 is a B200. */
static int others(const char *value, const char *own, char other[16])
{
    const size_t length = strlen(own), n = strlen(value);
    char card[16];
    int found = 0;

    for (size_t i = 0, to; i < n; i = to + 1) {
        for (to = i; to < n && isalnum((unsigned char)value[to]); to++)
            ;
        if (!named(value + i, to - i, card))
            continue;
        size_t m = strlen(card);
        if (m <= length && !strcmp(own + length - m, card))
            return 0;
        found = 1;
        ss_copy(other, 16, card);
    }
    return found;
}

void ss_launcher_cards(const struct ss_words *words, size_t from, size_t end,
                       const struct ss_cluster *cluster, const char *place, struct ss_notes *notes)
{
    char own[16], other[16], option[32];

    card_of(cluster, own);
    for (size_t i = from; i < end && own[0]; i++) {
        const struct ss_word *w = &words->w[i];
        const char *equal = strchr(w->text, '='), *next = i + 1 < end ? words->w[i + 1].text : "";
        snprintf(option, sizeof option, "%.*s", (int)strcspn(w->text, "="), w->text);
        bool is = w->text[0] == '-' && ss_has_word(naming, option);
        const char *value = is ? (equal ? equal + 1 : next) : "";
        if (!is && w->text[0] == '-' && w->text[1] != '-') { /* "-pA100" */
            option[2] = '\0';
            value = ss_has_word(naming, option) ? w->text + 2 : "";
        }
        if (!others(value, own, other))
            continue;
        for (char *p = other; *p; p++)
            *p = (char)toupper((unsigned char)*p);
        ss_note(notes, "%s: %s %.80s asks for %s cards, which --platform %s does not have", place, option,
                value, other, cluster->platform);
    }
}
