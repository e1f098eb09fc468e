/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

/* The jobs: files such as "today.args@0-3" before the first option, and the words that every job gets. */
struct jobs {
    int n, argc;
    char **argv;
    char name[SS_SHARERS_MOST][SS_OPTION_PATH_SIZE];
    char nodes[SS_SHARERS_MOST][256]; /* "": the nodes that follow those of the previous job */
    struct cli_flags *flags;          /* the options among those words */
    struct cli_inputs in[SS_SHARERS_MOST];
    int loaded;
    int cluster; /* nodes of the cluster; 0: not known yet */
};

static int read_names(struct jobs *j, int argc, char **argv, struct ss_error *err)
{
    struct ss_request *words = &j->flags->request;

    while (j->n < argc && argv[j->n][0] != '-' && j->n < SS_SHARERS_MOST) {
        const char *word = argv[j->n], *at = strrchr(word, '@');
        size_t length =
            at && strspn(at + 1, "0123456789-,") == strlen(at + 1) ? (size_t)(at - word) : strlen(word);
        if (length >= sizeof j->name[0] || strlen(word + length) >= sizeof j->nodes[0])
            return cli_usage(err, "", "%.80s...: longer than a path may be", word);
        snprintf(j->name[j->n], sizeof j->name[0], "%.*s", (int)length, word);
        snprintf(j->nodes[j->n], sizeof j->nodes[0], "%s", word[length] ? word + length + 1 : "");
        j->n++;
    }
    j->argc = argc - j->n;
    j->argv = argv + j->n;
    SS_TRY(cli_request_read(words, NULL, j->flags, j->argc, j->argv, err));
    if (ss_request_find(words, "--on-nodes") < words->n)
        return cli_usage(err, "write them behind each file, as a.args@0-3, or in it",
                         "--on-nodes would put all jobs on the same nodes");
    if (j->n < 2 || (j->argc > 0 && j->argv[0][0] != '-'))
        return cli_usage(err, "give job files, each with its nodes: stepsim share a.args@0-3 b.args@4-7",
                         "%d job%s: 2 to %d are possible", j->n, j->n == 1 ? "" : "s", SS_SHARERS_MOST);
    return SS_OK;
}

/* Loads job i, on its nodes and in the cluster as far as these are known. */
static int load(struct jobs *j, int i, struct ss_error *err)
{
    char job[] = "--job", on[] = "--on-nodes", all[] = "--cluster-nodes";
    char cluster[16], **argv = calloc((size_t)j->argc + 6, sizeof *argv);
    struct cli_flags flags;
    int n = 0;

    if (!argv)
        return SS_ERR_NOMEM;
    argv[n++] = job;
    argv[n++] = j->name[i];
    for (int k = 0; k < j->argc; k++)
        argv[n++] = j->argv[k];
    if (j->nodes[i][0]) {
        argv[n++] = on;
        argv[n++] = j->nodes[i];
    }
    snprintf(cluster, sizeof cluster, "%d", j->cluster);
    if (j->cluster) {
        argv[n++] = all;
        argv[n++] = cluster;
    }
    cli_flags_init(&flags, CLI_SHARE);
    int rc = cli_inputs_load(&j->in[i], &flags, n, argv, err);
    cli_flags_free(&flags);
    free(argv);
    return rc;
}

/* Gives jobs whose nodes nobody names the nodes that follow those of the jobs before. The cluster is the
 * largest that any job asks for. */
static int place(struct jobs *j, struct ss_error *err)
{
    int next = 0, cluster = 0;

    for (int i = 0; i < j->n; i++) {
        int last, rc = load(j, i, err);
        if (rc)
            return rc;
        const struct ss_scenario *s = j->in[i].scenario;
        if (!ss_job_named_nodes(s->job, &last)) {
            last = next + s->world_size / ss_platform_file_gpus(s->platform) - 1;
            snprintf(j->nodes[i], sizeof j->nodes[0], "%d-%d", next, last);
        }
        next = last >= next ? last + 1 : next;
        cluster = s->job->cluster_nodes > cluster ? s->job->cluster_nodes : cluster;
        cli_inputs_free(&j->in[i]);
    }
    j->cluster = cluster ? cluster : next;
    return SS_OK;
}

static int share(struct jobs *j, struct ss_error *err)
{
    const struct ss_share_options options = {
        .engine = j->flags->options.how.options.engine,
        .level = cli_given(j->flags, "--level") ? j->flags->options.how.options.plan.level : SS_LEVEL_FLOW,
        .starts = j->flags->starts ? j->flags->starts : 4};
    const struct ss_scenario *jobs[SS_SHARERS_MOST];
    const char *names[SS_SHARERS_MOST];
    const struct ss_display view = cli_view(j->flags);
    struct ss_sharing *x = calloc(1, sizeof *x);
    int rc = x ? SS_OK : SS_ERR_NOMEM;

    for (int i = 0; i < j->n; i++) {
        jobs[i] = j->in[i].scenario;
        names[i] = j->name[i];
    }
    SS_THEN(rc, ss_share(jobs, names, j->n, &options, x, err));
    CLI_WRITE(rc, j->flags->output, ss_sharing_write(x, &view, stream, err), err);
    free(x);
    return rc;
}

int cmd_share(struct cli_flags *flags, struct ss_error *err)
{
    struct jobs *j = calloc(1, sizeof *j);

    if (!j)
        return SS_ERR_NOMEM;
    j->flags = flags;
    int rc = read_names(j, flags->n, flags->words, err);
    SS_THEN(rc, place(j, err));
    for (; j->loaded < j->n && !rc; j->loaded += !rc)
        rc = load(j, j->loaded, err);
    SS_THEN(rc, share(j, err));
    for (int i = 0; i < j->loaded; i++)
        cli_inputs_free(&j->in[i]);
    free(j);
    return rc;
}
