"""Encodings whose columns another file describes, between palais and the tools that read such files.

    messages.py write DIR    writes the table of `columns.py` by Python's protobuf and by capnp
    messages.py check DIR    reads every file of DIR, which palais wrote, by the same

DIR holds `table.proto` and `table.capnp`, as palais prints them. protoc and capnp must be on the path.
"""

import json
import math
import pathlib
import re
import struct
import subprocess
import sys

from google.protobuf import descriptor_pb2, descriptor_pool, message_factory, proto

from columns import ROWS, table

MOMENTS = {"ms", "us", "ns", "zoned"}
POINTERS = {"text", "word", "decimal", "bytes"}


def run(*arguments, given=b""):
    return subprocess.run(arguments, input=given, stdout=subprocess.PIPE, check=True).stdout


def rows():
    """The rows of the table: dates and times as whole numbers, decimals as text."""
    of = table()
    columns = {}
    for name in of.column_names:
        column = of[name]
        if name == "date":
            column = column.cast("int32")
        elif name in MOMENTS:
            column = column.cast("int64")
        values = column.to_pylist()
        if name == "decimal":
            values = [None if v is None else format(v, "f") for v in values]
        columns[name] = values
    return [{name: values[row] for name, values in columns.items()} for row in range(ROWS)]


def message_class(directory):
    """The message of `table.proto`, compiled by protoc."""
    descriptors = directory / "table.descriptors"
    run("protoc", f"--proto_path={directory}", f"--descriptor_set_out={descriptors}", str(directory / "table.proto"))
    files = descriptor_pb2.FileDescriptorSet.FromString(descriptors.read_bytes())
    descriptors.unlink()
    pool = descriptor_pool.DescriptorPool()
    for file in files.file:
        pool.Add(file)
    return message_factory.GetMessageClass(pool.FindMessageTypeByName("Table"))


def write_protobuf(directory):
    Message = message_class(directory)
    with open(directory / "python.pb", "wb") as file:
        for row in rows():
            present = {name: value for name, value in row.items() if value is not None}
            proto.serialize_length_prefixed(Message(**present), file)


def read_protobuf(directory, path):
    Message = message_class(directory)
    with open(path, "rb") as file:
        while (message := proto.parse_length_prefixed(Message, file)) is not None:
            names = [field.name for field in Message.DESCRIPTOR.fields]
            yield {name: getattr(message, name) if message.HasField(name) else None for name in names}


def as_json(name, value):
    """A value in the form of Cap'n Proto's JSON: integers of 64 bits are strings, bytes are lists."""
    if name in POINTERS:
        return list(value) if isinstance(value, bytes) else value
    if value is None:
        return {"null": None}
    if isinstance(value, float) and not math.isfinite(value):
        value = "NaN" if value != value else "Infinity" if value > 0 else "-Infinity"
    elif type(value) is int:
        value = str(value)
    return {"value": value}


def from_json(name, member):
    if name in POINTERS:
        return bytes(member) if name == "bytes" and member is not None else member
    if "null" in member:
        return None
    value = member["value"]
    if name in ("f32", "f64"):
        return float(value)
    return int(value) if isinstance(value, str) else value


def capnp(directory, command, *arguments, given):
    return run("capnp", command, *arguments, str(directory / "table.capnp"), "Table", given=given)


def write_capnp(directory):
    lines = []
    for row in rows():
        members = {name: as_json(name, value) for name, value in row.items()}
        present = {name: member for name, member in members.items() if member is not None}
        # capnp takes letters in \u for others.
        lines.append(json.dumps(present, ensure_ascii=False))
    text = "\n".join(lines).encode()
    files = {
        "json.capnproto": capnp(directory, "convert", "json:binary", given=text),
        "json.capnproto-packed": capnp(directory, "convert", "json:packed", given=text),
        # Messages of many segments, whose pointers are far ones.
        "segments.capnproto": capnp(directory, "convert", "--segment-size=1", "json:binary", given=text),
        "segments.capnproto-packed": capnp(directory, "convert", "--segment-size=7", "json:packed", given=text),
    }
    decoded = capnp(directory, "decode", "--short", given=files["json.capnproto"])
    # capnp prints a float of -0 as a whole number, which has no -0, and its reader takes brackets, quotes and # in a
    # text for the row's.
    decoded = re.sub(rb"= -0\)", b"= -0.0)", decoded)
    sign = lambda found: b"\\%03o" % found[0][-1]
    within = lambda quoted: re.sub(rb"\\[\"\\']|[()#\[\]]", sign, quoted[1])
    decoded = re.sub(rb'(?<==\s)"((?:[^"\\]|\\.)*)"', lambda quoted: b'"' + within(quoted) + b'"', decoded)
    files["text.capnproto"] = capnp(directory, "encode", given=decoded)
    files["text.capnproto-packed"] = capnp(directory, "encode", "--packed", given=decoded)
    for name, content in files.items():
        (directory / name).write_bytes(content)


def read_capnp(directory, path):
    names = table().column_names
    form = "packed" if path.suffix.endswith("packed") else "binary"
    given = path.read_bytes()
    # What `decode` reads without a warning is neither packed where it should not be nor the other way round.
    decoded = capnp(directory, "decode", "--short", *(["--packed"] if form == "packed" else []), given=given)
    assert decoded.count(b"\n") == ROWS, path
    text = capnp(directory, "convert", "--short", f"{form}:json", given=given)
    for line in text.splitlines():
        # Among floats -0 is another value than 0.
        members = json.loads(line, parse_int=lambda digits: -0.0 if digits == "-0" else int(digits))
        yield {name: from_json(name, members.get(name)) for name in names}


def bits(value):
    return struct.pack("<d", value)


def same(found, expected):
    if isinstance(expected, float):
        # NaN has many forms, and 0 two.
        return isinstance(found, float) and (math.isnan(found) if math.isnan(expected) else bits(found) == bits(expected))
    return found == expected and type(found) is type(expected)


def check(directory):
    expected = rows()
    for path in sorted(directory.iterdir()):
        if path.name in ("table.proto", "table.capnp"):
            continue
        if path.suffix == ".pb":
            found = list(read_protobuf(directory, path))
        else:
            found = list(read_capnp(directory, path))
        assert len(found) == len(expected), f"{path}: {len(found)} rows"
        for number, (one, other) in enumerate(zip(found, expected, strict=True)):
            for name, value in other.items():
                assert same(one[name], value), f"{path}: row {number} of {name} is {one[name]!r}, not {value!r}"


def write(directory):
    write_protobuf(directory)
    write_capnp(directory)


if __name__ == "__main__":
    {"write": write, "check": check}[sys.argv[1]](pathlib.Path(sys.argv[2]))
