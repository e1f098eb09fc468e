/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The reduced platform: a host of one core and speed 1 for each class, the program's links, and for each
 * path that is used a pair of other hosts with that route. K hosts have K (K - 1) ordered pairs, so few are needed; they are a zone
 * of their own, for a zone with routes keeps a table of all pairs of its hosts.
 * SimGrid's links know no weights: where the flows on a link weigh w times a whole number, the link gets
 * bandwidth / w and a route names it that many times.
 */
#include <sys/mman.h>

#include "base/base.h"
#include "base/leave.h"
#include "replay/simgrid.h"

#define TEXT(n) #n
#define NUMBER(n) TEXT(n)
#define MAX_REPEAT 512 /* an all-to-all among 512 has as many flows on a link */

struct use {
    double *lightest; /* [nlinks]: smallest weight on it, 0 = not used */
    char *used;       /* [npaths] */
    double *load;     /* [nlinks]: scratch, weight of one path */
};

int ss_sg_fail(struct ss_board *board, int status, const char *hint, const char *fmt, ...)
{
    va_list ap;
    va_start(ap, fmt);
    vsnprintf(board->message, sizeof board->message, fmt, ap);
    va_end(ap);
    snprintf(board->hint, sizeof board->hint, "%s", hint);
    board->status = status;
    return status;
}

void ss_sg_give_up(struct ss_sg *sg)
{
    sg->board->status = SS_ERR_NOMEM;
    sg->board->finished = 1;
    ss_leave(1);
}

void ss_sg_init_engine(int quiet_deadlock, int guards, double longest)
{
    char precision[64];
    snprintf(precision, sizeof precision, "--cfg=surf/precision:%.3g", fmax(1e-14 * longest, 1e-300));
    const char *args[] = SS_VALUES(
        "stepsim", quiet_deadlock ? "--log=root.thresh:critical" : "--log=root.thresh:error", "--log=no_loc",
        "--cfg=network/model:CM02", "--cfg=network/crosstraffic:0", "--cfg=network/TCP-gamma:0",
        "--cfg=network/latency-factor:0", "--cfg=network/bandwidth-factor:1", "--cfg=network/weight-S:0",
        precision, "--cfg=maxmin/precision:1e-12",
#if defined(SS_SANITIZED) || defined(__SANITIZE_ADDRESS__)
        "--cfg=contexts/factory:thread",
#else
        guards ? "--cfg=contexts/stack-size:" NUMBER(SS_SG_STACK_KIB)
               : "--cfg=contexts/stack-size:" NUMBER(SS_SG_OPEN_STACK_KIB),
#endif
        guards ? NULL : "--cfg=contexts/guard-size:0", NULL);
    int argc = 0;
    while (args[argc])
        argc++;
    simgrid_init(&argc, (char **)args);
}

static void mark(struct use *u, const struct ss_program *p, int path, double bytes)
{
    if (path < 0 || !(bytes > 0) || u->used[path])
        return;
    u->used[path] = 1;
    const struct ss_path *w = &p->paths[path];
    for (int i = 0; i < w->nlinks; i++)
        u->load[w->link[i]] += w->weight[i];
    for (int i = 0; i < w->nlinks; i++) {
        double load = u->load[w->link[i]], *least = &u->lightest[w->link[i]];
        if (load > 0 && (*least == 0 || load < *least))
            *least = load;
        u->load[w->link[i]] = 0;
    }
}

static int use_init(struct use *u, const struct ss_program *p)
{
    u->lightest = calloc((size_t)p->nlinks + 1, sizeof *u->lightest);
    u->load = calloc((size_t)p->nlinks + 1, sizeof *u->load);
    u->used = calloc((size_t)p->npaths + 1, 1);
    if (!u->lightest || !u->load || !u->used)
        return -1;
    for (int i = 0; i < p->nchannels; i++)
        mark(u, p, p->channels[i].path, 1);
    for (int g = 0; g < p->ncollectives; g++)
        for (int i = 0; i < p->collectives[g].nphases; i++)
            for (int j = 0; j < p->collectives[g].phases[i].nflows; j++)
                mark(u, p, p->collectives[g].phases[i].flows[j].path,
                     p->collectives[g].phases[i].flows[j].bytes);
    return 0;
}

/* How often the route must name the link, 0 when SimGrid cannot express it. */
static int repeats(double load, double lightest)
{
    double ratio = load / lightest, whole = nearbyint(ratio);
    return whole <= MAX_REPEAT && fabs(ratio - whole) <= 1e-12 * whole ? (int)whole : 0;
}

static int write_route(const struct ss_sg *sg, struct use *u, int path, int from, int to, FILE *out)
{
    const struct ss_path *w = &sg->p->paths[path];
    fprintf(out, "<route src=\"h%d\" dst=\"h%d\" symmetrical=\"NO\">", from, to);
    for (int i = 0; i < w->nlinks; i++)
        u->load[w->link[i]] += w->weight[i];
    int rc = 0;
    for (int i = 0; i < w->nlinks; i++) {
        int l = w->link[i];
        if (u->load[l] == 0)
            continue; /* named before */
        int n = repeats(u->load[l], u->lightest[l]);
        if (n == 0)
            rc = ss_sg_fail(
                sg->board, SS_ERR_UNSUPPORTED, "use --engine native, which knows weights",
                "link %s is crossed by flows that stand for %g and %g flows: SimGrid cannot share it",
                sg->p->links[l].name, u->lightest[l], u->load[l]);
        for (int k = 0; k < n; k++)
            fprintf(out, "<link_ctn id=\"l%d\"/>", l);
        u->load[l] = 0;
    }
    fputs("</route>\n", out);
    return rc;
}

/* Pair number i of K hosts. */
static void pair_hosts(int i, int hosts, int *from, int *to)
{
    *from = i / (hosts - 1);
    *to = i % (hosts - 1);
    if (*to >= *from)
        ++*to;
}

static int write_platform(const struct ss_sg *sg, struct use *u, int hosts, FILE *out)
{
    const struct ss_program *p = sg->p;
    int rc = 0, n = 0;
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n"
          "<platform version=\"4.1\">\n<zone id=\"z\" routing=\"None\">\n<zone id=\"classes\" "
          "routing=\"None\">\n",
          out);
    for (int i = 0; i < p->nclasses; i++)
        fprintf(out, "<host id=\"c%d\" speed=\"1f\"/>\n", i);
    fputs("</zone>\n<zone id=\"pairs\" routing=\"Full\">\n", out);
    for (int i = 0; i < hosts; i++)
        fprintf(out, "<host id=\"h%d\" speed=\"1f\"/>\n", i);
    for (int l = 0; l < p->nlinks; l++)
        if (u->lightest[l] > 0)
            fprintf(out, "<link id=\"l%d\" bandwidth=\"%.17gBps\" latency=\"0s\"/>\n", l,
                    p->links[l].bandwidth / u->lightest[l] * sg->scale);
    for (int i = 0; i < p->npaths && !rc; i++)
        if (u->used[i] && p->paths[i].nlinks > 0) {
            int from, to;
            pair_hosts(n++, hosts, &from, &to);
            rc = write_route(sg, u, i, from, to, out);
        }
    fputs("</zone>\n</zone>\n</platform>\n", out);
    return rc;
}

static int load(const struct ss_sg *sg, struct use *u, int hosts)
{
    int fd = memfd_create("stepsim-platform", MFD_CLOEXEC);
    FILE *out = fd < 0 ? NULL : fdopen(fd, "w");
    char path[64];
    if (!out)
        return ss_sg_fail(sg->board, SS_ERR_ENGINE, "", "no memory file for the reduced platform");
    int rc = write_platform(sg, u, hosts, out);
    if (!rc && fflush(out))
        rc = ss_sg_fail(sg->board, SS_ERR_ENGINE, "", "cannot write the reduced platform");
    snprintf(path, sizeof path, "/proc/self/fd/%d", fd);
    if (!rc)
        simgrid_load_platform(path);
    fclose(out);
    return rc;
}

static sg_host_t find_host(char kind, int i)
{
    char name[32];
    snprintf(name, sizeof name, "%c%d", kind, i);
    return sg_host_by_name(name);
}

static int find_hosts(struct ss_sg *sg, struct use *u, int hosts)
{
    const struct ss_program *p = sg->p;
    sg_host_t *all = calloc((size_t)hosts, sizeof *all);
    if (!all)
        return ss_sg_fail(sg->board, SS_ERR_NOMEM, "", "out of memory");
    for (int i = 0; i < hosts; i++)
        all[i] = find_host('h', i);
    for (int c = 0; c < p->nclasses; c++)
        sg->classes[c].host = find_host('c', c);
    for (int i = 0, n = 0; i < p->npaths; i++)
        if (u->used[i] && p->paths[i].nlinks > 0) {
            int from, to;
            pair_hosts(n++, hosts, &from, &to);
            sg->pairs[i] = (struct ss_sg_pair){all[from], all[to]};
        }
    free(all);
    return 0;
}

int ss_sg_platform(struct ss_sg *sg)
{
    struct use u = {0};
    int hosts = 2, rc;
    while ((int64_t)hosts * (hosts - 1) < sg->p->npaths)
        hosts++;
    if (use_init(&u, sg->p))
        rc = ss_sg_fail(sg->board, SS_ERR_NOMEM, "", "out of memory");
    else if (!(rc = load(sg, &u, hosts)))
        rc = find_hosts(sg, &u, hosts);
    SS_FREE(u.lightest, u.load, u.used);
    return rc;
}
