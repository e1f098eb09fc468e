/* SPDX-License-Identifier: Apache-2.0 */
/* What was found as JSON. */
#include "stepsim/nearest.h"

#include "report/common.h"

int ss_nearest_write(const struct ss_nearest *n, FILE *out, struct ss_error *err)
{
    json_t *o = ss_json_document("nearest"), *words = json_array();

    for (size_t i = 0; i < n->request.n; i++)
        ss_json_append(words, ss_json_string(n->request.word[i].text));
    SS_PUT(o, SS_TRUTH(n, found), SS_SAME(n, asked_nodes), SS_SAME(n, nodes), SS_SAME(n, tried),
           SS_KEY("left_out", ss_json_notes(&n->left_out)),
           SS_KEY_IF(n->why.code, "why", (const char *)n->why.message));
    if (n->found) {
        ss_json_verdict(o, &n->summary);
        ss_json_metrics(o, -1, &n->summary);
        ss_json_set(o, "words", words);
    } else {
        json_decref(words);
    }
    return ss_json_write(o, out, err);
}
