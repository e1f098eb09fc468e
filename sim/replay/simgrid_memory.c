/* SPDX-License-Identifier: Apache-2.0 */
/* Checks the memory of a replay before it is taken: actors have stacks, and the system ends a process that
 * asks for more than there is. */
#include <sys/resource.h>

#include "replay/simgrid.h"

/*
 * With guards 8,192 ranks of 405B, two actors each, took 10 KiB an actor with all that belongs to it; without, where all of a stack is
 * written, 4,096, 8,192 and 16,384 took 66.
 */
#define GUARDED_ACTOR 12288.0
#define OPEN_ACTOR (SS_SG_OPEN_STACK_KIB * 1024.0 + 4096)
#define GUARDED_SPACE (SS_SG_STACK_KIB * 1024.0 + 8192)
#define BESIDE_ACTORS 67108864.0
/* Mappings of a process beside stacks, and the limit of mappings where the system does not say. */
#define OTHER_MAPPINGS 8192
#define USUAL_MAPPINGS 65530

/* The number behind `key` in a file of the system; `none` where it has none. */
static double number_in(const char *path, const char *key, double none)
{
    FILE *f = fopen(path, "r");
    char line[256];
    double found = none;
    while (f && found == none && fgets(line, sizeof line, f))
        if (!strncmp(line, key, strlen(key)) && sscanf(line + strlen(key), "%lf", &found) != 1)
            found = none;
    if (f)
        fclose(f);
    return found;
}

int ss_sg_guards(size_t actors)
{
    double mappings = number_in("/proc/sys/vm/max_map_count", "", USUAL_MAPPINGS);
    return 2 * (double)actors + OTHER_MAPPINGS <= mappings;
}

/* Returns the number of actors: one for each rank, and for the largest collective that each rank posts one a
 * flow and one that waits for all. < 0: no memory to count. */
static double count_actors(const struct ss_program *p)
{
    double actors = p->nclasses, *most = calloc((size_t)p->nclasses + 1, sizeof *most);
    if (!most)
        return -1;
    for (int g = 0; g < p->ncollectives; g++) {
        const struct ss_collective *k = &p->collectives[g];
        int flows = 0;
        for (int i = 0; i < k->nphases; i++)
            flows = k->phases[i].nflows > flows ? k->phases[i].nflows : flows;
        for (int i = 0; i < k->nmembers; i++)
            most[k->members[i]] = fmax(most[k->members[i]], (flows + 1.0) / k->nmembers);
    }
    for (int c = 0; c < p->nclasses; c++)
        actors += most[c];
    free(most);
    return actors;
}

/* Address space that this process may still take. */
static double free_space(void)
{
    struct rlimit limit;
    if (getrlimit(RLIMIT_AS, &limit) || limit.rlim_cur == RLIM_INFINITY)
        return INFINITY;
    return (double)limit.rlim_cur - 1024 * number_in("/proc/self/status", "VmSize:", 0);
}

int ss_sg_check_memory(const struct ss_sg *sg, int guards)
{
    const struct ss_program *p = sg->p;
    double actors = count_actors(p), bytes = BESIDE_ACTORS + actors * (guards ? GUARDED_ACTOR : OPEN_ACTOR);
    double space = BESIDE_ACTORS + actors * (guards ? GUARDED_SPACE : OPEN_ACTOR), left = free_space();
    double memory = 1024 * number_in("/proc/meminfo", "MemAvailable:", INFINITY);
    memory = fmin(memory, number_in("/sys/fs/cgroup/memory.max", "", INFINITY));
    if (actors < 0)
        return ss_sg_fail(sg->board, SS_ERR_NOMEM, "", "out of memory");
    if (bytes <= memory && space <= left)
        return 0;
    return ss_sg_fail(sg->board, SS_ERR_UNSUPPORTED,
                      "use --engine native, or leave --unfold out: ranks that are alike are then one",
                      "%d ranks on SimGrid would take about %.2g GB of %s, of which %.2g GB are free",
                      p->nclasses, 1e-9 * (bytes <= memory ? space : bytes),
                      bytes <= memory ? "address space" : "memory",
                      1e-9 * fmax(0, bytes <= memory ? left : memory));
}
