/* SPDX-License-Identifier: Apache-2.0 */
/* Nodes and GPUs as a launch script asks PBS for them: "#PBS -l select=4:ngpus=8", "#PBS -l nodes=4:ppn=8:gpus=8". */
#include "base/base.h"
#include "import/import.h"

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
        if ((size_t)(end - p) > n + 1 && !strncmp(p + 1, name, n) && p[1 + n] == '=') {
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

/* Reads a list of resources, "select=4:ngpus=8,walltime=2:00", up to a blank. */
static void read_list(const char *p, struct ss_pbs *out)
{
    static const char *const names[] = {"select=", "nodes="};

    for (; *p && !isspace((unsigned char)*p); p += strcspn(p, ", \t\r\n"), p += *p == ',')
        for (size_t i = 0; i < SS_ARRAY_LEN(names); i++) {
            size_t n = strlen(names[i]);
            if (!strncmp(p, names[i], n))
                read_chunks(p + n, p + n + strcspn(p + n, ", \t\r\n"), out);
        }
}

int ss_launch_pbs(const char *text, struct ss_pbs *out)
{
    int asked = 0;

    *out = (struct ss_pbs){0};
    for (const char *line = text, *next; line; line = next ? next + 1 : NULL) {
        next = strchr(line, '\n');
        if (strncmp(line, "#PBS", 4) != 0 || !isspace((unsigned char)line[4]))
            continue;
        asked = 1;
        const char *end = line + strcspn(line, "\n");
        for (const char *p = line + 4; p + 3 < end; p++)
            if (isspace((unsigned char)p[0]) && p[1] == '-' && p[2] == 'l')
                read_list(p + 3 + strspn(p + 3, " \t"), out);
    }
    return asked;
}
