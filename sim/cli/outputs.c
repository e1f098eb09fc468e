/* SPDX-License-Identifier: Apache-2.0 */
/* Output files of a program that may be interrupted. An interrupt removes the unfinished files. */
#include <signal.h>
#include <strings.h>
#include <sys/stat.h>
#include <unistd.h>

#include "cli/cli.h"

#define MOST 8

static struct ss_output *volatile unfinished[MOST];
static struct ss_files inputs; /* the files that the command of this process has read */

struct ss_files *cli_files(void)
{
    return &inputs;
}

static void leave(int number)
{
    for (int i = 0; i < MOST; i++)
        if (unfinished[i])
            ss_output_discard(unfinished[i]);
    raise(number); /* ends the process by the default action, which SA_RESETHAND has restored */
}

/* Returns 1 if a signal can be handled, and ends a program that does not handle it. */
static int ends(int number)
{
    static const int others[] = {SIGKILL, SIGSTOP, SIGCHLD, SIGCONT, SIGTSTP,
                                 SIGTTIN, SIGTTOU, SIGURG,  SIGWINCH};

    for (size_t i = 0; i < sizeof others / sizeof others[0]; i++)
        if (number == others[i])
            return 0;
    return 1;
}

static void signals(sigset_t *set)
{
    sigemptyset(set);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (ends(number))
            sigaddset(set, number);
}

static void watch(void)
{
    struct sigaction action = {.sa_handler = leave, .sa_flags = (int)SA_RESETHAND | SA_NODEFER}, old;

    signals(&action.sa_mask);
    for (int number = 1; number <= SIGRTMAX; number++)
        if (ends(number) && sigaction(number, NULL, &old) == 0 && old.sa_handler == SIG_DFL)
            sigaction(number, &action, NULL);
}

int cli_output_begin(const char *path, struct cli_output *out, struct ss_error *err)
{
    SS_TRY(ss_output_check(path, NULL, &inputs, err));
    return cli_output_renew(path, out, err);
}

/* No signal may come between a change of the file and that of our list. A pipe, which may wait long for its reader, leaves
 * nothing behind. */
int cli_output_renew(const char *path, struct cli_output *out, struct ss_error *err)
{
    sigset_t held, before;
    struct stat st;
    int rc;

    watch();
    signals(&held);
    if (!stat(path, &st) && S_ISFIFO(st.st_mode))
        sigemptyset(&held);
    sigprocmask(SIG_BLOCK, &held, &before);
    rc = ss_output_begin(ss_team_rank(cli_team()) ? "/dev/null" : path, &out->output, &out->stream, err);
    for (int i = 0; !rc && i < MOST; i++)
        if (!unfinished[i]) {
            unfinished[i] = out->output;
            break;
        }
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int cli_output_end(struct cli_output *out, int rc, struct ss_error *err)
{
    sigset_t held, before;

    signals(&held);
    sigprocmask(SIG_BLOCK, &held, &before);
    for (int i = 0; i < MOST; i++)
        if (unfinished[i] == out->output)
            unfinished[i] = NULL;
    rc = ss_output_end(out->output, rc, err);
    sigprocmask(SIG_SETMASK, &before, NULL);
    return rc;
}

int cli_ranks_write(const struct cli_flags *flags, const struct ss_plan *plan,
                    const struct ss_program *program, const struct ss_timeline *timeline,
                    struct ss_error *err)
{
    int rc = SS_OK;

    if (flags->ranks_csv[0])
        CLI_WRITE(rc, flags->ranks_csv, ss_report_ranks(plan, program, timeline, stream, err), err);
    return rc;
}

/* ---- checks ---- */

/* Returns the path that an option writes, "" where the option was not given. */
static const char *written_by(const struct cli_flags *flags, const struct ss_option *o)
{
    const char *at = (const char *)flags + o->offset, *text;

    if (o->kind != SS_OPTION_TEXT)
        return at;
    memcpy(&text, at, sizeof text);
    return text ? text : "";
}

static int is_stdout(const char *path)
{
    return !strcmp(path, "-") || ss_output_same(path, "-");
}

/* Refuses a name that says another kind of picture than is written, and one that no program here can make. */
static int check_ending(const struct ss_option *o, const char *path, struct ss_error *err)
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
static int check_file(const struct ss_option *o, const char *path, int json, struct ss_error *err)
{
    const char *starts = o->starts ? o->starts : json && o->writes == SS_OPTION_ANSWER ? "{" : "";
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

static int check_pairs(const struct cli_flags *flags, const struct ss_option *o, int before,
                       struct ss_error *err)
{
    const struct ss_option *other;

    for (int k = 0; k < before; k++)
        if (flags->given[k] && (other = cli_option_at(k))->writes &&
            ss_output_same(written_by(flags, o), written_by(flags, other)))
            return cli_usage(err, "give each a name of its own", "%s and %s write the same file", other->name,
                             o->name);
    return SS_OK;
}

int cli_outputs_check(const struct cli_flags *flags, struct ss_error *err)
{
    const struct ss_option *o;
    int moved = 0, rc = SS_OK;

    for (int i = 0; (o = cli_option_at(i)) != NULL; i++)
        moved |= flags->given[i] && o->writes == SS_OPTION_ANSWER && !is_stdout(written_by(flags, o));
    for (int i = 0; (o = cli_option_at(i)) != NULL && !rc; i++) {
        if (!flags->given[i] || !o->writes)
            continue;
        rc = check_pairs(flags, o, i, err);
        if (!rc && !moved && o->writes == SS_OPTION_BESIDE && ss_output_same(written_by(flags, o), "-"))
            rc = cli_usage(err, "give another name", "%s and the answer on stdout write the same file",
                           o->name);
        SS_THEN(rc, check_file(o, written_by(flags, o), flags->json, err));
    }
    return rc;
}

/* ---- pictures ---- */

static int draw(const struct cli_flags *flags, const struct ss_program *program,
                const struct ss_timeline *timeline, struct ss_picture_request *request, struct ss_error *err)
{
    int shown = cli_terminal(STDERR_FILENO), rc;

    request->window_start = flags->pictures.window[0];
    request->window_end = flags->pictures.window[1];
    request->whole = flags->pictures.whole;
    request->width = flags->pictures.width;
    request->color = flags->pictures.color;
    request->progress = shown ? cli_progress : NULL;
    request->progress_ctx = "drawing";
    rc = ss_pictures_draw(program, timeline, flags->options.how.options.engine, request, err);
    if (shown)
        cli_progress_end();
    return rc;
}

int cli_pictures_draw(struct cli_drawn *drawn, const struct cli_flags *flags,
                      const struct ss_program *program, const struct ss_timeline *timeline,
                      const struct ss_run *run, const struct ss_card_steps *steps,
                      const struct ss_report_options *report, struct ss_error *err)
{
    struct ss_picture_request request = {.run = run, .steps = steps, .options = report};
    FILE **const streams[] = {&request.gantt,  &request.trace,  &request.memory,
                              &request.report, &request.kineto, &request.card};
    int wanted = 0, rc = SS_OK;

    memset(drawn, 0, sizeof *drawn);
    for (int i = 0; !rc && i < CLI_NPICTURES; i++)
        if (flags->pictures.path[i][0]) {
            rc = cli_output_begin(flags->pictures.path[i], &drawn->file[i], err);
            *streams[i] = drawn->file[i].stream;
            wanted = 1;
        }
    if (!rc && wanted)
        rc = draw(flags, program, timeline, &request, err);
    return rc ? cli_pictures_end(drawn, rc, err) : SS_OK;
}

int cli_pictures_end(struct cli_drawn *drawn, int rc, struct ss_error *err)
{
    for (int i = 0; i < CLI_NPICTURES; i++) {
        if (drawn->file[i].output)
            rc = cli_output_end(&drawn->file[i], rc, err);
        drawn->file[i].output = NULL;
    }
    return rc;
}
