"""Tensor files: what the safetensors library writes comes back, and all else is refused."""

import json
import tracemalloc

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from safetensors.torch import load, save

from pmcnet.io.tensors import DTYPES, parse_tensors


def file_of(header, n_bytes: int = 0) -> bytearray:
    text = json.dumps(header).encode() if not isinstance(header, bytes) else header
    return bytearray(len(text).to_bytes(8, "little") + text + bytes(n_bytes))


def entry(dtype="F32", shape=(2,), offsets=(0, 8)) -> dict:
    return {"dtype": dtype, "shape": list(shape), "data_offsets": list(offsets)}


@pytest.mark.parametrize("dtype", DTYPES.values(), ids=str)
def test_every_type_comes_back(dtype):
    given = {
        "a": torch.tensor([0, 1, 1]).to(dtype),
        "b": torch.zeros(0, 3, dtype=dtype),
        "c": torch.ones((), dtype=dtype),
    }
    found = parse_tensors(bytearray(save(given, {"x": "y"})))
    assert found.metadata == {"x": "y"}
    for name, tensor in given.items():
        assert found.tensors[name].dtype == dtype
        assert found.tensors[name].shape == tensor.shape
        assert found.tensors[name].tolist() == tensor.tolist()


def test_tensors_lie_in_memory_as_others_do():
    """Else a run continued from a checkpoint has other last bits on some processors."""
    content = bytearray(
        save(
            {"a": torch.ones(3, dtype=torch.uint8), "b": torch.ones(5), "c": torch.ones(7).double()}
        )
    )
    for tensor in parse_tensors(content).tensors.values():
        assert tensor.data_ptr() % 64 == torch.empty(100).data_ptr() % 64 == 0


def test_nothing_but_the_tensors_is_made_of_the_content():
    content = bytearray(save({"a": torch.zeros(1 << 20)}))
    tracemalloc.start()
    found = parse_tensors(content)
    _, peak = tracemalloc.get_traced_memory()
    tracemalloc.stop()
    assert peak < 1 << 17
    assert found.tensors["a"].untyped_storage().nbytes() == 4 << 20


def test_tensors_that_lie_askew_are_read():
    text = json.dumps({"a": entry("F64", (1,), (0, 8))}).encode()
    for n_spaces in range(8):
        assert parse_tensors(file_of(text + b" " * n_spaces, 8)).tensors["a"].tolist() == [0.0]


@pytest.mark.parametrize(
    ("content", "says"),
    [
        (bytearray(), "the file has 0"),
        (bytearray(b"\xff" * 8), "header of 18446744073709551615 bytes"),
        (bytearray((1 << 40).to_bytes(8, "little") + b"{}"), "the file has 10"),
        (bytearray((1 << 25).to_bytes(8, "little") + bytes(1 << 25)), "16777216 are possible"),
        (file_of(b"[" * 100_000), "nested too deeply"),
        (file_of([]), "no table"),
        (file_of({"__metadata__": {"a": 1}}), "no strings"),
        (file_of({"a": 3}), "must have dtype, shape and data_offsets"),
        (file_of({"a": entry() | {"extra": 1}}, 8), "must have dtype, shape and data_offsets"),
        (file_of({"a": entry("F99")}, 8), "has the type 'F99'; known are F64"),
        (file_of({"a": entry(["F32"])}, 8), "has the type"),
        (file_of({"a": entry(shape=(10**6, 10**6))}, 8), "does not take 8 bytes"),
        (
            file_of({"a": entry(shape=(10**6, 10**6), offsets=(0, 4 * 10**12))}, 8),
            "take 4000000000000 bytes",
        ),
        (file_of({"a": entry(shape=(-1, -2))}, 8), "has the shape"),
        (file_of({"a": entry(shape=(2.0,))}, 8), "has the shape"),
        (file_of({"a": entry(shape=(True, 2))}, 8), "has the shape"),
        (file_of({"a": entry(shape=(2, *[1] * 20))}, 8), "has the shape"),
        (file_of({"a": entry(offsets=(8, 0))}, 8), "does not take -8 bytes"),
        (file_of({"a": entry(offsets=(-8, 0))}, 8), "has the offsets"),
        (file_of({"a": entry(), "b": entry()}, 16), "begins at byte 0 instead of 8"),
        (file_of({"a": entry(offsets=(8, 16))}, 16), "begins at byte 8 instead of 0"),
        (file_of({"a": entry()}, 9), "take 8 bytes, and the file has 9"),
        (file_of({"a": entry(shape=(2**61, 2**61, 0), offsets=(0, 0))}), "no tensor has the shape"),
        (file_of({"a": entry("BOOL", (1,), (0, 1))}) + b"\2", "neither 0 nor 1"),
    ],
)
def test_false_file_is_refused(content, says):
    with pytest.raises(ValueError, match=says):
        parse_tensors(content)


HEADERS = st.dictionaries(
    st.sampled_from(["a", "b", "__metadata__"]),
    st.fixed_dictionaries(
        {
            "dtype": st.sampled_from(["F32", "F64", "I64", "U8", "BOOL", "F99"]),
            "shape": st.lists(st.integers(-1, 4), max_size=3),
            "data_offsets": st.lists(st.integers(0, 24), min_size=1, max_size=3),
        }
    ),
)


@settings(max_examples=300, deadline=None)
@given(HEADERS, st.integers(0, 40))
def test_accepts_no_more_than_the_library(header, n_bytes):
    content = file_of(header, n_bytes)
    try:
        found = parse_tensors(content).tensors
    except ValueError:
        return
    if any(0 in tensor.shape for tensor in found.values()):
        return  # the library refuses some files with empty tensors
    known = load(bytes(content))
    assert {n: (t.dtype, t.shape) for n, t in found.items()} == {
        n: (t.dtype, t.shape) for n, t in known.items()
    }
