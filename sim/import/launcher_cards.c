/* SPDX-License-Identifier: Apache-2.0 */
/* Options of schedulers and launchers that ask for cards which the platform does not have. */
#include "base/base.h"
#include "import/launcher.h"
#include "stepsim/platform.h"

/* Options that ask for cards; those of features of nodes and of queues, whose names may have that of a card. */
static const char asking[] = "--gres --gpus --gpus-per-node --gpus-per-task --gpus-per-socket -G -l -gpu -R";
static const char features[] = "--constraint -C --prefer", queues[] = "--partition -p --queue -q";
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

/* Whether what stands in a list before the word at i, behind its last separator, makes the word no card that is asked for: "!a100", "model!=A100", or the
 * name of a machine, "host=a100-1". */
static bool is_no_request(const char *value, size_t i)
{
    const char *key = value + i;
    char name[16];

    while (key > value && !strchr(":,+[]()&|; ", key[-1]))
        key--;
    const size_t n = (size_t)(value + i - key), length = strcspn(key, "=");
    snprintf(name, sizeof name, "%.*s", length < n ? (int)length : 0, key);
    return memchr(key, '!', n) || ss_has_word("host hname hostname vnode rack", name);
}

/* Whether a value names cards, none of which is the platform's; the chip of a GB200 is a B200. Of queues T4 and A16 may be no more than a number. */
static bool others(const char *value, const char *own, bool queue, char other[16])
{
    const size_t length = strlen(own), n = strlen(value);
    char card[16];
    bool found = false;

    for (size_t i = 0, to; i < n; i = to + 1) {
        for (to = i; to < n && isalnum((unsigned char)value[to]); to++)
            ;
        if (!named(value + i, to - i, card) || is_no_request(value, i) ||
            (queue && atoi(card + strcspn(card, "0123456789")) < 20 && !strcasestr(value, "gpu")))
            continue;
        size_t m = strlen(card);
        if (m <= length && !strcmp(own + length - m, card))
            return false;
        found = true;
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
        const char *text = words->w[i].text, *equal = strchr(text, '='),
                   *value = equal         ? equal + 1
                            : i + 1 < end ? words->w[i + 1].text
                                          : "";
        snprintf(option, sizeof option, "%.*s", (int)strcspn(text, "="), text);
        bool queue = ss_has_word(queues, option), feature = ss_has_word(features, option);
        if (text[0] == '-' && text[1] != '-' && !queue && !feature && !ss_has_word(asking, option)) {
            option[2] = '\0'; /* "-pA100" */
            value = text + 2;
            queue = ss_has_word(queues, option), feature = ss_has_word(features, option);
        }
        if (text[0] != '-' || !(queue || feature || ss_has_word(asking, option)) ||
            (!strcmp(option, "-G") && !strchr(value, ':')) || /* of bsub, a group of users */
            !others(value, own, queue, other))
            continue;
        for (char *p = other; *p; p++)
            *p = (char)toupper((unsigned char)*p);
        ss_note(notes, "%s: %s %.80s %s %s cards, which --platform %s does not have", place, option, value,
                queue || feature ? "names" : "asks for", other, cluster->platform);
    }
}
