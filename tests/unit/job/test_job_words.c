/* SPDX-License-Identifier: Apache-2.0 */
/* Words and files of flags: quotes, lines, precedence, and one clear error for each mistake. */
#include <unistd.h>

#include "base/base.h"
#include "job/flags.h"
#include "job_helper.h"
#include "stepsim/flags.h"
#include "suite.h"

/* Words that cannot be understood; the job stays as it was. */
TEST(bad_words)
{
    static const struct {
        const char *flags;
        int code;
        const char *message, *hint;
    } rows[] = {
        {"--tensor-model-paralel-size 2", SS_ERR_USAGE, "--tensor-model-paralel-size",
         "--tensor-model-parallel-size"},
        {"--seqq 1", SS_ERR_USAGE, "unknown flag --seqq", "--seq"},
        {"--xyzzyxyzzyxyzzy", SS_ERR_USAGE, "unknown flag", "docs/reference/flags.md"},
        {"8", SS_ERR_USAGE, "\"8\" is no flag", "--"},
        {"-tp 8", SS_ERR_USAGE, "is no flag", "--"},
        {"--bf16 true", SS_ERR_USAGE, "\"true\" is no flag", ""},
        {"--bf16=1", SS_ERR_USAGE, "takes no value", ""},
        {"--tp", SS_ERR_USAGE, "needs a value", ""},
        {"--tp --pp 2", SS_ERR_USAGE, "--tp needs a value", ""},
        {"--tp=", SS_ERR_USAGE, "whole number", ""},
        {"--tp 2.5", SS_ERR_USAGE, "whole number in 1..", ""},
        {"--tp 2x", SS_ERR_USAGE, "whole number", ""},
        {"--tp 0", SS_ERR_USAGE, "whole number in 1..", ""},
        {"--tp -1", SS_ERR_USAGE, "whole number in 1..", ""},
        {"--tp 99999999999999999999", SS_ERR_USAGE, "whole number", ""},
        {"--attention-dropout 1.5", SS_ERR_USAGE, "number in 0..1", ""},
        {"--attention-dropout nan", SS_ERR_USAGE, "number in 0..1", ""},
        {"--attention-backend flsh", SS_ERR_USAGE, "none of flash fused unfused", ""},
        {"--measured 100", SS_ERR_USAGE, "--measured", ""},
        {"--measured 0ms", SS_ERR_USAGE, "above 0", ""},
        {"--measured-memory 7GHz", SS_ERR_USAGE, "--measured-memory", ""},
        {"--rank-order tp-tp", SS_ERR_USAGE, "each once", ""},
        {"--rank-order tp-cp-", SS_ERR_USAGE, "each once", ""},
        {"--fsdp half", SS_ERR_USAGE, "full, grad, hybrid", ""},
        {"--vp 0", SS_ERR_USAGE, "whole number in 1..", ""},
        {"--dp 4", SS_ERR_USAGE, "unknown flag --dp", "GPUs / (tp x pp x cp)"},
        {"--zero-stage 1", SS_ERR_USAGE, "unknown flag", "--use-distributed-optimizer"},
        {"--cp-comm-type p2p a2a", SS_ERR_UNSUPPORTED, "differs between layers", ""},
        {"--optimizer sgd", SS_ERR_UNSUPPORTED, "only adam", ""},
        {"--te-precision-config-file x", SS_ERR_UNSUPPORTED, "not modelled", ""},
        {"--batch-size 4", SS_ERR_UNSUPPORTED, "--micro-batch-size", ""},
        {"--num-distributed-optimizer-instances 2", SS_ERR_UNSUPPORTED, "only 1", ""},
        {"--job", SS_ERR_USAGE, "--job needs a file", ""},
        {"--job /no/such/file", SS_ERR_IO, "", ""},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_asked asked, before;
        struct ss_error err = {0};
        char flags[256];
        ss_asked_init(&asked);
        before = asked;
        snprintf(flags, sizeof(flags), "--pp 7 %s", rows[i].flags);
        int rc = parse(&asked, flags, NULL, &err);
        if (rc != rows[i].code || !strstr(err.message, rows[i].message) || !strstr(err.hint, rows[i].hint))
            fprintf(stderr, "%s: %d %s (%s)\n", rows[i].flags, rc, err.message, err.hint);
        CU_ASSERT_EQUAL(rc, rows[i].code);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].message));
        CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, rows[i].hint));
        CU_ASSERT_EQUAL(memcmp(&asked, &before, sizeof(asked)), 0);
    }
}

/* Words of one place that contradict each other are refused, at the line of the second; a later place beats an earlier one. */
TEST(contradictions)
{
    static const char *const rows[][2] = {
        {"--fp16", "--bf16"},
        {"--fp8-format hybrid", "--fp4-format e2m1"},
        {"--fp4-format e2m1", "--fp8-e4m3"},
        {"--precision bf16", "--fp4-format e2m1"},
        {"--fp8-format hybrid", "--precision fp32"},
        {"--precision fp8", "--fp4-format e2m1"},
        {"--precision nvfp4", "--fp8-hybrid"},
        {"--precision fp16", "--bf16"},
        {"--precision mxfp8", "--fp8-recipe blockwise"},
        {"--cuda-graph-scope attn", "--cuda-graph-modules mlp"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++)
        for (int turned = 0; turned < 2; turned++) {
            const char *first = rows[i][turned], *second = rows[i][!turned];
            struct ss_error err = {0};
            struct ss_request r;
            struct ss_asked asked;
            char text[256];
            int n = snprintf(text, sizeof text, "%s\n%s\n", first, second);
            ss_asked_init(&asked);
            CU_ASSERT_EQUAL(parse_text(&asked, text, (size_t)n, "asked.job.args", &err), SS_ERR_CONFIG);
            CU_ASSERT_STRING_EQUAL(err.file, "asked.job.args");
            CU_ASSERT_EQUAL(err.line, 2);
            CU_ASSERT_PTR_NOT_NULL(strstr(err.message, " beside "));
            snprintf(text, sizeof text, "%s", second);
            ss_request_init(&r);
            CU_ASSERT_EQUAL(ss_request_read_text(&r, first, strlen(first), "asked.job.args", NULL), 0);
            for (char *rest, *word = strtok_r(text, " ", &rest); word; word = strtok_r(NULL, " ", &rest))
                CU_ASSERT_EQUAL(ss_request_set(&r, word, NULL, NULL), 0);
            CU_ASSERT_EQUAL(ss_asked_parse(&asked, &r, NULL, NULL, NULL), 0);
            ss_request_free(&r);
        }
}

/* A later word of recompute or precision leaves nothing of an earlier one. */
TEST(later_word)
{
#define PLAIN "--model llama3.1-8b --bf16 --mbs 1 --gbs 64 --seq 4096 "
    static const char *const rows[][2] = {
        {"--recompute op-selective --recompute full", "--recompute full"},
        {"--recompute op-selective --recompute selective", "--recompute selective"},
        {"--recompute op-selective --recompute none", ""},
        {"--recompute op-selective --recompute-activations", "--recompute-activations"},
        {"--recompute op-selective --recompute-granularity selective", "--recompute-granularity selective"},
        {"--recompute full --recompute-activations", "--recompute-activations"},
        {"--recompute full --recompute-granularity selective", "--recompute-granularity selective"},
        {"--recompute full --recompute-granularity full", "--recompute full"},
        {"--recompute full --recompute-method block --recompute-num-layers 2",
         "--recompute-method block --recompute-num-layers 2 --recompute full"},
        {"--precision mxfp8 --precision fp8", "--precision fp8"},
        {"--moe-layer-recompute --recompute-modules layernorm --num-experts 8",
         "--recompute selective --recompute-modules moe layernorm --num-experts 8"},
        {"--moe-layer-recompute --recompute-modules mlp --recompute-modules layernorm --num-experts 8",
         "--recompute selective --recompute-modules moe layernorm --num-experts 8"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_job job, same;
        char flags[256];
        snprintf(flags, sizeof flags, PLAIN "%s", rows[i][0]);
        CU_ASSERT_EQUAL_FATAL(complete(&job, flags, 8, NULL, NULL), 0);
        snprintf(flags, sizeof flags, PLAIN "%s", rows[i][1]);
        CU_ASSERT_EQUAL_FATAL(complete(&same, flags, 8, NULL, NULL), 0);
        CU_ASSERT_EQUAL(job.recompute.granularity, same.recompute.granularity);
        CU_ASSERT_EQUAL(job.recompute.modules, same.recompute.modules);
        CU_ASSERT_EQUAL(job.recompute.method, same.recompute.method);
        CU_ASSERT_EQUAL(job.recompute.num_layers, same.recompute.num_layers);
        CU_ASSERT_EQUAL(job.fp8_recipe, same.fp8_recipe);
    }
}

static int has(const struct ss_request *r, const char *text)
{
    char all[256];

    if (strcmp(ss_request_text(r, 0, all, sizeof all), text))
        fprintf(stderr, "%s\n%s\n", all, text);
    return !strcmp(all, text);
}

/* A what-if is a copy with words set or dropped, under each of a flag's names and with all its values. */
TEST(edit)
{
    static const char text[] =
        "--tp 2 --bf16 --cp-comm-type p2p p2p --tensor-model-parallel-size=4 --data-path '' \"a b\"";
    struct ss_request r, copy;

    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, text, strlen(text), "a.args", NULL), 0);
    CU_ASSERT(
        has(&r, "--tp 2 --bf16 --cp-comm-type p2p p2p --tensor-model-parallel-size=4 --data-path '' 'a b'"));
    CU_ASSERT_EQUAL(ss_request_find(&r, "--tp"), 6);
    CU_ASSERT_EQUAL(ss_request_find(&r, "--pp"), r.n);
    CU_ASSERT_EQUAL(ss_flag_same("--set", "--platform"), 0);
    CU_ASSERT_EQUAL(ss_flag_same("--set", "--set"), 1);
    CU_ASSERT_EQUAL(ss_request_span(&r, 3), 3);
    CU_ASSERT_EQUAL_FATAL(ss_request_copy(&r, &copy, NULL), 0);
    ss_request_drop(&copy, "--tp");
    ss_request_drop(&copy, "--cp-comm-type");
    CU_ASSERT_EQUAL(ss_request_set(&copy, "--pp", "2", NULL), 0);
    CU_ASSERT_EQUAL(ss_request_set(&copy, "--swiglu", NULL, NULL), 0);
    CU_ASSERT(has(&copy, "--bf16 --data-path '' 'a b' --pp 2 --swiglu"));
    CU_ASSERT_EQUAL(copy.nplaces, 2);
    CU_ASSERT_EQUAL(copy.word[copy.n - 1].place, 1);
    CU_ASSERT_STRING_EQUAL(copy.place[0].file, "a.args");
    ss_request_free(&copy);
    CU_ASSERT_EQUAL(r.n, 10);
    ss_request_free(&r);
}

/* What words set beats what they stood for, and the measurement was of the other job. */
TEST(set_beats)
{
    static const char text[] = "--tp 2 --measured 10s";
    struct ss_asked asked;
    struct ss_request r;

    for (int other = 0; other < 2; other++) {
        ss_asked_init(&asked);
        ss_request_init(&r);
        CU_ASSERT_EQUAL_FATAL(ss_request_read_text(&r, text, strlen(text), "a.args", NULL), 0);
        CU_ASSERT_EQUAL(ss_request_set(&r, "--tensor-model-parallel-size", other ? "4" : "2", NULL), 0);
        CU_ASSERT_EQUAL(ss_asked_parse(&asked, &r, NULL, NULL, NULL), 0);
        CU_ASSERT_EQUAL(asked.job.tp, other ? 4 : 2);
        CU_ASSERT_EQUAL(asked.measured_ms > 0, !other);
        ss_request_free(&r);
    }
}

/* A flag does not take its value from another place. */
TEST(places)
{
    char *words[] = {"2"};
    struct ss_asked asked;
    struct ss_request r;
    struct ss_error err = {0};

    ss_asked_init(&asked);
    ss_request_init(&r);
    CU_ASSERT_EQUAL(ss_request_read_text(&r, "--tp", 4, "a.args", NULL), 0);
    CU_ASSERT_EQUAL(ss_request_read(&r, 1, words, NULL), 0);
    CU_ASSERT_EQUAL(ss_asked_parse(&asked, &r, NULL, NULL, &err), SS_ERR_INPUT);
    CU_ASSERT_STRING_EQUAL(err.file, "a.args");
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "needs a value"));
    ss_request_free(&r);
}

TEST(text)
{
    static const struct {
        const char *text;
        int line; /* of the error, 0: good */
        const char *message;
    } rows[] = {
        {"# only a comment", 0, ""},
        {"--tp 2 # two\n\n--pp\n 4 --model 'a b' --platform \"x\\\"#y\"", 0, ""},
        {"--tp \\\n2 \\\r\n--pp 4 --model a\\ b --platform x'\"#'y", 0, ""},
        {"--tp 2\n--pp 'x\n\n", 2, "not closed"},
        {"--tp 2\n--model \"x\\\"", 2, "not closed"},
        {"--tp 2\n\n--ppp 4", 3, "unknown flag --ppp"},
        {"--tp 2\n--pp \\\n  five", 2, "whole number"},
        {"--job", 1, "needs a file"},
        {"\n--job \"\"", 2, "needs a file"},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_asked asked;
        struct ss_error err = {0};
        ss_asked_init(&asked);
        int rc = parse_text(&asked, rows[i].text, strlen(rows[i].text), "a.args", &err);
        CU_ASSERT_EQUAL(rc, rows[i].line ? SS_ERR_INPUT : 0);
        CU_ASSERT_EQUAL(err.line, rows[i].line);
        CU_ASSERT_PTR_NOT_NULL(strstr(err.message, rows[i].message));
        CU_ASSERT_STRING_EQUAL(err.file, rows[i].line ? "a.args" : "");
        if (!rows[i].line && i) {
            CU_ASSERT_EQUAL(asked.job.tp * asked.job.pp, 8);
            CU_ASSERT_STRING_EQUAL(asked.job.model_ref, "a b");
            CU_ASSERT_STRING_EQUAL(asked.job.platform, "x\"#y");
        }
    }
    struct ss_asked asked;
    struct ss_error err = {0};
    ss_asked_init(&asked);
    CU_ASSERT_EQUAL(parse_text(&asked, "\xef\xbb\xbf--tp 2\r\n", 11, "a.args", &err), 0);
    CU_ASSERT_EQUAL(asked.job.tp, 2);
    CU_ASSERT_EQUAL(parse_text(&asked, "--tp\n2\0", 7, "a.args", &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(err.line, 2);
}

/* What a launcher was called with: its sizes of the cluster and the script's flags, up to where the shell goes on. */
/* Rows say --tp and --pp for short, which a program has not: its words are by their names of Megatron-LM. */
static const char *spelled(const char *text, char *out, size_t size)
{
    size_t n = 0;

    for (const char *p = text; *p && n + 40 < size; p++) {
        int tp = !strncmp(p, "--tp ", 5), pp = !strncmp(p, "--pp ", 5);
        if (tp || pp)
            n += (size_t)sprintf(out + n, "--%s-model-parallel-size ", tp ? "tensor" : "pipeline");
        else
            out[n++] = *p;
        p += tp || pp ? 4 : 0;
    }
    out[n] = '\0';
    return out;
}

TEST(commands)
{
    static const struct {
        const char *text;
        int nodes, gpus, tp, pp;
    } rows[] = {
        {"torchrun --nproc_per_node 4 --nnodes 2 --rdzv_id=3 pretrain_gpt.py --tp 2 --pp 4 2>&1 |tee a.py "
         "--tp 8",
         2, 4, 2, 4},
        {"# as logged\nsrun python -m torch.distributed.run --nnodes=2 \\\n --nproc-per-node=4 \\\n "
         "run/pretrain.py --tp 2 > log\n--pp 9",
         2, 4, 2, 1},
        {"python pretrain.py --pp 4 && echo done", 0, 0, 1,
         4}, /* a process, of whose node the platform has the GPUs */
        {"--tp 2 --pp 4 --data-path a.py", 0, 0, 2, 4},
        {"deepspeed --num_nodes 2 --num_gpus 4 x.py", 2, 4, 1, 1},
        {"torchrun --standalone --nproc_per_node 8 x.py --tp 2", 1, 8, 2, 1},
        {"torchrun --nnodes 2 --nproc_per_node 8 x.py --data-path '' --tp 2 --save \"\" --pp 4", 2, 8, 2, 4},
        {"python /opt/torch/distributed/run.py --nnodes 2 --nproc_per_node 8 x.py --tp 2", 2, 8, 2, 1},
        {"torchrun --nnodes 4:4 --nproc-per-node gpu x.py --tp 2", 4, 0, 2, 1},
        {"srun -N4 --ntasks-per-node=1 --gpus-per-node=8 python x.py --tp 2", 4, 8, 2, 1},
        {"srun -N 4 -n 32 python x.py --tp 2", 4, 8, 2, 1},
        {"srun --nodes=4 --ntasks-per-node=1 torchrun --nproc_per_node 8 --nnodes 4 x.py --tp 2", 4, 8, 2, 1},
        {"mpirun -np 32 -N 8 python x.py --tp 2", 4, 8, 2, 1},
        {"accelerate launch --num_processes 32 --num_machines 4 x.py --tp 2", 4, 8, 2, 1},
        {"/opt/openmpi/bin/mpirun -np 32 -N 8 python x.py --tp 2", 4, 8, 2, 1},
        {"mpirun -np 32 -H a:8,b:8,c:8,d:8 python x.py --tp 2", 4, 8, 2, 1},
        {"mpirun -np 32 --map-by ppr:8:node:PE=4 python x.py --tp 2", 4, 8, 2, 1},
        {"horovodrun -np 16 -H a:8,b:8 python x.py --tp 2", 2, 8, 2, 1},
        {"deepspeed --include localhost:0,1,2,3 x.py --tp 2", 1, 4, 2, 1},
        {"deepspeed -i a:0,1@b:0,1 x.py --tp 2", 2, 2, 2, 1},
        {"deepspeed --num_gpus 4 x.py --tp 2", 1, 4, 2, 1},
        {"srun -N4 --gres=gpu:h100:8,nvme:1 --ntasks-per-node=1 python x.py --tp 2", 4, 8, 2, 1},
        {"srun -N4 --gpus-per-task=8 --ntasks-per-node=1 torchrun --nproc_per_node gpu x.py --tp 2", 4, 8, 2,
         1},
        {"srun -N4 --gpus=32 --ntasks-per-node=1 torchrun --nproc_per_node auto x.py --tp 2", 4, 8, 2, 1},
        {"torchrun --nproc_per_node 8 --nnodes 2 -m megatron.pretrain_gpt --tp 2", 2, 8, 2, 1},
        {"python check.py && A=b.py torchrun --nnodes 2 --nproc_per_node 8 x.py --tp 2 --pp 4; echo done.py "
         "--tp 9",
         2, 8, 2, 4},
        {"torchrun --nnodes 2 --nproc_per_node 8 x.py --tp 2 --pp 4&", 2, 8, 2, 4},
    };

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_asked asked;
        struct ss_error err = {0};
        char text[512];
        ss_asked_init(&asked);
        spelled(rows[i].text, text, sizeof text);
        int rc = parse_text(&asked, text, strlen(text), "a.args", &err);
        if (rc)
            fprintf(stderr, "%s\n", err.message);
        CU_ASSERT_EQUAL(rc, 0);
        CU_ASSERT_EQUAL(asked.job.nodes, rows[i].nodes);
        CU_ASSERT_EQUAL(asked.job.gpus_per_node, rows[i].gpus);
        CU_ASSERT_EQUAL(asked.job.tp, rows[i].tp);
        CU_ASSERT_EQUAL(asked.job.pp, rows[i].pp);
    }
    struct ss_asked asked;
    struct ss_error err = {0};
    ss_asked_init(&asked);
    static const char wrong[] = "torchrun --nnodes\n2 \\\n x.py \\\n --tensor-model-parallel-size two";
    CU_ASSERT_EQUAL(parse_text(&asked, wrong, strlen(wrong), "a.args", &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(err.line, 4);
    static const char script[] = "set -e\n";
    CU_ASSERT_EQUAL(parse_text(&asked, script, strlen(script), "a.args", &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "--launch FILE runs a launch script"));
    static const char variable[] =
        "torchrun --nnodes $N --nproc_per_node 8 x.py --tensor-model-parallel-size 2\n";
    CU_ASSERT_EQUAL(parse_text(&asked, variable, strlen(variable), "a.args", &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(err.line, 1);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.hint, "what the shell makes of it"));
}

/* --vp takes the place of the other way to ask for virtual stages. */
TEST(vp)
{
    static const struct {
        const char *flags;
        int stages, layers;
    } rows[] = {{"--num-layers-per-virtual-pipeline-stage 4 --vp 2", 2, 0},
                {"--num-layers-per-virtual-pipeline-stage 4 --vp 1", 0, 0},
                {"--vp 2 --virtual-pipeline-model-parallel-size 4", 4, 0},
                {"--vp 1 --num-layers-per-virtual-pipeline-stage 4", 0, 4}};

    for (size_t i = 0; i < SS_ARRAY_LEN(rows); i++) {
        struct ss_asked asked;
        ss_asked_init(&asked);
        CU_ASSERT_EQUAL(parse(&asked, rows[i].flags, NULL, NULL), 0);
        CU_ASSERT_EQUAL(asked.job.virtual_stages, rows[i].stages);
        CU_ASSERT_EQUAL(asked.job.layers_per_virtual_stage, rows[i].layers);
    }
}

static void write_text(const char *dir, const char *name, const char *text)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    FILE *f = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs(text, f);
    fclose(f);
}

static void remove_text(const char *dir, const char *name)
{
    char path[128];
    snprintf(path, sizeof(path), "%s/%s", dir, name);
    unlink(path);
}

/* The command line beats a file wherever it is named, a file beats those that it names. */
TEST(files)
{
    char dir[] = "/tmp/stepsim-job-XXXXXX", flags[256];
    struct ss_asked asked;
    struct ss_error err = {0};

    CU_ASSERT_PTR_NOT_NULL_FATAL(mkdtemp(dir));
    write_text(dir, "outer.args", "--pp 4\n--job inner.args\n--model outer");
    write_text(dir, "inner.args", "--pp 8 --tp 8 --cp 8 --model inner");
    write_text(dir, "loop.args", "--tp 2\n--job loop.args");
    write_text(dir, "cut.args", "--pp 2 --tp");
    ss_asked_init(&asked);
    snprintf(flags, sizeof(flags), "--tp 2 --job %s/outer.args", dir);
    CU_ASSERT_EQUAL(parse(&asked, flags, NULL, &err), 0);
    CU_ASSERT_EQUAL(asked.job.tp, 2);
    CU_ASSERT_EQUAL(asked.job.pp, 4);
    CU_ASSERT_EQUAL(asked.job.cp, 8);
    CU_ASSERT_STRING_EQUAL(asked.job.model_ref, "outer");
    snprintf(flags, sizeof(flags), "--job=%s/loop.args", dir);
    CU_ASSERT_EQUAL(parse(&asked, flags, NULL, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "deep"));
    CU_ASSERT_EQUAL(err.line, 2);
    snprintf(flags, sizeof(flags), "--job=%s/cut.args --seq 2", dir);
    CU_ASSERT_EQUAL(parse(&asked, flags, NULL, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "--tp needs a value"));
    snprintf(flags, sizeof(flags), "%s/inner.args", dir);
    ss_asked_init(&asked);
    CU_ASSERT_EQUAL(parse_file(&asked, flags, &err), 0);
    CU_ASSERT_EQUAL(asked.job.tp, 8);
    remove_text(dir, "outer.args");
    remove_text(dir, "inner.args");
    remove_text(dir, "loop.args");
    remove_text(dir, "cut.args");
    rmdir(dir);
}

/* A word that sets nothing is looked up once, and its copy knows what it is. */
TEST(without_effect)
{
    struct ss_request r, copy;
    struct ss_flag f;

    ss_request_init(&r);
    CU_ASSERT_EQUAL_FATAL(ss_request_add(&r, "--lr=3e-4", 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_request_add(&r, "--tp", 0, NULL), 0);
    CU_ASSERT_EQUAL_FATAL(ss_request_copy(&r, &copy, NULL), 0);
    CU_ASSERT_PTR_NOT_NULL(r.word[0].group);
    CU_ASSERT_PTR_NULL(r.word[1].group);
    CU_ASSERT_PTR_EQUAL(copy.word[0].group, r.word[0].group);
    CU_ASSERT_EQUAL(ss_request_flag(&copy, 0, &f), 1);
    CU_ASSERT_STRING_EQUAL(f.name, "--lr");
    CU_ASSERT_EQUAL(f.treatment, SS_FLAG_NO_EFFECT);
    ss_request_free(&copy);
    ss_request_free(&r);
}

/* A flag is found by each of its names, the last one, whatever stands between; no value is taken for one. */
TEST(find)
{
    static const char *const words[] = {
        "--lr",   "3e-4", "--tp", "2", "--no-such-thing", "8", "--pp", "2", "--tensor-model-parallel-size=4",
        "--save", "out",  "--cp", "1"};
    struct ss_request r;

    ss_request_init(&r);
    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++)
        CU_ASSERT_EQUAL_FATAL(ss_request_add(&r, words[i], 0, NULL), 0);
    CU_ASSERT_EQUAL(ss_request_find(&r, "--tp"), 8);
    CU_ASSERT_EQUAL(ss_request_find(&r, "--tensor-model-parallel-size"), 8);
    CU_ASSERT_EQUAL(ss_request_find(&r, "--pipeline-model-parallel-size"), 6);
    CU_ASSERT_EQUAL(ss_request_find(&r, "--context-parallel-size"), 11);
    CU_ASSERT_EQUAL(ss_request_find(&r, "--lr"), 0);
    CU_ASSERT_EQUAL(ss_request_find(&r, "--save"), 9);
    CU_ASSERT_EQUAL(ss_request_find(&r, "--ep"), r.n);
    CU_ASSERT_EQUAL(ss_request_span(&r, 2), 2);
    CU_ASSERT_EQUAL(ss_request_span(&r, 8), 1);
    CU_ASSERT_EQUAL(ss_request_extent(&r, 4), 2);
    ss_request_free(&r);
}
