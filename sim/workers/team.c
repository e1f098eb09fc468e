/* SPDX-License-Identifier: Apache-2.0 */
#include "workers/team.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "base/base.h"
#include "workers/mpi.h"

#define MODULE_FILE "stepsim-mpi.so"
/* Seconds between two signs of life, and between two looks at who lives. */
#define PING_S 1.0
/* Seconds: the first process may write for long between two lists. */
#define FIRST_SILENCE_S 3600

struct member {
    int works; /* 1: works at this list and says every second that it lives */
    int dead;
    double heard; /* s: when it was last heard */
    long pid;     /* 0: the process is on another machine, or its number is not known */
};

struct ss_team {
    const struct ss_mpi *mpi;
    int list;
    double pinged; /* s: when it last said that it lives */
    struct member *members;
    char *buffer;
    size_t room;
    int ended, status, all_there; /* message SS_TEAM_END of the first process */
};

/* ---- joining ---- */

static int is_one(const char *name)
{
    const char *value = getenv(name);
    return value && !strcmp(value, "1");
}

/* Returns whether a launcher set its variables: mpirun of OpenMPI, or srun with --mpi=pmix or pmi2. */
static int was_started_with_others(void)
{
    const char *wanted = getenv("STEPSIM_MPI");
    if (wanted && !strcmp(wanted, "off"))
        return 0;
    if (getenv("OMPI_COMM_WORLD_SIZE"))
        return !is_one("OMPI_COMM_WORLD_SIZE");
    return (getenv("PMIX_RANK") || getenv("PMI_RANK")) && !is_one("SLURM_STEP_NUM_TASKS") &&
           !is_one("PMI_SIZE");
}

static ss_mpi_join_fn *load_module(struct ss_error *err)
{
    char home[4096], path[4096 + sizeof MODULE_FILE + 1];
    const char *chosen = getenv("STEPSIM_MODULE_DIR");
    ss_mpi_join_fn *function = NULL;

    ss_home_find(&ss_home.modules, home, sizeof home);
    snprintf(path, sizeof path, "%s/%s", chosen && *chosen ? chosen : home, MODULE_FILE);
    void *handle =
        dlopen(path, RTLD_NOW | RTLD_GLOBAL | RTLD_NODELETE); /* parts of OpenMPI look up symbols of others */
    void *symbol = handle ? dlsym(handle, SS_MPI_SYMBOL) : NULL;
    if (symbol) {
        memcpy(&function, &symbol, sizeof function);
        return function;
    }
    const char *why = dlerror();
    ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0, "the module for MPI cannot be loaded: %s", why ? why : path);
    ss_hint(err, SS_ERR_UNSUPPORTED,
            "install libopenmpi-dev and build again; STEPSIM_MPI=off runs each process alone");
    return NULL;
}

/* Sends a message to those from `first` to `last`, of which it makes one copy: answers are long, and processes many. */
static void send_to(struct ss_team *t, int first, int last, const struct ss_team_message *m, const void *data,
                    size_t n)
{
    if (ss_grow(&t->buffer, &t->room, sizeof *m + n, 1))
        return;
    memcpy(t->buffer, m, sizeof *m);
    if (n)
        memcpy(t->buffer + sizeof *m, data, n);
    for (int to = first; to <= last; to++)
        if (!t->members[to].dead && t->mpi->send(to, t->buffer, sizeof *m + n))
            t->members[to].dead = 1;
}

void ss_team_send(struct ss_team *t, int to, const struct ss_team_message *m, const void *data, size_t n)
{
    send_to(t, to, to, m, data, n);
}

void ss_team_tell(struct ss_team *t, const struct ss_team_message *m, const void *data, size_t n)
{
    send_to(t, 1, t->mpi->size - 1, m, data, n);
}

/* Describes where process numbers count. Containers on one machine share its kernel, but not the numbers of
 * processes. */
static void fill_space(char *out, size_t size)
{
    struct stat numbers;
    char boot[40] = "";
    int fd = open("/proc/sys/kernel/random/boot_id", O_RDONLY | O_CLOEXEC);
    ssize_t n = fd < 0 ? -1 : read(fd, boot, sizeof boot - 1);
    if (fd >= 0)
        close(fd);
    if (n > 0 && !stat("/proc/self/ns/pid", &numbers))
        snprintf(out, size, "%.36s %ju", boot, (uintmax_t)numbers.st_ino);
}

void ss_team_ready_fill(struct ss_team_ready *ready, uint64_t digest)
{
    memset(ready, 0, sizeof *ready);
    ready->digest = digest;
    ready->pid = (long)getpid();
    fill_space(ready->space, sizeof ready->space);
}

/* Tells the first process where all others are, and tells them where the first is. */
static void say_hello(struct ss_team *t)
{
    const struct ss_team_message hello = {.kind = SS_TEAM_READY};
    struct ss_team_ready own;
    ss_team_ready_fill(&own, 0);
    for (int r = t->mpi->rank ? 0 : 1; r < (t->mpi->rank ? 1 : t->mpi->size); r++)
        ss_team_send(t, r, &hello, &own, sizeof own);
}

int ss_team_open(struct ss_team **out, struct ss_error *err)
{
    struct ss_team *t;
    *out = NULL;
    if (!was_started_with_others())
        return SS_OK;
    ss_mpi_join_fn *join = load_module(err);
    const struct ss_mpi *mpi = join ? join() : NULL;
    if (!join)
        return SS_ERR_UNSUPPORTED;
    if (!mpi)
        return ss_fail(err, SS_ERR_ENGINE, NULL, 0, "MPI cannot be started");
    t = ss_calloc(1, sizeof *t);
    if (t)
        t->members = ss_calloc((size_t)mpi->size, sizeof *t->members);
    if (!t || !t->members) {
        free(t);
        return ss_nomem(err);
    }
    t->mpi = mpi;
    t->members[0].heard = ss_clock();
    say_hello(t);
    *out = t;
    return SS_OK;
}

/* ---- who lives ---- */

int ss_team_rank(const struct ss_team *t)
{
    return t ? t->mpi->rank : 0;
}

int ss_team_is_dead(const struct ss_team *t, int rank)
{
    return t->members[rank].dead;
}

int ss_team_next_list(struct ss_team *t)
{
    for (int r = 0; r < t->mpi->size; r++)
        t->members[r].works = 0;
    return ++t->list;
}

/* Decides who is dead. A process of this machine is dead when its number is gone, perhaps before its last
 * message is read. A process of another machine is dead when it is silent. */
static void watch(struct member *m, const void *data, size_t n)
{
    struct ss_team_ready own, its;
    if (n < sizeof its)
        return;
    memcpy(&its, data, sizeof its);
    ss_team_ready_fill(&own, 0);
    m->pid = own.space[0] && !strncmp(own.space, its.space, sizeof own.space) ? its.pid : 0;
}

static void look_who_died(struct ss_team *t, double now)
{
    for (int r = 0; r < t->mpi->size; r++) {
        struct member *m = &t->members[r];
        double silence = r == 0 ? FIRST_SILENCE_S : m->works ? SS_TEAM_SILENCE_S : now;
        if (!m->dead && r != t->mpi->rank)
            m->dead = now - m->heard > silence || (m->pid && kill((pid_t)m->pid, 0) != 0 && errno == ESRCH);
    }
}

static void tick(struct ss_team *t)
{
    const struct ss_team_message ping = {.kind = SS_TEAM_PING};
    double now = ss_clock();
    if (now - t->pinged < PING_S)
        return;
    t->pinged = now;
    for (int r = 0; r < t->mpi->size; r++)
        if (r != t->mpi->rank && (r == 0 || t->members[r].works))
            ss_team_send(t, r, &ping, NULL, 0);
    look_who_died(t, now);
}

/* ---- messages ---- */

/* Notes that the first process has ended, or died. */
static int note_end(struct ss_team *t, struct ss_team_message *m)
{
    if (m->kind == SS_TEAM_END) {
        t->ended = 1;
        t->status = m->status;
        t->all_there = m->slot;
    } else if (t->members[0].dead && !t->ended) {
        *m = (struct ss_team_message){.kind = SS_TEAM_END, .status = -1};
        t->ended = 1;
        t->status = -1;
        return 1;
    }
    return 0;
}

int ss_team_take(struct ss_team *t, int *from, struct ss_team_message *m, const void **data, size_t *n)
{
    const void *message;
    size_t size;
    tick(t);
    while (t->mpi->take(from, &message, &size) > 0) {
        struct member *sender = &t->members[*from];
        if (sender->dead || size < sizeof *m)
            continue;
        sender->heard = ss_clock();
        memcpy(m, message, sizeof *m);
        *data = (const char *)message + sizeof *m;
        *n = size - sizeof *m;
        note_end(t, m);
        if (m->kind == SS_TEAM_READY)
            watch(sender, *data, *n);
        sender->works |= m->kind == SS_TEAM_READY && m->list == t->list;
        if (m->kind != SS_TEAM_PING && (m->kind != SS_TEAM_READY || m->list > 0))
            return 1;
    }
    m->kind = SS_TEAM_PING;
    *n = 0;
    return note_end(t, m);
}

/* ---- leaving ---- */

static int are_all_there(const struct ss_team *t)
{
    for (int r = 0; r < t->mpi->size; r++)
        if (t->members[r].dead)
            return 0;
    return 1;
}

/* Ends the team. A late process may have died unnoticed, so the first process asks it for a sign of life
 * before MPI is left in order. */
static void say_end(struct ss_team *t, int status)
{
    look_who_died(t, ss_clock());
    const struct ss_team_message end = {.kind = SS_TEAM_END, .status = status, .slot = are_all_there(t)};
    ss_team_tell(t, &end, NULL, 0);
    t->all_there = end.slot;
    t->status = status;
}

static void wait_for_end(struct ss_team *t)
{
    const struct timespec nap = {.tv_nsec = 1000000};
    struct ss_team_message m;
    const void *data;
    size_t n;
    int from;
    while (!t->ended)
        if (!ss_team_take(t, &from, &m, &data, &n))
            nanosleep(&nap, NULL);
}

int ss_team_close(struct ss_team *t, int status, int *first)
{
    if (!t)
        return 0;
    if (t->mpi->rank == 0)
        say_end(t, status);
    else
        wait_for_end(t);
    int all_there = t->all_there;
    if (first)
        *first = t->status;
    t->mpi->leave(all_there, status);
    SS_FREE(t->members, t->buffer, t);
    return !all_there;
}
