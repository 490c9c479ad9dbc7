"""One format for every state: what goes in comes out, and what is not a state is refused."""

import json
from typing import Any, NamedTuple

import pytest
import torch
from safetensors.torch import save_file
from torch import Tensor

from pmcnet.errors import InputError
from pmcnet.io.checkpoint import FORMAT, load_checkpoint, problem_of, save_checkpoint


class Part(NamedTuple):
    value: Tensor
    rate: float


class Toy(NamedTuple):
    part: Part
    tensors: dict[str, Tensor]
    name: str
    step: int
    seed: int

    @staticmethod
    def stored_types() -> tuple[type[Any], ...]:
        return (Part,)

    def check(self) -> None:
        if self.step < 0:
            raise InputError("step must not be negative.")


class Other(NamedTuple):
    seed: int

    @staticmethod
    def stored_types() -> tuple[type[Any], ...]:
        return ()

    def check(self) -> None:
        return None


def toy(step: int = 3) -> Toy:
    value = torch.arange(6, dtype=torch.float32).reshape(2, 3)
    return Toy(Part(value, 0.1), {"a": value.double(), "b": value[:0]}, "x", step, 7)


def test_state_comes_back_bit_for_bit(tmp_path):
    found = load_checkpoint(save_checkpoint(toy(), tmp_path / "s", problem="p"), [Toy, Other])
    assert isinstance(found, Toy)
    assert found.part.rate == 0.1
    assert torch.equal(found.part.value, toy().part.value)
    assert torch.equal(found.tensors["a"], toy().tensors["a"])
    assert found.tensors["b"].shape == (0, 3)
    assert (found.name, found.step, found.seed) == ("x", 3, 7)
    assert problem_of(tmp_path / "s") == "p"


def test_state_of_another_kind_is_refused(tmp_path):
    save_checkpoint(toy(), tmp_path / "s")
    with pytest.raises(InputError, match="the state of another method"):
        load_checkpoint(tmp_path / "s", [Other])


def test_state_that_fails_its_own_check_is_refused(tmp_path):
    save_checkpoint(toy(step=-1), tmp_path / "s")
    with pytest.raises(InputError, match="step must not be negative"):
        load_checkpoint(tmp_path / "s", [Toy])


@pytest.mark.parametrize(
    "form",
    [
        7,
        {"type": "Toy"},
        {"type": "Toy", "parts": {"part": {"type": "dict", "parts": {}}}},
        {"type": "Toy", "parts": {"unknown": 1}},
        {"type": "Toy", "parts": {"part": {"tensor": "missing"}}},
    ],
)
def test_form_that_is_no_state_is_refused(tmp_path, form):
    save_file({}, tmp_path / "s", {"format": FORMAT, "state": json.dumps(form)})
    with pytest.raises(InputError, match="cannot be read as a checkpoint"):
        load_checkpoint(tmp_path / "s", [Toy])


def test_tensor_that_belongs_nowhere_is_refused(tmp_path):
    form = json.dumps({"type": "Other", "parts": {"seed": 1}})
    save_file({"x": torch.zeros(1)}, tmp_path / "s", {"format": FORMAT, "state": form})
    with pytest.raises(InputError, match="belongs nowhere"):
        load_checkpoint(tmp_path / "s", [Other])


def test_file_that_is_not_there_is_refused(tmp_path):
    for read in (problem_of, lambda path: load_checkpoint(path, [Toy])):
        with pytest.raises(InputError, match="cannot be read as a checkpoint"):
            read(tmp_path / "nothing")
