/* SPDX-License-Identifier: Apache-2.0 */
/* SimGrid's own program: nothing of it comes into this one, threads and forks are safe, and it may be ended at any time. */
#include <dirent.h>
#include <dlfcn.h>
#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "base/leave.h"
#include "stepsim/replay.h"
#include "suite.h"

static const char text[] = "program two\n"
                           "class a {\nmemory weights 1MiB\nslot x F 0 0 {\ncompute 3s\n}\n}\n"
                           "class b {\nmemory weights 1MiB\nslot y F 0 0 {\ncompute 2s\n}\n}\n";

/* The makespan by SimGrid, 3 s; -1: an error, which is told. */
static double replay(void)
{
    struct ss_program *p;
    struct ss_replay_stats stats = {0};
    struct ss_error err = {0};
    int rc = ss_program_parse(text, sizeof text - 1, "two", &p, &err);

    if (!rc) {
        rc = ss_replay(p, SS_ENGINE_SIMGRID, NULL, 0, &stats, &err);
        ss_program_free(p);
    }
    if (rc)
        fprintf(stderr, "%s\n", err.message);
    return rc ? -1 : stats.makespan;
}

static int has_library(const char *name)
{
    char line[4096];
    FILE *f = fopen("/proc/self/maps", "re");
    int found = 0;

    while (f && fgets(line, sizeof line, f))
        found |= strstr(line, name) != NULL;
    if (f)
        fclose(f);
    return found;
}

TEST(nothing_is_loaded)
{
    CU_ASSERT_EQUAL(ss_simgrid_load(NULL), SS_OK);
    CU_ASSERT_EQUAL(replay(), 3);
    CU_ASSERT(has_library("libcunit"));
    CU_ASSERT(!has_library("libsimgrid"));
}

static atomic_int done;

/* Whoever forks while the loader's lock is held here has a child in which no library can be loaded. */
static void *load(void *ctx)
{
    (void)ctx;
    while (!done) {
        void *library = dlopen("libcunit.so.1", RTLD_NOW), *other = dlopen("libgmp.so.10", RTLD_NOW);
        if (library)
            dlclose(library);
        if (other)
            dlclose(other);
    }
    return NULL;
}

static void *replay_some(void *good)
{
    for (int i = 0; i < 20; i++)
        *(int *)good += replay() == 3;
    return NULL;
}

TEST(threads)
{
    pthread_t loader, thread[3];
    int good[3] = {0};

    CU_ASSERT_FATAL(pthread_create(&loader, NULL, load, NULL) == 0);
    for (int i = 0; i < 3; i++)
        CU_ASSERT_FATAL(pthread_create(&thread[i], NULL, replay_some, &good[i]) == 0);
    for (int i = 0; i < 3; i++)
        pthread_join(thread[i], NULL);
    done = 1;
    pthread_join(loader, NULL);
    CU_ASSERT(good[0] == 20 && good[1] == 20 && good[2] == 20);
}

TEST(forked)
{
    int state = -1;
    pid_t child = fork();

    if (!child) {
        for (int fd = 3; fd < 64; fd++) /* as a worker does */
            close(fd);
        ss_leave(replay() == 3 ? 0 : 1);
    }
    CU_ASSERT_FATAL(child > 0 && waitpid(child, &state, 0) == child);
    CU_ASSERT_EQUAL(state, 0);
    CU_ASSERT_EQUAL(replay(), 3);
}

/* SimGrid's program among the children of this process; 0: none. */
static pid_t find_helper(void)
{
    char path[300], name[64];
    struct dirent *entry;
    DIR *all = opendir("/proc");
    pid_t found = 0;

    while (all && !found && (entry = readdir(all)) != NULL) {
        int parent = 0;
        snprintf(path, sizeof path, "/proc/%s/stat", entry->d_name);
        FILE *f = entry->d_name[0] >= '1' && entry->d_name[0] <= '9' ? fopen(path, "re") : NULL;
        if (f && fscanf(f, "%*d (%63[^)]) %*c %d", name, &parent) == 2 && parent == getpid() &&
            !strncmp(name, "stepsim-simgrid", 15))
            found = (pid_t)strtol(entry->d_name, NULL, 10);
        if (f)
            fclose(f);
    }
    if (all)
        closedir(all);
    return found;
}

TEST(ended)
{
    pid_t first = find_helper();

    CU_ASSERT_FATAL(first > 0);
    CU_ASSERT_EQUAL(replay(), 3);
    CU_ASSERT_EQUAL(find_helper(), first); /* one for all */
    kill(first, SIGKILL);
    while (waitpid(first, NULL, WNOHANG) == 0)
        usleep(1000);
    CU_ASSERT_EQUAL(replay(), 3);
    CU_ASSERT(find_helper() > 0 && find_helper() != first);
}

/* Names of files count in the folder that this process is in, not in that in which the helper was started. */
TEST(folder)
{
    static const char *const hosts[1][2] = {{"a", "b"}};
    char folder[] = "/tmp/stepsim-helper-XXXXXX", before[4096], *route = NULL;
    struct ss_error err = {0};

    CU_ASSERT_FATAL(getcwd(before, sizeof before) && mkdtemp(folder) && chdir(folder) == 0);
    FILE *f = fopen("own.xml", "we");
    CU_ASSERT_PTR_NOT_NULL_FATAL(f);
    fputs("<?xml version='1.0'?>\n<!DOCTYPE platform SYSTEM \"https://simgrid.org/simgrid.dtd\">\n<platform "
          "version=\"4.1\">\n"
          "<zone id=\"z\" routing=\"Full\">\n<host id=\"a\" speed=\"1Gf\"/>\n<host id=\"b\" speed=\"1Gf\"/>\n"
          "<link id=\"l\" bandwidth=\"1GBps\" latency=\"1us\"/>\n"
          "<route src=\"a\" dst=\"b\"><link_ctn id=\"l\"/></route>\n</zone>\n</platform>\n",
          f);
    fclose(f);
    CU_ASSERT_EQUAL(ss_simgrid_ask_routes("own.xml", 1, hosts, &route, &err), SS_OK);
    CU_ASSERT(route && route[0] == 'l');
    free(route);
    unlink("own.xml");
    CU_ASSERT(chdir(before) == 0 && rmdir(folder) == 0);
}
