/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

/* Loads the platform that the words of `show` or `draw` name. */
static int load_one(struct cli_flags *flags, struct ss_platform **p, struct ss_error *err)
{
    if (flags->n != 1)
        return cli_usage(err, "\"stepsim list platforms\" shows the names", "%s",
                         flags->n ? "more than one platform given" : "no platform given");
    return cli_platform_load(flags->words[0], flags, p, err);
}

int cmd_platform_show(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_platform *p = NULL;
    int rc = load_one(flags, &p, err);

    CLI_WRITE(rc, flags->output,
              flags->xml ? ss_platform_write(p, stream, err)
                         : ss_report_platform(p, flags->json, stream, err),
              err);
    ss_platform_free(p);
    return rc;
}

int cmd_platform_draw(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_platform *p = NULL;
    int rc = load_one(flags, &p, err);

    CLI_WRITE(rc, flags->output, ss_platform_svg(p, flags->pictures.width, stream, err), err);
    ss_platform_free(p);
    return rc;
}

static int check_one(const char *path, const struct cli_flags *flags, struct ss_error *err)
{
    struct ss_platform *p;

    SS_TRY(cli_platform_load(path, flags, &p, err));
    int simgrid = ss_engine_is_built(SS_ENGINE_SIMGRID);
    int rc = simgrid ? ss_simgrid_probe(ss_platform_file(p), err) : SS_OK;
    if (!rc && !flags->json)
        printf("%s: ok: %d node%s x %d x %s%s\n", path, ss_platform_file_nodes(p),
               ss_platform_file_nodes(p) == 1 ? "" : "s", ss_platform_file_gpus(p), ss_platform_card(p)->name,
               simgrid ? "" : " (not loaded by SimGrid, which this stepsim has not)");
    ss_platform_free(p);
    return rc;
}

/* Checks all files. The caller reports the last error; the errors before it are reported here. */
int cmd_platform_check(struct cli_flags *flags, struct ss_error *err)
{
    int worst = SS_OK;

    if (flags->n == 0)
        return cli_usage(err, "give one or more XML files", "no file given");
    for (int i = 0; i < flags->n; i++) {
        struct ss_error one = {0};
        int wrong = check_one(flags->words[i], flags, &one);
        if (!wrong)
            continue;
        if (worst && flags->json)
            continue; /* a command writes one JSON object: the first error */
        if (worst)
            cli_fail(err, 0);
        worst = wrong;
        *err = one;
    }
    if (!worst && flags->json)
        return ss_report_checked("platform", flags->n, (const char *const *)flags->words, stdout, err);
    return worst;
}

int cmd_platform_import(struct cli_flags *flags, struct ss_error *err)
{
    const char *const *const paths = (const char *const *)flags->words;
    struct ss_import_options options = {
        .card = flags->platform.card, .nodes = flags->nodes, .files = cli_files()};
    char note[1024] = "", *text = NULL;
    size_t len = 0;

    if (flags->n == 0)
        return cli_usage(
            err, "make one with \"lstopo node.xml\" or \"nvidia-smi topo -m\" on a node of the cluster",
            "no file given");
    FILE *memory = open_memstream(&text, &len);
    int rc = SS_ERR_NOMEM;
    if (memory) {
        rc = ss_platform_import(paths, flags->n, &options, memory, note, sizeof note, err);
        fclose(memory);
    }
    CLI_WRITE(rc, flags->output, (fwrite(text, 1, len, stream), SS_OK),
              err); /* which is no input: all are read */
    if (!rc && note[0])
        fprintf(stderr, "stepsim: note: %s\n", ss_text_clean(note));
    free(text);
    return rc;
}

int cmd_platform_new(struct cli_flags *flags, struct ss_error *err)
{
    struct ss_new_cluster *c = &flags->platform.made;
    char *text = NULL;
    size_t len = 0;

    if (flags->n > 0 || !flags->platform.card || flags->nodes == 0)
        return cli_usage(err, "as in: stepsim platform new --card h100 --nodes 16", "%s",
                         flags->n > 0            ? "a word that is no option"
                         : !flags->platform.card ? "no --card given"
                                                 : "no --nodes given");
    c->name = flags->output[0] && strcmp(flags->output, "-") != 0 ? flags->output : "cluster";
    c->card = flags->platform.card;
    c->nodes = flags->nodes;
    c->gpus_per_node = flags->gpus_per_node;
    c->files = cli_files();
    FILE *memory = open_memstream(&text, &len);
    int rc = memory ? ss_platform_new(c, memory, err) : SS_ERR_NOMEM;
    if (memory)
        fclose(memory);
    CLI_WRITE(rc, flags->output, (fwrite(text, 1, len, stream), SS_OK), err);
    free(text);
    return rc;
}
