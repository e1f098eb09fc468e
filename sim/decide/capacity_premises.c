/* SPDX-License-Identifier: Apache-2.0 */
/* Writes what a plan of capacity stands on, for people. */
#include "decide/capacity_internal.h"
#include "report/common.h"
#include "report/text.h"

void ss_capacity_premises(const struct ss_capacity *c, FILE *out)
{
    char tokens[32];

    for (int k = 0; k < c->nclusters; k++)
        if (c->clusters[k].premises[0])
            fprintf(out, "%s\n", c->clusters[k].premises);
        else
            fprintf(out, "%s on %s\n", c->model, c->clusters[k].platform);
    fprintf(out, "%s tokens, batch %d on ", ss_report_count(c->tokens, tokens, sizeof tokens),
            c->asked_batch);
    for (int k = 0; k < c->nclusters; k++)
        fprintf(out, "%s%s", k ? ", " : "", c->clusters[k].card);
    fputc('\n', out);
}

void ss_capacity_inputs(const struct ss_capacity *c, int cluster, FILE *out)
{
    const struct ss_capacity_cluster *k = &c->clusters[cluster];
    char a[32];

    if (k->price > 0)
        fprintf(out, "    price       %g USD an hour and GPU%s%s%s\n", k->price,
                k->price_is_example ? ", an example: say yours, --price" : " (ss.price)",
                k->price_is_example && k->basis[0] ? "; " : "", k->price_is_example ? k->basis : "");
    else
        fputs("    price       none: --price 2.5USD/h\n", out);
    if (k->gpu_w > 0 && k->node_w > 0)
        fprintf(
            out,
            "    energy      %g W a busy GPU, %g W an idle one; %g W for the rest of a node; %g %% more for "
            "cooling\n",
            k->gpu_w, k->gpu_w * k->idle, k->node_w, 100 * (k->pue - 1));
    else
        fputs("    energy      not told: the platform has no ss.power or ss.power.node\n", out);
    fprintf(out, "    failures    one in %g GPU-hours (ss.mtbf), %s until it trains again (ss.restart)\n",
            k->mtbf_h, ss_text_time(k->restart_s, a, sizeof a));
    fprintf(out, "    checkpoints %g GB/s a node (ss.storage.bandwidth), at Daly's interval\n",
            k->storage / 1e9);
}
