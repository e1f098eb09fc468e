/* SPDX-License-Identifier: Apache-2.0 */
/* Writes the file of `--ranks-csv`: time and memory of every rank, or of every class where the program
 * came without a plan. */
#include "report/common.h"
#include "result/build.h"

#include "base/csv.h"

static void head(FILE *out)
{
    fputs("rank,ranks,class,stage,node,gpu", out);
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        fprintf(out, ",%s_ms", l == SS_LABEL_BUBBLE ? "idle" : ss_label_name(l));
    fputs(",iteration_ms", out);
    for (int m = 0; m < SS_MEM_COUNT; m++)
        fprintf(out, ",%s_mib", ss_mem_name(m));
    fputs(",allocated_mib,reserved_mib,device_mib,peak_ms\n", out);
}

static void times(const struct ss_timeline *t, int c, FILE *out)
{
    for (int l = 0; l < SS_LABEL_COUNT; l++)
        fprintf(out, ",%.10g", 1e3 * t->spent[c][l]);
    fprintf(out, ",%.10g", 1e3 * t->iteration_s);
}

static void of_rank(const struct ss_plan *plan, const struct ss_program *p, const struct ss_timeline *t,
                    int rank, FILE *out)
{
    int c = plan->class_of[rank], gpus = ss_platform_file_gpus(plan->platform);
    struct ss_stage_result memory;

    fprintf(out, "%d,1,", rank);
    ss_csv_write(out, p->classes[c].name);
    fprintf(out, ",%d,%d,%d", plan->classes[c].stage, ss_plan_gpu(plan, rank) / gpus,
            ss_plan_gpu(plan, rank) % gpus);
    times(t, c, out);
    ss_result_class_memory(plan, t, c, &memory);
    for (int m = 0; m < SS_MEM_COUNT; m++)
        fprintf(out, ",%.10g", memory.memory[m] / SS_MIB);
    fprintf(out, ",%.10g,%.10g,%.10g,%.10g\n", memory.allocated / SS_MIB, memory.reserved / SS_MIB,
            memory.device / SS_MIB, 1e3 * t->peak_time[c]);
}

/* Writes the row of a class. Fields that only a plan knows stay empty. */
static void of_class(const struct ss_program *p, const struct ss_timeline *t, int c, FILE *out)
{
    const struct ss_program_class *k = &p->classes[c];
    double sum = 0;

    fprintf(out, "%d,%d,", k->first_rank, k->count);
    ss_csv_write(out, k->name);
    fprintf(out, ",%d,,", k->stage);
    times(t, c, out);
    for (int m = 0; m < SS_MEM_COUNT; m++) {
        fprintf(out, ",%.10g", (k->memory[m] + t->dynamic_peak[c][m]) / SS_MIB);
        sum += k->memory[m] + t->dynamic_peak[c][m];
    }
    fprintf(out, ",%.10g,,,%.10g\n", sum / SS_MIB, 1e3 * t->peak_time[c]);
}

int ss_report_ranks(const struct ss_plan *plan, const struct ss_program *p, const struct ss_timeline *t,
                    FILE *out, struct ss_error *err)
{
    head(out);
    for (int r = 0; plan && r < plan->world_size; r++)
        of_rank(plan, p, t, r, out);
    for (int c = 0; !plan && c < p->nclasses; c++)
        of_class(p, t, c, out);
    return ss_report_done(out, err);
}
