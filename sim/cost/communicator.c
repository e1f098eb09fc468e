/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/communicator.h"

#include <stddef.h>

/* Bit s: stream s of a communicator for which `condition` holds. */
#define STREAM_BIT(stream, condition) ((stream) >= 0 && (condition) ? 1u << ((stream)&31) : 0u)

const struct ss_comm_facts *ss_comm_facts(int comm)
{
    static const struct ss_comm_facts facts[SS_COMM_COUNT] = {
#define X(sym, name, axes, members, kinds, stream, label, posted, flows)                                     \
    {name, axes, members, kinds, stream, label, posted, flows},
        SS_COMM_LIST(X)
#undef X
    };
    return comm >= 0 && comm < SS_COMM_COUNT ? &facts[comm] : NULL;
}

int ss_comm_in_grid(int comm)
{
    int members = ss_comm_facts(comm)->members;
    return members == SS_MEMBERS_DENSE || members == SS_MEMBERS_ENDS;
}

const char *ss_collective_kind_name(int kind)
{
    static const char *const names[SS_COLL_COUNT] = {
#define X(sym, name) name,
        SS_COLL_LIST(X)
#undef X
    };
    return kind >= 0 && kind < SS_COLL_COUNT ? names[kind] : "unknown";
}

int ss_stream_count(void)
{
    static const unsigned streams = 0u
#define X(sym, name, axes, members, kinds, stream, label, posted, flows) | STREAM_BIT(stream, 1)
        SS_COMM_LIST(X)
#undef X
        ;
    int n = 0;
    while (streams >> n)
        n++;
    return n;
}

int ss_stream_in_layers(int stream)
{
    static const unsigned inside = 0u
#define X(sym, name, axes, members, kinds, stream, label, posted, flows)                                     \
    | STREAM_BIT(stream, (posted) > SS_LEVEL_CHUNK)
        SS_COMM_LIST(X)
#undef X
        ;
    return stream >= 0 && (int)(inside >> stream & 1);
}
