"""Progress in a notebook, whose IPython is played by a module that notes what it is sent."""

import builtins
import io
import re
import sys
from types import ModuleType

import pytest
from rich.console import Console

from pmcnet.methods.training.state import EpochInfo
from pmcnet.reports import notebook_cell
from pmcnet.reports.progress import AnnealingProgress, FitProgress


class Output:
    """What one output of a notebook has shown, one after another."""

    def __init__(self, first):
        self.shown = [first]

    def update(self, bundle, *, raw):
        assert raw
        self.shown.append(bundle)

    @property
    def html(self):
        return [bundle["text/html"] for bundle in self.shown]

    @property
    def bars(self):
        return [re.findall(r'<progress max="1"(?: value="([\d.]+)")?', html) for html in self.html]


@pytest.fixture
def outputs(monkeypatch):
    """The outputs of a cell that is running."""
    found = []

    def display(bundle, *, raw, display_id):
        assert raw
        assert display_id
        found.append(Output(bundle))
        return found[-1]

    package, module = ModuleType("IPython"), ModuleType("IPython.display")
    module.display = display
    monkeypatch.setitem(sys.modules, "IPython", package)
    monkeypatch.setitem(sys.modules, "IPython.display", module)
    shell = type("ZMQInteractiveShell", (), {})()
    monkeypatch.setattr(builtins, "get_ipython", lambda: shell, raising=False)
    monkeypatch.setattr(notebook_cell, "SECONDS_BETWEEN_UPDATES", 0.0)
    return found


def epoch(done, total=4):
    return EpochInfo(done, total, "fit", None, 0.1)


def test_fit_in_a_notebook_has_one_output_updated_in_place(outputs, capsys):
    with FitProgress() as progress:
        progress.stage("starts")
        for i in range(4):
            progress(None, epoch(i + 1))
    (output,) = outputs
    assert output.bars == [[""], ["0.250"], ["0.500"], ["0.750"], ["1.000"], []]
    assert "starts" in output.html[0]
    assert "epoch 3 of 4" in output.html[3]
    assert re.search("done in 0:0[0-9]</span><span>epoch 4 of 4<", output.html[-1])
    assert "epoch 4 of 4" in output.shown[-1]["text/plain"]
    assert capsys.readouterr() == ("", "")


def test_fit_in_a_notebook_sends_few_updates(outputs, monkeypatch):
    monkeypatch.setattr(notebook_cell, "SECONDS_BETWEEN_UPDATES", 60.0)
    with FitProgress() as progress:
        for i in range(500):
            progress(None, epoch(i + 1, 500))
    (output,) = outputs
    assert len(output.shown) == 2
    assert "epoch 500 of 500" in output.html[-1]


def test_fit_that_fails_says_so_in_its_output(outputs):
    def stopped():
        with FitProgress() as progress:
            progress.stage("<starts>")
            raise KeyboardInterrupt

    with pytest.raises(KeyboardInterrupt):
        stopped()
    assert "stopped after" in outputs[0].html[-1]
    assert "&lt;starts&gt;" in outputs[0].html[-1]


def test_nothing_is_shown_of_a_fit_without_steps(outputs):
    with FitProgress():
        pass
    assert outputs == []


def test_a_console_of_ones_own_is_written_to_as_elsewhere(outputs):
    console = Console(file=io.StringIO(), force_jupyter=False, force_terminal=False, width=80)
    with FitProgress(console) as progress:
        progress.stage("starts")
    assert console.file.getvalue() == "starts\n"
    assert outputs == []


def test_run_in_a_notebook_has_one_output_too(outputs):
    from pmcnet import ais
    from reports.test_progress import bridge

    with AnnealingProgress() as progress:
        result = ais.AnnealedPMC(n_particles=104).run(bridge(), seed=0, observers=[progress])
    (output,) = outputs
    assert len(output.shown) == len(result.history) + 1
    shares = [float(bar[0]) for bar in output.bars[:-1]]
    assert shares == sorted(shares)
    assert f"log Z {result.log_evidence:.2f}" in output.html[-1]
