/* SPDX-License-Identifier: Apache-2.0 */
/* Names of models as foreign configurations have them. */
#include <unistd.h>

#include "base/base.h"
#include "import/reading.h"
#include "model/hub.h"

/* A file or folder of that path beside the tree's file, or as it stands. */
static int is_there(const struct ss_reading *r, const char *name, char *path, size_t size)
{
    const char *file = ss_tree_file(r->tree), *slash = strrchr(file, '/');

    if (ss_import_is_pasted(file))
        return 0;
    if (slash && name[0] != '/') {
        int n = snprintf(path, size, "%.*s/%s", (int)(slash - file), file, name);
        if (n > 0 && (size_t)n < size && access(path, R_OK) == 0)
            return 1;
    }
    return strchr(name, '/') && ss_copy(path, size, name) && access(name, R_OK) == 0;
}

/* Finds what --model takes for this name: *path. */
static int find(struct ss_reading *r, const char *name, char *path, size_t size, bool *found)
{
    const char *slash = strrchr(name, '/');

    *found = is_there(r, name, path, size);
    if (*found)
        return SS_OK;
    char file[4096];
    int rc = ss_model_known(name, path, size, found, r->err);
    if (rc || *found)
        return rc;
    ss_copy(path, size,
            slash && slash[1] ? slash + 1 : name); /* looked for, and missed, where the name stands */
    return ss_import_is_pasted(ss_tree_file(r->tree))
               ? SS_OK
               : ss_data_look("workloads/models", path, ".json", file, sizeof file, found, r->err);
}

void ss_reading_model(struct ss_reading *r, const struct ss_tree_node *at, const char *name)
{
    char path[256];
    bool found = false;

    if (r->rc)
        return;
    r->rc = find(r, name, path, sizeof path, &found);
    ss_reading_flag(r, at, "--model", path);
    if (r->rc || !found)
        return;
    ss_model_init(&r->model);
    r->rc = ss_model_load(path, &r->model, r->err);
    r->has_model = !r->rc;
    if (r->has_model && r->model.extra_vocab_size > 0 && !r->model.extra_in_checkpoint) /* Megatron's alone */
        ss_reading_whole_flag(r, at, "--vocab-size", r->model.vocab_size);
}
