"""Trainings that go on after an interruption end where others do, bit for bit."""

import json
from dataclasses import replace

import pytest
import torch
from safetensors.torch import save_file

from pmcnet.bnn import MLP, BayesianTarget, Gaussian, LearnedGaussian
from pmcnet.errors import InputError
from pmcnet.io.checkpoint import FORMAT, load_checkpoint, save_checkpoint
from pmcnet.methods import Adam, Jitter, Restarts
from pmcnet.methods.bbp import BBP
from pmcnet.methods.mc_dropout import MCDropout
from pmcnet.methods.point_estimates import AdamMethod
from pmcnet.methods.registry import METHODS as REGISTERED
from pmcnet.methods.registry import options
from pmcnet.methods.sae import SAE
from pmcnet.methods.sgmcmc.sgld import SGLD
from pmcnet.methods.training.state import TrainingState

N_EPOCHS = 6
METHODS = {
    **{
        name: options(name, {"n_epochs": N_EPOCHS, "batch_size": 7}, 20).method(name)
        for name, settings in REGISTERED.items()
        if settings.grid and settings.library is None
    },
    "ensemble": AdamMethod(objective="map", n_members=3, n_epochs=N_EPOCHS, batch_size=7),
    "cosine": AdamMethod(n_epochs=N_EPOCHS, batch_size=7, schedule="cosine", weight_decay=0.1),
    "late": AdamMethod(n_epochs=N_EPOCHS, batch_size=7, early_stopping=False),
    "local": BBP(n_epochs=N_EPOCHS, batch_size=7, estimator="local", schedule="cosine"),
    "chains": SGLD(n_epochs=N_EPOCHS, batch_size=7, n_chains=3, n_kept=4, decay=0.5, burn_in=0.4),
    "none-kept": SGLD(n_epochs=N_EPOCHS, batch_size=20, n_kept=1, n_chains=20),
    "sae": SAE(n_chains=2, n_members=3, n_epochs=2, n_next_epochs=2, batch_size=7),
    "sae-alone": SAE(n_chains=2, n_members=1, n_epochs=N_EPOCHS, batch_size=7),
    "sae-noisy": SAE(
        n_chains=2, n_members=4, n_epochs=3, n_next_epochs=1, batch_size=7, noisy_targets=True
    ),
    "dropout": MCDropout(n_epochs=N_EPOCHS, batch_size=7, on_inputs=True),
}


def problem(likelihood=None):
    draw = torch.Generator().manual_seed(0)
    x = torch.randn(30, 2, generator=draw)
    y = x[:, 0] + 0.1 * torch.randn(30, generator=draw)
    return BayesianTarget(MLP((2, 3, 1)), likelihood or LearnedGaussian(), x[:20], y[:20]), (
        x[20:],
        y[20:],
    )


def target_of(name):
    return problem(Gaussian(0.2) if name == "sae-noisy" else None)


def saved(method, target, validation, folder, seed=3):
    """The fit, and a file of the state after each epoch."""
    files = []

    def keep(state, info):
        assert info[:3] == (state.epoch, N_EPOCHS, "fit")
        files.append(save_checkpoint(state, folder / f"{state.epoch}.safetensors"))

    return method.fit(target, seed=seed, validation=validation, observers=[keep]), files


def timeless(history):
    return [info[:4] for info in history]


@pytest.mark.parametrize("validated", [True, False])
@pytest.mark.parametrize("name", METHODS)
def test_training_goes_on_after_any_epoch_bit_for_bit(name, validated, tmp_path):
    method, (target, rows) = METHODS[name], target_of(name)
    validation = rows if validated else None
    whole = method.fit(target, seed=3, validation=validation)
    watched, files = saved(method, target, validation, tmp_path)
    assert torch.equal(watched.posterior.theta, whole.posterior.theta)
    assert len(files) == N_EPOCHS
    for file in files:
        seen = []
        fitted = method.fit(
            target,
            seed=3,
            validation=validation,
            state=load_checkpoint(file, [TrainingState]),
            observers=[lambda *given, seen=seen: seen.append(given[0])],
        )
        assert torch.equal(fitted.posterior.theta, whole.posterior.theta)
        assert timeless(fitted.history) == timeless(whole.history)
        assert [state.epoch for state in seen] == list(range(int(file.stem) + 1, N_EPOCHS + 1))


@pytest.mark.parametrize("name", METHODS)
def test_state_after_going_on_is_that_of_the_whole_training(name, tmp_path):
    method, (target, rows) = METHODS[name], target_of(name)
    _, files = saved(method, target, rows, tmp_path)
    known = [load_checkpoint(file, [TrainingState]) for file in files]
    again = []
    method.fit(
        target,
        seed=3,
        validation=rows,
        state=known[1],
        observers=[
            lambda s, info: again.append(
                s._replace(tensors={k: v.clone() for k, v in s.tensors.items()})
            )
        ],
    )
    for one, other in zip(again, known[2:], strict=True):
        assert one.tensors.keys() == other.tensors.keys()
        for key in set(one.tensors) - {"history"}:
            assert torch.equal(one.tensors[key], other.tensors[key]), key
        assert (
            one.tensors["history"][:, 0].equal(other.tensors["history"][:, 0]) or name == "late"
        )  # NaN is no NaN
        assert (one.tensors["history"][:, 1].diff() >= 0).all()


@pytest.mark.parametrize("name", ["adam-map", "bbp", "psgld", "mc-dropout", "sae"])
def test_training_goes_on_where_it_was_on_its_device(name, device, tmp_path):
    target, rows = problem()
    target = replace(target, x=target.x.to(device), y=target.y.to(device))
    whole, files = saved(METHODS[name], target, (rows[0].to(device), rows[1].to(device)), tmp_path)
    state = load_checkpoint(files[2], [TrainingState], device)
    fitted = METHODS[name].fit(
        target, seed=3, validation=(rows[0].to(device), rows[1].to(device)), state=state
    )
    assert fitted.posterior.theta.device.type == device.type
    assert torch.equal(fitted.posterior.theta, whole.posterior.theta)
    assert timeless(fitted.history) == timeless(whole.history)


@pytest.mark.parametrize(
    "start", [Restarts(Adam(n_epochs=N_EPOCHS)), Jitter(0.1, Adam(n_epochs=N_EPOCHS))]
)
def test_start_of_a_sampler_goes_on_bit_for_bit(start, tmp_path):
    target, validation = problem()
    files = []
    whole = start(
        target,
        4,
        seed=1,
        validation=validation,
        observers=[lambda s, info: files.append(save_checkpoint(s, tmp_path / str(s.epoch)))],
    )
    for file in files:
        state = load_checkpoint(file, [TrainingState])
        assert state.stage == "start"
        assert torch.equal(start(target, 4, seed=1, validation=validation, state=state), whole)
    with pytest.raises(InputError, match="it is of a start, and this is a fit"):
        AdamMethod(n_epochs=N_EPOCHS).fit(target, seed=1, state=state)


def state_of(name, tmp_path, **given):
    target, validation = problem()
    _, files = saved(METHODS[name], target, validation, tmp_path, **given)
    return target, validation, load_checkpoint(files[2], [TrainingState])


@pytest.mark.parametrize(
    ("change", "says"),
    [
        ({"seed": 4}, "it is of seed 4, and this is of seed 3"),
        ({"epoch": 7}, "it has made 7 epochs, and this makes 6"),
        ({"epoch": -1}, "it has made -1 epochs"),
        ({"stage": "start"}, "it is of a start"),
        ({"epoch": 2}, r"its history is \(3, 2\) of torch.float64; needed is \(2, 2\)"),
    ],
)
def test_state_of_another_training_is_refused(change, says, tmp_path):
    target, validation, state = state_of("adam-map", tmp_path)
    with pytest.raises(
        InputError, match=f"cannot go on from this state: {says}.*Continue with the settings"
    ):
        METHODS["adam-map"].fit(
            target, seed=3, validation=validation, state=state._replace(**change)
        )


@pytest.mark.parametrize(
    ("name", "tensor", "says"),
    [
        ("theta", None, "it holds at, best"),
        ("extra", torch.zeros(1), "it holds at, best, exp_avg, exp_avg_sq, extra"),
        ("theta", torch.zeros(2, 13), r"its theta is \(2, 13\) of torch.float32"),
        ("theta", torch.zeros(1, 14, dtype=torch.float64), "its theta is .* of torch.float64"),
        ("step", torch.zeros(1), r"its step is \(1,\)"),
    ],
)
def test_tensors_of_another_training_are_refused(name, tensor, says, tmp_path):
    target, validation, state = state_of("adam-map", tmp_path)
    tensors = {k: v for k, v in {**state.tensors, name: tensor}.items() if v is not None}
    with pytest.raises(InputError, match=says):
        METHODS["adam-map"].fit(
            target, seed=3, validation=validation, state=state._replace(tensors=tensors)
        )


@pytest.mark.parametrize(
    ("name", "other"), [("sgld", "bbp"), ("adam-map", "ensemble"), ("sae", "sae-alone")]
)
def test_state_of_another_method_is_refused(name, other, tmp_path):
    target, validation, state = state_of(name, tmp_path)
    with pytest.raises(InputError, match="cannot go on from this state"):
        METHODS[other].fit(target, seed=3, validation=validation, state=state)
    with pytest.raises(InputError, match="cannot go on from this state"):
        METHODS[name].fit(target, seed=3, state=state)


@pytest.mark.parametrize(
    ("form", "says"),
    [
        ({"epoch": -1, "seed": 1, "stage": "fit"}, "epoch must be"),
        ({"epoch": 1 << 40, "seed": 1, "stage": "fit"}, "epoch must be"),
        ({"epoch": 1.5, "seed": 1, "stage": "fit"}, "epoch must be"),
        ({"epoch": 1, "seed": -1, "stage": "fit"}, "seed must be"),
        ({"epoch": 1, "seed": 1, "stage": "end"}, "stage must be"),
        ({"epoch": 1, "seed": 1, "stage": []}, "holds no lists"),
        ({"epoch": 1, "seed": 1, "stage": "fit", "more": 1}, "more"),
        ({"epoch": 1, "stage": "fit"}, "seed"),
        ({"epoch": 1, "seed": 1, "stage": "fit", "tensors": 3}, "belongs nowhere"),
    ],
)
def test_file_that_holds_no_training_is_refused(form, says, tmp_path):
    tensors = {"parts": {"theta": {"tensor": "theta"}}}
    state = {"type": "TrainingState", "parts": {"tensors": tensors, **form}}
    metadata = {"format": FORMAT, "state": json.dumps(state)}
    save_file({"theta": torch.zeros(2)}, tmp_path / "a", metadata=metadata)
    with pytest.raises(
        InputError, match=rf"cannot be read as a checkpoint \(.*{says}.*\)\. Start the run again"
    ):
        load_checkpoint(tmp_path / "a", [TrainingState])
