/* SPDX-License-Identifier: Apache-2.0 */
/* Figures of training logs. Where two rows of a framework tell one figure the first that has any counts. The words are those of the sources of each framework: Megatron-LM
 * megatron/training/training.py and utils, Megatron-Bridge's and NeMo's loggers, GPT-NeoX megatron/logging.py, Composer's and InternEvo's loggers, ms-swift, nanoGPT train.py, torchtitan
 * components/metrics.py, nanotron trainer.py, DeepSpeed utils/timer.py, runtime/pipe/engine.py and profiling/flops_profiler, transformers trainer_utils.py and tqdm. */
#include "study/log_lines.h"
#include "base/base.h"
#include "study/study_internal.h"

#define MIB 1048576.0
#define GIB 1073741824.0

SS_NAMES(ss_logger_name, SS_LOGGER_LIST, SS_SECOND)
SS_NAMES(ss_told_key, SS_TOLD_LIST, SS_SECOND)
SS_NAMES(ss_told_words, SS_TOLD_LIST, SS_THIRD)

#define ROW(logger, told, count, ...)                                                                        \
    {                                                                                                        \
        SS_LOGGER_##logger, SS_TOLD_##told, SS_COUNT_##count, __VA_ARGS__                                    \
    }
/* clang-format off */
static const struct ss_log_row rows[] = {
    ROW(MMENGINE,   SECONDS,    STACK,    SS_LOG_MICRO, "time", NULL, 1),
    ROW(MMENGINE,   TOKENS_GPU, STACK,    0, "tokens_per_sec", NULL, 1),
    ROW(MMENGINE,   ALLOCATED,  STACK,    0, "memory", NULL, MIB),
    ROW(XTUNER,     SECONDS,    STACK,    0, "time", NULL, 1),
    ROW(XTUNER,     TOKENS_GPU, STACK,    0, "tgs", NULL, 1),
    ROW(XTUNER,     ALLOCATED,  STACK,    0, "max_memory", NULL, GIB),
    ROW(XTUNER,     RESERVED,   STACK,    0, "reserved_memory", NULL, GIB),
    ROW(MAXTEXT,    SECONDS,    STACK,    0, "seconds", NULL, 1),
    ROW(MAXTEXT,    TOKENS_GPU, STACK,    0, "Tokens/s/device", NULL, 1),
    ROW(MAXTEXT,    TFLOPS,     CAUSAL,   0, "TFLOP/s/device", NULL, 1),
    ROW(TORCHTUNE,  TOKENS_GPU, STACK,    0, "tokens_per_second_per_gpu", NULL, 1),
    ROW(TORCHTUNE,  ALLOCATED,  STACK,    0, "peak_memory_alloc", NULL, GIB),
    ROW(TORCHTUNE,  RESERVED,   STACK,    0, "peak_memory_reserved", NULL, GIB),
    ROW(COLOSSAL,   SAMPLES,    STACK,    0, "Throughput", NULL, 1),
    ROW(COLOSSAL,   TOKENS_GPU, STACK,    0, "tokens_per_second_per_device", NULL, 1),
    ROW(AUTOMODEL,  TOKENS,     STACK,    0, "tps", NULL, 1),
    ROW(AUTOMODEL,  ALLOCATED,  STACK,    0, "mem", NULL, GIB),
    ROW(LIGHTNING,  SECONDS,    STACK,    SS_LOG_BEFORE | SS_LOG_MICRO, "s/it", NULL, 1),
    ROW(LIGHTNING,  SECONDS,    STACK,    SS_LOG_BEFORE | SS_LOG_MICRO | SS_LOG_INVERSE, "it/s", NULL, 1),
    ROW(NEOX,       SECONDS,    STACK,    0, "elapsed time per iteration (ms)", "approx flops per GPU", 1e-3),
    ROW(DEEPSPEED,  SECONDS,    STACK,    0, "elapsed time per iteration (ms)", "samples per second", 1e-3),
    ROW(MEGATRON,   SECONDS,    STACK,    0, "elapsed time per iteration (ms)", NULL, 1e-3),
    ROW(BRIDGE,     SECONDS,    STACK,    0, "Step Time", "GPU utilization", 1),
    ROW(NEMO,       SECONDS,    STACK,    0, "train_step_timing in s", NULL, 1),
    ROW(NANOTRON,   SECONDS,    STACK,    0, "elapsed_time_per_iteration_ms", NULL, 1e-3),
    ROW(NANOTRON,   SECONDS,    STACK,    0, "time_per_iteration_ms", NULL, 1e-3),
    ROW(DEEPSPEED,  SECONDS,    STACK,    0, "iter time (s)", NULL, 1),
    ROW(DEEPSPEED,  SECONDS,    STACK,    0, "iter latency", NULL, 1),
    ROW(TRAINER,    SECONDS,    STACK,    SS_LOG_BEFORE, "s/it", NULL, 1),
    ROW(TRAINER,    SECONDS,    STACK,    SS_LOG_BEFORE | SS_LOG_INVERSE, "it/s", NULL, 1),
    ROW(TRAINER,    SECONDS,    STACK,    SS_LOG_INVERSE, "train_steps_per_second", NULL, 1),
    ROW(SWIFT,      SECONDS,    STACK,    0, "train_speed(s/it)", NULL, 1),
    ROW(SWIFT,      SECONDS,    STACK,    SS_LOG_INVERSE, "train_speed(iter/s)", NULL, 1),
    ROW(NANOGPT,    SECONDS,    STACK,    0, "time", "loss ", 1),
    ROW(COMPOSER,   SECONDS,    STACK,    SS_LOG_INVERSE, "throughput/batches_per_sec", NULL, 1),
    ROW(COMPOSER,   TOKENS_GPU, STACK,    0, "throughput/device/tokens_per_sec", NULL, 1),
    ROW(COMPOSER,   TOKENS,     STACK,    0, "throughput/tokens_per_sec", NULL, 1),
    ROW(COMPOSER,   SAMPLES,    STACK,    0, "throughput/samples_per_sec", NULL, 1),
    ROW(INTERN,     TOKENS_GPU, STACK,    0, "tgs (tokens/gpu/second)", NULL, 1),
    ROW(INTERN,     TOKENS_GPU, STACK,    0, "tgs", NULL, 1),
    ROW(TORCHTITAN, TOKENS_GPU, STACK,    SS_LOG_THOUSANDS, "tps", "step:", 1),
    ROW(TORCHTITAN, TOKENS_GPU, STACK,    SS_LOG_THOUSANDS, "wps", "step:", 1),
    ROW(NANOTRON,   TOKENS_GPU, STACK,    0, "tokens_per_sec_per_gpu", "consumed_tokens", 1),
    ROW(NANOTRON,   TOKENS,     STACK,    0, "tokens_per_sec", "consumed_tokens", 1),
    ROW(BRIDGE,     TOKENS_GPU, STACK,    SS_LOG_BEFORE, "tok/s/gpu", "Step Time", 1),
    ROW(TRAINER,    TOKENS,     STACK,    0, "train_tokens_per_second", NULL, 1),
    ROW(DEEPSPEED,  SAMPLES,    STACK,    0, "CurrSamplesPerSec", NULL, 1),
    ROW(DEEPSPEED,  SAMPLES,    STACK,    0, "SamplesPerSec", NULL, 1),
    ROW(DEEPSPEED,  SAMPLES,    STACK,    0, "samples/sec", NULL, 1),
    ROW(DEEPSPEED,  SAMPLES,    STACK,    0, "samples per second", NULL, 1),
    ROW(DEEPSPEED,  SAMPLES,    STACK,    0, "samples/second", NULL, 1),
    ROW(TRAINER,    SAMPLES,    STACK,    0, "train_samples_per_second", NULL, 1),
    ROW(MEGATRON,   TFLOPS,     STACK,    0, "throughput per GPU (TFLOP/s/GPU)", NULL, 1),
    ROW(BRIDGE,     TFLOPS,     STACK,    SS_LOG_BEFORE, "MODEL_TFLOP/s/GPU", NULL, 1),
    ROW(MEGATRON,   TFLOPS,     STACK,    0, "TFLOP/s/GPU", NULL, 1),
    ROW(NEMO,       TFLOPS,     STACK,    0, "TFLOPS_per_GPU", NULL, 1),
    ROW(TORCHTITAN, TFLOPS,     FULL,     SS_LOG_THOUSANDS, "tflops", "step:", 1),
    ROW(INTERN,     TFLOPS,     HARDWARE, 0, "tflops", "tgs", 1),
    ROW(NANOTRON,   TFLOPS,     FULL,     0, "model_tflops_per_gpu", NULL, 1),
    ROW(NEOX,       TFLOPS,     HARDWARE, 0, "approx flops per GPU", NULL, 1),
    ROW(DEEPSPEED,  TFLOPS,     HARDWARE, 0, "TFLOPs", NULL, 1),
    ROW(DEEPSPEED,  TFLOPS,     HARDWARE, 0, "FLOPS per GPU", NULL, 1),
    ROW(COMPOSER,   MFU,        FULL,     0, "throughput/device/mfu", NULL, 1),
    ROW(TORCHTITAN, MFU,        FULL,     0, "mfu", "step:", 0.01),
    ROW(NANOGPT,    MFU,        FULL,     0, "mfu", "iter ", 0.01),
    ROW(MEGATRON,   ALLOCATED,  STACK,    0, "max allocated", "memory (MB)", MIB),
    ROW(MEGATRON,   RESERVED,   STACK,    0, "max reserved", "memory (MB)", MIB),
    ROW(NEMO,       ALLOCATED,  STACK,    0, "max_memory_allocated", NULL, 1),
    ROW(NEMO,       RESERVED,   STACK,    0, "max_memory_reserved", NULL, 1),
    ROW(TORCHTITAN, RESERVED,   STACK,    0, "memory", "step:", GIB),
    ROW(NANOTRON,   RESERVED,   STACK,    0, "cuda_max_memory_reserved", NULL, 1),
    ROW(SWIFT,      RESERVED,   STACK,    0, "memory(GiB)", NULL, GIB),
    ROW(DEEPSPEED,  ALLOCATED,  STACK,    0, "MaxMemAllocated", NULL, GIB),
    ROW(MEGATRON,   BATCH,      STACK,    0, "global batch size", NULL, 1),
    ROW(NANOTRON,   BATCH,      STACK,    0, "global_batch_size", NULL, 1),
    ROW(NEMO,       BATCH,      STACK,    0, "global_batch_size", NULL, 1),
};
/* clang-format on */
_Static_assert(SS_ARRAY_LEN(rows) <= SS_LOG_ROWS_MOST, "readers have room for each row");

/* Words by which a line is known to be of one framework, whatever else it has: the words of its figures are others' words, too. */
static const struct {
    const char *sign;
    int logger;
} signs[] = {{"(train) ", SS_LOGGER_MMENGINE},
             {"text_tokens:", SS_LOGGER_XTUNER},
             {"TFLOP/s/device:", SS_LOGGER_MAXTEXT},
             {"tokens_per_second_per_gpu:", SS_LOGGER_TORCHTUNE},
             {"TFLOPS per GPU by Megatron:", SS_LOGGER_COLOSSAL},
             {"/gpu) |", SS_LOGGER_AUTOMODEL},
             {"train_step_timing in s", SS_LOGGER_NEMO},
             {"v_num=", SS_LOGGER_LIGHTNING}};

static int logger_of(const char *line)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(signs); i++)
        if (strstr(line, signs[i].sign))
            return signs[i].logger;
    return SS_LOGGER_NONE;
}

/* Rows of a framework with a sign are for its lines alone; NeMo has lines without. */
static int needs_sign(int logger)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(signs); i++)
        if (signs[i].logger == logger)
            return logger != SS_LOGGER_NEMO;
    return 0;
}

int ss_log_row_count(void)
{
    return (int)SS_ARRAY_LEN(rows);
}

const struct ss_log_row *ss_log_row_at(int i)
{
    return &rows[i];
}

/* What a unit behind a number makes of it; a word is a unit where no letter follows. Thousands are those of people who write "2.3K".
 * DeepSpeed and Megatron mean binary units by GB and MB. */
static const struct {
    const char *unit;
    double scale;
    int absolute; /* 1: replaces the scale of the row */
} units[] = {{"GiB", GIB, 1},     {"MiB", MIB, 1},    {"GB", GIB, 1},  {"MB", MIB, 1}, {"TFLOPS", 1, 0},
             {"GFLOPS", 1e-3, 0}, {"PFLOPS", 1e3, 0}, {"ms", 1e-3, 1}, {"s", 1, 1},    {"sec", 1, 1},
             {"K", 1e3, 0},       {"M", 1e6, 0},      {"G", 1e9, 0},   {"B", 1e9, 0}};

static double scale_of(const char *unit, double scale)
{
    unit += *unit == ' ';
    for (size_t i = 0; i < SS_ARRAY_LEN(units); i++) {
        size_t n = strlen(units[i].unit);
        if (!strncmp(unit, units[i].unit, n) && !isalpha((unsigned char)unit[n]))
            return units[i].absolute ? units[i].scale : scale * units[i].scale;
    }
    return scale;
}

/* A number at p, with `thousands` with commas between these, as "7,123"; returns what is behind, NULL: none. A comma in any other
 * number may be one of decimals. */
static const char *read_number(const char *p, int thousands, double *out)
{
    char text[40];
    size_t n = 0;

    for (; n < sizeof text - 1; p++) {
        int exponent =
            (*p == 'e' || *p == 'E') && n && (isdigit((unsigned char)p[1]) || strchr("+-", p[1])) && p[1];
        int sign = (*p == '+' || *p == '-') && n && (text[n - 1] == 'e' || text[n - 1] == 'E');
        if (thousands && *p == ',' && n && strspn(p + 1, "0123456789") == 3)
            continue;
        if (!isdigit((unsigned char)*p) && *p != '.' && !exponent && !sign)
            break;
        text[n++] = *p;
    }
    text[n] = '\0';
    return n && !(*p == ',' && isdigit((unsigned char)p[1])) && !ss_parse_double(text, out) ? p : NULL;
}

/* The number that ends before `end`; returns its first character, NULL: none. */
static const char *number_before(const char *line, const char *end, double *out)
{
    const char *p = end;

    while (p > line && p[-1] == ' ')
        p--;
    while (p > line && (isdigit((unsigned char)p[-1]) || p[-1] == '.' || p[-1] == ','))
        p--;
    while (*p == ',' || *p == '.')
        p++;
    return (p == line || !isalnum((unsigned char)p[-1])) && read_number(p, 0, out) ? p : NULL;
}

static int in_word(char c)
{
    return isalnum((unsigned char)c) || c == '_';
}

/* Whether the figure is told at this place of its key. */
static int read_at(const struct ss_log_row *row, const char *line, const char *at, double *out)
{
    const char *behind = at + strlen(row->key), *p;
    size_t gap;

    *out = 0;
    if (row->way & SS_LOG_BEFORE)
        return number_before(line, at, out) && !in_word(*behind) && *out > 0;
    if (at > line && in_word(at[-1]))
        return 0;
    gap = strspn(behind, " \t:='\"");
    p = gap ? read_number(behind + gap, (row->way & SS_LOG_THOUSANDS) != 0, out) : NULL;
    if (p)
        *out *= scale_of(p, row->scale);
    return p != NULL && *out > 0;
}

/* Progress bars of other work than training. */
static int is_other_bar(const char *line)
{
    static const char *const words[] =
        SS_VALUES("Loading", "Map", "Tokeniz", "Saving", "Generating", "Download", "Filter", "Packing",
                  "Evaluat", "Validat", "Sanity", "Fetching", "Epochs", "Epoch:");

    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++)
        if (strstr(line, words[i]))
            return 1;
    return 0;
}

int ss_log_row_read(const struct ss_log_row *row, const char *line, double *out)
{
    int logger = logger_of(line);

    if (row->logger != logger && (logger || needs_sign(row->logger)))
        return 0;
    if ((row->way & SS_LOG_BEFORE) && row->told == SS_TOLD_SECONDS && is_other_bar(line))
        return 0;
    if (row->beside && !strstr(line, row->beside))
        return 0;
    for (const char *at = strstr(line, row->key); at; at = strstr(at + 1, row->key))
        if (read_at(row, line, at, out)) {
            *out = row->way & SS_LOG_INVERSE ? 1 / *out : *out;
            return *out > 0 && *out < 1e15;
        }
    return 0;
}

static int is_number_near(const char *line, const char *at, size_t n)
{
    const char *before = at, *behind = at + n;

    while (before > line && before[-1] == ' ')
        before--;
    behind += strcspn(behind, "0123456789|,;\n");
    return (before > line && isdigit((unsigned char)before[-1])) ||
           (isdigit((unsigned char)*behind) && behind - at < (long)n + 12);
}

int ss_log_line_looks(const char *line)
{
    static const char *const words[] = {/* of rates and times, in lower case */
                                        "tokens/s",
                                        "tok/s",
                                        "tokens_per_s",
                                        "tokens per s",
                                        "samples/s",
                                        "samples_per_s",
                                        "samples per s",
                                        "tflop",
                                        "elapsed time",
                                        "iteration time",
                                        "time per iteration",
                                        "iteration_time",
                                        "ms/it",
                                        "step time",
                                        "step_time",
                                        "iter time",
                                        "iter_time",
                                        "time/step",
                                        "time per step",
                                        "time_per_step",
                                        "s/step",
                                        "s/it",
                                        "it/s",
                                        "time:",
                                        "throughput",
                                        "tps",
                                        "tgs",
                                        "mfu"};
    char low[512];

    if (is_other_bar(line))
        return 0;
    ss_copy(low, sizeof low, line);
    for (char *p = low; *p; p++)
        *p = (char)tolower((unsigned char)*p);
    for (size_t i = 0; i < SS_ARRAY_LEN(words); i++) {
        size_t n = strlen(words[i]);
        for (const char *at = strstr(low, words[i]); at; at = strstr(at + 1, words[i]))
            if ((at == low || !isalpha((unsigned char)at[-1])) && is_number_near(low, at, n))
                return 1;
    }
    return 0;
}

/* ---- lines of a file ---- */

#define MAX_BYTES ((size_t)256 << 20)

/* "[1,0]<stdout>:" of mpirun, "0: " of srun, "[rank0]:" or "[default0]:" of torchrun */
static char *skip_label(char *line)
{
    char *end;

    if (line[0] == '[' && (end = strchr(line, ']')) != NULL) {
        if (end[1] == ':')
            return end + 2;
        return strncmp(end + 1, "<stdout>:", 9) == 0 ? end + 10 : line;
    }
    char *number = line + strspn(line, " "); /* srun pads it */
    end = number + strspn(number, "0123456789");
    return end > number && end[0] == ':' && end[1] == ' ' ? end + 2 : line;
}

/* Changes text[len], behind which is a NUL: lines are cut in place. */
static int read_lines(char *text, size_t len, ss_log_line line, void *reader)
{
    char *next, *stop = text + len;
    int rc = SS_OK, number = 0;

    for (size_t i = 0; i < len; i++)
        if (!text[i])
            text[i] = ' ';
    for (char *at = text; at < stop && !rc; at = next) {
        char *end = memchr(at, '\n', (size_t)(stop - at));
        next = end ? end + 1 : stop;
        if (end)
            *end = '\0';
        number++;
        if (*at)
            rc = line(reader, skip_label(at), number);
    }
    return rc;
}

int ss_log_read(const char *name, const char *text, size_t len, ss_log_line line, void *reader,
                struct ss_error *err)
{
    char *copy;

    if (!text) {
        SS_TRY(ss_file_read(name, MAX_BYTES, &copy, &len, err));
    } else {
        copy = ss_calloc(len + 1, 1);
        SS_NEED(copy, err);
        memcpy(copy, text, len);
    }
    int rc = read_lines(copy, len, line, reader);
    free(copy);
    return rc;
}
