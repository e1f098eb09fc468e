/* SPDX-License-Identifier: Apache-2.0 */
/* A program that runs, and what is said of it with one thing wrong: by the check of programs, and by an engine that gets it unchecked. */
#include "replay_make.h"
#include "stepsim/program.h"
#include "suite.h"

/* Stage 0 sends to stage 1, then both post collective 0. */
static struct ss_program *good_program(void)
{
    int members[] = {0, 1};
    struct ss_program *p = make_program(2, 1);
    int path = make_wire(p, 1e9), g = make_collective(p, 2, members, 0.25),
        ch = make_channel(p, 0, 1, 0, path, 1e-6, 0.5);
    make_phase(p, g, 1e-6);
    make_flow(p, g, path, 1e6);
    make_slot(p, 0, "F0");
    make_event(p, 0, SS_EV_ALLOC, SS_MEM_ACTIVATIONS, 0, 100);
    make_compute(p, 0, 1);
    make_send(p, ch, 1e6);
    make_wait_send(p, ch);
    make_event(p, 0, SS_EV_POST, g, 0, 0);
    make_event(p, 0, SS_EV_WAIT, 0, 0, 0);
    make_event(p, 0, SS_EV_FREE, SS_MEM_ACTIVATIONS, 0, 100);
    make_slot(p, 1, "F1");
    make_recv(p, ch);
    make_wait_recv(p, ch);
    make_compute(p, 1, 2);
    make_event(p, 1, SS_EV_POST, g, 0, 0);
    make_event(p, 1, SS_EV_WAIT, 0, 0, 0);
    return p;
}

/* NULL: that one has nothing against it. */
static void expect(const struct ss_program *p, const char *what, const char *checked, const char *replayed)
{
    const char *const wanted[2] = {checked, replayed};
    for (int i = 0; i < 2; i++) {
        struct ss_error err = {0};
        struct ss_replay_stats stats;
        int rc = i ? ss_replay(p, SS_ENGINE_NATIVE, NULL, 0, &stats, &err) : ss_program_check(p, &err);
        int right = wanted[i] ? rc == SS_ERR_INPUT && strstr(err.message, wanted[i]) : rc == 0;
        if (!right)
            fprintf(stderr, "%s: %s: %d %s\n", what, i ? "replay" : "check", rc, err.message);
        CU_ASSERT(right);
    }
}

/* Counts and arrays of the program itself are as they were before it is freed. */
#define WRONG(change, checked, replayed)                                                                     \
    do {                                                                                                     \
        struct ss_program *p = good_program(), before = *p;                                                  \
        change;                                                                                              \
        expect(p, #change, checked, replayed);                                                               \
        *p = before;                                                                                         \
        make_free(p);                                                                                        \
    } while (0)

TEST(good)
{
    WRONG((void)0, NULL, NULL);
    /* 1 s, 1e6 B at 1e9 B/s and 1 us, 2 s, then the collective: 1 us and 1e6 B */
    struct ss_program *p = good_program();
    struct ss_replay_stats stats;
    CU_ASSERT_EQUAL(ss_replay(p, SS_ENGINE_NATIVE, NULL, 0, &stats, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(stats.makespan, 3.002002, 1e-9);
    make_free(p);
}

TEST(network)
{
    static const char *const link = "link 0 has no positive bandwidth",
                             *const weight = "path 0 has no positive weight on link 0";
    WRONG(p->links[0].bandwidth = 0, "link 'link0': bandwidth 0 B/s", link);
    WRONG(p->links[0].bandwidth = -1, "out of range", link);
    WRONG(p->links[0].bandwidth = NAN, "out of range", link);
    WRONG(p->links[0].bandwidth = INFINITY, "out of range", link);
    WRONG(p->links[0].latency = -1, "latency -1 s", NULL);
    WRONG(p->links[0].name[0] = 0, "a link has no name", NULL);
    WRONG(p->paths[0].nlinks = -1, "path 0 has -1 links", "path 0 has -1 links");
    WRONG(p->paths[0].nlinks = SS_ROUTE_MAX + 1, "are possible", "are possible");
    WRONG(p->paths[0].link[0] = 1, "path 0: link 1 with weight 1", "path 0 names link 1 of 1");
    WRONG(p->paths[0].link[0] = -1, "path 0: link -1", "path 0 names link -1 of 1");
    WRONG(p->paths[0].weight[0] = 0, "weight 0", weight);
    WRONG(p->paths[0].weight[0] = -1, "weight -1", weight);
    WRONG(p->paths[0].weight[0] = NAN, "out of range", weight);
    WRONG(p->mixes[0].fraction[SS_LABEL_COMPUTE] = 0.5, "mix 0: fractions sum to 0.5, not 1", NULL);
    WRONG(p->mixes[0].fraction[SS_LABEL_TP] = -1, "mix 0: fraction -1 of tp", NULL);
    WRONG(p->memory_overhead_factor = 0.5, "memory overhead factor 0.5 is less than 1", NULL);
    WRONG(p->memory_overhead_factor = NAN, "memory overhead factor", NULL);
}

TEST(channels)
{
    static const char *const range = "channel 0 has a latency or SM share out of range";
    WRONG(p->channels[0].from = 2, "channel 0 goes from class 2 to class 1",
          "channel 0 joins classes 2 and 1 of 2");
    WRONG(p->channels[0].to = -1, "they must be two classes", "channel 0 joins classes 0 and -1 of 2");
    WRONG(p->channels[0].to = 0, "from class 0 to class 0", "that is not its own");
    WRONG(p->channels[0].path = 1, "channel 0: there is no path 1", "channel 0 names path 1 of 1");
    WRONG(p->channels[0].path = -2, "channel 0: there is no path -2", "channel 0 names path -2 of 1");
    WRONG(p->channels[0].tag = -1, "channel 0: tag -1", NULL);
    WRONG(p->channels[0].latency = -1, "latency -1 s", range);
    WRONG(p->channels[0].latency = NAN, "is out of range", range);
    WRONG(p->channels[0].sm_share = 1.5, "SM share 1.5", range);
    WRONG(p->channels[0].sm_share = -0.5, "SM share -0.5", range);
    struct ss_program *p = good_program();
    make_channel(p, 0, 1, 0, 0, 0, 0);
    p->channels[1].tag = p->channels[0].tag;
    expect(p, "two channels", "two channels from stage0 to stage1 have tag 0", NULL);
    make_free(p);
}

TEST(collectives)
{
    static const char *const range = "collective 0 has a label or SM share out of range",
                             *const flow = "collective 0 phase 0 flow 0",
                             *const members = "collective 0 has no members or no phases array";
    WRONG(p->collectives[0].nmembers = 0, "collective 'collective0' has no members", members);
    WRONG(p->collectives[0].nmembers = -1, "has no members", members);
    WRONG(p->collectives[0].members[1] = 2, "there is no class 2", "collective 0 names class 2 of 2");
    WRONG(p->collectives[0].members[0] = -1, "there is no class -1", "collective 0 names class -1 of 2");
    WRONG(p->collectives[0].members[1] = 0, "names member stage0 twice", "collective 0 lists class 0 twice");
    WRONG(p->collectives[0].label = -1, "label -1", range);
    WRONG(p->collectives[0].label = SS_LABEL_COUNT, "is out of range", range);
    WRONG(p->collectives[0].sm_share = 2, "SM share 2", range);
    WRONG(p->collectives[0].sm_share = NAN, "is out of range", range);
    WRONG(p->collectives[0].bytes = -5, "-5 bytes", NULL);
    WRONG(p->collectives[0].phases[0].latency = -1, "latency -1 s is out of range",
          "collective 0 phase 0 has no valid latency");
    WRONG(p->collectives[0].phases[0].flows[0].path = 3, "on path 3 is out of range", flow);
    WRONG(p->collectives[0].phases[0].flows[0].path = -2, "on path -2 is out of range", flow);
    WRONG(p->collectives[0].phases[0].flows[0].bytes = -1, "flow of -1 bytes", flow);
    WRONG(p->collectives[0].nmembers = 1, "posts collective 'collective0' without being a member",
          "that is not its own");
}

TEST(events)
{
    static const char *const event = "of template F0 has a kind, index or amount that is not valid",
                             *const own = "that is not its own";
    WRONG(p->templates[0].events[1].kind = 99, "template F0 event 1: there is no kind 99", event);
    WRONG(p->templates[0].events[1].kind = -1, "there is no kind -1", event);
    WRONG(p->templates[0].events[1].index = 1, "event 1 (compute): index 1 is not in 0 to 0", event);
    WRONG(p->templates[0].events[0].index = SS_MEM_COUNT, "event 0 (alloc): index", event);
    WRONG(p->templates[0].events[6].index = -1, "event 6 (free): index -1", event);
    WRONG(p->templates[0].events[2].index = 1, "event 2 (send): index 1", event);
    WRONG(p->templates[0].events[3].index = -1, "event 3 (wait-send): index -1", event);
    WRONG(p->templates[0].events[4].index = 7, "event 4 (post): index 7", event);
    WRONG(p->templates[0].events[1].amount = -1, "event 1 (compute): amount -1", event);
    WRONG(p->templates[0].events[1].amount = NAN, "is out of range", event);
    WRONG(p->templates[0].events[4].aux = 1, "class stage0 (template F0): there is no stream 1 of 1", own);
    WRONG(p->templates[0].events[5].aux = -1, "there is no stream -1 of 1", own);
    WRONG(p->templates[0].events[2].kind = SS_EV_RECV,
          "recv on the channel from stage0 to stage1 (tag 0), of which it is not the receiver", own);
    WRONG(p->templates[1].events[0].kind = SS_EV_SEND, "of which it is not the sender", own);
    WRONG(p->templates[1].events[1].kind = SS_EV_WAIT_SEND, "of which it is not the sender", own);

    WRONG(p->templates[0].nevents = -1, "template F0 has no events", "template 0 has no valid events");
    WRONG(strcpy(p->templates[0].name, "F1"), "a second template is named 'F1'", NULL);
    WRONG(p->templates[0].events[6].amount = 200, "", NULL); /* more is freed than there is */
}

TEST(classes)
{
    static const char *const slots = "class 0 has an invalid number of slots or streams",
                             *const loop = "class 0 has a loop of slots that it does not have";
    WRONG(p->classes[0].count = 0, "class stage0: stage 0, 0 ranks from rank 0", NULL);
    WRONG(p->classes[0].first_rank = -1, "from rank -1", NULL);
    WRONG(p->classes[0].stage = -1, "stage -1", NULL);
    WRONG(p->classes[0].nstreams = -1, "-1 streams", slots);
    WRONG(p->classes[0].nstreams = (1 << 20) + 1, "out of range", slots);
    WRONG(p->classes[0].memory[SS_MEM_WEIGHTS] = -1, "-1 bytes of weights are out of range", NULL);
    WRONG(p->classes[0].slots[0].template_index = 2, "class stage0 slot 0: template 2",
          "stage0 slot 0 names template 2 of 2");
    WRONG(p->classes[0].slots[0].template_index = -1, "template -1", "stage0 slot 0 names template -1 of 2");
    WRONG(p->classes[0].slots[0].phase = SS_PHASE_COUNT, "does not exist", NULL);
    WRONG(p->classes[0].slots[0].phase = -2, "phase -2 does not exist", NULL);
    WRONG(strcpy(p->classes[0].name, "stage1"), "a second class is named 'stage1'", NULL);
    WRONG(p->classes[0].name[0] = 0, "a class has no name", NULL);
    /* what an engine gets from a caller's hands; the check takes counts and arrays as they are */
    for (int i = 0; i < 4; i++) {
        struct ss_program *p = good_program(), before = *p;
        const struct ss_program_loop loops[4] = {
            {.first = -1, .length = 1}, {.length = -1}, {.length = 1, .more = -1}, {.more = 1}};
        struct ss_error err = {0};
        p->classes[0].loop = loops[i];
        CU_ASSERT_EQUAL(ss_replay(p, SS_ENGINE_NATIVE, NULL, 0, NULL, &err), SS_ERR_INPUT);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, loop));
        *p = before;
        make_free(p);
    }
}

/* A count without its array, and one below zero. */
TEST(arrays)
{
#define WITHOUT(array, count)                                                                                \
    for (int i = 0; i < 2; i++) {                                                                            \
        struct ss_program *p = good_program(), before = *p;                                                  \
        struct ss_error err = {0};                                                                           \
        if (i)                                                                                               \
            p->count = -1;                                                                                   \
        else                                                                                                 \
            p->array = NULL;                                                                                 \
        CU_ASSERT_EQUAL(ss_replay(p, SS_ENGINE_NATIVE, NULL, 0, NULL, &err), SS_ERR_INPUT);                  \
        CU_ASSERT_STRING_EQUAL(err.message, "program: a count without its array");                           \
        *p = before;                                                                                         \
        make_free(p);                                                                                        \
    }
    WITHOUT(links, nlinks)
    WITHOUT(paths, npaths)
    WITHOUT(mixes, nmixes)
    WITHOUT(templates, ntemplates)
    WITHOUT(channels, nchannels)
    WITHOUT(collectives, ncollectives)
    WITHOUT(classes, nclasses)
}
