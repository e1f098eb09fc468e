/* SPDX-License-Identifier: Apache-2.0 */
/* Stacks: every file loads, bases and cards rule as documented, one clear error for each mistake. */
#include <unistd.h>

#include "base/base.h"
#include "model/stack_internal.h"
#include "suite.h"

static int parse(const char *text, const char *card, struct ss_stack *s, struct ss_error *err)
{
    return ss_stack_parse(text, strlen(text), "x.xml", card, s, err);
}

TEST(every_file_loads)
{
    static const char *const cards[] = {NULL, "H800", "H20", "V100", "A100", "H100"};
    char **names;
    size_t n;

    CU_ASSERT_EQUAL_FATAL(ss_data_list("workloads/stacks", ".xml", &names, &n, NULL), 0);
    CU_ASSERT(n >= 4);
    for (size_t i = 0; i < n; i++)
        for (size_t c = 0; c < SS_ARRAY_LEN(cards); c++) {
            struct ss_stack s;
            struct ss_error err = {0};
            int rc = ss_stack_load(names[i], cards[c], &s, &err);
            if (rc)
                fprintf(stderr, "%s: %s:%d %s\n", names[i], err.file, err.line, err.message);
            CU_ASSERT_EQUAL(rc, 0);
            CU_ASSERT(rc || !strcmp(s.name, names[i]));
            CU_ASSERT(rc || s.about[0]);
        }
    ss_names_free(names, n);
}

TEST(known_stacks)
{
    struct ss_stack s;

    CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2021", "V100", &s, NULL), 0);
    CU_ASSERT_EQUAL(s.te_layers, 0);
    CU_ASSERT_EQUAL(s.attention_auto, SS_STACK_UNFUSED);
    CU_ASSERT_EQUAL(s.timers, SS_TIMERS_MEGATRON_2021);
    CU_ASSERT_EQUAL(s.framework, SS_FRAMEWORK_MEGATRON);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("nemo-24.11", "H100", &s, NULL), 0);
    CU_ASSERT_EQUAL(s.attention_auto, SS_STACK_FUSED);
    CU_ASSERT_EQUAL(s.framework, SS_FRAMEWORK_NEMO);
    CU_ASSERT_EQUAL(s.memory_logged, SS_LOGGED_PEAK);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-deepspeed-2022", "A100-80GB", &s, NULL), 0);
    CU_ASSERT_EQUAL(s.memory_logged, SS_LOGGED_FIRST);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-bridge-2026", "H100", &s, NULL), 0);
    CU_ASSERT_EQUAL(s.memory_logged, SS_LOGGED_LAST);
}

/* Transformer Engine takes cuDNN's attention on Hopper, PyTorch from 2.11 on there and on Blackwell, torchtitan of 2025 on Blackwell. */
TEST(attention_taken)
{
    static const struct {
        const char *stack, *card;
        int kernel;
    } rows[] = {{"deepspeed-2026", "H100-80GB", SS_STACK_FUSED},
                {"deepspeed-2026", "A100-80GB", SS_STACK_FLASH},
                {"accelerate-2026", "B200-180GB", SS_STACK_FUSED},
                {"torchtitan-2025", "H100-80GB", SS_STACK_FLASH},
                {"torchtitan-2025", "GB200-186GB", SS_STACK_FUSED},
                {"nemo-24.03", "H100-80GB", SS_STACK_FUSED},
                {"megatron-2407", "H800-80GB", SS_STACK_FLASH},
                {"megatron-bridge-26.02", "H20-96GB", SS_STACK_FUSED},
                {"megatron-bridge-26.02", "A100-80GB", SS_STACK_FLASH},
                {"llm-foundry-2023", "H20-96GB", SS_STACK_FLASH},
                {"megatron-2407", "V100-16GB", SS_STACK_UNFUSED},
                {"megatron-bridge-26.08", "V100-32GB", SS_STACK_UNFUSED},
                {"deepspeed-2026", "V100-16GB", SS_STACK_FLASH},
                {"deepseek-v3", "H800-80GB", SS_STACK_FLASH}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_stack s;
        CU_ASSERT_EQUAL_FATAL(ss_stack_load(rows[i].stack, rows[i].card, &s, NULL), 0);
        CU_ASSERT_EQUAL(s.attention_auto, rows[i].kernel);
    }
}

/* The rows of SS_STACK_PROPS are consistent, and every one can be set by its id. */
TEST(every_prop)
{
    struct ss_stack s;
    char text[64];

    CU_ASSERT_EQUAL_FATAL(parse("<stack name='x'/>", NULL, &s, NULL), 0);
#define X(field, id, unit, def, lo, hi, doc)                                                                 \
    CU_ASSERT_EQUAL(s.field, (double)(def));                                                                 \
    CU_ASSERT((double)(lo) <= (double)(def) && (double)(def) <= (double)(hi));                               \
    CU_ASSERT_EQUAL(ss_stack_set(&s, id, ss_unit_format(hi, SS_UNIT_##unit, text, sizeof(text)), NULL), 0);  \
    CU_ASSERT_EQUAL(s.field, (double)(hi));                                                                  \
    CU_ASSERT_EQUAL(ss_stack_set(&s, id, ss_unit_format(lo, SS_UNIT_##unit, text, sizeof(text)), NULL), 0);  \
    CU_ASSERT_EQUAL(s.field, (double)(lo));
    SS_STACK_PROPS(X)
#undef X
}

/* Name of the base that a stack's file gives; empty: none. */
static void base_of(const char *name, char out[64])
{
    char path[PATH_MAX], *text = NULL;
    size_t len;

    out[0] = 0;
    CU_ASSERT_EQUAL_FATAL(ss_data_find("workloads/stacks", name, ".xml", path, sizeof path, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_file_read(path, 1 << 20, &text, &len, NULL), 0);
    const char *at = strstr(text, " base=\"");
    if (at)
        sscanf(at, " base=\"%63[^\"]", out);
    free(text);
}

/* H100, H200 and H800 are one piece of silicon, so no stack has other kernels on one of them. */
static void check_hopper(const char *name)
{
    struct ss_stack one, other;

    CU_ASSERT_EQUAL_FATAL(ss_stack_load(name, "H100-80GB", &one, NULL), 0);
    for (int i = 0; i < 2; i++) {
        CU_ASSERT_EQUAL_FATAL(ss_stack_load(name, i ? "H200-141GB" : "H800-80GB", &other, NULL), 0);
        other.tp_overlap_sms = one.tp_overlap_sms; /* of NVLink, of which H800 has half */
#define X(field, id, unit, def, lo, hi, doc)                                                                 \
    if (one.field != other.field)                                                                            \
        CU_FAIL_FATAL("a stack's " id " differs among Hopper cards");
        SS_STACK_PROPS(X)
#undef X
    }
}

/* A value for all cards takes the place of those that a base has for one: a file that gives the first gives the others, too. */
static void check_base(const char *name, const char *base, const char *card)
{
    struct ss_stack any, here, base_any, base_here;

    CU_ASSERT_EQUAL_FATAL(ss_stack_load(name, NULL, &any, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load(name, card, &here, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load(base, NULL, &base_any, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_stack_load(base, card, &base_here, NULL), 0);
    base_here.tp_overlap_sms = base_any.tp_overlap_sms;       /* of user buffers, which PyTorch has none of */
    base_here.attention_offered = base_any.attention_offered; /* a framework may have no more than the card */
#define X(field, id, unit, def, lo, hi, doc)                                                                 \
    if (base_here.field != base_any.field && any.field != base_any.field && here.field == any.field) {       \
        fprintf(stderr, "%s on %s: %s\n", name, card, id);                                                   \
        CU_FAIL("a value for all cards hides what a base has for one");                                      \
    }
    SS_STACK_PROPS(X)
#undef X
}

TEST(cards_of_all)
{
    static const char *const cards[] = {"H800-80GB", "H20-96GB",   "V100-16GB",  "A100-80GB",
                                        "H100-80GB", "B200-180GB", "GB200-186GB"};
    char **names, base[64];
    size_t n;

    CU_ASSERT_EQUAL_FATAL(ss_data_list("workloads/stacks", ".xml", &names, &n, NULL), 0);
    for (size_t i = 0; i < n; i++) {
        check_hopper(names[i]);
        base_of(names[i], base);
        for (size_t c = 0; base[0] && c < SS_ARRAY_LEN(cards); c++)
            check_base(names[i], base, cards[c]);
    }
    ss_names_free(names, n);
}

#define P(id, more) "<prop id='" id "' " more "/>"

TEST(cards_and_bases)
{
    static const char text[] =
        "<stack name='x' base='nemo-24.03'>" P("ss.host.operator", "card='H20' value='2us'")
            P("ss.host.operator", "value='1us'") "</stack>";
    struct ss_stack s;

    CU_ASSERT_EQUAL_FATAL(parse(text, "H20", &s, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(s.host_operator, 2e-6, 1e-18);
    CU_ASSERT_EQUAL(s.framework, SS_FRAMEWORK_NEMO);
    CU_ASSERT_STRING_EQUAL(s.name, "x");
    CU_ASSERT_EQUAL_FATAL(parse(text, "H100", &s, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(s.host_operator, 1e-6, 1e-18);
    CU_ASSERT_EQUAL_FATAL(parse(text, NULL, &s, NULL), 0);
    CU_ASSERT_DOUBLE_EQUAL(s.host_operator, 1e-6, 1e-18);
}

TEST(errors)
{
    static const struct {
        const char *text, *word;
        int line;
    } bad[] = {
        {"", "", -1},
        {"<stack name='x'>", "", -1},
        {"<platform name='x'/>", "platform", 1},
        {"<stack/>", "name", 1},
        {"<stack name=''/>", "name", 1},
        {"<stack name='x' bas='y'/>", "bas", 1},
        {"<stack name='x' base='no-such-stack'/>", "no-such-stack", 1},
        {"<stack name='x'>\n<link/></stack>", "link", 2},
        {"<stack name='x'>\n<prop id='ss.host.operator'/></stack>", "value", 2},
        {"<stack name='x'>\n<prop value='1'/></stack>", "id", 2},
        {"<stack name='x'>\n\n<prop id='ss.host.operatorp' value='1us'/></stack>", "ss.host.operatorp", 3},
        {"<stack name='x'>\n<prop id='ss.host.operator' value='1'/></stack>", "ss.host.operator", 2},
        {"<stack name='x'>\n<prop id='ss.host.operator' value='1GB'/></stack>", "ss.host.operator", 2},
        {"<stack name='x'>\n<prop id='ss.host.operator' value='9s'/></stack>", "outside", 2},
        {"<stack name='x'>\n<prop id='ss.host.operator' value='nan'/></stack>", "ss.host.operator", 2},
        {"<stack name='x'>\n<prop id='ss.host.operator' value='-1us'/></stack>", "ss.host.operator", 2},
        {"<stack name='x'>\n<prop id='ss.timers' value='torch'/></stack>", "torch", 2},
        {"<stack name='x'>\n<prop id='ss.framework' value=''/></stack>", "ss.framework", 2},
        {"<stack name='x'>\n<prop id='ss.host.operator' crd='H20' value='1us'/></stack>", "crd", 2},
        {"<stack name='x'>\n<prop id='ss.host.operator' value='1us'/>\n<prop id='ss.host.operator' "
         "value='1us'/></stack>",
         "twice", 3},
        {"<stack name='x'>\n<prop id='ss.comm.sms.nvlink' value='1'/>\n<prop id='ss.comm.sms.fabric' "
         "value='1'/></stack>",
         "twice", 3}, /* by its two ids */
        /* of another card, and wrong all the same */
        {"<stack name='x'>\n<prop id='ss.host.operator' card='B200' value='9s'/></stack>", "outside", 2},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(bad); i++) {
        struct ss_stack s;
        struct ss_error err = {0};
        CU_ASSERT_EQUAL(parse(bad[i].text, "H20", &s, &err), SS_ERR_INPUT);
        if (!strstr(err.message, bad[i].word))
            fprintf(stderr, "%zu: %s\n", i, err.message);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, bad[i].word));
        CU_ASSERT_STRING_EQUAL(err.file, "x.xml");
        if (bad[i].line >= 0)
            CU_ASSERT_EQUAL(err.line, bad[i].line);
    }
    struct ss_stack s;
    struct ss_error err = {0};
    parse("<stack name='x'><prop id='ss.host.operatorp' value='1us'/></stack>", NULL, &s, &err);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "ss.host.operator"));
}

static void write_text(const char *path, const char *text)
{
    FILE *f = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
}

TEST(base_cycle)
{
    char dir[] = "/tmp/stepsim-stack-XXXXXX", a[64], b[64], text[256];
    struct ss_stack s;
    struct ss_error err = {0};

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    snprintf(a, sizeof(a), "%s/a.xml", dir);
    snprintf(b, sizeof(b), "%s/b.xml", dir);
    snprintf(text, sizeof(text), "<stack name='a'\n base='%s'/>", b);
    write_text(a, text);
    snprintf(text, sizeof(text), "<stack name='b' base='%s'/>", a);
    write_text(b, text);
    CU_ASSERT_EQUAL(ss_stack_load(a, NULL, &s, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "leads back"));
    CU_ASSERT_STRING_EQUAL(err.file, b);
    unlink(a);
    unlink(b);
    rmdir(dir);
}

/* A release without a file takes the nearest of the same framework, by date where releases are dates. */
TEST(nearest_release)
{
    static const char *const names[] = {
        "megatron-2021", "megatron-2407", "megatron-lm-ci-2025", "nemo-24.03",  "nemo-24.11",
        "nemo-25.03",    "mlperf-v4.1",   "mlperf-v5.0",         "deepseek-v3", "mine"};
    static const struct {
        const char *name, *near;
        int months;
    } pairs[] = {{"nemo-25.01", "nemo-24.11", 2}, /* two months from either: the older */
                 {"nemo-1.0", "nemo-24.03", 24279},
                 {"nemo-24.11.02", "nemo-24.11", 1},
                 {"NeMo-26.02", "nemo-25.03", 11},
                 {"megatron-2309", "megatron-2407", 10}, /* 2021 is 33 before */
                 {"megatron-2020", "megatron-2021", 12},
                 {"mlperf-v5.1", "mlperf-v5.0", 1},
                 {"mlperf-v4.0", "mlperf-v4.1", 1},
                 {"megatron-lm-2024", NULL, INT_MAX}, /* another framework than megatron and megatron-lm-ci */
                 {"megatron", NULL, INT_MAX},
                 {"mine-2", NULL, INT_MAX},
                 {"megatrn-2407", NULL, INT_MAX},
                 {"deepseek-v4", "deepseek-v3", 12},
                 /* no releases */
                 {"nemo-1x", "nemo-24.03", INT_MAX},
                 {"nemo-24.11rc1", "nemo-24.11", INT_MAX},
                 {"nemo-24.13", "nemo-24.11", INT_MAX},
                 {"nemo-25.", "nemo-24.11", INT_MAX},
                 {"megatron-2400", "megatron-2407", INT_MAX},
                 {"nemo-99", "nemo-25.03", 885}};
    struct ss_stack s;

    for (size_t i = 0; i < SS_ARRAY_LEN(pairs); i++) {
        int months;
        const char *near = ss_release_nearest(names, SS_ARRAY_LEN(names), pairs[i].name, &months);
        CU_ASSERT(pairs[i].near ? near && !strcmp(near, pairs[i].near) : !near);
        CU_ASSERT_EQUAL(months, pairs[i].months);
        if (months != pairs[i].months)
            fprintf(stderr, "%s: %s, %d\n", pairs[i].name, near ? near : "none", months);
    }
    static const char *const far[] = {"nemo-1x", "nemo-99", "nemo-24.13", "megatron-2017", "deepseek-v7"};
    for (size_t i = 0; i < SS_ARRAY_LEN(far); i++) {
        struct ss_error err = {0};
        CU_ASSERT_EQUAL(ss_stack_load(far[i], "H800", &s, &err), SS_ERR_IO);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, far[i]));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "did you mean"));
    }
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("deepseek-v6", "H800", &s, NULL), 0); /* 36 months */
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2408", "H800", &s, NULL), 0);
    CU_ASSERT_STRING_EQUAL(s.name, "megatron-2407");
    CU_ASSERT_STRING_EQUAL(s.asked, "megatron-2408");
    CU_ASSERT_EQUAL_FATAL(ss_stack_load("Megatron_2407", "H800", &s, NULL), 0);
    CU_ASSERT_STRING_EQUAL(s.asked, "");
}

TEST(failure_leaves_stack)
{
    struct ss_stack s;
    struct ss_error err = {0};

    CU_ASSERT_EQUAL_FATAL(ss_stack_load("megatron-2407", "H800", &s, NULL), 0);
    struct ss_stack before = s;
    CU_ASSERT_EQUAL(ss_stack_set(&s, "ss.host.operator", "1 hour", &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(ss_stack_load("no-such-stack", NULL, &s, &err), SS_ERR_IO);
    CU_ASSERT_EQUAL(memcmp(&s, &before, sizeof(s)), 0);
}
