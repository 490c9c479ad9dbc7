"""A few kills; `faults/kill.py` makes many."""

import os
import subprocess
import sys

import pytest
import torch
from safetensors.torch import save_file

from faults import kill
from pmcnet.methods.registry import METHODS


@pytest.mark.skipif(not hasattr(os, "fork"), reason="processes cannot be forked here")
def test_killed_runs_end_as_uninterrupted_ones_do():
    command = [
        sys.executable,
        kill.__file__,
        "--kills",
        "2",
        "--seed",
        "1",
        "--methods",
        "annealed,pmcnet,bbp",
    ]
    done = subprocess.run(
        command,
        capture_output=True,
        text=True,
        timeout=300,
        env={**os.environ, "OMP_NUM_THREADS": "1"},
    )
    assert done.returncode == 0, done.stdout + done.stderr
    assert done.stdout.splitlines()[-1].startswith("6 kills, ")
    assert done.stdout.endswith(" 0 faults\n")


def test_every_method_can_be_killed():
    assert set(kill.OPTIONS) == {name for name in METHODS if not METHODS[name].library}


def test_run_that_differs_is_seen(tmp_path):
    for name, value in (("a", 1.0), ("b", 1.0), ("c", 2.0)):
        (tmp_path / name / "model").mkdir(parents=True)
        save_file(
            {"theta": torch.tensor([value])}, tmp_path / name / "model" / "tensors.safetensors"
        )
        (tmp_path / name / "predictions.csv").write_text("x")
    assert kill.same(tmp_path / "a", tmp_path / "b")
    assert not kill.same(tmp_path / "a", tmp_path / "c")
    (tmp_path / "b" / "predictions.csv").write_text("y")
    assert not kill.same(tmp_path / "a", tmp_path / "b")
