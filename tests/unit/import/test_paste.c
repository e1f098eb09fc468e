/* SPDX-License-Identifier: Apache-2.0 */
/* Texts that are pasted: a script's words without a run, what is asked for, and no file that is read. */
#include <stdlib.h>
#include <unistd.h>

#include "import/shell.h"
#include "stepsim/paste.h"
#include "suite.h"

/* The words of all commands of a text, with gaps as <NAME>. */
static const char *followed(const char *text)
{
    static char out[2000];
    struct ss_shell s = {0};

    out[0] = 0;
    CU_ASSERT_EQUAL_FATAL(ss_shell_run(&s, text, strlen(text)), SS_OK);
    for (size_t i = 0; i < s.out.n; i++)
        snprintf(out + strlen(out), sizeof out - strlen(out), "%s%s", i ? " " : "", s.out.w[i].text);
    for (char *p = out; *p; p++)
        *p = *p == SS_GAP ? '<' : *p == SS_GAP_END ? '>' : *p;
    ss_shell_free(&s);
    return out;
}

TEST(shell)
{
    static const char *const cases[][2] = {
        {"A=4\nrun --tp $A --pp ${A} '$A' \"$A x\" # $A", "run --tp 4 --pp 4 $A 4 x ;"},
        {"A=2; B=$((A * (3 + 1) - 7 % 4)); run $B $(( $A > 1 ? 10 : 20 ))", "run 5 10 ;"},
        {"run ${X:-7} ${X-8} ${X:+9} $X; X=1; run ${X:+9} ${X:-7}", "run 7 8 <X> ; run 9 1 ;"},
        {"if [ -z $X ]; then A=1; elif [ $A = 2 ]; then A=3; else A=4; fi\nrun $A", "run 1 ;"},
        {"A=8B\nif [ $A = 7B ]; then n=1\nelif [ $A = 8B ]; then n=2\nelse n=3; fi; run $n", "run 2 ;"},
        {"A=3; if [ $A -gt 2 ] && [[ $A != 4 && $A == 3 ]]; then run a; fi; [ $A -lt 3 ] || run b",
         "run a ; run b ;"},
        {"A=2; [ $A -eq 2 ] && B=yes || B=no; run $B", "run yes ;"},
        {"case $((1+1))x in 1x) run a ;; 2x|3x) run b ;; *) run c ;; esac; run d", "run b ; run d ;"},
        {"case q in a) run a ;; *) run c;; esac", "run c ;"},
        {"A=(--tp 4 # four\n --pp 2)\nA+=(--cp \"1 2\")\nrun \"${A[@]}\" ${A[*]}",
         "run --tp 4 --pp 2 --cp 1 2 --tp 4 --pp 2 --cp 1 2 ;"},
        {"A=\"--a 1 \\\n --b 2\"\nrun $A \\\n --c", "run --a 1 --b 2 --c ;"},
        {"for i in 4 8; do run $i; done; while true; do run x; break; done; run y",
         "run 4 ; true ; run x ; break ; run y ;"},
        {"cat <<EOF > f\nrun no $A\nEOF\nrun yes 2>&1 | tee log", "cat ; run yes ; tee log ;"},
        {"C='--a 1'; X=\"torchrun t.py ${C}\"; eval $X", "torchrun t.py --a 1 ;"},
        {"export L='python t.py'; srun -N 2 bash -c '$L --tp $T'", "srun -N 2 python t.py --tp <T> ;"},
        {"N=$(cat hosts | wc -l)\nrun $N `date`", "run <N> <?> ;"},
        {"A=1 B=2 run $A; export C=3 D; run $C", "run 1 ; run 3 ;"},
        {"f() {\n run a\n}\nif true; then if false; then run b; fi; run c; fi", "f ; run a ; true ; run c ;"},
        {"run \"unclosed $A", "run unclosed <A> ;"},
        {"run $(", "run <?> ;"},
    };

    for (size_t i = 0; i < sizeof cases / sizeof *cases; i++)
        CU_ASSERT_STRING_EQUAL(followed(cases[i][0]), cases[i][1]);
}

static char words[4000], missing[400];

static int paste(const char *text, const char *values, struct ss_error *err)
{
    struct ss_pasted p;
    int rc = ss_paste_read(text, strlen(text), values, &p, err);

    words[0] = missing[0] = 0;
    if (rc)
        return rc;
    for (size_t i = 0; i < p.request.n; i++)
        snprintf(words + strlen(words), sizeof words - strlen(words), "%s%s", i ? " " : "",
                 p.request.word[i].text);
    for (unsigned long i = 0; i < p.missing.n; i++)
        snprintf(missing + strlen(missing), sizeof missing - strlen(missing), "%s%s", i ? " " : "",
                 p.missing.text[i]);
    ss_pasted_free(&p);
    return SS_OK;
}

#define SCRIPT                                                                                               \
    "#!/bin/bash\n#SBATCH --nodes=16\nset -e\nTP=4\nif [ -z ${MBS} ]; then MBS=1; fi\n"                      \
    "OUT=$(pwd)/out-$(date)\nmkdir -p $OUT\nif [ $OUT != none ]; then LOAD=\"--load $OUT\"; fi\n"            \
    "ARGS=(\n  --num-layers 32 --hidden-size 4096 # the shape\n  --micro-batch-size $MBS --lr $LR\n)\n"      \
    "CMD=\"torchrun --nproc_per_node $GPUS --nnodes $NNODES --master_port $PORT pretrain_gpt.py ${ARGS[@]} " \
    "--tensor-model-parallel-size $TP $LOAD $EXTRA\"\necho $CMD\neval $CMD 2>&1 | tee $OUT/log\n"

/* What decides the job and has no value is asked for; a learning rate, a port and a folder are not. */
TEST(script)
{
    CU_ASSERT_EQUAL(paste(SCRIPT, NULL, NULL), SS_OK);
    CU_ASSERT_STRING_EQUAL(missing, "GPUS NNODES");
    CU_ASSERT_EQUAL(paste(SCRIPT, "GPUS=8\nNNODES=4", NULL), SS_OK);
    CU_ASSERT_STRING_EQUAL(missing, "");
    CU_ASSERT_STRING_EQUAL(
        words, "--nodes 4 --gpus-per-node 8 --num-layers 32 --hidden-size 4096 --micro-batch-size 1 "
               "--tensor-model-parallel-size 4");
}

TEST(flags)
{
    struct ss_error err = {0};

    CU_ASSERT_EQUAL(
        paste("--tp 4 \\\n --pipeline-model-parallel-layout Et|(tt|)*2tL # a comment\n--save /a/b", NULL,
              NULL),
        SS_OK);
    CU_ASSERT_STRING_EQUAL(words, "--tp 4 --pipeline-model-parallel-layout Et|(tt|)*2tL");
    CU_ASSERT_EQUAL(paste("$ build/stepsim run --tp 4 --bf16", NULL, NULL), SS_OK);
    CU_ASSERT_STRING_EQUAL(words, "--tp 4 --bf16");
    CU_ASSERT_EQUAL(paste("--tp $T", "T=2", NULL), SS_OK);
    CU_ASSERT_STRING_EQUAL(words, "--tp 2");
    CU_ASSERT_EQUAL(paste("--tp $T", "", NULL), SS_OK);
    CU_ASSERT_STRING_EQUAL(missing, "T");
    CU_ASSERT_EQUAL(
        paste("torchrun --nnodes 2 --nproc_per_node 4 pretrain_gpt.py --num-layers 4 --hidden-size 64 "
              "--micro-batch-size 1 --vocab-file v.json --merge-file m.txt",
              "", NULL),
        SS_OK);
    CU_ASSERT_STRING_EQUAL(missing, "--vocab-size");
    CU_ASSERT_EQUAL(
        paste("torchrun --nnodes 2 --nproc_per_node 4 pretrain_gpt.py --num-layers 4 --hidden-size 64 "
              "--micro-batch-size 1 --checkpoint-activations",
              "", NULL),
        SS_OK);
    CU_ASSERT_PTR_NOT_NULL(
        strstr(words, "--checkpoint-activations --stack megatron-2021")); /* refused since core */
    CU_ASSERT_EQUAL(paste("hello world", NULL, &err), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(paste("", NULL, NULL), SS_ERR_INPUT);
    CU_ASSERT_EQUAL(paste("{\"hidden_size\": 4, }", NULL, &err), SS_ERR_INPUT);
    CU_ASSERT_PTR_NOT_NULL(strstr(err.message, "not JSON"));
}

static void write_job(const char *path)
{
    FILE *out = fopen(path, "w");

    CU_ASSERT_PTR_NOT_NULL_FATAL(out);
    fputs("--tp 77\n", out);
    fclose(out);
}

/* No text reads a file: what is there and what is not are refused alike. */
TEST(no_file)
{
    static const char *const texts[] = {
        "--job %s", "--job=%s", "deepspeed --hostfile %s train.py --deepspeed a.json --tp 4 --pp 2 --bf16",
        "python megatron_gpt_pretraining.py --config-path=/tmp --config-name=%s model.a=1 model.b=2 "
        "model.c=3",
        "accelerate launch --config_file %s train.py --model_name_or_path a --per_device_train_batch_size 1"};
    char path[] = "/tmp/stepsim-paste-XXXXXX", text[400];
    int fd = mkstemp(path);

    CU_ASSERT_FATAL(fd >= 0);
    close(fd);
    for (size_t i = 0; i < sizeof texts / sizeof *texts; i++) {
        struct ss_error there = {0}, not_there = {0};
        write_job(path);
        snprintf(text, sizeof text, texts[i], path);
        int rc = paste(text, NULL, &there);
        CU_ASSERT_PTR_NULL(strstr(words, "77"));
        unlink(path);
        CU_ASSERT_EQUAL(paste(text, NULL, &not_there), rc);
        CU_ASSERT_STRING_EQUAL(there.message, not_there.message);
    }
}

/* A config.json as a word is the model that the file is. */
TEST(model)
{
    CU_ASSERT_EQUAL(paste("{\"model_type\": \"llama\", \"_name_or_path\": \"a/b c\", \"hidden_size\": 64, "
                          "\"num_hidden_layers\": 2,\n"
                          " \"num_attention_heads\": 4, \"intermediate_size\": 256, \"vocab_size\": 1000, "
                          "\"rms_norm_eps\": 1e-06}",
                          NULL, NULL),
                    SS_OK);
    CU_ASSERT_STRING_EQUAL(
        words,
        "--model-config "
        "{\"model_type\":\"llama\",\"hidden_size\":64,\"num_hidden_layers\":2,\"num_attention_heads\":4,"
        "\"intermediate_size\":256,\"vocab_size\":1000,\"rms_norm_eps\":1e-6}");
}
