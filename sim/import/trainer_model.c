/* SPDX-License-Identifier: Apache-2.0 */
/* Names of models as trainers have them. */
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "base/base.h"
#include "import/trainer.h"
#include "model/hub.h"

/* A file or folder of that path beside the tree's file, or as it stands. */
static int is_there(const struct ss_trainer *t, const char *name, char *path, size_t size)
{
    const char *file = ss_tree_file(t->tree), *slash = strrchr(file, '/');

    if (slash && name[0] != '/') {
        int n = snprintf(path, size, "%.*s/%s", (int)(slash - file), file, name);
        if (n > 0 && (size_t)n < size && access(path, R_OK) == 0)
            return 1;
    }
    return strchr(name, '/') && ss_copy(path, size, name) && access(name, R_OK) == 0;
}

/* What --model takes for this name: *path. */
static int find(struct ss_trainer *t, const char *name, char *path, size_t size, bool *found)
{
    const char *slash = strrchr(name, '/');

    *found = is_there(t, name, path, size);
    if (*found)
        return SS_OK;
    int rc = ss_model_known(name, path, size, found, t->err);
    if (!rc && !*found) /* which is then looked for, and missed, where the name stands */
        ss_copy(path, size, slash && slash[1] ? slash + 1 : name);
    return rc;
}

void ss_trainer_model(struct ss_trainer *t, const struct ss_tree_node *at, const char *name)
{
    char path[256];
    bool found = false;

    if (t->rc)
        return;
    t->rc = find(t, name, path, sizeof path, &found);
    ss_trainer_add(t, at, "--model", path);
    if (t->rc || !found)
        return;
    ss_model_init(&t->model);
    t->rc = ss_model_load(path, &t->model, t->err);
    t->has_model = !t->rc;
    if (t->has_model && t->model.extra_vocab_size > 0 && !t->model.extra_in_checkpoint) /* Megatron's alone */
        ss_trainer_add_whole(t, at, "--vocab-size", t->model.vocab_size);
}
