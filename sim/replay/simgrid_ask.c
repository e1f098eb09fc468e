/* SPDX-License-Identifier: Apache-2.0 */
/* Questions to SimGrid about a platform file: does it load, which links are on a route. */
#include <errno.h>
#include <unistd.h>

#include <xbt/dynar.h>

#include "replay/helper.h"
#include "replay/simgrid.h"

static int write_all(int fd, const char *text, size_t n)
{
    while (n > 0) {
        ssize_t done = write(fd, text, n);
        if (done < 0 && errno != EINTR)
            return -1;
        if (done > 0) {
            text += done;
            n -= (size_t)done;
        }
    }
    return 0;
}

/* Links in order, space separated: name, bandwidth and latency. */
static void write_route(FILE *out, sg_host_t from, sg_host_t to)
{
    xbt_dynar_t links = xbt_dynar_new(sizeof(sg_link_t), NULL);
    sg_host_get_route(from, to, links);
    for (unsigned long i = 0; i < xbt_dynar_length(links); i++) {
        sg_link_t link;
        xbt_dynar_get_cpy(links, i, &link);
        fprintf(out, "%s%s%c%.17g%c%.17g", i ? " " : "", sg_link_get_name(link), SS_ROUTE_VALUES,
                sg_link_get_bandwidth(link), SS_ROUTE_VALUES, sg_link_get_latency(link));
    }
    xbt_dynar_free(&links);
    fputc(0, out);
}

static int answer(struct ss_simgrid_call *call)
{
    char *text = NULL;
    size_t n = 0;
    FILE *out = open_memstream(&text, &n);
    if (!out)
        return ss_sg_fail(call->board, SS_ERR_NOMEM, "", "out of memory for %d routes", call->npairs);
    for (int i = 0; i < call->npairs; i++) {
        sg_host_t ends[2];
        for (int j = 0; j < 2; j++)
            if (!(ends[j] = sg_host_by_name(call->hosts[i][j])))
                return ss_sg_fail(call->board, SS_ERR_INPUT, "a route joins two <host> of the file",
                                  "there is no host %s", call->hosts[i][j]);
        write_route(out, ends[0], ends[1]);
    }
    fclose(out);
    if (write_all(call->fd, text, n))
        return ss_sg_fail(call->board, SS_ERR_ENGINE, "", "the routes could not be handed over");
    return 0;
}

void ss_sg_ask(struct ss_simgrid_call *call)
{
    ss_sg_init_engine(0, 1, 1);
    simgrid_load_platform(call->file);
    if (call->task == SS_HELPER_ROUTES) {
        /* without actors: only seals the zones, before which Dijkstra and Floyd know no route */
        simgrid_run();
        call->board->status = answer(call);
    }
    call->board->finished = 1;
}
