import io

import pytest
import torch
from rich.console import Console

from pmcnet import ais
from pmcnet.ais import analytic
from pmcnet.reports.progress import AnnealingProgress, _span


def bridge():
    truth = analytic.gaussian(torch.ones(5).double(), 0.05 * torch.eye(5).double())
    loc = torch.zeros(1, 5, dtype=torch.float64)
    return ais.Bridge(truth.target, ais.Proposals(loc, ais.Diagonal.isotropic(2.0, loc)))


@pytest.mark.parametrize("terminal", [False, True])
def test_progress_shows_temperature_ess_acceptance_and_time_left(terminal):
    written = io.StringIO()
    console = Console(file=written, force_terminal=terminal, width=200)
    with AnnealingProgress(console) as progress:
        result = ais.AnnealedPMC(n_particles=104).run(bridge(), seed=0, observers=[progress])
    text = written.getvalue()
    assert "temperature 1, ESS" in text
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


@pytest.mark.parametrize(("seconds", "text"), [(0.2, "1 s"), (99, "99 s"), (600, "10 min"), (7200, "2.0 h")])
def test_time_left_is_readable(seconds, text):
    assert _span(seconds) == text
