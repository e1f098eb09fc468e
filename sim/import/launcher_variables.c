/* SPDX-License-Identifier: Apache-2.0 */
/* Settings of libraries that a launcher gives by variables: those that are modelled are obeyed, those that change the speed otherwise are told. */
#include "base/base.h"
#include "import/launcher.h"
#include "stepsim/params.h"

/* Variables that change no time, or none that a healthy cluster shows. */
static const char harmless[] =
    "NCCL_DEBUG NCCL_DEBUG_SUBSYS NCCL_DEBUG_FILE NCCL_SOCKET_IFNAME NCCL_SOCKET_FAMILY NCCL_IB_TIMEOUT "
    "NCCL_IB_RETRY_CNT NCCL_IB_GID_INDEX NCCL_IB_HCA NCCL_IB_SL NCCL_IB_TC NCCL_ASYNC_ERROR_HANDLING "
    "NCCL_BLOCKING_WAIT "
    "NCCL_COMM_ID NCCL_HOSTID NCCL_VERSION NCCL_TIMEOUT NCCL_ROOT NCCL_HOME NCCL_DIR NCCL_LIB_DIR "
    "NCCL_INCLUDE_DIR "
    "NCCL_LIBRARY NCCL_CONF_FILE NCCL_TOPO_DUMP_FILE NCCL_GRAPH_DUMP_FILE NCCL_TOPO_FILE "
    "NCCL_SET_THREAD_NAME "
    "NCCL_IB_RETURN_ASYNC_EVENTS NCCL_IGNORE_CPU_AFFINITY NCCL_IGNORE_DISABLED_P2P NCCL_LAUNCH_MODE "
    "NCCL_CUMEM_ENABLE "
    "NCCL_NET_PLUGIN NCCL_TUNER_PLUGIN NCCL_PROFILER_PLUGIN NCCL_RAS_ENABLE NCCL_SHM_USE_CUDA_MEMCPY "
    "NCCL_PLUGIN_P2P "
    "NCCL_IB_AR_THRESHOLD NCCL_IB_PCI_RELAXED_ORDERING NCCL_CHECKS_DISABLE NCCL_CHECK_POINTERS "
    "NCCL_UID_BUF_SIZE";

/* What was found. */
struct found {
    struct ss_command *c;
    struct ss_notes obeyed, told;
};

/* Sets a prop, as --set does; the last word counts. */
static void set(struct found *f, enum ss_prop_index index, const char *value)
{
    const char *prop = ss_prop_at(index)->id;
    size_t n = strlen(prop), i = 0;

    while (i < f->c->nset && (strncmp(f->c->set[i], prop, n) != 0 || f->c->set[i][n] != '='))
        i++;
    if (i == SS_ARRAY_LEN(f->c->set))
        return;
    f->c->nset += i == f->c->nset;
    snprintf(f->c->set[i], sizeof f->c->set[i], "%s=%.30s", prop, value);
}

/* "Ring", "^NVLS,NVLSTree", "Ring,Tree": returns 1 where all that it says is modelled. */
static int take_algorithms(struct found *f, const char *value)
{
    int without = value[0] == '^', ring = 0, tree = 0, nvls = 0, other = 0;

    for (const char *p = value + without; *p; p += strcspn(p, ","), p += *p == ',') {
        size_t n = strcspn(p, ",");
        int is_ring = n == 4 && !strncasecmp(p, "ring", 4), is_tree = n == 4 && !strncasecmp(p, "tree", 4),
            is_nvls = n >= 4 && !strncasecmp(p, "nvls", 4);
        ring |= is_ring, tree |= is_tree, nvls |= is_nvls;
        other |= !is_ring && !is_tree && !is_nvls && strncasecmp(p, "pat", 3) && strncasecmp(p, "collnet", 7);
    }
    if (other || (without ? ring : !ring))
        return 0;
    if (without == nvls)
        set(f, SS_PROP_nccl_nvls, "0");
    if (without ? tree : !tree)
        set(f, SS_PROP_nccl_rings, "1");
    return 1;
}

/* Obeys a variable. Returns 0 where it is not modelled. */
static int obey(struct found *f, const char *name, const char *value)
{
    int64_t n;

    if (!strcmp(name, "NCCL_ALGO"))
        return take_algorithms(f, value);
    if (!strcmp(name, "NCCL_NVLS_ENABLE") && ss_has_word("0 1 2", value)) {
        set(f, SS_PROP_nccl_nvls, value[0] == '0' ? "0" : "1");
        return 1;
    }
    if (!strcmp(name, "NVTE_ALLOW_NONDETERMINISTIC_ALGO") && ss_has_word("0 1", value)) {
        set(f, SS_PROP_deterministic, value[0] == '0' ? "1" : "0");
        return 1;
    }
    if (!strcmp(name, "NCCL_PROTO") && !strcasecmp(value, "simple")) {
        set(f, SS_PROP_nccl_simple, "1");
        return 1;
    }
    if (!strcmp(name, "NCCL_BUFFSIZE") && !ss_parse_i64(value, 65536, 1000000000, &n)) {
        char bytes[32];
        snprintf(bytes, sizeof bytes, "%.20sB", value);
        set(f, SS_PROP_nccl_buffer, bytes);
        return 1;
    }
    if (!strcmp(name, "TORCH_DISTRIBUTED_DEBUG") && !strcasecmp(value, "detail")) {
        set(f, SS_PROP_host_check, SS_HOST_CHECK);
        return 1;
    }
    return 0;
}

/* Whether a value is what a library does without the variable, or changes nothing that is predicted. */
static int is_default(const char *name, const char *value)
{
    size_t n = strlen(name);

    if (!strncmp(name, "CUDA_DEVICE_MAX_CONNECTIONS", n))
        return !strcmp(value, "1"); /* as Megatron-LM asks */
    if (!strncmp(name, "NVTE_", 5))
        return strcmp(value, "0") != 0;
    if (!strcmp(name, "TORCH_DISTRIBUTED_DEBUG"))
        return !strcasecmp(value, "off") || !strcasecmp(value, "info");
    return ss_has_word(harmless, name) ||
           (n > 8 && !strcmp(name + n - 8, "_DISABLE") && !strcmp(value, "0")) ||
           !strncmp(name, "NCCL_DEBUG", 10);
}

static void take(struct found *f, const char *text, size_t len)
{
    char name[64], value[128];
    const char *equal = memchr(text, '=', len);

    if (!equal || (size_t)(equal - text) >= sizeof name)
        return;
    snprintf(name, sizeof name, "%.*s", (int)(equal - text), text);
    snprintf(value, sizeof value, "%.*s", (int)(len - (size_t)(equal - text) - 1), equal + 1);
    if (!value[0] || (strncmp(name, "NCCL_", 5) != 0 && strncmp(name, "RCCL_", 5) != 0 &&
                      !ss_has_word("CUDA_DEVICE_MAX_CONNECTIONS NVTE_FLASH_ATTN NVTE_FUSED_ATTN "
                                   "NVTE_ALLOW_NONDETERMINISTIC_ALGO TORCH_DISTRIBUTED_DEBUG",
                                   name)))
        return;
    if (obey(f, name, value))
        ss_note(&f->obeyed, "%s=%s", name, value);
    else if (!is_default(name, value))
        ss_note(&f->told, "%s=%s", name, value);
}

static void tell(const struct ss_notes *list, struct ss_notes *notes, const char *file, const char *what)
{
    char text[600] = "";

    for (unsigned long i = 0; i < list->n; i++)
        ss_append(text, sizeof text, "%s%s", i ? ", " : "", list->text[i]);
    if (list->n)
        ss_note(notes, "%s: %s: %s", file ? file : "command line", what, text);
}

void ss_launcher_variables(const struct ss_words *words, struct ss_command *c, struct ss_notes *notes)
{
    struct found f = {.c = c};

    for (size_t i = c->first; i < c->script; i++) {
        const char *text = words->w[i].text, *next = i + 1 < c->script ? words->w[i + 1].text : "";
        if (text[0] != '-') {
            take(&f, text, strlen(text));
        } else if (!strcmp(text, "-genv") || !strcmp(text, "-env")) { /* mpiexec.hydra: NAME VALUE */
            char both[200];
            snprintf(both, sizeof both, "%.60s=%.120s", next, i + 2 < c->script ? words->w[i + 2].text : "");
            take(&f, both, strlen(both));
        } else if (!strncmp(text, "--export=", 9) || !strcmp(text, "--export")) {
            for (const char *p = text[8] ? text + 9 : next; *p; p += strcspn(p, ","), p += *p == ',')
                take(&f, p, strcspn(p, ","));
        }
    }
    tell(&f.obeyed, notes, words->file, "these settings of the launcher are obeyed");
    tell(&f.told, notes, words->file,
         "these settings of the launcher may change the speed and are not modelled");
    ss_notes_free(&f.obeyed);
    ss_notes_free(&f.told);
}
