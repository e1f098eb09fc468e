/* SPDX-License-Identifier: Apache-2.0 */
/* Lists of resources as PBS and Grid Engine read them, and words in them that are misspelt. */
#include "base/base.h"
#include "import/launcher.h"

#define MOST (1 << 20)

/* The number that is all of the n bytes at p; 0: none. */
static int number(const char *p, size_t n)
{
    char text[16];
    int64_t found;

    if (n == 0 || n >= sizeof text)
        return 0;
    memcpy(text, p, n);
    text[n] = '\0';
    return ss_parse_i64(text, 1, MOST, &found) ? 0 : (int)found;
}

/* The number of "ngpus=8" among the options behind ":" of a chunk; 0: it has none. */
static int option(const char *p, const char *end, const char *name)
{
    size_t n = strlen(name);

    for (; (p = memchr(p, ':', (size_t)(end - p))) != NULL; p++)
        if ((size_t)(end - p) > n + 1 && !strncasecmp(p + 1, name, n) && p[1 + n] == '=') {
            const char *value = p + n + 2;
            size_t len = strcspn(value, ":+, \t\r\n");
            return number(value, len < (size_t)(end - value) ? len : (size_t)(end - value));
        }
    return 0;
}

/* Reads chunks joined by "+": nodes add up; GPUs are those of a node where all chunks have equally many. The
 * name of a host is one node. */
static void read_chunks(const char *p, const char *end, struct ss_pbs *out)
{
    struct ss_pbs sum = {0};
    int same = 1;

    for (const char *next; p < end; p = next + 1) {
        next = memchr(p, '+', (size_t)(end - p));
        next = next ? next : end;
        size_t n = strcspn(p, ":+");
        int nodes = number(p, n < (size_t)(next - p) ? n : (size_t)(next - p));
        int gpus = option(p, next, "ngpus"), tasks = option(p, next, "mpiprocs"),
            lines = option(p, next, "ppn");
        gpus = gpus ? gpus : option(p, next, "gpus");
        gpus = gpus ? gpus : option(p, next, "gpu");
        lines = lines ? lines : tasks;
        same &= sum.nodes == 0 || (gpus == sum.gpus && tasks == sum.tasks && lines == sum.lines);
        sum = (struct ss_pbs){sum.nodes + (nodes ? nodes : 1), gpus, tasks, lines};
        if (sum.nodes > MOST)
            return;
    }
    if (!same)
        sum = (struct ss_pbs){.nodes = sum.nodes};
    *out = sum;
}

/* Reads a list of resources, "select=4:ngpus=8,walltime=2:00", up to a blank. Whole nodes of ABCI are "rt_F=4". */
void ss_pbs_list(const char *p, struct ss_pbs *out)
{
    static const char *const names[] = {"select=", "nodes=", "rt_F=", "rt_AF=", "rt_HF="};

    for (; *p && !isspace((unsigned char)*p); p += strcspn(p, ", \t\r\n"), p += *p == ',')
        for (size_t i = 0; i < SS_ARRAY_LEN(names); i++) {
            size_t n = strlen(names[i]);
            if (!strncasecmp(p, names[i], n))
                read_chunks(p + n, p + n + strcspn(p + n, ", \t\r\n"), out);
        }
}

/* ---- misspelt ---- */

/* What stands before "=" in such lists, and counts or is like what does. */
static const char pbs_keys[] =
    "select nodes ngpus gpus gpu mpiprocs procs ppn ncpus cpus mem vmem pmem pvmem cput pcput place host";
static const char lsf_keys[] = "ptile num mem cpu gmem gmodel model mode hosts block ut pg tmp swp";

/* Finds the key that a word is a misspelt one of: it begins alike, for sites have resources of their own ("smem"), and a short word has all letters
 * of the key, or all but the last. */
static bool is_misspelt(const char *keys, const char *word, char key[32])
{
    const char *const one[] = {key};
    const size_t n = strlen(word);

    for (const char *at = keys; n > 2 && *at && !ss_has_word(keys, word);) {
        const size_t length = strcspn(at, " ");
        snprintf(key, 32, "%.*s", (int)length, at);
        at += length + (at[length] == ' ');
        const bool same = n == length && strspn(word, key) == n && strspn(key, word) == n; /* letters */
        if (length > 2 && word[0] == key[0] && ((n > 4 && length > 4) || same || !strncmp(word, key, n)) &&
            ss_nearest_within(word, one, 1, length > 6 || same ? 2 : 1))
            return true;
    }
    return false;
}

int ss_launcher_resources(const char *program, const char *list, const char *file, int line,
                          struct ss_error *err)
{
    const bool lsf = !strcmp(program, "bsub");
    char word[32], key[32];

    for (const char *p = list; (p = strchr(p, '=')) != NULL; p += 1 + (p[1] == '=')) {
        const char *from = p;
        while (from > list && (isalnum((unsigned char)from[-1]) || from[-1] == '_'))
            from--;
        snprintf(word, sizeof word, "%.*s", p - from < 32 && p[1] != '=' ? (int)(p - from) : 0, from);
        for (char *c = word; *c && !lsf; c++)
            *c = (char)tolower((unsigned char)*c);
        if (is_misspelt(lsf ? lsf_keys : pbs_keys, word, key))
            return ss_fail(err, SS_ERR_INPUT, file, line,
                           "%.80s: no resource is %s" SS_HINT "did you mean %s?", list, word, key);
    }
    return SS_OK;
}
