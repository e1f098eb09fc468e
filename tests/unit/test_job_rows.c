/* SPDX-License-Identifier: Apache-2.0 */
/* Every row of validation/runs.csv is accepted or refused as it was when it was run. */
#include <CUnit/Basic.h>
#include <stdarg.h>

#include "base/base.h"
#include "job_helper.h"
#include "stepsim/job.h"

#define MAX_COLUMNS 64
struct row {
    char *value[MAX_COLUMNS];
    int n;
};
static struct row header;

static void split_row(char *line, struct row *row)
{
    row->n = 0;
    while (line && row->n < MAX_COLUMNS) {
        char *out = line, *in = line;
        row->value[row->n++] = line;
        int quoted = *in == '"';
        in += quoted;
        while (*in && (quoted ? *in != '"' || in[1] == '"' : *in != ',')) {
            in += quoted && *in == '"';
            *out++ = *in++;
        }
        in += quoted && *in == '"';
        line = *in == ',' ? in + 1 : NULL;
        *out = 0;
    }
}

static const char *get(const struct row *row, const char *name)
{
    for (int i = 0; i < header.n && i < row->n; i++)
        if (!strcmp(header.value[i], name))
            return row->value[i];
    CU_FAIL("no such column");
    return "";
}

static int is(const struct row *row, const char *name, const char *value)
{
    return !strcmp(get(row, name), value);
}

static void add(char *flags, const char *fmt, ...)
{
    va_list args;
    size_t n = strlen(flags);

    va_start(args, fmt);
    vsnprintf(flags + n, 4096 - n, fmt, args);
    va_end(args);
}

static void row_to_flags(const struct row *r, char *flags)
{
    static const char *const same[][2] = {
        {"num_layers", "--num-layers"},
        {"hidden_size", "--hidden-size"},
        {"ffn_hidden_size", "--ffn-hidden-size"},
        {"num_attention_heads", "--num-attention-heads"},
        {"num_query_groups", "--num-query-groups"},
        {"kv_channels", "--kv-channels"},
        {"vocab_size", "--vocab-size"},
        {"tp", "--tp"},
        {"pp", "--pp"},
        {"cp", "--cp"},
        {"layers_per_virtual_stage", "--num-layers-per-virtual-pipeline-stage"},
        {"micro_batch", "--mbs"},
        {"global_batch", "--gbs"},
        {"seq_length", "--seq"},
        {"seq_length", "--max-position-embeddings"},
        {"fsdp", "--fsdp"},
        {"stack", "--stack"}};

    flags[0] = 0;
    for (size_t i = 0; i < SS_ARRAY_LEN(same); i++)
        if (get(r, same[i][0])[0])
            add(flags, " %s %s", same[i][1], get(r, same[i][0]));
    add(flags, " --position-embedding-type %s", is(r, "position", "rope") ? "rope" : "learned_absolute");
    add(flags, is(r, "gated_mlp", "true") ? " --swiglu --disable-bias-linear" : "");
    add(flags, is(r, "tied_embeddings", "true") ? "" : " --untie-embeddings-and-output-weights");
    add(flags, " --precision %s", get(r, "precision"));
    add(flags, " --attention-backend %s", get(r, "attention"));
    add(flags, " --recompute %s", get(r, "recompute"));
    if (get(r, "recompute_num_layers")[0])
        add(flags, " --recompute-num-layers %s", get(r, "recompute_num_layers"));
    add(flags, is(r, "sequence_parallel", "true") ? " --sequence-parallel" : "");
    add(flags, is(r, "optimizer", "distributed") ? " --use-distributed-optimizer" : "");
    add(flags, is(r, "cpu_offload", "true") ? " --cpu-offloading --cpu-offloading-num-layers 1" : "");
    add(flags, is(r, "tp_comm_overlap", "true") ? " --tp-comm-overlap" : "");
    add(flags, is(r, "grad_param_overlap", "true") ? " --overlap-grad-reduce --overlap-param-gather" : "");
}

/* Refused by the launcher, too large for the cluster, or (in rows that were never run, or are known to be
 * misreported) a layout that Megatron's own checks refuse. */
static void check_row(const struct row *r)
{
    int virtual_at_one = is(r, "pp", "1") && get(r, "layers_per_virtual_stage")[0];
    int uneven = atoi(get(r, "num_layers")) % atoi(get(r, "pp")) != 0;
    int refused = is(r, "outcome", "config-error") || strstr(get(r, "note"), "needs 128 GPUs") ||
                  virtual_at_one || uneven;
    char flags[4096];
    struct ss_job job;
    struct ss_error err = {0};

    row_to_flags(r, flags);
    int rc = complete(&job, flags, atoi(get(r, "nodes")) * atoi(get(r, "gpus_per_node")), NULL, &err);
    if (rc != (refused ? SS_ERR_CONFIG : 0))
        fprintf(stderr, "%s (%s): %d %s\n", get(r, "id"), get(r, "outcome"), rc, err.message);
    CU_ASSERT_EQUAL(rc, refused ? SS_ERR_CONFIG : 0);
    if (!is(r, "outcome", "config-error") || !strchr(get(r, "note"), ':'))
        return;
    const char *reason = strchr(get(r, "note"), ':') + 2; /* behind "ValueError: " */
    if (!strstr(err.message, reason))
        fprintf(stderr, "%s: %s\n", get(r, "id"), err.message);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, reason));
}

static void test_measured_rows(void)
{
    char *text, *rest, *line, *head;
    size_t len, rows = 0;

    CU_ASSERT_EQUAL_FATAL(ss_file_read(SS_SOURCE_DIR "/validation/runs.csv", 1 << 24, &text, &len, NULL), 0);
    head = strtok_r(text, "\r\n", &rest);
    split_row(head, &header);
    CU_ASSERT_FATAL(header.n > 40);
    while ((line = strtok_r(NULL, "\r\n", &rest)) != NULL) {
        struct row r;
        split_row(line, &r);
        CU_ASSERT_EQUAL_FATAL(r.n, header.n);
        check_row(&r);
        rows++;
    }
    CU_ASSERT_EQUAL(rows, 107);
    free(text);
}

int main(void)
{
    if (CU_initialize_registry() != CUE_SUCCESS)
        return 2;
    CU_pSuite s = CU_add_suite("job rows", NULL, NULL);
    if (!s || !CU_add_test(s, "measured rows", test_measured_rows))
        return 2;
    CU_basic_set_mode(CU_BRM_NORMAL);
    CU_basic_run_tests();
    int bad = CU_get_number_of_failures() > 0 || CU_get_number_of_tests_run() == 0;
    CU_cleanup_registry();
    return bad;
}
