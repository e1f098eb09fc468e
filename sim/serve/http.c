/* SPDX-License-Identifier: Apache-2.0 */
/* The only user of libmicrohttpd: GET and HEAD on 127.0.0.1. A page of another site cannot read an answer (no CORS header), cannot
 * reach it by a name of its own (Host must be this machine), and is not answered where its browser says who asks. */
#include <arpa/inet.h>
#include <errno.h>
#include <poll.h>
#include <stdlib.h>
#include <string.h>

#include <microhttpd.h>

#include "serve/http.h"

#define MEMORY (64u << 10) /* bytes of a connection, which hold the address and the headers */
#define TIMEOUT_S 30       /* a connection that says nothing */
#define CONNECTIONS 1000   /* at once; more wait */

struct arguments {
    struct ss_serve_argument all[SS_HTTP_ARGUMENTS];
    int n, bad;
};

static enum MHD_Result collect(void *ctx, enum MHD_ValueKind kind, const char *name, size_t name_size,
                               const char *value, size_t value_size)
{
    struct arguments *a = ctx;

    (void)kind;
    /* a zero inside would end the text early */
    if (a->n == SS_HTTP_ARGUMENTS || strlen(name) != name_size || (value && strlen(value) != value_size)) {
        a->bad = 1;
        return MHD_NO;
    }
    a->all[a->n++] = (struct ss_serve_argument){name, value ? value : ""};
    return MHD_YES;
}

/* Whether "localhost:8420" names this machine; any port, which a tunnel may change. */
static int is_this_machine(const char *host)
{
    static const char *const names[] = {"localhost", "127.0.0.1", "[::1]"};

    for (size_t i = 0; host && i < sizeof names / sizeof names[0]; i++) {
        size_t n = strlen(names[i]);
        if (!strncasecmp(host, names[i], n) &&
            (!host[n] ||
             (host[n] == ':' && host[n + 1] && !host[n + 1 + strspn(host + n + 1, "0123456789")])))
            return 1;
    }
    return 0;
}

/* Whether a page of another site asks for more than to be shown this one. */
static int is_foreign(struct MHD_Connection *c, const char *path)
{
    const char *site = MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Sec-Fetch-Site");

    return site && strcmp(path, "/") != 0 && strcmp(site, "same-origin") != 0 && strcmp(site, "none") != 0;
}

/* Whether more follows the headers, which nobody here reads. */
static int has_body(struct MHD_Connection *c)
{
    return MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Content-Length") ||
           MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Transfer-Encoding");
}

static enum MHD_Result send_body(struct MHD_Connection *c, int status, const char *type, const char *save_as,
                                 char *body, size_t size, enum MHD_ResponseMemoryMode mode)
{
    static const char *const always[][2] = {
        {"Cache-Control", "no-store"},
        {"X-Content-Type-Options", "nosniff"},
        {"X-Frame-Options", "DENY"},
        {"Referrer-Policy", "no-referrer"},
        {"Cross-Origin-Resource-Policy", "same-origin"},
        {"Content-Security-Policy",
         "default-src 'none'; style-src 'unsafe-inline'; script-src 'unsafe-inline'; "
         "connect-src 'self'; img-src 'self' data:; base-uri 'none'; form-action 'none'; "
         "frame-ancestors 'none'"},
    };
    struct MHD_Response *r = MHD_create_response_from_buffer(size, body, mode);
    char disposition[128];

    if (!r) {
        if (mode == MHD_RESPMEM_MUST_FREE)
            free(body);
        return MHD_NO;
    }
    MHD_add_response_header(r, "Content-Type", type);
    for (size_t i = 0; i < sizeof always / sizeof always[0]; i++)
        MHD_add_response_header(r, always[i][0], always[i][1]);
    if (save_as) {
        snprintf(disposition, sizeof disposition, "attachment; filename=\"%s\"", save_as);
        MHD_add_response_header(r, "Content-Disposition", disposition);
    }
    if (status == MHD_HTTP_METHOD_NOT_ALLOWED)
        MHD_add_response_header(r, "Allow", "GET, HEAD");
    enum MHD_Result sent = MHD_queue_response(c, (unsigned)status, r);
    MHD_destroy_response(r);
    return sent;
}

static enum MHD_Result refuse(struct MHD_Connection *c, int status, const char *why)
{
    return send_body(c, status, "text/plain; charset=utf-8", NULL, (char *)why, strlen(why),
                     MHD_RESPMEM_PERSISTENT);
}

static enum MHD_Result on_request(void *ctx, struct MHD_Connection *c, const char *path, const char *method,
                                  const char *version, const char *upload, size_t *upload_size, void **state)
{
    const struct ss_http_call *call = ctx;
    struct ss_serve_reply reply;
    struct arguments a = {.n = 0};

    (void)version;
    (void)upload;
    (void)upload_size;
    /* the first call comes before the end of the request: an answer to it closes the connection */
    if (!*state && !has_body(c)) {
        *state = (void *)ctx;
        return MHD_YES;
    }
    if (!is_this_machine(MHD_lookup_connection_value(c, MHD_HEADER_KIND, "Host")))
        return refuse(c, MHD_HTTP_FORBIDDEN, "This page answers to localhost and 127.0.0.1 alone.\n");
    if (strcmp(method, "GET") != 0 && strcmp(method, "HEAD") != 0)
        return refuse(c, MHD_HTTP_METHOD_NOT_ALLOWED, "This page is read only: GET or HEAD.\n");
    if (is_foreign(c, path))
        return refuse(c, MHD_HTTP_FORBIDDEN, "Other sites get no answer here.\n");
    MHD_get_connection_values_n(c, MHD_GET_ARGUMENT_KIND, collect, &a);
    if (a.bad)
        return refuse(c, MHD_HTTP_BAD_REQUEST, "The address has too many arguments, or a zero in one.\n");
    if (call->answer(call->page, path, a.all, a.n, &reply))
        return refuse(c, MHD_HTTP_INTERNAL_SERVER_ERROR, "Out of memory.\n");
    return send_body(c, reply.status, reply.type, reply.save_as, reply.body, reply.size,
                     MHD_RESPMEM_MUST_FREE);
}

static struct MHD_Daemon *start(const struct ss_http_call *call)
{
    struct sockaddr_in here = {.sin_family = AF_INET,
                               .sin_port = htons((uint16_t)call->place->port),
                               .sin_addr = {.s_addr = htonl(INADDR_LOOPBACK)}};

    errno = 0;
    return MHD_start_daemon(MHD_USE_POLL_INTERNAL_THREAD, 0, NULL, NULL, on_request, (void *)call,
                            MHD_OPTION_SOCK_ADDR, (struct sockaddr *)&here, MHD_OPTION_THREAD_POOL_SIZE,
                            (unsigned)call->threads, MHD_OPTION_CONNECTION_LIMIT, (unsigned)CONNECTIONS,
                            MHD_OPTION_CONNECTION_TIMEOUT, (unsigned)TIMEOUT_S,
                            MHD_OPTION_CONNECTION_MEMORY_LIMIT, (size_t)MEMORY, MHD_OPTION_END);
}

/* dlsym finds it by SS_HTTP_SYMBOL */
ss_http_main_fn ss_http_main;

int ss_http_main(const struct ss_http_call *call)
{
    struct MHD_Daemon *daemon = start(call);
    struct pollfd stop = {.fd = call->place->stop, .events = POLLIN};
    const union MHD_DaemonInfo *info;

    if (!daemon)
        return errno ? errno : EIO;
    info = MHD_get_daemon_info(daemon, MHD_DAEMON_INFO_BIND_PORT);
    if (call->place->ready)
        call->place->ready(call->place->ctx, info && info->port ? info->port : call->place->port);
    while (poll(&stop, 1, -1) < 0 && errno == EINTR)
        continue;
    MHD_stop_daemon(daemon);
    return 0;
}
