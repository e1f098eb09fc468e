/* SPDX-License-Identifier: Apache-2.0 */
/* Makes PNG and PDF of an SVG by a program that many machines have: librsvg's rsvg-convert, or else Chromium without a window. */
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <spawn.h>
#include <strings.h>
#include <sys/wait.h>
#include <unistd.h>

#include "base/base.h"
#include "report/convert.h"
#include "stepsim/report.h"

extern char **environ;

static const char *const programs[] = {"rsvg-convert", "chromium", "chromium-browser", "google-chrome"};

static const char *ending_of(const char *path)
{
    const char *dot = path ? strrchr(path, '.') : NULL;

    return dot ? dot : "";
}

int ss_convert_wanted(const char *path)
{
    return !strcasecmp(ending_of(path), ".png") || !strcasecmp(ending_of(path), ".pdf");
}

/* Finds a program in PATH. Returns 1 and its path if it may be run. */
static int find(const char *name, char *buf, size_t size)
{
    const char *path = getenv("PATH");

    for (const char *p = path ? path : "/usr/bin:/bin"; *p; p += strcspn(p, ":"), p += *p == ':') {
        int n = (int)strcspn(p, ":");
        if (n > 0 && snprintf(buf, size, "%.*s/%s", n, p, name) < (int)size && !access(buf, X_OK))
            return 1;
    }
    return 0;
}

/* Finds the program that converts. Returns its index in a list that begins with rsvg-convert, or -1: none is installed. */
static int find_program(char *program, size_t size)
{
    for (size_t i = 0; i < SS_ARRAY_LEN(programs); i++)
        if (find(programs[i], program, size))
            return (int)i;
    return -1;
}

/* Runs a program from `in` to `out`, and waits for it. Returns 1 if it ended well. */
static int run(char *const argv[], int in, int out)
{
    posix_spawn_file_actions_t files;
    int status = -1;
    pid_t pid;

    if (posix_spawn_file_actions_init(&files))
        return 0;
    int rc = posix_spawn_file_actions_adddup2(&files, in, STDIN_FILENO);
    rc = rc ? rc : posix_spawn_file_actions_adddup2(&files, out, STDOUT_FILENO);
    rc = rc ? rc : posix_spawn_file_actions_addopen(&files, STDERR_FILENO, "/dev/null", O_WRONLY, 0);
    rc = rc ? rc : posix_spawn(&pid, argv[0], &files, NULL, argv, environ);
    posix_spawn_file_actions_destroy(&files);
    while (!rc && waitpid(pid, &status, 0) < 0 && errno == EINTR)
        ;
    return !rc && WIFEXITED(status) && WEXITSTATUS(status) == 0;
}

static int copy(FILE *from, FILE *to)
{
    char buf[65536];
    size_t n;

    while ((n = fread(buf, 1, sizeof buf, from)) > 0)
        if (fwrite(buf, 1, n, to) != n)
            return 0;
    return !ferror(from);
}

static int remove_one(const char *path, const struct stat *st, int kind, struct FTW *at)
{
    (void)st, (void)kind, (void)at;
    remove(path);
    return 0;
}

/* Chromium takes pages and writes files, so it gets a folder of its own. Its sandbox does not start as root; the page, whose texts are
 * escaped, runs no script and fetches nothing by its own policy, so that root goes without. */
static int by_browser(char *program, FILE *svg, int pdf, FILE *out)
{
    char folder[] = "/tmp/stepsim-picture-XXXXXX", page[64], made[64], size[64], to[96], from[96],
         profile[96];
    int width = 0, height = 0, ok = 0;
    char head[256] = "";

    if (!mkdtemp(folder))
        return 0;
    snprintf(page, sizeof page, "%s/p.html", folder);
    snprintf(made, sizeof made, "%s/p.%s", folder, pdf ? "pdf" : "png");
    if (fgets(head, sizeof head, svg) &&
        sscanf(head, "<svg xmlns=\"http://www.w3.org/2000/svg\" width=\"%d\" height=\"%d\"", &width,
               &height) == 2) {
        FILE *f = fopen(page, "we");
        if (f) {
            fprintf(f,
                    "<!doctype html><meta charset=utf-8><meta http-equiv=Content-Security-Policy "
                    "content=\"default-src 'none';style-src 'unsafe-inline'\"><style>@page{size:%dpx "
                    "%dpx;margin:0}body{margin:0}svg{display:block}</style>",
                    width, height);
            rewind(svg);
            ok = copy(svg, f);
            ok = !fclose(f) && ok;
        }
    }
    snprintf(size, sizeof size, "--window-size=%d,%d", width, height);
    snprintf(to, sizeof to, pdf ? "--print-to-pdf=%s" : "--screenshot=%s", made);
    snprintf(from, sizeof from, "file://%s", page);
    snprintf(profile, sizeof profile, "--user-data-dir=%s/profile", folder);
    char *argv[] = {program,
                    "--headless=new",
                    "--disable-gpu",
                    "--hide-scrollbars",
                    "--no-pdf-header-footer",
                    profile,
                    size,
                    to,
                    from,
                    geteuid() ? NULL : "--no-sandbox",
                    NULL};
    int null = ok ? open("/dev/null", O_RDWR | O_CLOEXEC) : -1;
    ok = null >= 0 && run(argv, null, null);
    if (null >= 0)
        close(null);
    FILE *f = ok ? fopen(made, "rbe") : NULL;
    ok = f && copy(f, out);
    if (f)
        fclose(f);
    nftw(folder, remove_one, 16, FTW_DEPTH | FTW_PHYS | FTW_MOUNT);
    return ok;
}

/* Refuses a picture that no program made, -1, or that this one could not make. */
static int refuse(const char *path, int which, struct ss_error *err)
{
    int rc = which < 0 ? SS_ERR_UNSUPPORTED : SS_ERR_IO;

    ss_fail(err, rc, NULL, 0,
            which < 0 ? "%s: neither rsvg-convert nor Chromium is installed"
                      : "%s: %s could not make it of the SVG",
            path, programs[which < 0 ? 0 : which]);
    return ss_hint(err, rc,
                   which == 0 ? "give a name that ends in .svg"
                              : "install librsvg2-bin, or give a name that ends in .svg");
}

int ss_convert_check(const char *path, struct ss_error *err)
{
    char program[1024];

    return !ss_convert_wanted(path) || find_program(program, sizeof program) >= 0 ? SS_OK
                                                                                  : refuse(path, -1, err);
}

int ss_convert(FILE *svg, const char *path, FILE *out, struct ss_error *err)
{
    int pdf = !strcasecmp(ending_of(path), ".pdf"), which;
    char program[1024];

    which = find_program(program, sizeof program);
    rewind(svg);
    if (which == 0) {
        char *argv[] = {program, "--format", pdf ? "pdf" : "png", NULL};
        if (!fflush(out) && run(argv, fileno(svg), fileno(out)))
            return SS_OK;
    } else if (which > 0 && by_browser(program, svg, pdf, out)) {
        return SS_OK;
    }
    return refuse(path, which, err);
}
