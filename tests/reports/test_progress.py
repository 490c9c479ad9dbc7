import io

import pytest
import torch
from rich.console import Console

from pmcnet import ais
from pmcnet.ais import analytic
from pmcnet.methods.training.state import EpochInfo
from pmcnet.reports import progress as shown
from pmcnet.reports.progress import AnnealingProgress, FitProgress, _span


def bridge():
    truth = analytic.gaussian(torch.ones(5).double(), 0.05 * torch.eye(5).double())
    loc = torch.zeros(1, 5, dtype=torch.float64)
    return ais.Bridge(truth.target, ais.Proposals(loc, ais.Diagonal.isotropic(2.0, loc)))


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_shows_beta_ess_acceptance_and_time_left(terminal):
    written = io.StringIO()
    console = Console(file=written, force_terminal=terminal, width=200)
    with AnnealingProgress(console) as progress:
        result = ais.AnnealedPMC(n_particles=104).run(bridge(), seed=0, observers=[progress])
    text = written.getvalue()
    assert "beta 1, ESS" in text
    assert "acceptance" in text
    assert f"log Z {result.log_evidence:.2f}" in text
    if not terminal:
        lines = text.splitlines()
        assert len(lines) == len(result.history)
        assert all(" left" in line for line in lines[:-1])


def test_progress_ends_when_the_run_fails():
    console = Console(file=io.StringIO(), force_terminal=True)
    progress = AnnealingProgress(console)
    with pytest.raises(KeyboardInterrupt), progress:
        raise KeyboardInterrupt
    assert not progress._bar.live.is_started


@pytest.mark.parametrize(
    ("seconds", "text"), [(0.2, "1 s"), (99, "99 s"), (600, "10 min"), (7200, "2.0 h")]
)
def test_time_left_is_readable(seconds, text):
    assert _span(seconds) == text


def epoch(done, total):
    return EpochInfo(done, total, "fit", None, 0.1)


def steps(n_steps):
    target = analytic.banana(2).target
    algorithm = ais.VARIANTS["pmcnet"]
    state = algorithm.init(torch.zeros(3, 2, dtype=torch.float64), seed=0)
    for _ in range(n_steps):
        state, info = algorithm.step(state, target)
        yield state, info


def test_fit_on_a_terminal_has_one_bar_per_stage():
    console = Console(file=io.StringIO(), force_terminal=True, width=200)
    with FitProgress(console) as progress:
        progress.stage("starts")
        progress(None, epoch(3, 4))
        (epochs,) = progress._bar.tasks
        assert (epochs.completed, epochs.total, epochs.fields["text"]) == (
            0.75,
            1.0,
            "epoch 3 of 4",
        )
        progress.stage("steps")
        assert not progress._bar.tasks
        for state, info in steps(2):
            progress(state, info)
        (stepping,) = progress._bar.tasks
        assert stepping.total is None
        assert stepping.fields["text"].startswith("step 2, ESS ")
    assert not progress._bar.live.is_started
    assert "starts" in console.file.getvalue()


def test_fit_elsewhere_says_its_last_epoch_and_now_and_then_another(monkeypatch):
    console = Console(file=io.StringIO(), force_terminal=False, width=200)
    with FitProgress(console) as progress:
        progress.stage("starts")
        for i in range(4):
            progress(None, epoch(i + 1, 4))
        monkeypatch.setattr(shown, "SECONDS_BETWEEN_LINES", 0.0)
        for state, info in steps(1):
            progress(state, info)
    lines = console.file.getvalue().splitlines()
    assert lines[:2] == ["starts", "epoch 4 of 4"]
    assert lines[2].startswith("step 1, ESS ")
    assert len(lines) == 3
