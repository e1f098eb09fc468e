# SPDX-License-Identifier: Apache-2.0
"""A reader of Chakra execution traces by the published schema (mlcommons/chakra@21585d8: schema/protobuf/et_def.proto): it
knows the numbers of the fields and the encoding of Protocol Buffers, nothing of the writer."""

NODE = {1: "id", 2: "name", 3: "type", 4: "ctrl_deps", 5: "data_deps", 6: "start_time_micros", 7: "duration_micros", 8: "inputs",
        9: "outputs", 10: "attr"}
ATTR = {1: "name", 2: "doc_string", 3: "double_val", 5: "float_val", 7: "int32_val", 9: "int64_val", 11: "uint32_val", 13: "uint64_val",
        27: "bool_val", 28: "bool_list", 29: "string_val"}
COMP, SEND, RECV, COLL = 4, 5, 6, 7
ALL_REDUCE, ALL_GATHER, ALL_TO_ALL, REDUCE_SCATTER = 0, 2, 6, 7


def varint(data, at):
    value = shift = 0
    while True:
        byte = data[at]
        at += 1
        value |= (byte & 127) << shift
        shift += 7
        if byte < 128:
            return value, at


def fields(data):
    """(number, value) of a message: an int, or bytes."""
    at = 0
    while at < len(data):
        key, at = varint(data, at)
        if key & 7 == 0:
            value, at = varint(data, at)
        else:
            assert key & 7 == 2, "a wire type that the schema has no use for here"
            size, at = varint(data, at)
            value, at = data[at:at + size], at + size
            assert len(value) == size
        yield key >> 3, value


def packed(value):
    if isinstance(value, int):
        return [value]
    out, at = [], 0
    while at < len(value):
        number, at = varint(value, at)
        out.append(number)
    return out


def attribute(data):
    name = value = None
    for number, v in fields(data):
        if ATTR[number] == "name":
            name = v.decode()
        else:
            assert value is None, "a oneof has one value"
            value = (ATTR[number], v.decode() if number == 29 else v)
    return name, value


def node(data):
    n = {"deps": [], "attr": {}, "duration_micros": 0}
    for number, value in fields(data):
        key = NODE[number]
        if key in ("ctrl_deps", "data_deps"):
            n["deps"] += packed(value)
        elif key == "attr":
            name, v = attribute(value)
            assert name not in n["attr"]
            n["attr"][name] = v
        else:
            n[key] = value.decode() if key == "name" else value
    return n


def read(path):
    """(version, nodes)"""
    data, at, messages = open(path, "rb").read(), 0, []
    while at < len(data):
        size, at = varint(data, at)
        messages.append(data[at:at + size])
        assert len(messages[-1]) == size
        at += size
    (number, version), = fields(messages[0])
    assert number == 1
    return version.decode(), [node(m) for m in messages[1:]]
