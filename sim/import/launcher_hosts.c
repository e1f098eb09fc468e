/* SPDX-License-Identifier: Apache-2.0 */
/* Files that launchers name: of hosts, and the configuration of accelerate. */
#include "base/base.h"
#include "import/hf.h"
#include "import/launcher.h"

/* The slots of a line "host slots=8", "host:8"; 0: it says none, and is a process of its own. */
static long slots_of(const char *line)
{
    const char *at = strstr(line, "slots=");
    size_t name = strcspn(line, " \t:");

    return at ? atol(at + 6) : line[name] == ':' ? atol(line + name + 1) : 0;
}

/* Adds a line; the host of the line before it, where it says no slots, has one process more. Returns 0 where the lines are not alike. */
static int add_host(const char *line, char last[64], long *own, int64_t *hosts, int64_t *slots)
{
    char name[64];
    long n = slots_of(line);

    snprintf(name, sizeof name, "%.*s", (int)strcspn(line, " \t:\r"), line);
    if (n == 0 && *hosts && !strcmp(name, last)) {
        ++*own;
        *slots = *hosts == 1 ? *own : *slots;
        return *own <= *slots;
    }
    if (n < 0 || n > 1024 || (*hosts > 1 && *own != *slots) || (*hosts && n && n != *slots))
        return 0;
    ss_copy(last, 64, name);
    *own = n ? n : 1;
    *slots = *hosts == 0 ? *own : *slots;
    ++*hosts;
    return 1;
}

int ss_launcher_hosts(const struct ss_words *words, const char *name, int64_t *hosts, int64_t *slots,
                      struct ss_error *err)
{
    char path[1024], *text, last[64] = "";
    size_t len;
    long own = 0;
    int number = 1, rc = ss_command_read(words, name, words->file, path, sizeof path, &text, &len, err);

    *hosts = *slots = 0;
    if (rc)
        return rc;
    for (char *line = text, *next; line && !rc; line = next, number++) {
        next = strchr(line, '\n');
        if (next)
            *next++ = '\0';
        line += strspn(line, " \t\r");
        if (*line && *line != '#' && !add_host(line, last, &own, hosts, slots))
            rc = ss_fail(err, SS_ERR_UNSUPPORTED, path, number,
                         "\"host slots=N\" is expected, with the same number of GPUs in each line");
    }
    free(text);
    if (!rc && *slots == 1) /* a host a line, which says nothing of its GPUs */
        *slots = 0;
    if (!rc && *slots && *hosts > 1 && own != *slots)
        rc = ss_fail(err, SS_ERR_UNSUPPORTED, path, number - 1,
                     "nodes with unlike numbers of GPUs are not modelled");
    return rc;
}

int ss_launcher_config(const struct ss_words *words, struct ss_launcher_layer_said *said,
                       struct ss_error *err)
{
    static const struct {
        const char *key;
        enum ss_launcher_count what;
    } keys[] = {{"accelerate.num_machines", SS_COUNT_NODES}, {"accelerate.num_processes", SS_COUNT_ALL}};
    struct ss_tree *tree = NULL;
    int64_t n;
    int rc = ss_tree_parse("{}", 2, said->config, &tree, err);

    SS_THEN(rc, ss_hf_graft_file(tree, words, "accelerate", said->config, words->file, err));
    for (size_t i = 0; i < SS_ARRAY_LEN(keys) && !rc; i++) {
        const struct ss_tree_node *node = ss_tree_find(ss_tree_root(tree), keys[i].key);
        if (node && ss_tree_whole(node, &n) && n > 0 && n <= 1 << 26 && !said->count[keys[i].what])
            said->count[keys[i].what] = n;
    }
    ss_tree_free(tree);
    return rc;
}
