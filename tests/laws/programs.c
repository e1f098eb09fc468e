/* SPDX-License-Identifier: Apache-2.0 */
/*
 * laws_programs MOST FILE...: replays programs written by "stepsim program write --expanded" on both engines and, those of at
 * most MOST events, on the reference. Prints a JSON object a program, in their order: makespans in seconds, the largest
 * difference of any event of an engine from the reference, relative to the makespan, and where it is; where that is too large,
 * whether the reference finds the program chaotic. What is not known is null.
 * laws_programs --alone FILE...: an iteration of each if nothing were shared: every flow as fast as if it were alone on its links,
 * every kernel with all SMs, and no GPU waiting for its host.
 */
#include "base/base.h"
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

/* A link of its own for what goes over a path: as wide as the path is for one flow. */
static int own_path(struct ss_program *p, const struct ss_program *from, int path)
{
    struct ss_link *link = &p->links[p->npaths];
    if (path < 0 || from->paths[path].nlinks == 0)
        return -1;
    *link = (struct ss_link){.bandwidth = INFINITY};
    snprintf(link->name, sizeof link->name, "own-%d", p->npaths);
    for (int i = 0; i < from->paths[path].nlinks; i++)
        link->bandwidth = fmin(link->bandwidth, from->links[from->paths[path].link[i]].bandwidth /
                                                    from->paths[path].weight[i]);
    p->paths[p->npaths] = (struct ss_path){.nlinks = 1, .link = {p->npaths}, .weight = {1}};
    return p->npaths++;
}

/* Leaves out what GPUs wait for their hosts. */
static void drop_host(struct ss_program *p)
{
    for (int t = 0; t < p->ntemplates; t++)
        for (int e = 0; e < p->templates[t].nevents; e++) {
            struct ss_event *event = &p->templates[t].events[e];
            if (event->kind == SS_EV_COMPUTE)
                event->amount *= 1 - p->mixes[event->index].fraction[SS_LABEL_OTHER];
        }
}

/* Takes the program's links and holds of SMs apart. */
static int set_apart(struct ss_program *p)
{
    const struct ss_program shared = *p;
    size_t n = (size_t)p->nchannels + 1;
    for (int c = 0; c < p->ncollectives; c++)
        for (int i = 0; i < p->collectives[c].nphases; i++)
            n += (size_t)p->collectives[c].phases[i].nflows;
    p->links = calloc(n, sizeof *p->links);
    p->paths = calloc(n, sizeof *p->paths);
    if (!p->links || !p->paths)
        return 1;
    p->npaths = 0;
    drop_host(p);
    for (int c = 0; c < p->nchannels; c++) {
        p->channels[c].path = own_path(p, &shared, p->channels[c].path);
        p->channels[c].sm_share = 0;
    }
    for (int c = 0; c < p->ncollectives; c++) {
        p->collectives[c].sm_share = 0;
        for (int i = 0; i < p->collectives[c].nphases; i++)
            for (int f = 0; f < p->collectives[c].phases[i].nflows; f++) {
                struct ss_flow *flow = &p->collectives[c].phases[i].flows[f];
                flow->path = own_path(p, &shared, flow->path);
            }
    }
    p->nlinks = p->npaths;
    free(shared.links);
    free(shared.paths);
    return 0;
}

static int has_barrier(const struct ss_program *p)
{
    for (int c = 0; c < p->ncollectives; c++)
        if (!strcmp(p->collectives[c].name, "gradient norm"))
            return 1;
    return p->nclasses == 1;
}

static int replay_alone(const char *file)
{
    const struct ss_replay_options how = {.engine = SS_ENGINE_NATIVE};
    struct ss_program *p = NULL;
    struct ss_timeline *t = NULL;
    struct ss_error err = {0};
    int rc = ss_program_read(file, &p, &err);
    if (!rc && set_apart(p))
        rc = ss_fail(&err, SS_ERR_NOMEM, NULL, 0, "out of memory for links");
    if (!rc)
        rc = has_barrier(p) ? ss_timeline_replay_with(p, &how, &t, &err)
                            : ss_timeline_steady(p, &how, &t, &err);
    printf("{\"error\": %d", rc);
    print_words("message", err.message);
    if (!rc)
        print_number("alone", t->iteration_s);
    puts("}");
    ss_timeline_free(t);
    ss_program_free(p);
    return rc;
}

static int all_alone(int n, char **files)
{
    int status = n < 1;
    for (int i = 0; i < n; i++)
        status |= replay_alone(files[i]) != 0;
    return status;
}

int main(int argc, char **argv)
{
    int status = argc < 3;
    if (argc > 2 && !strcmp(argv[1], "--alone"))
        return all_alone(argc - 2, argv + 2);
    if (status)
        fputs("usage: laws_programs MOST FILE...\n", stderr);
    else
        ss_simgrid_load(NULL); /* once for all replays */
    for (int i = 2; i < argc; i++)
        status |= replay(argv[i], atoll(argv[1]));
    return status;
}
