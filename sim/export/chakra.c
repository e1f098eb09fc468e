/* SPDX-License-Identifier: Apache-2.0 */
/* Chakra execution traces: messages of Chakra's et_def.proto in the encoding of Protocol Buffers, each behind its length.
 * Two kinds of messages with a dozen fields are written by hand, which takes fewer lines than a generated encoder and its
 * library. */
#include <errno.h>

#include "base/base.h"
#include "export/walk.h"
#include "stepsim/communicator.h"
#include "stepsim/schedule.h"
#include "stepsim/text.h"

#define VERSION "0.0.4"

/* Numbers of fields and of enums in et_def.proto. */
enum { METADATA_VERSION = 1 };
enum {
    NODE_ID = 1,
    NODE_NAME,
    NODE_TYPE,
    NODE_CTRL_DEPS,
    NODE_DATA_DEPS,
    NODE_START,
    NODE_DURATION,
    NODE_ATTR = 10
};
enum { ATTR_NAME = 1, ATTR_INT32 = 7, ATTR_INT64 = 9, ATTR_BOOL = 27, ATTR_STRING = 29 };
enum { TYPE_COMP = 4, TYPE_SEND, TYPE_RECV, TYPE_COLLECTIVE };
enum { COMM_ALL_REDUCE = 0, COMM_ALL_GATHER = 2, COMM_ALL_TO_ALL = 6, COMM_REDUCE_SCATTER = 7 };
enum { WIRE_VARINT = 0, WIRE_BYTES = 2 };

struct message {
    unsigned char *byte;
    size_t n, cap;
    int failed;
};

struct writer {
    struct ss_export *x;
    const struct ss_export_groups *groups;
    int rank;
    FILE *out;
    struct message node, attr, length;
};

/* ---- encoding ---- */

static void put_byte(struct message *m, unsigned char byte)
{
    if (ss_grow(&m->byte, &m->cap, m->n + 1, 1))
        m->failed = 1;
    else
        m->byte[m->n++] = byte;
}

static void put_varint(struct message *m, uint64_t value)
{
    for (; value >= 128; value >>= 7)
        put_byte(m, (unsigned char)(value | 128));
    put_byte(m, (unsigned char)value);
}

static void put_number(struct message *m, int field, uint64_t value)
{
    put_varint(m, (uint64_t)field << 3 | WIRE_VARINT);
    put_varint(m, value);
}

static void put_bytes(struct message *m, int field, const void *bytes, size_t n)
{
    put_varint(m, (uint64_t)field << 3 | WIRE_BYTES);
    put_varint(m, n);
    for (size_t i = 0; i < n; i++)
        put_byte(m, ((const unsigned char *)bytes)[i]);
}

static void put_text(struct message *m, int field, const char *text)
{
    put_bytes(m, field, text, strlen(text));
}

static void put_attr(struct writer *w)
{
    put_bytes(&w->node, NODE_ATTR, w->attr.byte, w->attr.n);
}

static void number_attr(struct writer *w, const char *name, int field, int64_t value)
{
    w->attr.n = 0;
    put_text(&w->attr, ATTR_NAME, name);
    put_number(&w->attr, field, (uint64_t)value);
    put_attr(w);
}

/* A message behind its length. */
static int end_message(struct writer *w)
{
    struct message *m = &w->node;

    w->length.n = 0;
    put_varint(&w->length, m->n);
    if (m->failed || w->attr.failed || w->length.failed)
        return SS_ERR_NOMEM;
    fwrite(w->length.byte, 1, w->length.n, w->out);
    fwrite(m->byte, 1, m->n, w->out);
    m->n = 0;
    return ferror(w->out) ? SS_ERR_IO : SS_OK;
}

/* Groups are counted from 1: ASTRA-sim takes 0 for all. */
int ss_export_chakra_groups(struct ss_export *x, FILE *out, struct ss_error *err)
{
    const struct ss_program *p = ss_export_program(x);
    const struct ss_export_groups *groups;

    SS_NEED(!ss_export_groups(x, &groups), err);
    fputs("{", out);
    for (int g = 0; g < groups->n; g++) {
        const struct ss_collective *c = &p->collectives[groups->first[g]];
        fprintf(out, "%s\n\"%d\": [", g ? "," : "", g + 1);
        for (int i = 0; i < c->nmembers; i++)
            fprintf(out, "%s%d", i ? ", " : "", c->members[i]);
        fputs("]", out);
    }
    fputs("\n}\n", out);
    return ss_text_written(out, "the groups", err);
}

/* ---- nodes ---- */

static int type_of(int kind)
{
    switch (kind) {
    case SS_EXPORT_SEND: return TYPE_SEND;
    case SS_EXPORT_RECV: return TYPE_RECV;
    case SS_EXPORT_COLLECTIVE: return TYPE_COLLECTIVE;
    default: return TYPE_COMP;
    }
}

static int comm_type(const struct ss_collective *c)
{
    switch (ss_export_kind_of(c)) {
    case SS_COLL_ALL_GATHER: return COMM_ALL_GATHER;
    case SS_COLL_REDUCE_SCATTER: return COMM_REDUCE_SCATTER;
    case SS_COLL_ALL_REDUCE: return COMM_ALL_REDUCE;
    default: return COMM_ALL_TO_ALL;
    }
}

/* "F 3 chunk 1", or the template's name; behind it the collective's. */
static void put_name(struct writer *w, const struct ss_export_op *op)
{
    const struct ss_program *p = ss_export_program(w->x);
    const struct ss_program_slot s = ss_program_slot_at(&p->classes[w->rank], op->slot);
    const char *collective = op->collective >= 0 ? p->collectives[op->collective].name : "";
    char name[160], place[64];

    if (s.phase < 0)
        snprintf(place, sizeof place, "%s", p->templates[s.template_index].name);
    else
        snprintf(place, sizeof place, "%s %d chunk %d", ss_phase_name(s.phase), s.microbatch, s.chunk);
    snprintf(name, sizeof name, "%s%s%s", place, collective[0] ? ": " : "", collective);
    put_text(&w->node, NODE_NAME, name);
}

static void put_communication(struct writer *w, const struct ss_export_op *op)
{
    const struct ss_collective *c =
        op->collective >= 0 ? &ss_export_program(w->x)->collectives[op->collective] : NULL;
    int sends = op->kind == SS_EXPORT_SEND;
    char group[16];

    if (op->kind == SS_EXPORT_CALC)
        return;
    number_attr(w, "comm_size", ATTR_INT64, op->amount);
    if (op->kind == SS_EXPORT_COLLECTIVE) {
        snprintf(group, sizeof group, "%d", w->groups->of[op->collective] + 1);
        number_attr(w, "comm_type", ATTR_INT64, comm_type(c));
        w->attr.n = 0;
        put_text(&w->attr, ATTR_NAME, "pg_name");
        put_text(&w->attr, ATTR_STRING, group);
        put_attr(w);
        return;
    }
    number_attr(w, "comm_src", ATTR_INT32, sends ? w->rank : op->peer);
    number_attr(w, "comm_dst", ATTR_INT32, sends ? op->peer : w->rank);
    number_attr(w, "comm_tag", ATTR_INT32, op->tag);
}

/* A class's lone work on a stream runs beside its computations: for ASTRA-sim that is work of a CPU. */
static int put_node(void *ctx, const struct ss_export_op *op)
{
    struct writer *w = ctx;

    put_number(&w->node, NODE_ID, (uint64_t)op->id);
    put_name(w, op);
    put_number(&w->node, NODE_TYPE, (uint64_t)type_of(op->kind));
    w->attr.n = 0;
    for (size_t i = 0; i < op->ndeps; i++)
        put_varint(&w->attr, (uint64_t)op->deps[i]);
    if (op->ndeps)
        put_bytes(&w->node, NODE_DATA_DEPS, w->attr.byte, w->attr.n);
    if (op->kind == SS_EXPORT_CALC)
        put_number(&w->node, NODE_DURATION, (uint64_t)op->amount);
    number_attr(w, "is_cpu_op", ATTR_BOOL, op->kind == SS_EXPORT_CALC && op->lane != SS_LANE_COMPUTE);
    put_communication(w, op);
    return end_message(w);
}

int ss_export_chakra(struct ss_export *x, int rank, FILE *out, struct ss_error *err)
{
    struct writer w = {.x = x, .rank = rank, .out = out};
    const struct ss_export_walk walk = {1e-6, 1, put_node, &w};
    int rc = ss_export_groups(x, &w.groups);

    if (!rc) {
        put_text(&w.node, METADATA_VERSION, VERSION);
        rc = end_message(&w);
    }
    SS_THEN(rc, ss_export_walk(x, rank, &walk, err));
    SS_FREE(w.node.byte, w.attr.byte, w.length.byte);
    if (rc == SS_ERR_IO)
        return ss_text_written(out, "a Chakra trace", err);
    return rc == SS_ERR_NOMEM ? ss_fail(err, rc, NULL, 0, "no memory for the trace of rank %d", rank) : rc;
}
