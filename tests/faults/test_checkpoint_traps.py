"""Checkpoints that were made to do harm: no run goes on from them."""

import json
import math
import os

import pytest
import torch
from safetensors import safe_open
from safetensors.torch import load_file, save_file

from pmcnet import ais
from pmcnet.bnn import MLP, BayesianTarget, LearnedGaussian
from pmcnet.errors import InputError

NAN, INF = math.nan, math.inf


@pytest.fixture(scope="module")
def states():
    """A state of each kind."""
    x = torch.randn(10, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    target = BayesianTarget(MLP((2, 2, 1)), LearnedGaussian(), x, x[:, 0])
    sampler = ais.AnnealedPMC(n_particles=16)
    begun = sampler.init(target, seed=0)
    made = {"begun": begun, "annealed": sampler.step(begun, target)[0]}
    for name, algorithm in ais.VARIANTS.items():
        state = algorithm.init(torch.zeros(3, 2, dtype=torch.float64), seed=1)
        made[name] = algorithm.step(
            state, ais.FunctionTarget(lambda t: -0.5 * t.square().sum(-1), 2)
        )[0]
    return made


def refused(path, says: str = "") -> None:
    with pytest.raises(
        InputError, match=rf"cannot be read as a checkpoint \(.*{says}.*\)\. Start the run again"
    ) as caught:
        ais.load_state(path)
    assert str(caught.value).isprintable()


def rewritten(path, *, tensors=None, change=None):
    """The same file with other tensors, or another form of the state."""
    with safe_open(path, framework="pt") as file:
        metadata = dict(file.metadata())
    form = json.loads(metadata["state"])
    if change is not None:
        change(form["parts"])
    save_file(
        load_file(path) | (tensors or {}), path, metadata=metadata | {"state": json.dumps(form)}
    )


def test_every_kind_of_state_comes_back(states, tmp_path):
    for state in states.values():
        path = ais.save_state(state, tmp_path / "state")
        found, known = ais.load_state(path), torch.utils._pytree.tree_leaves(state)
        for one, other in zip(torch.utils._pytree.tree_leaves(found), known, strict=True):
            assert torch.equal(one, other) if isinstance(one, torch.Tensor) else one == other


def test_pipe_device_and_folder_are_refused_at_once(tmp_path):
    os.mkfifo(tmp_path / "pipe")
    refused(tmp_path / "pipe", "pipe or a device")
    refused("/dev/zero", "pipe or a device")
    refused(tmp_path, "Is a directory")
    refused(tmp_path / "nothing", "No such file")
    with pytest.raises(InputError):
        ais.load_state("a\0b")


@pytest.mark.parametrize(
    ("name", "value", "says"),
    [
        ("seed", -1, "seed"),
        ("seed", 1 << 64, "seed"),
        ("seed", None, "seed"),
        ("step", -1, "step"),
        ("step", 10**12, "step"),
        ("step", {"float": "0x1p3"}, "step"),
        ("temperature", {"float": "nan"}, "temperature"),
        ("temperature", {"float": "0x1p1"}, "temperature"),
        ("temperature", "hot", "temperature"),
        ("log_evidence", {"float": "inf"}, "log_evidence"),
        ("ideal_variance", {"float": "-0x1p1"}, "ideal_variance"),
        ("least_ess", {"float": "-0x1p1"}, "least_ess"),
        ("tuning", 3, "tuning must be Tuning"),
        ("points", {"tensor": ".log_weight"}, "log_weight"),
        ("extra", 1, "extra"),
        ("points", {"type": "Path", "parts": {}}, "no part of a state"),
        ("points", {"type": ["Points"], "parts": {}}, "unhashable"),
        (
            "tuning",
            {"type": "Tuning", "parts": {"step_size": {"float": "0x1p0"}, "n_leapfrog": 10**9}},
            "n_leapfrog",
        ),
        (
            "tuning",
            {"type": "Tuning", "parts": {"step_size": {"float": "0x0p0"}, "n_leapfrog": 1}},
            "step_size",
        ),
        ("tuning", {"type": "Tuning", "parts": {"step_size": {"float": "0x1p0"}}}, "n_leapfrog"),
    ],
)
def test_state_that_cannot_be_is_refused(states, tmp_path, name, value, says):
    path = ais.save_state(states["annealed"], tmp_path / "state")
    rewritten(path, change=lambda parts: parts.update({name: value}))
    refused(path, says)


@pytest.mark.parametrize(
    ("kind", "name", "value", "says"),
    [
        ("annealed", ".points.theta", torch.full((16, 10), NAN), "theta must be finite"),
        ("annealed", ".points.theta", torch.full((16, 10), INF), "theta must be finite"),
        (
            "annealed",
            ".points.theta",
            torch.zeros(16, 10, dtype=torch.int64),
            "theta must be a tensor of",
        ),
        ("annealed", ".points.theta", torch.zeros(160), "theta must be of 2 axes"),
        ("annealed", ".points.theta", torch.zeros(0, 10), "theta must be of 2 axes"),
        (
            "annealed",
            ".points.prior_score",
            torch.zeros(16, 9, dtype=torch.float64),
            "prior_score must be of",
        ),
        (
            "annealed",
            ".points.log_likelihood",
            torch.full((16,), NAN, dtype=torch.float64),
            "log_likelihood",
        ),
        ("annealed", ".log_weight", torch.zeros(16, dtype=torch.float64), "normalised"),
        ("annealed", ".log_weight", torch.full((16,), NAN, dtype=torch.float64), "normalised"),
        ("annealed", ".log_weight", torch.full((16,), -INF, dtype=torch.float64), "normalised"),
        ("annealed", ".origin", torch.full((16,), 16), "origin"),
        ("annealed", ".origin", torch.full((16,), -1), "origin"),
        ("annealed", ".extra", torch.zeros(1), "belongs nowhere"),
        (
            "pmcnet",
            ".proposals.loc",
            torch.full((3, 2), NAN, dtype=torch.float64),
            "loc must be finite",
        ),
        ("pmcnet", ".proposals.loc", torch.zeros(3, 2), "factor must be a tensor of torch.float32"),
        (
            "pmcnet",
            ".proposals.scale.factor",
            torch.zeros(3, 2, 2, dtype=torch.float64),
            "positive on its diagonal",
        ),
        (
            "pmcnet",
            ".proposals.scale.factor",
            torch.ones(3, 2, 2, dtype=torch.float64),
            "lower triangular",
        ),
        (
            "pmcnet",
            ".proposals.scale.factor",
            torch.zeros(3, 2, dtype=torch.float64),
            "factor must be of",
        ),
        (
            "pmcnet-light",
            ".proposals.scale.sigma",
            torch.zeros(3, 2, dtype=torch.float64),
            "sigma must be positive",
        ),
        (
            "pmcnet-light",
            ".proposals.scale.sigma",
            torch.ones(3, 3, dtype=torch.float64),
            "sigma must be of",
        ),
    ],
)
def test_tensors_that_cannot_be_are_refused(states, tmp_path, kind, name, value, says):
    path = ais.save_state(states[kind], tmp_path / "state")
    rewritten(path, tensors={name: value})
    refused(path, says)


def test_link_in_the_place_of_the_temporary_file_is_not_followed(states, tmp_path):
    (tmp_path / "mine").write_text("mine")
    (tmp_path / ".state.part").symlink_to(tmp_path / "mine")
    ais.save_state(states["pmcnet"], tmp_path / "state")
    assert (tmp_path / "mine").read_text() == "mine"
