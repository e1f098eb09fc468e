/* SPDX-License-Identifier: Apache-2.0 */
/* Flags of forks of Megatron-LM: zero-bubble, Megatron-DeepSpeed, MindSpeed-LLM. */
#include "base/base.h"
#include "job/flags_set.h"

static int set_number(const char *value, int least, int *out, const char **why)
{
    int64_t n;

    if (ss_parse_i64(value, least, 100000, &n)) {
        *why = "it is not a whole number in its range";
        return SS_ERR_INPUT;
    }
    *out = (int)n;
    return SS_OK;
}

SS_FLAG_CALLED(zbh1)
{
    ss_copy(asked->job.schedule, sizeof asked->job.schedule, "zb-h1");
    return SS_OK;
}

SS_FLAG_CALLED(zero_bubble)
{
    asked->zero_bubble = 1;
    return SS_OK;
}

SS_FLAG_CALLED(zero_bubble_v)
{
    asked->zero_bubble_v = 1;
    return SS_OK;
}

SS_FLAG_CALLED(zero_bubble_memory)
{
    static const char *const words[] = {"zb", "half", "min"};

    for (int i = 0; i < 3; i++)
        if (!strcmp(values[0], words[i])) {
            asked->zero_bubble_memory = i;
            asked->zero_bubble_memory_given = 1;
            return SS_OK;
        }
    *why = "it is zb, half or min";
    return SS_ERR_INPUT;
}

SS_FLAG_CALLED(zero_bubble_pending)
{
    asked->zero_bubble_pending = 0;
    return strcmp(values[0], "auto") ? set_number(values[0], 1, &asked->zero_bubble_pending, why) : SS_OK;
}

SS_FLAG_CALLED(one_f_one_b_v)
{
    asked->one_f_one_b_v = 1;
    return SS_OK;
}

SS_FLAG_CALLED(interleave_group)
{
    return set_number(values[0], 0, &asked->interleave_group, why);
}

SS_FLAG_CALLED(pad_layers)
{
    asked->pad_layers = 1;
    return SS_OK;
}

SS_FLAG_CALLED(partition)
{
    if (!strcmp(values[0], "type:transformer")) {
        asked->pad_layers = 1;
        return SS_OK;
    }
    if (!strcmp(values[0], "type:transformer|embedding")) {
        asked->job.account_for_embedding = asked->job.account_for_loss = 1;
        return SS_OK;
    }
    *why = "type:transformer and type:transformer|embedding are modelled";
    return SS_ERR_UNSUPPORTED;
}

SS_FLAG_CALLED(schedules_method)
{
    if (strcmp(values[0], "dualpipev") != 0) {
        *why = "it is dualpipev";
        return SS_ERR_INPUT;
    }
    ss_copy(asked->job.schedule, sizeof asked->job.schedule, "dualpipev");
    return SS_OK;
}

/* "5,4,4,3" as "Et*5|t*4|t*4|t*3L". */
SS_FLAG_CALLED(layer_list)
{
    char text[4096] = "E", *const layout = text;

    for (const char *p = values[0];;) {
        size_t len = strcspn(p, ",");
        char number[16];
        int layers;
        snprintf(number, sizeof number, "%.*s", (int)len, p);
        if (set_number(number, 1, &layers, why))
            return SS_ERR_INPUT;
        ss_append(text, sizeof text, "t*%d", layers);
        if (!p[len])
            break;
        ss_append(text, sizeof text, "|");
        p += len + 1;
    }
    if (!ss_append(text, sizeof text, "L")) {
        *why = "too many stages";
        return SS_ERR_INPUT;
    }
    int rc = ss_flag_layout(asked, 1, &layout, why);
    asked->layout_mtp = -1;
    return rc;
}

/* "47,62,63" */
SS_FLAG_CALLED(noop_layers)
{
    struct ss_layer_rule rule = {0};

    for (const char *p = values[0]; *p; p += strcspn(p, ","), p += *p == ',') {
        char number[16];
        int64_t layer;
        snprintf(number, sizeof number, "%.*s", (int)strcspn(p, ","), p);
        if (ss_parse_i64(number, 0, SS_LAYER_RULE_MAX - 1, &layer)) {
            *why = "it is numbers of layers from 0, as 47,62,63";
            return SS_ERR_INPUT;
        }
        rule.bits[layer / 64] |= 1ull << layer % 64;
        rule.n = layer >= rule.n ? (int)layer + 1 : rule.n;
    }
    asked->noop_layers = rule;
    asked->layout_mtp = -1;
    return SS_OK;
}

SS_FLAG_CALLED(tp_extends_ep)
{
    asked->tp_extends_ep = 1;
    return SS_OK;
}

SS_FLAG_CALLED(cp_algo)
{
    static const struct ss_flag_choice words[] = {{"megatron_cp_algo", SS_CP_P2P},
                                                  {"ulysses_cp_algo", SS_CP_A2A},
                                                  {"kvallgather_cp_algo", SS_CP_ALLGATHER},
                                                  {NULL, 0}};

    for (const struct ss_flag_choice *c = words; c->name; c++)
        if (!strcmp(values[0], c->name)) {
            asked->job.cp_comm_type = (enum ss_cp_comm)c->value;
            asked->own_cp = 1;
            SS_GIVE(asked, cp_comm_type);
            return SS_OK;
        }
    *why = "megatron_cp_algo, ulysses_cp_algo and kvallgather_cp_algo are modelled";
    return SS_ERR_UNSUPPORTED;
}

SS_FLAG_CALLED(first_dense)
{
    const char *value = strcmp(values[0], "-1") ? values[0] : "0"; /* all have experts */

    return set_number(value, 0, &asked->first_dense, why);
}

SS_FLAG_CALLED(shared_experts)
{
    return set_number(values[0], 1, &asked->shared_experts, why);
}
