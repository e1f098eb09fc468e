/* SPDX-License-Identifier: Apache-2.0 */
/* One guard for all files that the options of a command write. */
#include <strings.h>
#include <sys/stat.h>

#include "cli/cli.h"

/* Returns the path that an option writes, "" where the option was not given. */
static const char *written_by(const struct cli_flags *flags, const struct cli_option *o)
{
    const char *at = (const char *)flags + o->offset, *text;

    if (o->kind != CLI_TEXT)
        return at;
    memcpy(&text, at, sizeof text);
    return text ? text : "";
}

static int is_stdout(const char *path)
{
    return !strcmp(path, "-") || ss_output_same(path, "-");
}

/* Refuses a name that says another kind of picture than is written, and one that no program here can make. */
static int check_ending(const struct cli_option *o, const char *path, struct ss_error *err)
{
    static const char *const others[] = {".jpg", ".jpeg", ".gif", ".webp", ".eps",
                                         ".ps",  ".bmp",  ".tif", ".tiff"};
    const char *dot = strrchr(path, '.');
    int draws = o->starts && !strcmp(o->starts, "<svg");

    if (ss_convert_wanted(path))
        return draws ? ss_convert_check(path, err)
                     : cli_usage(err, "give a name without that ending", "%s %s: no picture is written to it",
                                 o->name, path);
    for (size_t i = 0; dot && draws && i < sizeof others / sizeof others[0]; i++)
        if (!strcasecmp(dot, others[i]))
            return cli_usage(err, "pictures are .svg, .png or .pdf", "%s %s: no such kind of picture",
                             o->name, path);
    return SS_OK;
}

/* Checks, before the work that may take minutes, that the file can be written, is of the kind that the
 * option writes, and is no input. */
static int check_file(const struct cli_option *o, const char *path, int json, struct ss_error *err)
{
    const char *starts = o->starts ? o->starts : json && o->writes == CLI_ANSWER ? "{" : "";
    size_t n = strlen(path);
    struct cli_output out;
    struct stat st;
    int rc = check_ending(o, path, err);

    if (ss_convert_wanted(path))
        starts = !strcasecmp(path + n - 4, ".png") ? "\x89PNG" : "%PDF";
    SS_THEN(rc, ss_output_check(path, n > 3 && !strcmp(path + n - 3, ".gz") ? "\x1f\x8b" : starts,
                                cli_files(), err));

    if (rc || is_stdout(path) || (!stat(path, &st) && !S_ISREG(st.st_mode) && !S_ISDIR(st.st_mode)))
        return rc; /* a pipe is not opened: that would wait for its reader */
    rc = cli_output_begin(path, &out, err);
    if (!rc)
        cli_output_end(&out, SS_ERR_IO, NULL);
    return rc;
}

static int check_pairs(const struct cli_flags *flags, const struct cli_option *o, int before,
                       struct ss_error *err)
{
    const struct cli_option *other;

    for (int k = 0; k < before; k++)
        if (flags->given[k] && (other = cli_option_at(k))->writes &&
            ss_output_same(written_by(flags, o), written_by(flags, other)))
            return cli_usage(err, "give each a name of its own", "%s and %s write the same file", other->name,
                             o->name);
    return SS_OK;
}

int cli_outputs_check(const struct cli_flags *flags, struct ss_error *err)
{
    const struct cli_option *o;
    int moved = 0, rc = SS_OK;

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        moved |= flags->given[i] && o->writes == CLI_ANSWER && !is_stdout(written_by(flags, o));
    for (int i = 0; (o = cli_option_at(i)) != NULL && !rc; i++) {
        if (!flags->given[i] || !o->writes)
            continue;
        rc = check_pairs(flags, o, i, err);
        if (!rc && !moved && o->writes == CLI_BESIDE && ss_output_same(written_by(flags, o), "-"))
            rc = cli_usage(err, "give another name", "%s and the answer on stdout write the same file",
                           o->name);
        SS_THEN(rc, check_file(o, written_by(flags, o), flags->json, err));
    }
    return rc;
}
