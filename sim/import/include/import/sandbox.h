/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Runs a launch script by a real shell where it can harm nothing, and tells which programs it called.
 *
 * The script sees a file system of its own in memory: the libraries of the machine, read-only, a copy of what lies around
 * the script and the user (a view), and one folder of programs, which is the whole PATH. It has its own mounts, processes and network (namespaces of Linux), a filter of calls
 * of the kernel, no descriptors and no rights of the user who calls, and limits on time, processes and bytes. Three kinds of programs
 * are in PATH: text tools, which are real; launchers (torchrun, python ...), which are recorded and do nothing; runners (srun,
 * mpirun ...), which run what they were given. Any other name does nothing and is recorded as that.
 */
#pragma once

#include <stdint.h>
#include <sys/types.h>

#include "stepsim/notes.h"

/* ---- sandbox_view.c: what of the machine the script sees ---- */

enum ss_view_kind {
    SS_VIEW_GONE,  /* it is within another one */
    SS_VIEW_NAMED, /* of a folder the files that are wanted */
    SS_VIEW_FILES, /* its own files, without those whose names begin with a dot: a home, a folder of everybody */
    SS_VIEW_WHOLE /* all that is in it */
};
struct ss_view_root {
    char *path; /* without links */
    enum ss_view_kind kind;
};
#define SS_VIEW_ROOTS 16
/* Folders that are seen at the paths which they have on the machine. */
struct ss_view {
    struct ss_view_root root[SS_VIEW_ROOTS]; /* none is within a whole one */
    int n;
    char *script; /* absolute; its folder is without links */
    char *work;   /* the working folder */
    char *home;   /* the user's, NULL: not known; nothing of it is seen for that */
    struct ss_notes
        near; /* folders whose entries come first: those of script and user, which are let in, then those above */
    unsigned long seeds;          /* how many of them are not above others */
    struct ss_notes wanted;       /* files that come before all others */
    struct ss_notes repositories; /* folders where Git repositories begin, without quotes in their names */
    char *away,
        *here; /* a folder that only the cluster has, and that of the machine which is its copy; NULL: none */
};
/* Finds what a script sees: its folder and the working folder, with the Git repositories that they are in, or with two levels above them; of
 * a home or a folder of everybody only its own files; what `let` names, which may be NULL. *v is the caller's also after an error. Errors:
 * SS_ERR_IO, SS_ERR_USAGE, SS_ERR_NOMEM. */
int ss_view_make(struct ss_view *v, const char *script, const struct ss_notes *let, struct ss_error *err);
void ss_view_free(struct ss_view *v);
/* Whether a path is the folder or within it, both without links. */
int ss_view_within(const char *path, const char *folder);
/* The innermost root that a path is in; -1: none. */
int ss_view_root_of(const struct ss_view *v, const char *path);
/* Whether an entry of a folder is seen by its name: no folder of Git's or of keys, and folders with a dot only in those of script and user. */
int ss_view_shows(const struct ss_view *v, const char *folder, const char *name, int is_folder);

/* ---- calls ---- */

enum ss_call_kind {
    SS_CALL_LAUNCHER, /* a launcher, with all its words */
    SS_CALL_RUNNER,   /* srun, mpirun, sbatch: the words that are its own */
    SS_CALL_NOTHING,  /* a program that the sandbox has not */
    SS_CALL_FOLDER, /* a folder that cd went to; and a command that failed there, once cd had to make a folder */
    SS_CALL_FILE, /* a file that the launcher before it was given: its name, what is in it, its path */
    SS_CALL_MISSING, /* a file for "source" that is not there: its name, its path, who asks for it, in which line */
    SS_CALL_USED, /* a program that could not answer, whose output goes into a variable or a configuration; the command that captures it,
                   * its file and its line */
    SS_CALL_SET,  /* names of the variables that are set where a shell ends */
    SS_CALL_FAILED, /* "NAME=$(...)", "source FILE", "read NAME", "((...))" that failed, its line and its file; "1" where the script stops for
                     * that ("set -e"), else "0" */
    SS_CALL_TESTED /* a file or folder that "[ -f FILE ]" did not find, or "" for a program that cannot tell here what it would elsewhere; the
                    * command, its file, its line, and "file", "status 0", "status 1" or "answer ..." */
};
struct ss_call {
    enum ss_call_kind kind;
    int by;   /* index of the runner that ran it; -1: none */
    size_t n; /* words; the first is the program's name */
    char **word;
};
/* What a script did. */
struct ss_calls {
    size_t n, cap;
    struct ss_call *call; /* in the order of their begin */
    char *above;          /* before the paths of files that have them on the machine; NULL: nothing */
    char *output;         /* end of what it wrote on stdout and stderr, with a final 0; NULL: nothing */
    int status;           /* of the shell's exit; -1: stopped by the limit of time */
};
/* A GPU as its driver tells it. */
struct ss_sandbox_gpu {
    char name[64];
    char capability[8]; /* "9.0"; "": not known */
    long mib;           /* of its memory */
    int multiprocessors;
};
struct ss_sandbox {
    const struct ss_view *view;
    const struct ss_sandbox_gpu *gpu; /* what nvidia-smi and torch answer; NULL: not known */
    char *const *words;               /* its arguments, NULL-terminated */
    char *const
        *environment; /* "NAME=value", NULL-terminated: all that it gets, beside PATH, HOME, USER, LANG */
    int nodes, gpus_per_node;     /* what scontrol and nvidia-smi answer, at least 1 */
    int host_lines;               /* of each node in the file that PBS_NODEFILE names; 0: there is none */
    const struct ss_notes *paths; /* programs that scripts call by a path, "/opt/env/bin/python" */
    const struct ss_notes *
        files; /* that it tests for: "/data/pretrain_gpt.py", of a folder with "/" behind; each is made empty where
                                   * it has a root of its own */
    /* places "FILE:LINE", a line each, where the script captures what a program writes that could not answer: there it gets a guess; NULL: none */
    const char *guess;
    int trace;  /* 1: the shell tells its commands in the output, as "+ command" */
    int trust;  /* 1: without namespaces where the kernel has none for this user */
    double end; /* of ss_clock: when it has no more time */
};

/* Runs it. *calls is the caller's, who ends it with ss_calls_free also after an error. Errors: SS_ERR_IO where the script cannot be
 * read or the kernel gives no namespaces (the hint names --trust); SS_ERR_NOMEM. What the script itself does is no error. */
int ss_sandbox_run(const struct ss_sandbox *box, struct ss_calls *calls, struct ss_error *err);
void ss_calls_free(struct ss_calls *calls);

/* ---- sandbox_tree.c: the file system of the script ---- */

/* Fills the folder `base` with programs. `inside` is the path under which the script will see it: "" in a root of its
 * own. Returns 0, or errno with *what, the path that could not be made. */
int ss_sandbox_tree(const struct ss_sandbox *box, const char *base, const char *inside, char what[4096]);
/* Makes a new file in the folder (a descriptor) of at most `most` bytes that `from` still has. Returns 0 or errno. */
int ss_sandbox_copy(int from, int folder, const char *name, size_t most, mode_t mode);
/* Folders of the tree, below `inside`. */
#define SS_SANDBOX_PROGRAMS "/.stepsim/bin"
#define SS_SANDBOX_REAL "/.stepsim/real"
#define SS_SANDBOX_MODULES "/.stepsim/python"
#define SS_SANDBOX_CALLS "/.stepsim/calls"
#define SS_SANDBOX_HOSTS "/.stepsim/nodes"
#define SS_SANDBOX_VIEW "/.stepsim/view"
#define SS_SANDBOX_HOME "/home/user" /* where the user's is not known, or the script has no root of its own */

/* ---- sandbox_programs.c: what the script finds in PATH ---- */

/* Names with blanks between, and the text of their script, which bash reads; what stands for "@R" and its like is in sandbox_tree.c. */
struct ss_sandbox_program {
    const char *names, *text;
};
extern const struct ss_sandbox_program ss_sandbox_programs[];
extern const size_t ss_sandbox_program_count;
/* Names of the machine's programs that read and write text, and of those that change files. */
extern const char ss_sandbox_tools[], ss_sandbox_changers[];
/* What bash reads before each script; the module torch. */
extern const char ss_sandbox_start[], ss_sandbox_torch[];
/* Whether the first n bytes are the name of a text tool, or of the shell. */
int ss_sandbox_is_tool(const char *name, size_t n);
/* Whether the sandbox answers by this name itself: a launcher, "git", "nvidia-smi". */
int ss_sandbox_answers(const char *name);

/* ---- sandbox_mount.c: mounts ---- */

/* Keeps mounts of this process and the machine apart. A kernel that lacks namespaces of mounts or is older than 5.12 fails here. Returns 0 or
 * errno. */
int ss_sandbox_own_mounts(void);
/* Memory with a file system at the path, with the flags of mount(2) and the options of tmpfs. Returns 0 or errno. */
int ss_sandbox_memory(const char *path, unsigned long flags, const char *options);
/* Shows a folder, with what is mounted in it, or a file at another path, where it cannot be removed. Attributes are those of
 * mount_setattr(2) and hold from the mount's first moment on. Returns 0 or errno. */
int ss_sandbox_show(const char *from, const char *to, uint64_t attributes);
#define SS_SANDBOX_READ_ONLY (MOUNT_ATTR_RDONLY | MOUNT_ATTR_NOSUID | MOUNT_ATTR_NODEV)
/* Moves a folder of this file system to the path, or shows it there. Its upper folders are there. Returns 0 or errno. */
int ss_sandbox_place(const char *from, const char *to);
/* Shows a regular file of the folder `from` in the folder `to` (descriptors), read-only; what is none is left out. Returns 0 or errno. */
int ss_sandbox_show_file(int from, int to, const char *name);

/* ---- sandbox_folder.c: copies of folders ---- */

/* Descriptors of the view's roots, -1 where one cannot be opened. */
struct ss_view_fds {
    int fd[SS_VIEW_ROOTS];
};
void ss_sandbox_open_view(const struct ss_view *v, struct ss_view_fds *fds);
void ss_sandbox_close_view(const struct ss_view *v, struct ss_view_fds *fds);
/* Copies files, links and folders of the view to folders below the folder `to` of the same paths, at most 5,000 entries: what is wanted,
 * then the near ones. Large files are shown as mounts; mounts = 0: they are left out. as_root = 1: of open folders only what everybody may
 * read. Returns 0, or errno with *what, the name that could not be made. */
int ss_sandbox_copy_view(const struct ss_view *v, const struct ss_view_fds *fds, const char *to, int mounts,
                         int as_root, char what[4096]);

/* ---- sandbox_filter.c ---- */

/* Refuses this process and those that it starts sockets of other kinds than the Internet's, namespaces, keys, locks and more. It may gain no
 * rights any more (PR_SET_NO_NEW_PRIVS). Returns 0 or errno. */
int ss_sandbox_filter(void);

/* ---- sandbox_root.c: a root of its own ---- */

/* In a child that has its own mounts: makes the root, with the tree, and gives all rights up. Returns 0, or errno with *what. */
int ss_sandbox_enter(const struct ss_sandbox *box, int as_root, char what[4096]);
/* Makes every folder of the path that is missing; `what` is then the path, or the part of it that could not be made. Returns 0 or errno. */
int ss_sandbox_make_path(const char *path, char what[4096]);
/* Gives the calling process namespaces of its own. *as_root: where the user is root of this machine, the user that
 * the script gets; else 0. Returns 0 or errno. */
int ss_sandbox_unshare(int *as_root);
/* Limits the bytes and files of this process and of those that it starts, and how many these are. Returns 0 or errno. */
int ss_sandbox_limit(int trust);

/* ---- sandbox_calls.c: from the folder of calls to the caller ---- */

/* Writes the calls of the folder to the descriptor. Returns 0 or -1. */
int ss_calls_send(int fd, const char *folder);
/* Takes `len` bytes that ss_calls_send wrote. Error: SS_ERR_NOMEM, SS_ERR_IO where they are none. */
int ss_calls_take(struct ss_calls *calls, const char *data, size_t len, struct ss_error *err);
