/* SPDX-License-Identifier: Apache-2.0 */
/* `--ranks-csv`: time and memory of every rank, or of every class where the program came without a plan. */
#include "report/common.h"
#include "result/build.h"

static void add_times(struct ss_record *r, const struct ss_timeline *t, int c)
{
#define X(symbol, name) SS_KEY(symbol == SS_LABEL_BUBBLE ? "idle_ms" : name "_ms", 1e3 * t->spent[c][symbol]),
    SS_ADD(r, SS_LABEL_LIST(X) SS_KEY("iteration_ms", 1e3 * t->iteration_s));
#undef X
}

static void add_memory(struct ss_record *r, const double bytes[SS_MEM_COUNT], double allocated)
{
#define X(symbol, name) SS_KEY(name "_mib", bytes[symbol] / SS_MIB),
    SS_ADD(r, SS_MEM_LIST(X) SS_KEY("allocated_mib", allocated / SS_MIB));
#undef X
}

static void add_rank(struct ss_record *r, const struct ss_plan *plan, const struct ss_program *p,
                     const struct ss_timeline *t, int rank)
{
    const int c = plan->class_of[rank], gpus = ss_platform_file_gpus(plan->platform),
              gpu = plan->gpu_of[rank];
    struct ss_stage_result memory;

    ss_result_class_memory(plan, t, c, &memory);
    SS_ADD(r, SS_KEY("rank", rank), SS_KEY("ranks", 1), SS_KEY("class", p->classes[c].name),
           SS_FIELDS(&plan->classes[c], stage), SS_KEY("node", gpu / gpus), SS_KEY("gpu", gpu % gpus));
    add_times(r, t, c);
    add_memory(r, memory.memory, memory.allocated);
    SS_ADD(r, SS_KEY("reserved_mib", memory.reserved / SS_MIB), SS_KEY("device_mib", memory.device / SS_MIB),
           SS_KEY("peak_ms", 1e3 * t->peak_time[c]));
}

/* What a plan knows beyond its program stays empty. */
static void add_class(struct ss_record *r, const struct ss_program *p, const struct ss_timeline *t, int c)
{
    const struct ss_program_class *k = &p->classes[c];
    double bytes[SS_MEM_COUNT], sum = 0;

    for (int m = 0; m < SS_MEM_COUNT; m++)
        sum += bytes[m] = k->memory[m] + t->dynamic_peak[c][m];
    SS_ADD(r, SS_KEY("rank", k->first_rank), SS_KEY("ranks", k->count), SS_KEY("class", k->name),
           SS_FIELDS(k, stage), SS_KEY("node", SS_NO_CELL), SS_KEY("gpu", SS_NO_CELL));
    add_times(r, t, c);
    add_memory(r, bytes, sum);
    SS_ADD(r, SS_KEY("reserved_mib", SS_NO_CELL), SS_KEY("device_mib", SS_NO_CELL),
           SS_KEY("peak_ms", 1e3 * t->peak_time[c]));
}

int ss_report_ranks(const struct ss_plan *plan, const struct ss_program *p, const struct ss_timeline *t,
                    FILE *out, struct ss_error *err)
{
    for (int i = 0; i < (plan ? plan->world_size : p->nclasses); i++) {
        struct ss_record r = {0};
        if (plan)
            add_rank(&r, plan, p, t, i);
        else
            add_class(&r, p, t, i);
        if (i == 0)
            ss_record_csv(&r, true, out);
        ss_record_csv(&r, false, out);
    }
    return ss_report_done(out, err);
}
