/* SPDX-License-Identifier: Apache-2.0 */
/* What this installation and this machine can do. */
#include "stepsim/doctor.h"

#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <jansson.h>
#include <sys/wait.h>

#include "base/gzip.h"
#include "base/leave.h"
#include "import/sandbox.h"
#include "import/tree.h"
#include "platform/node_facts.h"
#include "report/common.h"
#include "stepsim/import.h"
#include "workers/pool.h"

static struct ss_check *add(struct ss_doctor *d, const char *name, int needed)
{
    struct ss_check *c = &d->check[d->n++];

    c->name = name;
    c->needed = needed;
    return c;
}

__attribute__((format(printf, 3, 4))) static void tell(struct ss_check *c, int ok, const char *format, ...)
{
    va_list ap;

    c->ok = ok;
    va_start(ap, format);
    vsnprintf(c->text, sizeof c->text, format, ap);
    va_end(ap);
}

static void tell_error(struct ss_check *c, const struct ss_error *err)
{
    tell(c, 0, "%s%s%s%s", err->message, err->hint[0] ? " (" : "", err->hint, err->hint[0] ? ")" : "");
}

/* ---- data ---- */

static size_t count(const char *kind, const char *suffix, struct ss_error *err)
{
    char **names = NULL;
    size_t n = 0;

    ss_data_list(kind, suffix, &names, &n, err);
    ss_names_free(names, n);
    return n;
}

static void check_data(struct ss_doctor *d)
{
    struct ss_check *c = add(d, "data", 1);
    struct ss_error err = {0};
    char place[4096];
    size_t platforms = count("platforms", ".xml", &err), models = count("workloads/models", ".json", &err);

    if (err.code || ss_data_place("platforms", place, sizeof place, &err)) {
        tell_error(c, &err);
        return;
    }
    const char *where = ss_inside(place) ? "inside the program" : place;
    *strrchr(place, '/') = '\0';
    tell(c, platforms && models, "%s: %zu platforms, %zu models%s", where, platforms, models,
         platforms && models ? "" : " (STEPSIM_DATA must name a folder that has them, or be unset)");
}

/* ---- modules and libraries: each by the function that tells its version ---- */

/* The place of a symbol of the handle, NULL: none. */
static void find(void *handle, const char *name, void *function)
{
    void *symbol = dlsym(handle, name);

    memcpy(function, &symbol, sizeof symbol);
}

static void http_version(void *module, char *out, size_t size)
{
    const char *(*get)(void);

    find(module, "MHD_get_version", &get);
    if (get)
        snprintf(out, size, "libmicrohttpd %s", get());
}

static void mpi_version(void *module, char *out, size_t size)
{
    int (*get)(char *, int *);
    char text[8192]; /* more than MPI_MAX_LIBRARY_VERSION_STRING */
    int n = 0;

    find(module, "MPI_Get_library_version", &get);
    if (get && !get(text, &n))
        snprintf(out, size, "%.*s", (int)strcspn(text, ","), text);
}

static const struct module {
    const char *name, *file;
    int needed;
    void (*version)(void *module, char *out, size_t size); /* NULL: a program, which tells it */
    const char *without;                                   /* what there is not */
} modules[] = {
    {"simgrid", "stepsim-simgrid", 1, NULL, "SimGrid engine: run --engine native"},
    {"serve", "stepsim-http.so", 0, http_version, "stepsim serve"},
    {"mpi", "stepsim-mpi.so", 0, mpi_version, "search and sweep on many machines"},
};

/* The loader says this in front of its complaint. */
static void cut_line(char *text)
{
    static const char before[] = "shared libraries: ";
    const char *wrong = strstr(text, before);

    if (wrong)
        memmove(text, wrong + sizeof before - 1, strlen(wrong + sizeof before - 1) + 1);
    text[strcspn(text, "\n")] = '\0';
}

_Noreturn static void open_here(const struct module *m, const char *path, int out)
{
    char said[400] = "";
    void *module = NULL;

    if (!m->version) {
        dup2(out, STDOUT_FILENO);
        dup2(out, STDERR_FILENO);
        execl(path, path, "--version", (char *)NULL);
        snprintf(said, sizeof said, "%.300s: %s", path, strerror(errno));
    } else if ((module = dlopen(path, RTLD_LAZY | RTLD_LOCAL | RTLD_NODELETE)) != NULL) {
        m->version(module, said, sizeof said);
    } else {
        const char *why = dlerror();
        ss_copy(said, sizeof said, why ? why : path);
    }
    ss_leave(write(out, said, strlen(said)) < 0 || !module);
}

/* Returns whether a module can be loaded; text: its version, or the reason. A child process loads it, because
 * some libraries end their process when memory runs out, and none is wanted here. */
static int open_in_child(const struct module *m, const char *path, char *text, size_t size)
{
    int ends[2], status = -1;
    pid_t child = pipe2(ends, O_CLOEXEC) ? -1 : fork();
    if (child < 0) {
        snprintf(text, size, "%s", strerror(errno));
        return 0;
    }
    if (!child)
        open_here(m, path, ends[1]);
    close(ends[1]);
    ssize_t n = read(ends[0], text, size - 1); /* less than a pipe takes at once */
    text[n > 0 ? n : 0] = '\0';
    cut_line(text);
    close(ends[0]);
    if (waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status))
        return 1;
    if (!text[0])
        snprintf(text, size, "%.300s: its libraries ended the process", path);
    return 0;
}

static void check_module(struct ss_doctor *d, const struct module *m)
{
    int simgrid = !m->version, built = !simgrid || ss_engine_is_built(SS_ENGINE_SIMGRID);
    struct ss_check *c = add(d, m->name, m->needed && built);
    const char *chosen = getenv("STEPSIM_MODULE_DIR");
    char home[4096], path[4200], text[400];

    if (!built) {
        tell(c, 0, "this stepsim is built without it: both engines have the same times");
        return;
    }
    ss_home_find(&ss_home.modules, home, sizeof home);
    snprintf(path, sizeof path, "%s/%s", chosen && *chosen ? chosen : home, m->file);
    if (access(path, R_OK) && simgrid) /* which is looked for in both */
        snprintf(path, sizeof path, "%s/%s", home, m->file);
    if (open_in_child(m, path, text, sizeof text))
        tell(c, 1, "%s%s%s", text, text[0] ? ", " : "", access(path, R_OK) ? "inside the program" : path);
    else
        tell(c, 0, "%.300s (without it no %s)", text, m->without);
}

static void check_libraries(struct ss_doctor *d)
{
    long xml = ss_xml_version();
    unsigned hwloc = ss_node_facts_hwloc();

    if (!xml) {
        tell(add(d, "libraries", 1), 0, "libxml2 is not installed: no XML can be read but the shipped files");
        return;
    }
    tell(add(d, "libraries", 1), 1, "libxml2 %ld.%ld.%ld, hwloc API %u.%u, jansson %s, libyaml %s, zlib %s",
         xml / 10000, xml / 100 % 100, xml % 100, hwloc >> 16, hwloc >> 8 & 255, jansson_version_str(),
         ss_yaml_version(), ss_gzip_version());
}

/* ---- what the kernel gives ---- */

static void check_launch(struct ss_doctor *d)
{
    struct ss_check *c = add(d, "launch", 0);
    pid_t child = fork();
    int status = -1, as_root;

    if (!child)
        ss_leave(ss_sandbox_unshare(&as_root) & 255);
    if (child > 0 && waitpid(child, &status, 0) == child && WIFEXITED(status) && !WEXITSTATUS(status))
        tell(c, 1, "launch scripts run in namespaces of their own");
    else
        tell(c, 0, "no namespaces for this user (%s): --launch needs --trust",
             strerror(child > 0 && WIFEXITED(status) ? WEXITSTATUS(status) : EAGAIN));
}

/* ---- a job on both engines ---- */

static int iteration(const struct ss_scenario *s, int engine, double *seconds, struct ss_error *err)
{
    const struct ss_run_options options = {.engine = engine, .brief = 1};
    struct ss_run run = {0};
    int rc = ss_run_scenario(s, &options, &run, err);

    if (!rc)
        *seconds = run.result->iteration_s;
    ss_run_free(&run);
    return rc;
}

static void check_engines(struct ss_doctor *d)
{
    static const char job[] =
        "--platform h800 --nodes 2 --model llama3.1-8b --bf16 --tp 2 --pp 4 --seq 4096 --mbs 1 --gbs 32";
    struct ss_check *c = add(d, "self-test", 1);
    struct ss_error err = {0};
    struct ss_scenario *s = NULL;
    struct ss_request r;
    double native = 0, simgrid = 0;
    int both = ss_engine_is_built(SS_ENGINE_SIMGRID);

    ss_request_init(&r);
    int rc = ss_request_read_text(&r, job, strlen(job), "self-test", &err);
    SS_THEN(rc, ss_scenario_build(&r, NULL, &s, &err));
    SS_THEN(rc, iteration(s, SS_ENGINE_NATIVE, &native, &err));
    SS_THEN(rc, iteration(s, both ? SS_ENGINE_SIMGRID : SS_ENGINE_NATIVE, &simgrid, &err));
    ss_scenario_free(s);
    ss_request_free(&r);
    if (rc)
        tell_error(c, &err);
    else if (!(native > 0) || !(fabs(native - simgrid) <= SS_ENGINES_AGREE * native))
        tell(c, 0, "the engines differ: native %.12g s, simgrid %.12g s", native, simgrid);
    else
        tell(c, 1, "an 8B model on 16 H800: %.4g s an iteration by %s", native,
             both ? "both engines" : "the native engine");
}

void ss_doctor_run(struct ss_doctor *d)
{
    memset(d, 0, sizeof *d);
    check_data(d);
    check_engines(d);
    for (size_t i = 0; i < SS_ARRAY_LEN(modules); i++)
        check_module(d, &modules[i]);
    check_launch(d);
    check_libraries(d);
    tell(add(d, "cores", 1), 1, "%d", ss_pool_cores());
    d->healthy = 1;
    for (int i = 0; i < d->n; i++)
        d->healthy &= d->check[i].ok || !d->check[i].needed;
}

int ss_doctor_write(const struct ss_doctor *d, int json, FILE *out, struct ss_error *err)
{
    if (!json) {
        fprintf(out, "stepsim %s\n", ss_version());
        for (int i = 0; i < d->n; i++)
            fprintf(out, "%-7s %-10s %s\n",
                    d->check[i].ok       ? "ok"
                    : d->check[i].needed ? "wrong"
                                         : "without",
                    d->check[i].name, d->check[i].text);
        fputs(d->healthy ? "predictions can run\n" : "predictions cannot run: repair what is marked wrong\n",
              out);
        return ss_report_done(out, err);
    }
    struct ss_json *document = ss_json_document("doctor"), *checks = ss_json_begin_list();
    for (int i = 0; i < d->n; i++)
        SS_ITEM(checks, SS_OBJECT(SS_SAME(&d->check[i], name), SS_TRUTH(&d->check[i], ok),
                                  SS_TRUTH(&d->check[i], needed), SS_SAME(&d->check[i], text)));
    SS_PUT(document, SS_TRUTH(d, healthy), SS_KEY("checks", checks));
    return ss_json_write(document, out, err);
}
