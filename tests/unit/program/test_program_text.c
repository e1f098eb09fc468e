/* SPDX-License-Identifier: Apache-2.0 */
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "plan_fixture.h"
#include "stepsim/program.h"
#include "suite.h"

static struct ss_program *lower(struct fixture *f)
{
    struct ss_program *p = NULL;
    struct ss_error err = {0};
    if (ss_program_build(&f->plan, &p, &err))
        fprintf(stderr, "build: %s\n", err.message);
    return p;
}

static char *text_of(const struct ss_program *p, int expanded)
{
    char *text = NULL;
    size_t len = 0;
    FILE *out = open_memstream(&text, &len);
    int rc = ss_program_write(p, expanded, out, NULL);
    fclose(out);
    CU_ASSERT_EQUAL(rc, SS_OK);
    return text;
}

static struct ss_program *parse(const char *text, struct ss_error *err)
{
    struct ss_program *p = NULL;
    ss_program_parse(text, strlen(text), "t.prog", &p, err);
    return p;
}

/* ---- text ---- */

static int same_collective(const struct ss_collective *a, const struct ss_collective *b)
{
    int same = !strcmp(a->name, b->name) && a->label == b->label && a->bytes == b->bytes &&
               a->sm_share == b->sm_share && a->nmembers == b->nmembers && a->nphases == b->nphases;
    for (int i = 0; same && i < a->nmembers; i++)
        same = a->members[i] == b->members[i];
    for (int i = 0; same && i < a->nphases; i++) {
        same = a->phases[i].latency == b->phases[i].latency && a->phases[i].nflows == b->phases[i].nflows;
        for (int k = 0; same && k < a->phases[i].nflows; k++)
            same = a->phases[i].flows[k].path == b->phases[i].flows[k].path &&
                   a->phases[i].flows[k].bytes == b->phases[i].flows[k].bytes;
    }
    return same;
}

static int same_program(const struct ss_program *a, const struct ss_program *b)
{
    int same = a->nclasses == b->nclasses && a->ntemplates == b->ntemplates && a->nchannels == b->nchannels &&
               a->nmixes == b->nmixes && a->npaths == b->npaths && a->nlinks == b->nlinks &&
               a->ncollectives == b->ncollectives && !strcmp(a->name, b->name) &&
               a->memory_overhead_factor == b->memory_overhead_factor;
    for (int i = 0; same && i < a->nchannels; i++) {
        const struct ss_channel *x = &a->channels[i], *y = &b->channels[i];
        same = x->from == y->from && x->to == y->to && x->tag == y->tag && x->rendezvous == y->rendezvous &&
               x->path == y->path && x->latency == y->latency && x->sm_share == y->sm_share;
    }
    for (int i = 0; same && i < a->nlinks; i++)
        same = !strcmp(a->links[i].name, b->links[i].name) &&
               a->links[i].bandwidth == b->links[i].bandwidth && a->links[i].latency == b->links[i].latency &&
               a->links[i].kind == b->links[i].kind;
    for (int i = 0; same && i < a->npaths; i++) {
        same = a->paths[i].nlinks == b->paths[i].nlinks;
        for (int k = 0; same && k < a->paths[i].nlinks; k++)
            same =
                a->paths[i].link[k] == b->paths[i].link[k] && a->paths[i].weight[k] == b->paths[i].weight[k];
    }
    for (int i = 0; same && i < a->ncollectives; i++)
        same = same_collective(&a->collectives[i], &b->collectives[i]);
    for (int i = 0; same && i < a->nmixes; i++)
        same = !memcmp(&a->mixes[i], &b->mixes[i], sizeof a->mixes[i]);
    for (int i = 0; same && i < a->ntemplates; i++)
        same = !strcmp(a->templates[i].name, b->templates[i].name) &&
               a->templates[i].nevents == b->templates[i].nevents;
    for (int c = 0; same && c < a->nclasses; c++) {
        struct ss_cursor x = {0, 0}, y = {0, 0};
        const struct ss_event *e, *g;
        same = !strcmp(a->classes[c].name, b->classes[c].name) &&
               a->classes[c].nslots == b->classes[c].nslots && a->classes[c].count == b->classes[c].count &&
               a->classes[c].stage == b->classes[c].stage &&
               a->classes[c].first_rank == b->classes[c].first_rank &&
               a->classes[c].nstreams == b->classes[c].nstreams &&
               !memcmp(a->classes[c].memory, b->classes[c].memory, sizeof a->classes[c].memory);
        for (int i = 0; same && i < a->classes[c].nslots; i++)
            same = !memcmp(&a->classes[c].slots[i], &b->classes[c].slots[i], sizeof a->classes[c].slots[i]);
        do {
            e = ss_program_next(a, c, &x);
            g = ss_program_next(b, c, &y);
            same = same && !e == !g &&
                   (!e || (e->kind == g->kind && e->index == g->index && e->aux == g->aux &&
                           e->amount == g->amount));
        } while (same && e);
    }
    return same;
}

static void round_trip(struct fixture *f)
{
    struct ss_program *p = lower(f);
    CU_ASSERT_FATAL(p != NULL);
    for (int expanded = 0; expanded < 2; expanded++) {
        struct ss_error err = {0};
        char *text = text_of(p, expanded);
        struct ss_program *back = parse(text, &err);
        if (!back)
            fprintf(stderr, "%s:%d: %s\n", err.file, err.line, err.message);
        CU_ASSERT_FATAL(back != NULL);
        CU_ASSERT(same_program(p, back));
        CU_ASSERT_EQUAL(ss_program_check(back, NULL), SS_OK);
        char *again = text_of(back, expanded), *other = text_of(back, !expanded),
             *direct = text_of(p, !expanded);
        CU_ASSERT_STRING_EQUAL(text, again);
        CU_ASSERT_STRING_EQUAL(other, direct);
        free(text);
        free(again);
        free(other);
        free(direct);
        ss_program_free(back);
    }
    ss_program_free(p);
    fixture_free(f);
}

/* A collective that is named as those without a name are written does not take the key of another one. */
TEST(names_like_keys)
{
    struct ss_error err = {0};
    struct fixture *f = fixture_make("1f1b", 2, 1, 2, 1, FIXTURE_DP);
    struct ss_program *p = lower(f);
    CU_ASSERT_FATAL(p != NULL && p->ncollectives > 2);
    strcpy(p->collectives[0].name, "k1");
    strcpy(p->collectives[1].name, "");
    char *text = text_of(p, 0);
    struct ss_program *back = parse(text, &err);
    CU_ASSERT_FATAL(back != NULL);
    CU_ASSERT_EQUAL(back->ncollectives, p->ncollectives);
    CU_ASSERT_STRING_EQUAL(back->collectives[0].name, "k1");
    CU_ASSERT_EQUAL(ss_program_check(back, NULL), SS_OK);
    free(text);
    ss_program_free(back);
    ss_program_free(p);
    fixture_free(f);
}

TEST(round_trip)
{
    round_trip(fixture_make("1f1b", 1, 1, 2, 1, FIXTURE_DP | FIXTURE_EXTRA));
    round_trip(fixture_make("1f1b", 4, 1, 8, 1, FIXTURE_DP | FIXTURE_EXTRA));
    round_trip(fixture_make("interleaved", 4, 3, 8, 1, FIXTURE_DP | FIXTURE_EXTRA | FIXTURE_ODD));
    round_trip(fixture_make("interleaved", 4, 2, 8, 0, FIXTURE_DP | FIXTURE_TWO | FIXTURE_ODD));
}

static const char hand_written[] =
    "# a comment\n"
    "program \"by hand\"   # another\n"
    "link \"a \\\"b\\\"\" bandwidth 8Gbps\n"
    "link x2 bandwidth 1GBps latency 3us kind nic\r\n"
    "path slow \"a \\\"b\\\"\" *2.5 x2\n"
    "path none\n"
    "mix half compute 50% tp 0.5\n"
    "channel there from a to b path slow\n"
    "channel back from b to a path none tag 7 latency 2us rendezvous yes sm-share 0.25\n"
    "collective sum name \"all together\" label tp bytes 1MiB {\n"
    "    members a\n    members b\n"
    "    phase latency 1ms\n    flow slow 1MB\n    phase\n"
    "}\n"
    "template work {\n    compute 1.5ms half\n}\n"
    "class a ranks 4 {\n"
    "    memory weights 1GiB gradients 2GiB\n"
    "    compute 10ms\n    send there 1kB\n    wait-send there\n"
    "    slot work F 1 2\n"
    "    slot - B 1 2 {\n        recv back\n        wait-recv back\n        post sum stream 1\n        wait "
    "stream 1\n    }\n"
    "}\n"
    "class b stage 5 first 100 {\n"
    "    recv there\n    wait-recv there\n    alloc other 1MB\n    free other 1MB\n    send back 2kB\n    "
    "wait-send back\n"
    "    post sum\n    wait\n"
    "    compute 1s recompute\n    compute 2s recompute\n"
    "}\n";

TEST(hand_written)
{
    struct ss_error err = {0};
    struct ss_program *p = parse(hand_written, &err);
    if (!p)
        fprintf(stderr, "line %d: %s\n", err.line, err.message);
    CU_ASSERT_FATAL(p != NULL);
    CU_ASSERT_EQUAL(ss_program_check(p, &err), SS_OK);
    CU_ASSERT_STRING_EQUAL(p->name, "by hand");
    CU_ASSERT_STRING_EQUAL(p->links[0].name, "a \"b\"");
    CU_ASSERT_EQUAL(p->links[0].bandwidth, 1e9);
    CU_ASSERT_EQUAL(p->links[1].kind, SS_LINK_NIC);
    CU_ASSERT_EQUAL(p->paths[0].nlinks, 2);
    CU_ASSERT_EQUAL(p->paths[0].weight[0], 2.5);
    CU_ASSERT_EQUAL(p->paths[0].weight[1], 1);
    CU_ASSERT_EQUAL(p->channels[1].from, 1);
    CU_ASSERT_EQUAL(p->channels[1].rendezvous, 1);
    CU_ASSERT_EQUAL(p->channels[0].rendezvous, 0);
    CU_ASSERT_STRING_EQUAL(p->collectives[0].name, "all together");
    CU_ASSERT_EQUAL(p->collectives[0].nphases, 2);
    CU_ASSERT_EQUAL(p->collectives[0].nmembers, 2);
    CU_ASSERT_EQUAL(p->classes[0].nslots, 3);
    CU_ASSERT_EQUAL(p->classes[0].nstreams, 2);
    CU_ASSERT_EQUAL(p->classes[0].slots[1].phase, SS_PHASE_F);
    CU_ASSERT_EQUAL(p->classes[0].slots[1].microbatch, 2);
    CU_ASSERT_EQUAL(p->classes[0].slots[0].phase, -1);
    CU_ASSERT_EQUAL(p->classes[1].stage, 5);
    CU_ASSERT_EQUAL(p->classes[1].nstreams, 1);
    CU_ASSERT_EQUAL(p->classes[1].first_rank, 100);
    CU_ASSERT_EQUAL(p->nmixes, 3); /* half, compute, recompute */
    for (int expanded = 0; expanded < 2; expanded++) {
        char *text = text_of(p, expanded);
        struct ss_program *back = parse(text, &err);
        CU_ASSERT_FATAL(back != NULL);
        CU_ASSERT(expanded || same_program(p, back)); /* expanded, templates come in order of use */
        char *again = text_of(back, expanded);
        CU_ASSERT_STRING_EQUAL(text, again);
        free(text);
        free(again);
        ss_program_free(back);
    }
    ss_program_free(p);
}

/* A mix that is all one label has its name. A collective's name is its key where it is no other's and not like one that is made. */
TEST(keys)
{
    struct ss_error err = {0};
    struct ss_program *p = parse(
        "program x\ncollective k7 {\nmembers a\n}\ncollective kind {\nmembers a\n}\n"
        "mix other other 1\nmix both compute 0.5 tp 0.5\n"
        "class a {\nslot s {\ncompute 1s both\ncompute 1s recompute\npost k7\npost kind\nwait\nwait\n}\n}\n",
        &err);
    CU_ASSERT_PTR_NOT_NULL_FATAL(p);
    char *text = text_of(p, 0);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(text, "mix other other 1\nmix m1 compute 0.5 tp 0.5\nmix recompute recompute 1\n"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "collective k0 name k7 label"));
    CU_ASSERT_PTR_NOT_NULL(strstr(text, "collective kind label"));
    CU_ASSERT_PTR_NOT_NULL(strstr(
        text, "compute 1s m1\n    compute 1s recompute\n    post k0 stream 0\n    post kind stream 0\n"));
    free(text);
    ss_program_free(p);
}

TEST(text_errors)
{
    static const struct {
        const char *text;
        int line;
        const char *words;
    } cases[] = {
        {"", 0, "no program"},
        {"# nothing\n\n", 0, "no program"},
        {"link a bandwidth 1GBps\n", 1, "first line must be 'program"},
        {"program x\nprogram y\n", 2, "second 'program'"},
        {"program x version 2\n", 1, "version '2'"},
        {"program\n", 1, "name of the program is missing"},
        {"program x\nlnk a\n", 2, "unknown word 'lnk'"},
        {"program x\nlink a\n", 2, "needs a bandwidth"},
        {"program x\nlink a bandwidth 25\n", 2, "lacks a unit"},
        {"program x\nlink a bandwidth -25GBps\n", 2, "negative"},
        {"program x\nlink a bandwidth 1GBps bandwidth 2GBps\n", 2, "given twice"},
        {"program x\nlink a bandwidth\n", 2, "lacks its value"},
        {"program x\nlink a bandwidth 1GBps speed 3\n", 2, "unknown word 'speed'"},
        {"program x\nlink a bandwidth 1GBps kind wire\n", 2, "'wire'"},
        {"program x\nlink a bandwidth 1GBps\nlink a bandwidth 1GBps\n", 3, "second link 'a'"},
        {"program x\npath p nowhere\n", 2, "no link 'nowhere'"},
        {"program x\npath p *2\n", 2, "must follow a link"},
        {"program x\nlink a bandwidth 1GBps\npath p a *0\n", 3, "above 0"},
        {"program x\nmix m compute 0.5\n", 2, "sum to 1"},
        {"program x\nmix m work 1\n", 2, "no label 'work'"},
        {"program x\npath p\nchannel c from a to b path p\n", 3, "no class 'a'"},
        {"program x\npath p\nchannel c from a\n", 3, "needs 'from CLASS"},
        {"program x\npath p\nchannel c from a to b path p rendezvous maybe\n", 3, "'maybe'"},
        {"program x\ncollective c {\n}\n", 3, "no 'members'"},
        {"program x\ncollective c {\nmembers a\n", 3, "'}' of collective"},
        {"program x\ncollective c\n", 2, "end in '{'"},
        {"program x\ncollective c {\nflow p 1B\n}\n", 3, "follow a phase"},
        {"program x\ncollective c {\nmembers a\n}\n", 3, "no class 'a'"},
        {"program x\ntemplate t {\n}\n", 3, "no events"},
        {"program x\ntemplate t {\ncompute 1ms\n", 3, "'}' of the template of line 2 is missing"},
        {"program x\ntemplate t\n", 2, "'template NAME {'"},
        {"program x\ntemplate t {\ncomput 1ms\n}\n", 3, "unknown word 'comput'"},
        {"program x\ntemplate t {\ncompute\n}\n", 3, "duration is missing"},
        {"program x\ntemplate t {\ncompute 1ms mixed\n}\n", 3, "no mix 'mixed'"},
        {"program x\ntemplate t {\nsend c 1B\n}\n", 3, "no channel 'c'"},
        {"program x\ntemplate t {\nwait stream 64\n}\n", 3, "from 0 to 63"},
        {"program x\ntemplate t {\nalloc stuff 1GB\n}\n", 3, "class of memory"},
        {"program x\ntemplate t {\nalloc other 1GB extra\n}\n", 3, "unexpected 'extra'"},
        {"program x\nclass a {\nslot t\n}\n", 3, "no template 't'"},
        {"program x\nclass a {\nslot - G 0 0 {\ncompute 1ms\n}\n}\n", 3, "not 'G'"},
        {"program x\nclass a {\nslot - F 0 {\ncompute 1ms\n}\n}\n", 3, "a slot is"},
        {"program x\nclass a {\nslot t {\ncompute 1ms\n}\nslot t {\ncompute 2ms\n}\n}\n", 8, "other events"},
        {"program x\nclass a {\n", 2, "'}' of the class of line 2"},
        {"program x\nclass a {\n}\nclass a {\n}\n", 4, "second class 'a'"},
        {"program x\nclass a ranks 0 {\n}\n", 2, "from 1 to"},
        {"program x\nclass a {\nmemory weigths 1GB\n}\n", 3, "unknown word 'weigths'"},
        {"program \"x\n", 1, "quote is not closed"},
        {"program \"x\"y\n", 1, "followed by a space"},
        {"program x\"y\n", 1, "start of a word"},
        {"program 1234567890123456789012345678901234567890123456789012345678901234\n", 1, "longer than 63"},
    };
    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++) {
        struct ss_error err = {0};
        struct ss_program *p = parse(cases[i].text, &err);
        if (p || err.code != SS_ERR_INPUT || (cases[i].line && err.line != cases[i].line) ||
            strcmp(err.file, "t.prog") != 0 || !strstr(err.message, cases[i].words)) {
            fprintf(stderr, "case %zu: '%s' line %d, expected '%s' line %d\n", i, err.message, err.line,
                    cases[i].words, cases[i].line);
            CU_FAIL("text error");
        }
        CU_ASSERT_PTR_NULL(parse(cases[i].text, NULL));
        ss_program_free(p);
    }
    struct ss_program *p = NULL;
    struct ss_error err = {0};
    CU_ASSERT_EQUAL(ss_program_parse("program x\0class", 15, "t.prog", &p, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_program_read("/nonexistent/file.prog", &p, &err), SS_ERR_IO);
}

/* ---- check ---- */

#define TWO_CLASSES(a, b)                                                                                    \
    "program x\npath p\nchannel f from a to b path p rendezvous yes\nchannel g from b to a path p tag 1\n"   \
    "collective k {\nmembers a b\n}\ncollective l {\nmembers a b\n}\n"                                       \
    "class a {\n" a "}\nclass b {\n" b "}\n"

static void expect_check(const char *text, int code, int line, const char *words, const char *more)
{
    struct ss_error err = {0};
    struct ss_program *p = parse(text, &err);
    int rc = p ? ss_program_check(p, &err) : 1;
    if (rc != code || (line && err.line != line) || (words && !strstr(err.message, words)) ||
        (more && !strstr(err.message, more))) {
        fprintf(stderr, "%d line %d: '%s', expected %d line %d '%s' '%s'\n", rc, err.line, err.message, code,
                line, words ? words : "", more ? more : "");
        CU_FAIL("check");
    }
    if (p)
        CU_ASSERT_EQUAL(ss_program_check(p, NULL), code);
    ss_program_free(p);
}

/* Tags tell the channels between two classes apart, in whatever order they stand. */
TEST(tags)
{
    expect_check(TWO_CLASSES("compute 1ms\n", "compute 1ms\n") "channel h from a to b path p tag 1\n"
                                                               "channel i from a to b path p tag 2\n"
                                                               "channel j from a to b path p tag 3\n",
                 SS_OK, 0, NULL, NULL);
    expect_check(TWO_CLASSES("compute 1ms\n", "compute 1ms\n") "channel h from a to b path p tag 1\n"
                                                               "channel i from a to b path p tag 0\n"
                                                               "channel j from a to b path p tag 2\n"
                                                               "channel k from a to b path p tag 3\n"
                                                               "channel l from a to b path p tag 4\n",
                 SS_ERR_INPUT, 18, "two channels from a to b have tag 0", NULL);
    expect_check(TWO_CLASSES("compute 1ms\n", "compute 1ms\n") "channel h from a to b path p tag 1\n"
                                                               "channel i from a to b path p tag 2\n"
                                                               "channel j from a to b path p tag 3\n"
                                                               "channel k from a to b path p tag 2\n"
                                                               "channel l from a to b path p tag 4\n",
                 SS_ERR_INPUT, 20, "two channels from a to b have tag 2", NULL);
}

TEST(deadlocks)
{
    /* Each wants to be given first. The first class line is 10 lines down. */
    expect_check(TWO_CLASSES("recv g\nwait-recv g\nsend f 1B\n", "recv f\nwait-recv f\nsend g 1B\n"),
                 SS_ERR_DEADLOCK, 13,
                 "class a slot 0 event 1 (wait-recv on channel b>a tag 1, line 13) waits for class b",
                 "class b slot 0 event 1 (wait-recv on channel a>b tag 0, line 18) waits for class a");
    /* Both send first on rendezvous channels; the second is eager and would not block. */
    expect_check(TWO_CLASSES("send f 1B\nwait-send f\nrecv g\nwait-recv g\n",
                             "send g 1B\nwait-send g\nrecv f\nwait-recv f\n"),
                 SS_OK, 0, NULL, NULL);
    /* The partner has ended. */
    expect_check(TWO_CLASSES("recv g\nwait-recv g\n", "compute 1ms\n"), SS_ERR_DEADLOCK, 13, "class a",
                 "has ended");
    /* Collectives in different orders on one stream. */
    expect_check(TWO_CLASSES("post k\npost l\nwait\n", "post l\npost k\nwait\n"), SS_ERR_DEADLOCK, 14,
                 "'k' on stream 0", "'l' on stream 0");
    expect_check(TWO_CLASSES("post k\npost l stream 1\nwait\nwait stream 1\n",
                             "post l\npost k stream 1\nwait\nwait stream 1\n"),
                 SS_OK, 0, NULL, NULL);
    /* A collective against a receive. */
    expect_check(TWO_CLASSES("post k\nwait\nsend f 1B\n", "recv f\nwait-recv f\npost k\n"), SS_ERR_DEADLOCK,
                 0, "wait for 'k'", "wait-recv");
    /* The same collective again and again, on one stream and on two. */
    expect_check(TWO_CLASSES("post k\npost k\npost k\nwait\nwait\nwait\n",
                             "post k\nwait\npost k\nwait\npost k\nwait\n"),
                 SS_OK, 0, NULL, NULL);
    expect_check(
        TWO_CLASSES("post k\npost k stream 1\nwait\nwait stream 1\n", "post k\npost k\nwait\nwait\n"), SS_OK,
        0, NULL, NULL);
}

TEST(check_errors)
{
    expect_check(TWO_CLASSES("send f 1B\n", "compute 1s\n"), SS_ERR_INPUT, 3, "1 sends meet 0 receives",
                 NULL);
    expect_check(TWO_CLASSES("wait-recv g\n", "send g 1B\n"), SS_ERR_INPUT, 12, "no receive to wait for",
                 "class a slot 0 event 0");
    expect_check(TWO_CLASSES("wait-send f\n", ""), SS_ERR_INPUT, 12, "no send to wait for", NULL);
    expect_check(TWO_CLASSES("wait\n", ""), SS_ERR_INPUT, 12, "no collective to wait for", NULL);
    expect_check(TWO_CLASSES("send g 1B\n", "recv g\n"), SS_ERR_INPUT, 12, "not the sender", NULL);
    expect_check(TWO_CLASSES("recv f\n", ""), SS_ERR_INPUT, 12, "not the receiver", NULL);
    expect_check(TWO_CLASSES("post k\n", ""), SS_ERR_INPUT, 5, "never by all its members", NULL);
    expect_check(TWO_CLASSES("alloc other 1MB\nfree other 2MB\n", ""), SS_ERR_INPUT, 13, "frees more memory",
                 NULL);
    expect_check(TWO_CLASSES("alloc other 1MB\nfree weights 1MB\n", ""), SS_ERR_INPUT, 13,
                 "frees more memory", NULL);
    expect_check("program x\npath p\nchannel f from a to a path p\nclass a {\n}\n", SS_ERR_INPUT, 3,
                 "two classes", NULL);
    expect_check("program x\npath p\nchannel f from a to b path p\nchannel g from a to b path p\nclass a "
                 "{\n}\nclass b {\n}\n",
                 SS_ERR_INPUT, 4, "have tag 0", NULL);
    expect_check("program x\ncollective k {\nmembers a a\n}\nclass a {\n}\n", SS_ERR_INPUT, 2, "twice", NULL);
    expect_check("program x\ncollective k {\nmembers a\n}\nclass a {\n}\nclass b {\npost k\n}\n",
                 SS_ERR_INPUT, 8, "without being a member", NULL);
    expect_check("program x\nmemory-overhead 0.5\n", SS_ERR_INPUT, 0, "less than 1", NULL);
    expect_check("program x\n", SS_OK, 0, NULL, NULL);
    expect_check("program x\nclass a {\n}\n", SS_OK, 0, NULL, NULL);
    expect_check("program x\nclass a streams 1 {\nwait stream 1\n}\n", SS_ERR_INPUT, 3, "no stream 1", NULL);
}

static void damage(struct ss_program *p, int *field, int value)
{
    int old = *field;
    *field = value;
    CU_ASSERT_EQUAL(ss_program_check(p, NULL), SS_ERR_INPUT);
    *field = old;
    CU_ASSERT_EQUAL(ss_program_check(p, NULL), SS_OK);
}

static void damage_double(struct ss_program *p, double *field, double value)
{
    double old = *field;
    *field = value;
    CU_ASSERT_EQUAL(ss_program_check(p, NULL), SS_ERR_INPUT);
    *field = old;
}

TEST(check_ranges)
{
    struct fixture *f = fixture_make("1f1b", 2, 1, 3, 1, FIXTURE_DP | FIXTURE_EXTRA);
    struct ss_program *p = lower(f);
    CU_ASSERT_FATAL(p != NULL);
    damage(p, &p->paths[0].nlinks, SS_ROUTE_MAX + 1);
    damage(p, &p->paths[0].link[0], p->nlinks);
    damage(p, &p->channels[0].path, -1);
    damage(p, &p->channels[0].to, 2);
    damage(p, &p->collectives[0].members[0], 2);
    damage(p, &p->collectives[0].label, SS_LABEL_COUNT);
    damage(p, &p->templates[0].events[0].kind, SS_EVENT_COUNT);
    damage(p, &p->templates[0].events[0].index, p->nmixes);
    damage(p, &p->templates[0].nevents, 0);
    damage(p, &p->classes[0].slots[1].template_index, p->ntemplates);
    damage(p, &p->classes[0].slots[1].phase, SS_PHASE_COUNT);
    damage(p, &p->classes[0].count, 0);
    damage(p, &p->classes[0].nstreams, 1);
    damage_double(p, &p->templates[0].events[0].amount, NAN);
    damage_double(p, &p->templates[0].events[0].amount, -1);
    damage_double(p, &p->links[0].bandwidth, 0);
    damage_double(p, &p->paths[0].weight[0], 0);
    damage_double(p, &p->mixes[0].fraction[0], 2);
    damage_double(p, &p->channels[0].latency, INFINITY);
    damage_double(p, &p->channels[0].sm_share, 1.5);
    damage_double(p, &p->collectives[0].bytes, -1);
    damage_double(p, &p->classes[0].memory[0], -1);
    damage_double(p, &p->memory_overhead_factor, NAN);
    snprintf(p->classes[1].name, sizeof p->classes[1].name, "%s", p->classes[0].name);
    CU_ASSERT_EQUAL(ss_program_check(p, NULL), SS_ERR_INPUT);
    ss_program_free(p);
    fixture_free(f);
    CU_ASSERT_STRING_EQUAL(ss_event_name(SS_EV_WAIT_RECV), "wait-recv");
    CU_ASSERT_STRING_EQUAL(ss_event_name(-1), "?");
    ss_program_free(NULL);
}
