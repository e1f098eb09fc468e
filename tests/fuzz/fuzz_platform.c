/* SPDX-License-Identifier: Apache-2.0 */
/* Any bytes either give a platform that answers every question and reads back from what it writes, or one error. */

#include "platform/platform_internal.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* Routes by the first two links of the file, so that files without a template get somewhere. */
static int ask(const char *file, int npairs, const char *const (*hosts)[2], char **routes,
               struct ss_error *err)
{
    /* links of clusters come with their values */
    const char *made = "made-a\0371e10\0371e-06 made-b\0372e9\0370";
    bool own = npairs % 3 == 0;

    (void)file, (void)hosts;
    if (npairs > 1000)
        return ss_fail(err, SS_ERR_UNSUPPORTED, NULL, 0, "too many pairs");
    for (int i = 0; i < npairs; i++)
        if ((routes[i] = strdup(own ? made : i % 2 ? "l0" : "l0 l1")) == NULL)
            return SS_ERR_NOMEM;
    return SS_OK;
}

static void check_routes(const struct ss_platform *p)
{
    int n = ss_platform_nodes(p) * ss_platform_gpus_per_node(p), links = ss_platform_link_count(p);
    struct ss_route r;
    struct ss_link link;

    for (int s = 0; s < n; s += 1 + n / 7)
        for (int d = 0; d < n; d += 1 + n / 7) {
            if (s == d)
                continue;
            ss_platform_route(p, s, d, &r);
            if (r.nlinks < 1 || r.nlinks > SS_ROUTE_MAX || !(r.latency >= 0))
                abort();
            for (int i = 0; i < r.nlinks; i++) {
                if (r.link[i] < 0 || r.link[i] >= links)
                    abort();
                ss_platform_link(p, r.link[i], &link);
                if (!(link.bandwidth > 0) || link.kind < 0 || link.kind >= SS_LINK_KIND_COUNT)
                    abort();
            }
        }
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    struct ss_platform_options options = {.asker = ask};
    struct ss_platform *p = NULL, *again = NULL;
    struct ss_error err = {0};
    char *text = NULL;
    size_t len = 0;
    FILE *out;

    if (ss_platform_parse((const char *)data, size, "fuzz", &options, &p, &err) != SS_OK) {
        if (err.message[0] == 0 || p != NULL)
            abort();
        return 0;
    }
    check_routes(p);
    if (p->foreign == NULL && (out = open_memstream(&text, &len)) != NULL) {
        if (ss_platform_write(p, out, NULL) != SS_OK)
            abort();
        fclose(out);
        if (ss_platform_parse(text, len, "again", NULL, &again, &err) != SS_OK ||
            ss_platform_hash(again) != ss_platform_hash(p))
            abort();
    }
    free(text);
    ss_platform_free(again);
    ss_platform_free(p);
    return 0;
}
