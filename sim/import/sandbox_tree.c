/* SPDX-License-Identifier: Apache-2.0 */
/* The file system that a launch script sees: programs, hosts, what bash reads first. */
#include <errno.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "import/sandbox.h"

struct tree {
    const struct ss_sandbox *box;
    const char *base, *inside;
    char *what; /* [4096]: path at which it failed */
};

static const char *at(struct tree *t, const char *below, const char *name)
{
    snprintf(t->what, 4096, "%s%s%s%s", t->base, below, name[0] ? "/" : "", name);
    return t->what;
}

static int make_folders(struct tree *t)
{
    static const char *const folders[] = {"/.stepsim",      SS_SANDBOX_PROGRAMS, SS_SANDBOX_REAL,
                                          SS_SANDBOX_CALLS, SS_SANDBOX_MODULES,  "/tmp",
                                          "/home",          SS_SANDBOX_HOME};
    size_t n = SS_ARRAY_LEN(folders) - (t->inside[0] ? 0 : 2); /* in a root of its own there is the user's */

    for (size_t i = 0; i < n; i++)
        if (mkdir(at(t, folders[i], ""), 0777))
            return errno;
    return 0;
}

/* Text with the path of the tree for @R, GPUs of a node for @G, nodes for @N, repositories for @T; of the GPU its name for @C, MiB for @M,
 * capability for @K and multiprocessors for @S, or nothing. */
static int write_text(struct tree *t, FILE *f, const char *text)
{
    const struct ss_sandbox_gpu *gpu = t->box->gpu;

    for (const char *p = text; *p; p++)
        if (p[0] == '@' && p[1] && strchr("RGNTCMKS", p[1]))
            switch (*++p) {
            case 'R': fputs(t->inside, f); break;
            case 'T':
                for (unsigned long i = 0; i < t->box->view->repositories.n; i++)
                    fprintf(f, "%s\n", t->box->view->repositories.text[i]);
                break;
            case 'G': fprintf(f, "%d", t->box->gpus_per_node); break;
            case 'C': fputs(gpu ? gpu->name : "", f); break;
            case 'K': fputs(gpu ? gpu->capability : "", f); break;
            case 'M': gpu ? fprintf(f, "%ld", gpu->mib) : 0; break;
            case 'S': gpu ? fprintf(f, "%d", gpu->multiprocessors) : 0; break;
            default: fprintf(f, "%d", t->box->nodes); break;
            }
        else
            fputc(*p, f);
    return ferror(f);
}

static int write_script(struct tree *t, const char *below, const char *name, const char *text)
{
    FILE *f = fopen(at(t, below, name), "w");

    if (!f)
        return errno;
    int bad = write_text(t, f, text);
    if (fclose(f) || bad)
        return EIO;
    return chmod(t->what, 0755) ? errno : 0;
}

/* The program of that name of this machine, as a path without links. */
static int find_program(const char *name, size_t len, char path[4096])
{
    static const char *const folders[] = {"/usr/bin", "/bin", "/usr/local/bin"};
    char link[4096];

    for (size_t i = 0; i < SS_ARRAY_LEN(folders); i++) {
        snprintf(link, sizeof link, "%s/%.*s", folders[i], (int)len, name);
        if (access(link, X_OK) == 0 && realpath(link, path))
            return 1;
    }
    return 0;
}

int ss_sandbox_copy(int from, int folder, const char *name, size_t most, mode_t mode)
{
    char block[65536];
    int out = openat(folder, name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, mode), bad = out < 0;
    ssize_t got = 0;

    for (; !bad && most > 0; most -= (size_t)got) {
        got = read(from, block, most < sizeof block ? most : sizeof block);
        if (got <= 0)
            break;
        ssize_t put = write(out, block, (size_t)got);
        bad = put != got;
        errno = put >= 0 ? ENOSPC : errno;
    }
    int why = bad || got < 0 ? errno : 0;
    if (out >= 0)
        close(out);
    return why;
}

static int add_program(struct tree *t, const char *name, size_t len, const char *below)
{
    char path[4096], own[64];

    snprintf(own, sizeof own, "%.*s", (int)len, name);
    if (!find_program(name, len, path))
        return 0;
    if (t->inside[0]) /* the machine's own file system is seen */
        return symlink(path, at(t, below, own)) ? errno : 0;
    int in = open(path, O_RDONLY | O_CLOEXEC);
    if (in < 0) /* that may not be read */
        return 0;
    int rc = ss_sandbox_copy(in, AT_FDCWD, at(t, below, own), SIZE_MAX, 0755);
    close(in);
    return rc;
}

static int add_tools(struct tree *t)
{
    int rc = add_program(t, "bash", 4, SS_SANDBOX_REAL);

    for (const char *p = "mkdir cat python3 tee"; !rc && *p; p += strcspn(p, " "), p += strspn(p, " "))
        rc = add_program(t, p, strcspn(p, " "), SS_SANDBOX_REAL);
    rc = rc ? rc : add_program(t, "bash", 4, SS_SANDBOX_PROGRAMS);
    for (const char *p = ss_sandbox_tools; !rc && *p; p += strcspn(p, " "), p += strspn(p, " "))
        rc = add_program(t, p, strcspn(p, " "), SS_SANDBOX_PROGRAMS);
    for (const char *p = t->inside[0] ? "" : ss_sandbox_changers; !rc && *p;
         p += strcspn(p, " "), p += strspn(p, " "))
        rc = add_program(t, p, strcspn(p, " "), SS_SANDBOX_PROGRAMS);
    return rc;
}

static int add_scripts(struct tree *t)
{
    int rc = 0;

    for (size_t i = 0; i < ss_sandbox_program_count && !rc; i++)
        for (const char *p = ss_sandbox_programs[i].names; !rc && *p;
             p += strcspn(p, " "), p += strspn(p, " ")) {
            char name[64];
            snprintf(name, sizeof name, "%.*s", (int)strcspn(p, " "), p);
            rc = write_script(t, SS_SANDBOX_PROGRAMS, name, ss_sandbox_programs[i].text);
        }
    rc = rc ? rc : write_script(t, SS_SANDBOX_MODULES, "torch.py", ss_sandbox_torch);
    return rc ? rc : write_script(t, "/.stepsim", "start", ss_sandbox_start);
}

static int add_hosts(struct tree *t)
{
    FILE *f = fopen(at(t, SS_SANDBOX_HOSTS, ""), "w");
    int bad = 0;

    if (!f)
        return errno;
    for (int node = 0; node < t->box->nodes && !bad; node++)
        for (int i = 0; i < t->box->host_lines && !bad; i++)
            bad = fprintf(f, "node%d\n", node) < 0;
    if (fclose(f) || bad)
        return EIO;
    return chmod(t->what, 0644) ? errno : 0;
}

int ss_sandbox_tree(const struct ss_sandbox *box, const char *base, const char *inside, char what[4096])
{
    struct tree t = {box, base, inside, what};
    int rc = make_folders(&t);

    rc = rc ? rc : add_tools(&t);
    rc = rc || !box->host_lines ? rc : add_hosts(&t);
    return rc ? rc : add_scripts(&t);
}
