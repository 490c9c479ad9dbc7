"""States on disk: a run that goes on from one ends as if it had not stopped."""

import pytest
import torch
from safetensors.torch import save_file

from pmcnet import ais
from pmcnet.bnn import MLP, BayesianTarget, LearnedGaussian
from pmcnet.errors import InputError
from pmcnet.io import checkpoint


def network_target():
    x = torch.randn(30, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return BayesianTarget(MLP((2, 2, 1)), LearnedGaussian(), x, x[:, 0])


def test_annealed_run_goes_on_bit_for_bit(tmp_path):
    target, states = network_target(), []
    sampler = ais.AnnealedPMC(n_particles=32, ess_fraction=0.5, n_moves=1)
    whole = sampler.run(target, seed=3, observers=[lambda state, record: states.append(state)])
    assert len(states) > 3
    path = ais.save_state(states[2], tmp_path / "state.safetensors")
    rest = sampler.run(target, state=ais.load_state(path))
    assert torch.equal(rest.samples.theta, whole.samples.theta)
    assert rest.log_evidence == whole.log_evidence
    assert len(rest.history) == len(whole.history) - 3


@pytest.mark.parametrize("name", ["pmcnet", "pmcnet-light"])
def test_variant_goes_on_bit_for_bit(tmp_path, name):
    target, algorithm = (
        ais.FunctionTarget(lambda t: -0.5 * t.square().sum(-1), 2),
        ais.VARIANTS[name],
    )
    state = algorithm.init(torch.randn(4, 2, dtype=torch.float64), sigma=0.5, seed=1)
    half = ais.run(algorithm, target, state, n_steps=3).state
    path = ais.save_state(half, tmp_path / "state.safetensors")
    rest = ais.run(algorithm, target, ais.load_state(path), n_steps=3)
    whole = ais.run(algorithm, target, state, n_steps=6)
    assert torch.equal(rest.samples.theta, whole.samples.theta)
    assert torch.equal(rest.samples.log_weight, whole.samples.log_weight)


def test_damaged_checkpoint_is_refused(tmp_path):
    target = network_target()
    state = ais.AnnealedPMC(n_particles=32).init(target, seed=0)
    path = ais.save_state(state, tmp_path / "state.safetensors")
    assert [file.name for file in tmp_path.iterdir()] == ["state.safetensors"]
    path.write_bytes(path.read_bytes()[:50])
    with pytest.raises(InputError, match="cannot be read as a checkpoint"):
        ais.load_state(path)
    with pytest.raises(InputError, match="cannot be read as a checkpoint"):
        ais.load_state(tmp_path / "nothing")


@pytest.mark.parametrize(
    "form",
    [
        "[" * 100_000,
        '{"type": "PMCState", "parts": 3}',
        '{"type": "Path", "parts": {}}',
        '{"float": "0x1p99999"}',
        '{"tensor": "none"}',
        "7",
    ],
)
def test_garbled_checkpoint_is_refused_in_a_sentence(tmp_path, form):
    save_file(
        {"a": torch.zeros(1)},
        tmp_path / "state",
        metadata={"format": checkpoint.FORMAT, "state": form},
    )
    with pytest.raises(InputError, match="Start the run again"):
        ais.load_state(tmp_path / "state")


def test_checkpoint_that_cannot_be_written_leaves_nothing(tmp_path):
    state = ais.AnnealedPMC(n_particles=32).init(network_target(), seed=0)
    (tmp_path / "state").mkdir()
    with pytest.raises(OSError, match="state"):
        ais.save_state(state, tmp_path / "state")
    assert [file.name for file in tmp_path.iterdir()] == ["state"]
