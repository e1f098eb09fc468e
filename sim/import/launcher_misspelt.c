/* SPDX-License-Identifier: Apache-2.0 */
/* Misspelt options of launchers, and misspelt resources of PBS, LSF and PJM. */
#include "base/base.h"
#include "import/launcher.h"

/* How many letters of the word may be wrong, so that it is still taken for the name. CPUs are not GPUs. */
static size_t most_wrong(const char *word, const char *name)
{
    const size_t n = strlen(name);

    if (!strncmp(word, "--cpu", 5))
        return 0;
    return n >= 10 ? 2 : n >= 6 || (n >= 3 && !strncmp(word, name, strspn(name, "-") + 1)) ? 1 : 0;
}

/* Two letters beside each other are the wrong way round: "--nnoeds". */
static bool is_swapped(const char *word, const char *name)
{
    size_t i = 0;

    while (word[i] && word[i] == name[i])
        i++;
    return i > 2 && word[i] && word[i + 1] && word[i] == name[i + 1] && word[i + 1] == name[i] &&
           !strcmp(word + i + 2, name + i + 2);
}

bool ss_launcher_is_misspelt(const char *word, const char *name)
{
    const size_t n = strlen(name);

    return is_swapped(word, name) || ss_nearest_within(word, &name, 1, most_wrong(word, name)) ||
           (n > 2 && !strncmp(word, name, n) && !word[n + strspn(word + n, "0123456789")]);
}

/* ---- resources ---- */

/* What stands before "=" in such lists, and counts or is like what does. */
static const char pbs_keys[] =
    "select nodes ngpus gpus gpu mpiprocs procs ppn ncpus cpus mem vmem pmem pvmem cput pcput place host";
static const char pjm_keys[] =
    "node vnode gpu proc max-proc-per-node rscgrp rscunit elapse jobenv freq shape";
static const char lsf_keys[] = "ptile num mem cpu gmem gmodel model mode hosts block ut pg tmp swp";

/* Finds the key that a word is a misspelt one of: it begins alike, for sites have resources of their own ("smem"), and a short word has all letters
 * of the key, all but the last, or one "s" more. */
static bool is_resource(const char *keys, const char *word, char key[32])
{
    const char *const one[] = {key};
    const size_t n = strlen(word);

    for (const char *at = keys; n > 2 && *at && !ss_has_word(keys, word);) {
        const size_t length = strcspn(at, " ");
        snprintf(key, 32, "%.*s", (int)length, at);
        at += length + (at[length] == ' ');
        const bool same = (n == length && strspn(word, key) == n && strspn(key, word) == n) || /* letters */
                          (n == length + 1 && word[length] == 's' && !strncmp(word, key, length));
        if (length > 2 && word[0] == key[0] && ((n > 4 && length > 4) || same || !strncmp(word, key, n)) &&
            ss_nearest_within(word, one, 1, length > 6 || same ? 2 : 1))
            return true;
    }
    return false;
}

int ss_launcher_resources(const char *program, const char *list, const char *file, int line,
                          struct ss_error *err)
{
    const bool lsf = !strcmp(program, "bsub"), pjm = !strcmp(program, "pjsub");
    char word[32], key[32];

    for (const char *p = list; (p = strchr(p, '=')) != NULL; p += 1 + (p[1] == '=')) {
        const char *from = p;
        while (from > list &&
               (isalnum((unsigned char)from[-1]) || from[-1] == '_' || (pjm && from[-1] == '-')))
            from--;
        snprintf(word, sizeof word, "%.*s", p - from < 32 && p[1] != '=' ? (int)(p - from) : 0, from);
        for (char *c = word; *c && !lsf; c++)
            *c = (char)tolower((unsigned char)*c);
        if (is_resource(lsf ? lsf_keys : pjm ? pjm_keys : pbs_keys, word, key))
            return ss_fail(err, SS_ERR_INPUT, file, line,
                           "%.80s: no resource is %s" SS_HINT "did you mean %s?", list, word, key);
    }
    return SS_OK;
}
