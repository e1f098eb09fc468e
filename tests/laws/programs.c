/* SPDX-License-Identifier: Apache-2.0 */
/*
 * laws_programs MOST FILE...: replays programs written by "stepsim program write --expanded" on both engines and, those of at
 * most MOST events, on the reference. Prints a JSON object a program, in their order: makespans in seconds, the largest
 * difference of any event of an engine from the reference, relative to the makespan, and where it is; where that is too large,
 * whether the reference finds the program chaotic. What is not known is null.
 */
#include "reference_compare.h"

static void print_number(const char *key, double value)
{
    if (isfinite(value))
        printf(", \"%s\": %.17g", key, value);
    else
        printf(", \"%s\": %s", key, isnan(value) ? "null" : "1e300");
}

/* Words of an error or a place without what JSON would have to escape. */
static void print_words(const char *key, const char *text)
{
    printf(", \"%s\": \"", key);
    for (; *text; text++)
        putchar(*text == '"' || *text == '\\' || (unsigned char)*text < 32 ? '\'' : *text);
    putchar('"');
}

/* One engine; r is NULL where the program is too long for the reference. Returns its largest distance from the reference. */
static double replay_engine(const struct ss_program *p, const struct reference *r, int engine)
{
    struct answer a = {0};
    struct ss_replay_stats stats = {0};
    struct ss_error err = {0};
    struct distance d = {0};
    char key[32];
    int rc = r ? answer_get(p, engine, &a, &err) : ss_replay(p, engine, NULL, 0, &stats, &err);
    print_number(ss_engine_name(engine), rc ? NAN : r ? a.stats.makespan : stats.makespan);
    if (r && !rc) {
        distance_answer(p, r, &a, &d);
        snprintf(key, sizeof key, "%s_off", ss_engine_name(engine));
        print_number(key, d.most);
        snprintf(key, sizeof key, "%s_where", ss_engine_name(engine));
        print_words(key, d.most > REFERENCE_TOLERANCE ? d.where : "");
    }
    if (rc) {
        snprintf(key, sizeof key, "%s_error", ss_engine_name(engine));
        print_words(key, err.message);
    }
    answer_free(&a);
    return d.most;
}

/* Events of all main threads, where no slot is in a loop; with loops more. */
static int64_t count_events(const struct ss_program *p)
{
    struct ss_replay_stats stats = {0};
    return ss_replay(p, SS_ENGINE_NATIVE, NULL, 0, &stats, NULL) ? INT64_MAX : stats.events;
}

static int replay(const char *file, int64_t most)
{
    struct ss_program *p = NULL;
    struct ss_error err = {0};
    struct reference r = {0};
    if (ss_program_read(file, &p, &err)) {
        printf("{\"error\": 1");
        print_words("message", err.message);
        puts("}");
        return 1;
    }
    int64_t events = count_events(p);
    int known = events <= most && reference_replay(p, &r) == 0;
    printf("{\"events\": %lld, \"classes\": %d", (long long)(events == INT64_MAX ? -1 : events), p->nclasses);
    if (known) {
        print_number("reference", r.makespan);
        print_number("contended", r.contended);
    }
    double off = 0;
    for (int engine = SS_ENGINE_NATIVE; engine <= SS_ENGINE_SIMGRID; engine++)
        off = fmax(off, replay_engine(p, known ? &r : NULL, engine));
    if (known && off > REFERENCE_TOLERANCE)
        printf(", \"chaotic\": %d", reference_chaotic(p, &r));
    puts("}");
    reference_free(&r);
    ss_program_free(p);
    return 0;
}

int main(int argc, char **argv)
{
    int status = argc < 3;
    if (status)
        fputs("usage: laws_programs MOST FILE...\n", stderr);
    else
        ss_simgrid_load(NULL); /* once for all replays */
    for (int i = 2; i < argc; i++)
        status |= replay(argv[i], atoll(argv[1]));
    return status;
}
