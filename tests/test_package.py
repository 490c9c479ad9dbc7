"""What `import pmcnet` and `python -m pmcnet` give."""

import runpy
import sys

import pytest

import pmcnet


def test_package_names_what_it_has():
    assert {"PMCNetClassifier", "PMCNetRegressor", "__version__"} <= set(dir(pmcnet))
    assert all(hasattr(pmcnet, name) for name in pmcnet.__all__)
    with pytest.raises(AttributeError, match="module 'pmcnet' has no attribute 'PMCNetOracle'"):
        _ = pmcnet.PMCNetOracle


def test_module_is_the_program(monkeypatch, capsys):
    monkeypatch.setattr(sys, "argv", ["pmcnet", "--version"])
    with pytest.raises(SystemExit) as end:
        runpy.run_module("pmcnet", run_name="__main__")
    assert end.value.code == 0
    assert pmcnet.__version__ in capsys.readouterr().out
