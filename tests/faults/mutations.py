"""Ways in which a file may be damaged or false: of any bytes, of JSON, and of safetensors."""

import copy
import functools
import json
import math
import operator
from collections.abc import Iterator
from random import Random
from typing import Any

import torch
from safetensors.torch import load, save
from torch import Tensor

PIECES = (
    *(
        b"\0",
        b"\xff",
        b"\x80",
        b'"',
        b"'",
        b",",
        b"\n",
        b"\r",
        b"\t",
        b"-1",
        b"0",
        b"=cmd",
        b"../../",
        b"\xef\xbb\xbf",
    ),
    *(
        b"[" * 300,
        b"{" * 300,
        b"NaN",
        b"-Infinity",
        b"1e999",
        b"9" * 25,
        b"9" * 5000,
        b"a" * 70_000,
        b",a" * 5000,
    ),
)

ODD: tuple[Any, ...] = (
    *(
        None,
        True,
        False,
        0,
        -1,
        1,
        2**31,
        10**12,
        -(10**12),
        2**63,
        2**64,
        10**200,
        10**400,
        [2**40, 2**40],
    ),
    *(
        0.5,
        -0.0,
        1e-320,
        1e308,
        -1e308,
        math.nan,
        math.inf,
        "",
        "x",
        "x" * 5000,
        "\0",
        "\x1b[2J",
        "auto",
        "nan",
    ),
    *(
        "F64",
        "theta",
        "../../etc/passwd",
        "/dev/zero",
        "<script>",
        [],
        {},
        [1, "a"],
        [0] * 1000,
        [[[[[]]]]],
    ),
    *({"kind": "table"}, {"a": {"b": [None]}}),
)


def mutated_bytes(content: bytes, draw: Random) -> bytes:
    """The content with one to four damages."""
    for _ in range(draw.randint(1, 4)):
        content = draw.choice(BYTE_DAMAGES)(content, draw)
    return content


def _span(content: bytes, draw: Random) -> tuple[int, int]:
    start = draw.randint(0, len(content))
    return start, min(len(content), start + draw.choice((1, 2, 4, 8, 30, 200, 2000)))


def _flipped(content: bytes, draw: Random) -> bytes:
    if not content:
        return content
    data, i = bytearray(content), draw.randrange(len(content))
    data[i] ^= 1 << draw.randrange(8)
    return bytes(data)


def _cut(content: bytes, draw: Random) -> bytes:
    return content[: draw.randint(0, len(content))]


def _removed(content: bytes, draw: Random) -> bytes:
    start, stop = _span(content, draw)
    return content[:start] + content[stop:]


def _repeated(content: bytes, draw: Random) -> bytes:
    start, stop = _span(content, draw)
    return content[:stop] + content[start:stop] * draw.choice((1, 1, 3, 50)) + content[stop:]


def _swapped(content: bytes, draw: Random) -> bytes:
    (a, b), (c, d) = sorted((_span(content, draw), _span(content, draw)))
    return (
        content if b > c else content[:a] + content[c:d] + content[b:c] + content[a:b] + content[d:]
    )


def _inserted(content: bytes, draw: Random) -> bytes:
    start, stop = _span(content, draw)
    return content[:start] + draw.choice(PIECES) + content[draw.choice((start, stop)) :]


def _noise(content: bytes, draw: Random) -> bytes:
    start, stop = _span(content, draw)
    return content[:start] + draw.randbytes(stop - start) + content[stop:]


BYTE_DAMAGES = (
    _flipped,
    _flipped,
    _cut,
    _removed,
    _repeated,
    _swapped,
    _inserted,
    _inserted,
    _noise,
)


def places(value: Any, path: tuple[Any, ...] = ()) -> Iterator[tuple[Any, ...]]:
    """Every place in plain data, at most three of each list."""
    if path:
        yield path
    entries = (
        value.items()
        if isinstance(value, dict)
        else enumerate(value[:3])
        if isinstance(value, list)
        else ()
    )
    for key, item in entries:
        yield from places(item, (*path, key))


def mutated_data(record: Any, draw: Random) -> Any:
    """Plain data with one to three values replaced, removed, added, doubled or exchanged."""
    record = copy.deepcopy(record)
    for _ in range(draw.choice((1, 1, 1, 2, 3))):
        _mutate(record, draw)
    return record


def _mutate(record: Any, draw: Random) -> None:
    every = list(places(record))
    if not every:
        return
    depth = draw.randint(1, max(map(len, every)))  # so that the few shallow places get their turn
    place = draw.choice([path for path in every if len(path) == depth] or every)
    parent, key = functools.reduce(operator.getitem, place[:-1], record), place[-1]
    match draw.randrange(6):
        case 0 if isinstance(parent, dict):
            del parent[key]
        case 0 | 1 if isinstance(parent, list):
            parent.insert(key, copy.deepcopy(parent[key]))
        case 1:
            parent[draw.choice(("extra", "__class__", "", "\0", "kind"))] = draw.choice(ODD)
        case 2:
            other = draw.choice(every)
            parent[key] = copy.deepcopy(functools.reduce(operator.getitem, other, record))
        case 3 if type(parent[key]) in (int, float) and abs(parent[key]) < 1e300:
            parent[key] = draw.choice(
                (parent[key] + 1, -parent[key], str(parent[key]), float(parent[key]), [parent[key]])
            )
        case _:
            parent[key] = copy.deepcopy(draw.choice(ODD))


def mutated_header(content: bytes, draw: Random) -> bytes:
    """A safetensors file with another header over the same numbers, its length right."""
    n = int.from_bytes(content[:8], "little")
    header = mutated_data(json.loads(content[8 : 8 + n]), draw)
    text = json.dumps(header).encode()
    if draw.random() < 0.1:
        text = mutated_bytes(text, draw)
    length = draw.choice((len(text),) * 9 + (draw.choice((0, 7, 2**31, 2**40, 2**63, 2**64 - 1)),))
    return length.to_bytes(8, "little") + text + content[8 + n :]


def mutated_tensors(content: bytes, draw: Random, metadata: dict[str, str] | None) -> bytes:
    """A whole safetensors file whose tensors have other values, shapes, types or names."""
    tensors = load(content)
    for _ in range(draw.choice((1, 1, 2))):
        name = draw.choice(sorted(tensors))
        tensors[name] = _other_tensor(tensors[name], draw)
        if draw.random() < 0.2:
            other = draw.choice(sorted(tensors))
            tensors[name], tensors[other] = tensors[other].clone(), tensors[name].clone()
        if draw.random() < 0.1:
            tensors[draw.choice(("extra", "buffer.x", "", "\0", "../x"))] = tensors[name].clone()
        if draw.random() < 0.1 and len(tensors) > 1:
            del tensors[name]
    return save({name: tensor.contiguous() for name, tensor in tensors.items()}, metadata)


def _other_tensor(tensor: Tensor, draw: Random) -> Tensor:
    tensor = tensor.clone()
    match draw.randrange(7):
        case 0 if tensor.numel():
            value = draw.choice((math.nan, math.inf, -math.inf, 1e38, -1e38, 0.0, -1.0, 1e-45))
            flat = tensor.double().flatten()
            flat[draw.randrange(len(flat))] = value
            tensor = flat.reshape(tensor.shape).to(tensor.dtype)
        case 1:
            kinds = (
                torch.float16,
                torch.float32,
                torch.float64,
                torch.int64,
                torch.uint8,
                torch.bool,
                torch.bfloat16,
            )
            tensor = tensor.to(draw.choice(kinds))
        case 2:
            tensor = tensor.flatten()
        case 3:
            tensor = tensor[None]
        case 4:
            tensor = tensor[: draw.choice((0, 1, -1))] if tensor.ndim else tensor
        case 5:
            tensor = torch.cat([tensor, tensor]) if tensor.ndim else tensor
        case _:
            tensor = tensor.T.contiguous() if tensor.ndim == 2 else torch.zeros_like(tensor)
    return tensor
