/* SPDX-License-Identifier: Apache-2.0 */
#include "stepsim/communicator.h"

#include "base/base.h"

/* Sets bit s for stream s of a communicator for which `condition` holds. */
#define STREAM_BIT(stream, condition) ((stream) >= 0 && (condition) ? 1u << ((stream)&31) : 0u)

const struct ss_comm_facts *ss_comm_facts(int comm)
{
    static const struct ss_comm_facts facts[SS_COMM_COUNT] = {
#define X(sym, name, axes, members, buffers, kinds, stream, label, posted, flows)                            \
    {name, axes, members, buffers, kinds, stream, label, posted, flows},
        SS_COMM_LIST(X)
#undef X
    };
    return comm >= 0 && comm < SS_COMM_COUNT ? &facts[comm] : NULL;
}

SS_NAMES(ss_axis_name, SS_AXIS_LIST, SS_SECOND)

/* Compares by hand: names have two letters, and every plan asks for them some hundred times. */
int ss_axis_find(const char *name, size_t len)
{
    for (int i = 0; i < SS_AXIS_COUNT; i++) {
        const char *axis = ss_axis_name(i);
        size_t n = 0;
        while (n < len && axis[n] && axis[n] == name[n])
            n++;
        if (n == len && !axis[n])
            return i;
    }
    return -1;
}

/* Every plan asks some hundred times: the names of the axes are looked for in literals, so that each case is a constant. */
unsigned ss_comm_axes(int comm)
{
    switch (comm) {
#define Y(axis, word) | (strstr(text, word) ? 1u << axis : 0)
#define X(sym, name, axes, members, buffers, kinds, stream, label, posted, flows)                            \
    case sym: {                                                                                              \
        const char *const text = axes;                                                                       \
        return 0 SS_AXIS_LIST(Y);                                                                            \
    }
        SS_COMM_LIST(X)
#undef X
#undef Y
    default: return 0;
    }
}

int ss_comm_has_buffers(int comm, const int size[SS_AXIS_COUNT])
{
    const int buffers = ss_comm_facts(comm)->buffers;
    if (buffers == SS_BUFFERS_NONE)
        return 0;
    unsigned axes = ss_comm_axes(comm), several = 0;
    for (int a = 0; a < SS_AXIS_COUNT; a++)
        if (size[a] > 1)
            several |= axes & 1u << a;
    return buffers == SS_BUFFERS_ALL ? several == axes : several != 0;
}

int ss_comm_in_grid(int comm)
{
    int members = ss_comm_facts(comm)->members;
    return members == SS_MEMBERS_DENSE || members == SS_MEMBERS_ENDS || members == SS_MEMBERS_EXPERT;
}

SS_NAMES(ss_collective_kind_name, SS_COLL_LIST, SS_SECOND)

int ss_stream_count(int experts)
{
    static const unsigned streams[2] = {
#define X(sym, name, axes, members, buffers, kinds, stream, label, posted, flows)                            \
    STREAM_BIT(stream, (members) != SS_MEMBERS_EXPERT && (sym) != SS_COMM_ISSUE) |
        SS_COMM_LIST(X)
#undef X
            0u,
#define X(sym, name, axes, members, buffers, kinds, stream, label, posted, flows)                            \
    STREAM_BIT(stream, (sym) != SS_COMM_ISSUE) |
        SS_COMM_LIST(X)
#undef X
            0u
    };
    int n = 0;
    while (streams[experts != 0] >> n)
        n++;
    return n;
}

int ss_stream_in_layers(int stream)
{
    static const unsigned inside = 0u
#define X(sym, name, axes, members, buffers, kinds, stream, label, posted, flows)                            \
    | STREAM_BIT(stream, (posted) > SS_LEVEL_CHUNK || (sym) == SS_COMM_ISSUE)
        SS_COMM_LIST(X)
#undef X
        ;
    return stream >= 0 && (int)(inside >> stream & 1);
}
