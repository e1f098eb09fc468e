/* SPDX-License-Identifier: Apache-2.0 */
/* How platforms, models and stacks are found by name. */
#include <dirent.h>
#include <errno.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/base.h"
#include "stepsim/files.h"

/* The folders that hold platforms/ and workloads/; the first match wins. */
struct roots {
    const char *path[2];
    size_t n;
    char home[4096];
};

/* The one rule that tells "there is none" from "it cannot be read". */
static bool means_none(int why)
{
    return why == ENOENT || why == ENOTDIR || why == ENAMETOOLONG;
}

/* Sets *found when there is a file. SS_ERR_IO where the system does not tell. */
static int look_at(const char *path, bool *found, struct ss_error *err)
{
    struct stat st;
    if (ss_inside(path)) {
        *found = ss_inside_find(path) != NULL;
        return SS_OK;
    }
    bool there = stat(path, &st) == 0;
    *found = there && !S_ISDIR(st.st_mode);
    if (there || means_none(errno))
        return SS_OK;
    return ss_fail(err, SS_ERR_IO, path, 0,
                   "cannot read: %s" SS_HINT "check the permissions of the file and its folder",
                   strerror(errno));
}

/* Returns whether a folder holds any of the data that the program looks up by name. */
static bool holds_data(const char *root)
{
    static const char *const kinds[] = {"platforms", "workloads", "validation"};
    char path[4096];
    for (size_t i = 0; i < SS_ARRAY_LEN(kinds); i++) {
        snprintf(path, sizeof path, "%s/%s", root, kinds[i]);
        if (ss_is_folder(path))
            return true;
    }
    return false;
}

/* Fails with SS_ERR_IO when the folder that the user chose is no data folder. */
static int find_roots(struct roots *r, struct ss_error *err)
{
    const char *chosen = getenv("STEPSIM_DATA");
    r->n = 0;
    if (chosen && *chosen) {
        if (!holds_data(chosen))
            return ss_fail(err, SS_ERR_IO, NULL, 0,
                           "STEPSIM_DATA=%s: %s" SS_HINT
                           "correct it, or unset it to use the data that came with the program",
                           chosen,
                           ss_is_folder(chosen)
                               ? "the folder holds neither platforms, workloads nor validation"
                               : "no such folder");
        r->path[r->n++] = chosen;
    }
    ss_home_find(&ss_home.data, r->home, sizeof r->home);
    r->path[r->n++] = r->home;
    return SS_OK;
}

static bool ends_with(const char *text, const char *end)
{
    size_t a = strlen(text), b = strlen(end);
    return a >= b && !strcmp(text + a - b, end);
}

static int compare_names(const void *a, const void *b)
{
    return strcmp(*(char *const *)a, *(char *const *)b);
}

/* Adds a name of a folder's file, without the suffix, where it has the suffix. */
static int add_name(const char *name, const char *suffix, char ***names, size_t *n, size_t *cap)
{
    size_t len = strlen(name), cut = strlen(suffix);
    if (name[0] == '.' || len <= cut || !ends_with(name, suffix))
        return SS_OK;
    if (ss_grow(names, cap, *n + 1, sizeof **names) || !((*names)[*n] = strndup(name, len - cut)))
        return SS_ERR_NOMEM;
    ++*n;
    return SS_OK;
}

/* Lists a folder. A missing folder counts as empty; a folder that cannot be read is an error. */
static int list_folder(const char *folder, const char *suffix, char ***names, size_t *n, size_t *cap,
                       struct ss_error *err)
{
    struct dirent *entry;
    size_t at = 0;
    int rc = SS_OK;
    for (const char *name; !rc && (name = ss_inside_next(folder, &at)) != NULL;)
        rc = add_name(name, suffix, names, n, cap);
    if (rc || ss_inside(folder))
        return rc ? ss_nomem(err) : SS_OK;
    DIR *dir = opendir(folder);
    if (!dir && means_none(errno))
        return SS_OK;
    while (dir && !rc && (errno = 0, entry = readdir(dir)) != NULL)
        rc = add_name(entry->d_name, suffix, names, n, cap);
    int why = errno;
    if (dir)
        closedir(dir);
    if (rc || why == ENOMEM)
        return ss_nomem(err);
    return why ? ss_fail(err, SS_ERR_IO, folder, 0, "cannot read: %s", strerror(why)) : SS_OK;
}

int ss_data_list(const char *kind, const char *suffix, char ***names, size_t *n, struct ss_error *err)
{
    struct roots roots;
    char **list = NULL, folder[4096];
    size_t count = 0, cap = 0, kept = 0;
    int rc = find_roots(&roots, err);
    if (rc)
        return rc;
    for (size_t i = 0; i < roots.n && !rc; i++) {
        snprintf(folder, sizeof folder, "%s/%s", roots.path[i], kind);
        rc = list_folder(folder, suffix, &list, &count, &cap, err);
    }
    if (rc) {
        ss_names_free(list, count);
        return rc;
    }
    if (count)
        qsort(list, count, sizeof *list, compare_names);
    for (size_t i = 0; i < count; i++) {
        if (kept && !strcmp(list[kept - 1], list[i]))
            free(list[i]);
        else
            list[kept++] = list[i];
    }
    *names = list;
    *n = kept;
    return SS_OK;
}

void ss_names_free(char **names, size_t n)
{
    for (size_t i = 0; names && i < n; i++)
        free(names[i]);
    free(names);
}

/* Writes "a, b, c" as far as it fits, and dots for the rest. Returns whether all names fit. */
static bool join_names(char **names, size_t n, char *out, size_t size)
{
    size_t used = 0;
    out[0] = '\0';
    for (size_t i = 0; i < n; i++) {
        if (used + strlen(names[i]) + sizeof ", ..." > size) {
            snprintf(out + used, size - used, ", ...");
            return false;
        }
        used += (size_t)snprintf(out + used, size - used, "%s%s", i ? ", " : "", names[i]);
    }
    return true;
}

/* Writes the name in small letters, without dashes and underscores except between two numbers: "Llama-3.1-8B"
 * becomes "llama3.1-8b", but "gemma-22b" does not become "gemma-2-2b". */
static void fold(const char *name, char *out, size_t size)
{
    size_t n = 0;

    for (const char *p = name; *p && n + 1 < size; p++) {
        int parts = p > name && isdigit((unsigned char)p[-1]) && isdigit((unsigned char)p[1]);
        if (*p != '-' && *p != '_')
            out[n++] = (char)tolower((unsigned char)*p);
        else if (parts)
            out[n++] = '-';
    }
    out[n] = 0;
}

#define FAMILY 3 /* letters at the start that names of one family share */

/* Keeps the names that share the longest beginning with `name`, both folded: all of `name`, or a family's
 * letters. Returns how many names it kept; *whole says whether all of `name` matched. */
static size_t keep_beginning(char **names, size_t n, const char *name, char **kept, bool *whole)
{
    char wanted[256], folded[256];
    size_t count = 0, most = 0, all;

    fold(name, wanted, sizeof wanted);
    all = strlen(wanted);
    for (size_t i = 0; i < n; i++) {
        fold(names[i], folded, sizeof folded);
        size_t same = 0;
        while (wanted[same] && wanted[same] == folded[same])
            same++;
        if (same > most)
            count = 0;
        most = same > most ? same : most;
        if (same == most)
            kept[count++] = names[i];
    }
    *whole = most == all;
    return all && (*whole || most >= FAMILY) ? count : 0;
}

/* Returns the name that the user may have meant: one that is alike, one that is near, or the longest
 * beginning of `name`. */
static const char *meant(char **names, size_t n, const char *name)
{
    char wanted[256], folded[256];
    const char *longest = NULL, *near = ss_nearest(name, (const char *const *)names, n);
    size_t most = 3;

    fold(name, wanted, sizeof wanted);
    for (size_t i = 0; i < n; i++) {
        fold(names[i], folded, sizeof folded);
        if (!strcmp(folded, wanted))
            return names[i];
        if (strlen(folded) > most && !strncmp(folded, wanted, strlen(folded))) {
            longest = names[i];
            most = strlen(folded);
        }
    }
    return near ? near : longest;
}

/* Writes the last part of a path, without the suffix: "Qwen/Qwen3-8B" ends in a name that may be known
 * here. */
static void last_part(const char *name, const char *suffix, char *out, size_t size)
{
    const char *slash = strrchr(name, '/');

    ss_copy(out, size, slash ? slash + 1 : name);
    if (*suffix && ends_with(out, suffix))
        out[strlen(out) - strlen(suffix)] = '\0';
}

/* Returns the `stepsim list` word for the files of a folder; NULL: it does not list them. */
static const char *listed_as(const char *kind)
{
    static const char *const lists[][2] = {{"platforms", "platforms"},
                                           {"platforms/cards", "cards"},
                                           {"workloads/models", "models"},
                                           {"workloads/stacks", "stacks"}};

    for (size_t i = 0; i < SS_ARRAY_LEN(lists); i++)
        if (!strcmp(kind, lists[i][0]))
            return lists[i][1];
    return NULL;
}

static bool is_among(const char *name, char **names, size_t n)
{
    while (n > 0 && names[n - 1] != name)
        n--;
    return n > 0;
}

/* "no 'h80' in platforms: did you mean h800? or give a path ending in .xml" */
static int unknown_name(const char *kind, const char *name, const char *suffix, struct ss_error *err)
{
    char choices[400], **names = NULL;
    size_t n = 0, count = 0;
    bool whole = false;
    SS_TRY(ss_data_list(kind, suffix, &names, &n, err));
    char **kept = ss_calloc(n + 1, sizeof *kept);
    const char *near = kept ? meant(names, n, name) : NULL;
    ss_fail(err, SS_ERR_IO, NULL, 0, "no '%s' in %s", name, kind);
    if (kept)
        count = keep_beginning(names, n, name, kept, &whole);
    if (whole && count && near &&
        !is_among(near, kept, count)) /* qwen3-235b is qwen3-235b-a22b, not qwen3-32b */
        near = count == 1 ? kept[0] : NULL;
    bool fit = join_names(count ? kept : names, count ? count : n, choices, sizeof choices);
    if (!n)
        ss_hint(err, SS_ERR_IO,
                "no data folder was found; set STEPSIM_DATA to the one that holds %s, or give a path", kind);
    else if (near)
        ss_hint(err, SS_ERR_IO, "did you mean %s? Or give a path ending in %s", near, suffix);
    else if (count && !whole)
        ss_hint(err, SS_ERR_IO, "did you mean one of %s? Or give a path ending in %s", choices, suffix);
    else if (!count && !fit && listed_as(kind))
        ss_hint(err, SS_ERR_IO, "`stepsim list %s` names all; or give a path ending in %s", listed_as(kind),
                suffix);
    else
        ss_hint(err, SS_ERR_IO, "choose one of %s, or give a path ending in %s", choices, suffix);
    free(kept);
    ss_names_free(names, n);
    return SS_ERR_IO;
}

/* A downloaded model is a folder with a config.json. */
static bool is_model_folder(const char *name, const char *suffix)
{
    return *name && !strcmp(suffix, ".json") && ss_is_folder(name);
}

/* Fails for a path that does not exist: a folder's, a missing file's, or a hub's name of a model. */
static int unknown_path(const char *kind, const char *name, const char *suffix, struct ss_error *err)
{
    char part[256], **names = NULL;
    size_t n = 0;

    if (is_model_folder(name, suffix))
        return ss_fail(err, SS_ERR_IO, name, 0,
                       "no config.json in this folder" SS_HINT
                       "give the folder of a downloaded model, or a name without '/' of %s",
                       kind);
    ss_fail(err, SS_ERR_IO, name, 0, ss_is_folder(name) ? "is a folder" : "no such file");
    last_part(name, suffix, part, sizeof part);
    const char *near = NULL;
    if (!ss_is_folder(name) && !ss_data_list(kind, suffix, &names, &n, NULL))
        near = meant(names, n, part);
    if (near)
        ss_hint(err, SS_ERR_IO, "did you mean %s of %s? Else give a file", near, kind);
    else
        ss_hint(err, SS_ERR_IO, "give a file, or a name without '/' and '%s' to look it up in %s", suffix,
                kind);
    ss_names_free(names, n);
    return SS_ERR_IO;
}

bool ss_data_is_path(const char *name, const char *suffix)
{
    return strchr(name, '/') || (*suffix && ends_with(name, suffix));
}

static int look_in_roots(const char *kind, const char *name, const char *suffix, char *path, size_t size,
                         bool *found, struct ss_error *err)
{
    struct roots roots;
    int rc = find_roots(&roots, err);
    for (size_t i = 0; !rc && !*found && *name && i < roots.n; i++) {
        int n = snprintf(path, size, "%s/%s/%s%s", roots.path[i], kind, name, suffix);
        if (n >= 0 && (size_t)n < size)
            rc = look_at(path, found, err);
    }
    return rc;
}

/* Does look_in_roots for a name as people write it. A name that is like two names matches none. */
static int look_alike(const char *kind, const char *name, const char *suffix, char *path, size_t size,
                      bool *found, struct ss_error *err)
{
    char wanted[256], folded[256];
    char **names = NULL;
    const char *like = NULL;
    size_t n = 0, matches = 0;
    int rc = ss_data_list(kind, suffix, &names, &n, err);

    fold(name, wanted, sizeof wanted);
    for (size_t i = 0; i < n && !rc; i++) {
        fold(names[i], folded, sizeof folded);
        if (wanted[0] && !strcmp(folded, wanted)) {
            like = names[i];
            matches++;
        }
    }
    if (!rc && matches == 1)
        rc = look_in_roots(kind, like, suffix, path, size, found, err);
    ss_names_free(names, n);
    return rc;
}

static int look_in_folder(const char *name, const char *suffix, char *path, size_t size, bool *found,
                          struct ss_error *err)
{
    size_t len = strlen(name);

    if (!is_model_folder(name, suffix))
        return SS_OK;
    while (len > 1 && name[len - 1] == '/')
        len--;
    int n = snprintf(path, size, "%.*s/config.json", (int)len, name);
    return n > 0 && (size_t)n < size ? look_at(path, found, err) : SS_OK;
}

int ss_data_look(const char *kind, const char *name, const char *suffix, char *path, size_t size, bool *found,
                 struct ss_error *err)
{
    int rc;

    *found = false;
    if (!name)
        return ss_fail(err, SS_ERR_USAGE, NULL, 0, "no name or path of one of %s", kind);
    if (!ss_data_is_path(name, suffix)) {
        rc = look_in_roots(kind, name, suffix, path, size, found, err);
        if (!rc && !*found)
            rc = look_alike(kind, name, suffix, path, size, found, err);
        return rc || *found ? rc : look_in_folder(name, suffix, path, size, found, err);
    }
    rc = look_at(name, found, err);
    if (!rc && *found && !ss_copy(path, size, name))
        return ss_fail(err, SS_ERR_IO, name, 0, "the path is too long");
    return rc || *found ? rc : look_in_folder(name, suffix, path, size, found, err);
}

/* Tells the name of a file by its ending: a result, a configuration, a script. No name of data has such an
 * ending. */
static bool is_file_name(const char *name)
{
    static const char *const endings[] = {".json", ".yaml", ".yml", ".toml", ".args", ".xml", ".txt", ".sh"};
    bool is = false;

    for (size_t i = 0; i < SS_ARRAY_LEN(endings); i++)
        is = is || ends_with(name, endings[i]);
    return is;
}

int ss_data_other_ending(const char *name, const char *endings, const char *whose, int code,
                         struct ss_error *err)
{
    bool there = false;
    int rc = look_at(name, &there, err);
    if (rc || !there)
        return rc;
    return ss_fail(err, code, NULL, 0,
                   "the file '%s' does not end in %s, as the files of %s do" SS_HINT
                   "give a file with that ending, or ./%s to read this one",
                   name, endings, whose, name);
}

int ss_data_find(const char *kind, const char *name, const char *suffix, char *path, size_t size,
                 struct ss_error *err)
{
    bool found;
    int rc = ss_data_look(kind, name, suffix, path, size, &found, err);
    if (rc || found)
        return rc;
    if (ss_data_is_path(name, suffix) || is_model_folder(name, suffix))
        return unknown_path(kind, name, suffix, err);
    SS_TRY(ss_data_other_ending(name, suffix, kind, SS_ERR_IO, err));
    if (!is_file_name(name))
        return unknown_name(kind, name, suffix, err);
    return ss_fail(err, SS_ERR_IO, NULL, 0, "no such file '%s'" SS_HINT "give a file, or a name of %s", name,
                   kind);
}

int ss_data_note(const char *kind, const char *name, const char *suffix, struct ss_files *files,
                 struct ss_error *err)
{
    char path[4096];
    bool found = false;
    int rc = files ? ss_data_look(kind, name, suffix, path, sizeof path, &found, err) : SS_OK;
    return !rc && found ? ss_files_add(files, path, err) : rc;
}

bool ss_data_relative(const char *path, const char **rest)
{
    struct roots roots;

    if (find_roots(&roots, NULL))
        return false;
    for (size_t i = 0; i < roots.n; i++) {
        size_t n = strlen(roots.path[i]);
        if (!strncmp(path, roots.path[i], n) && path[n] == '/') {
            *rest = path + n + 1;
            return true;
        }
    }
    return false;
}

int ss_data_place(const char *rest, char *path, size_t size, struct ss_error *err)
{
    struct roots roots;
    int rc = find_roots(&roots, err);

    for (size_t i = 0; i < roots.n && !rc; i++) {
        int n = snprintf(path, size, "%s/%s", roots.path[i], rest);
        size_t at = 0;
        if (n <= 0 || (size_t)n >= size)
            continue;
        if (ss_inside(path) ? ss_inside_find(path) || ss_inside_next(path, &at) : access(path, R_OK) == 0)
            return SS_OK;
    }
    return rc ? rc : ss_fail(err, SS_ERR_IO, NULL, 0, "there is no %.200s among the data", rest);
}
