/* SPDX-License-Identifier: Apache-2.0 */
#include "cli/cli.h"

static int write_platform(const struct ss_platform *p, const struct cli_flags *flags, int xml,
                          struct ss_error *err)
{
    struct ss_output *output;
    FILE *stream;

    SS_TRY(cli_output_begin(flags->output, &output, &stream, err));
    int rc = xml ? ss_platform_write(p, stream, err) : ss_report_platform(p, flags->json, stream, err);
    return cli_output_end(output, rc, err);
}

/* Loads the platform that the words of `show` or `draw` name. */
static int load_one(struct cli_flags *flags, int argc, char **argv, struct ss_platform **p,
                    struct ss_error *err)
{
    int n, rc = cli_words(flags, argc, argv, &n, err);

    if (!rc && n != 1)
        rc = cli_usage(err, "\"stepsim list platforms\" shows the names", "%s",
                       n ? "more than one platform given" : "no platform given");
    return rc ? rc : cli_platform_load(argv[0], flags, p, err);
}

int cmd_platform_show(int argc, char **argv, struct ss_error *err)
{
    struct ss_platform *p = NULL;
    struct cli_flags flags;

    cli_flags_init(&flags, CLI_PLATFORM_SHOW);
    int rc = load_one(&flags, argc, argv, &p, err);
    SS_THEN(rc, write_platform(p, &flags, flags.xml, err));
    ss_platform_free(p);
    cli_flags_free(&flags);
    return rc;
}

static int draw(const struct ss_platform *p, const struct cli_flags *flags, struct ss_error *err)
{
    struct ss_output *output;
    FILE *stream;
    int rc = cli_output_begin(flags->output, &output, &stream, err);

    return rc ? rc : cli_output_end(output, ss_platform_svg(p, flags->pictures.width, stream, err), err);
}

int cmd_platform_draw(int argc, char **argv, struct ss_error *err)
{
    struct ss_platform *p = NULL;
    struct cli_flags flags;

    cli_flags_init(&flags, CLI_PLATFORM_DRAW);
    int rc = load_one(&flags, argc, argv, &p, err);
    SS_THEN(rc, draw(p, &flags, err));
    ss_platform_free(p);
    cli_flags_free(&flags);
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
int cmd_platform_check(int argc, char **argv, struct ss_error *err)
{
    struct cli_flags flags;
    int n, rc, worst = SS_OK;

    cli_flags_init(&flags, CLI_PLATFORM_CHECK);
    rc = cli_words(&flags, argc, argv, &n, err);
    if (!rc && n == 0)
        rc = cli_usage(err, "give one or more XML files", "no file given");
    for (int i = 0; i < n && !rc; i++) {
        struct ss_error one = {0};
        int wrong = check_one(argv[i], &flags, &one);
        if (!wrong)
            continue;
        if (worst && flags.json)
            continue; /* a command writes one JSON object: the first error */
        if (worst)
            cli_fail(err, 0);
        worst = wrong;
        *err = one;
    }
    if (!rc && !worst && flags.json)
        rc = ss_report_checked("platform", n, (const char *const *)argv, stdout, err);
    cli_flags_free(&flags);
    return rc ? rc : worst;
}

/* Only once all files are read can the output be checked to be none of them. */
static int write_text(const char *text, size_t len, const char *path, struct ss_error *err)
{
    struct ss_output *output;
    FILE *stream;

    SS_TRY(cli_output_begin(path, &output, &stream, err));
    fwrite(text, 1, len, stream);
    return cli_output_end(output, SS_OK, err);
}

static int import(const char *const *paths, int n, const struct cli_flags *flags, struct ss_error *err)
{
    struct ss_import_options options = {
        .card = flags->platform.card, .nodes = flags->nodes, .files = cli_files()};
    char note[1024] = "", *text = NULL;
    size_t len = 0;
    FILE *memory = open_memstream(&text, &len);
    int rc = SS_ERR_NOMEM;

    if (memory) {
        rc = ss_platform_import(paths, n, &options, memory, note, sizeof note, err);
        fclose(memory);
    }
    SS_THEN(rc, write_text(text, len, flags->output, err));
    if (!rc && note[0])
        fprintf(stderr, "stepsim: note: %s\n", ss_text_clean(note));
    free(text);
    return rc;
}

int cmd_platform_import(int argc, char **argv, struct ss_error *err)
{
    struct cli_flags flags;
    int n, rc;

    cli_flags_init(&flags, CLI_PLATFORM_IMPORT);
    rc = cli_words(&flags, argc, argv, &n, err);
    if (!rc && n == 0)
        rc = cli_usage(err,
                       "make one with \"lstopo node.xml\" or \"nvidia-smi topo -m\" on a node of the cluster",
                       "no file given");
    SS_THEN(rc, import((const char *const *)argv, n, &flags, err));
    cli_flags_free(&flags);
    return rc;
}

int cmd_platform_new(int argc, char **argv, struct ss_error *err)
{
    struct cli_flags flags;
    struct ss_new_cluster *c = &flags.platform.made;
    char *text = NULL;
    size_t len = 0;
    FILE *memory;
    int n, rc;

    cli_flags_init(&flags, CLI_PLATFORM_NEW);
    c->nics_per_node = -1;
    rc = cli_words(&flags, argc, argv, &n, err);
    if (!rc && (n > 0 || !flags.platform.card || flags.nodes == 0))
        rc = cli_usage(err, "as in: stepsim platform new --card h100 --nodes 16", "%s",
                       n > 0                  ? "a word that is no option"
                       : !flags.platform.card ? "no --card given"
                                              : "no --nodes given");
    c->name = flags.output[0] && strcmp(flags.output, "-") != 0 ? flags.output : "cluster";
    c->card = flags.platform.card;
    c->nodes = flags.nodes;
    c->gpus_per_node = flags.gpus_per_node;
    c->files = cli_files();
    memory = rc ? NULL : open_memstream(&text, &len);
    if (!rc && !memory)
        rc = SS_ERR_NOMEM;
    if (memory) {
        rc = ss_platform_new(c, memory, err);
        fclose(memory);
    }
    SS_THEN(rc, write_text(text, len, flags.output, err));
    free(text);
    cli_flags_free(&flags);
    return rc;
}
