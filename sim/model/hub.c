/* SPDX-License-Identifier: Apache-2.0 */
#include "model/hub.h"

#include <strings.h>

#include "base/base.h"

static int ends_in(const char *text, const char *end)
{
    size_t n = strlen(text), m = strlen(end);

    return n > m && !strcasecmp(text + n - m, end);
}

/* Beginnings of names, of which the first is the second one trained further. */
static const char *const same[][2] = {{"qwen2.5-coder-", "qwen2.5-"},
                                      {"qwen2.5-math-", "qwen2.5-"},
                                      {"qwen3-coder-30b", "qwen3-30b"},
                                      {"llama-3.3-", "llama3.1-"},
                                      {"llama-3.1-nemotron-70b", "llama3.1-70b"},
                                      {"deepseek-r1-distill-llama-", "llama3.1-"},
                                      {"deepseek-r1-distill-qwen-7b", "qwen2.5-7b"},
                                      {"deepseek-r1-distill-qwen-14b", "qwen2.5-14b"},
                                      {"deepseek-r1-distill-qwen-32b", "qwen2.5-32b"},
                                      {"deepseek-v3.1", "deepseek-v3"},
                                      {"glm-4.6", "glm-4.5"}};

/* Cuts what the hub adds to a name without changing the shape: "Meta-Llama-3-8B-Instruct" is Llama-3-8B. Returns 0 where there is
 * nothing to cut. */
static int shorten(char *name)
{
    static const char *const ends[] = {"-instruct", "-chat", "-base", "-hf",   "-it",   "-pt",  "-8k",
                                       "-4k",       "-128k", "-bf16", "-2407", "-2409", "-2501"};
    size_t n = strlen(name);

    static const char *const makers[] = {"meta-", "nvidia-"};
    for (size_t i = 0; i < SS_ARRAY_LEN(makers); i++) {
        size_t maker = strlen(makers[i]);
        if (!strncasecmp(name, makers[i], maker)) {
            memmove(name, name + maker, n - maker + 1);
            return 1;
        }
    }
    if (n > 5 && name[n - 5] == '-' && strspn(name + n - 4, "0123456789") == 4) { /* a month: -2507 */
        name[n - 5] = '\0';
        return 1;
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(same); i++) {
        const size_t k = strlen(same[i][0]), m = strlen(same[i][1]);
        if (strncasecmp(name, same[i][0], k))
            continue;
        memcpy(name, same[i][1], m);
        memmove(name + m, name + k, n - k + 1);
        return 1;
    }
    size_t version = n; /* "-v1.5" */
    while (version > 0 && strchr("0123456789.", name[version - 1]))
        version--;
    if (version > 2 && version < n && !strncasecmp(name + version - 2, "-v", 2)) {
        name[version - 2] = '\0';
        return 1;
    }
    for (size_t i = 0; i < SS_ARRAY_LEN(ends); i++)
        if (ends_in(name, ends[i])) {
            name[n - strlen(ends[i])] = '\0';
            return 1;
        }
    return 0;
}

int ss_model_known(const char *hub, char *name, size_t size, bool *found, struct ss_error *err)
{
    const char *slash = strrchr(hub, '/'), *rest;
    char file[4096];
    int rc;

    ss_copy(name, size, slash && slash[1] ? slash + 1 : hub);
    do {
        rc = ss_data_look("workloads/models", name, ".json", file, sizeof file, found, err);
        *found =
            *found && ss_data_relative(file, &rest); /* not what the current folder has under this name */
    } while (!rc && !*found && shorten(name));
    return rc;
}
