/* SPDX-License-Identifier: Apache-2.0 */
/* A page, and the module that carries it to browsers. */
#include <dlfcn.h>
#include <errno.h>
#include <unistd.h>

#include "base/base.h"
#include "serve/http.h"
#include "serve/page.h"
#include "workers/pool.h"

#define MODULE_FILE "stepsim-http.so"

int ss_serve_new(const struct ss_serve_options *options, struct ss_serve **out, struct ss_error *err)
{
    struct ss_serve *page = ss_calloc(1, sizeof *page);
    int rc = page ? SS_OK : ss_nomem(err);

    if (rc)
        return rc;
    ss_request_init(&page->start);
    if (options && options->start)
        rc = ss_request_copy(options->start, &page->start, err);
    SS_THEN(rc, ss_bands_load(NULL, NULL, &page->bands, err));
    SS_THEN(rc, ss_shelves_new(&page->shelves, err));
    SS_THEN(rc, ss_serve_choices(&page->start, &page->choices, err));
    SS_HAND(rc, page, out, ss_serve_free);
}

void ss_serve_free(struct ss_serve *page)
{
    if (!page)
        return;
    ss_request_free(&page->start);
    ss_shelves_free(page->shelves);
    ss_bands_free(page->bands);
    SS_FREE(page->choices, page);
}

static ss_http_main_fn *load_module(struct ss_error *err)
{
    char home[4096], path[4096 + sizeof MODULE_FILE + 1];
    const char *chosen = getenv("STEPSIM_MODULE_DIR");
    ss_http_main_fn *function = NULL;

    ss_home_find(&ss_home.modules, home, sizeof home);
    snprintf(path, sizeof path, "%s/%s", chosen && *chosen ? chosen : home, MODULE_FILE);
    void *handle = dlopen(path, RTLD_NOW | RTLD_LOCAL | RTLD_NODELETE);
    void *symbol = handle ? dlsym(handle, SS_HTTP_SYMBOL) : NULL;
    if (symbol) {
        memcpy(&function, &symbol, sizeof function);
        return function;
    }
    const char *why = dlerror();
    ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0, "the web server cannot be loaded: %s", why ? why : path);
    if (why && strstr(why, "libmicrohttpd"))
        ss_hint(err, SS_ERR_UNSUPPORTED, "install the library libmicrohttpd (Debian: libmicrohttpd12)");
    else
        ss_hint(err, SS_ERR_UNSUPPORTED,
                "%s\"sh setup.sh build\" in stepsim's source folder installs libmicrohttpd-dev and builds it",
                chosen && *chosen ? "unset STEPSIM_MODULE_DIR; " : "");
    return NULL;
}

int ss_serve_run(const struct ss_serve *page, const struct ss_serve_place *place, struct ss_error *err)
{
    ss_http_main_fn *run = load_module(err);
    struct ss_http_call call = {page, place, place->threads, ss_serve_answer};

    if (!run)
        return SS_ERR_UNSUPPORTED;
    if (call.threads < 1)
        call.threads = 2 * ss_pool_cores();
    int failed = run(&call);
    if (!failed)
        return SS_OK;
    ss_fail(err, SS_ERR_IO, NULL, 0, "cannot listen on port %d of this machine: %s", place->port,
            strerror(failed));
    return ss_hint(err, SS_ERR_IO,
                   failed == EADDRINUSE ? "another program has it: take another, or --port 0 for any"
                   : failed == EACCES   ? "ports below 1024 are root's: take a higher one"
                                        : "--port 0 takes any that is free");
}
