"""Names of methods in a comparison: ours, other libraries', all and quick."""

import pytest

from pmcnet import requirements
from pmcnet.competitors import COMPETITORS
from pmcnet.errors import InputError
from pmcnet.methods.registry import METHODS
from pmcnet.runs.compared_names import method_names, spending

EXTRAS = ["laplace", "nuts"]
ALWAYS = tuple(name for name, one in COMPETITORS.items() if one.library is None)


def test_names_of_both_may_be_mixed_and_come_once():
    names = method_names("linear, annealed,bbp,linear")
    assert names.ours == ("annealed", "bbp")
    assert names.competitors == ("linear",)
    assert names.remark == ""


def test_no_name_is_that_of_two_methods():
    assert not set(COMPETITORS) & {*METHODS, "auto", "all", "quick"}


def test_all_are_those_whose_library_is_there(monkeypatch):
    monkeypatch.setattr(requirements, "find_spec", lambda module: None)
    names = method_names("all")
    assert names.ours == tuple(name for name in METHODS if name not in EXTRAS)
    assert names.competitors == ALWAYS
    assert set(names.missing) == set(COMPETITORS) - set(ALWAYS)
    assert "pip install 'pmcnet[lightgbm,catboost,ngboost,conformal,bde]'" in names.remark
    monkeypatch.setattr(requirements, "find_spec", lambda module: True)
    names = method_names("all")
    assert set(names.ours) == set(METHODS)
    assert names.competitors == tuple(COMPETITORS)
    assert names.missing == ()


def test_quick_is_what_auto_chooses_and_everything_else_that_is_there(monkeypatch):
    monkeypatch.setattr(requirements, "find_spec", lambda module: None)
    assert method_names("quick")[:2] == (("auto",), ALWAYS)


@pytest.mark.parametrize(
    ("name", "says"),
    [
        ("catboost", r"catboost needs CatBoost.*pip install 'pmcnet\[catboost\]'"),
        ("conformal-forest", r"conformal-forest needs MAPIE.*'pmcnet\[conformal\]'"),
        ("laplac", r"--methods takes auto, .*linear, .*or quick. Got 'laplac'"),
    ],
)
def test_name_that_cannot_be_is_refused_with_a_remedy(name, says, monkeypatch):
    monkeypatch.setattr(requirements, "find_spec", lambda module: None)
    with pytest.raises(InputError, match=says):
        method_names(f"annealed,{name}")


@pytest.mark.parametrize("text", ["linear", ",", ""])
def test_one_method_of_pmcnet_is_needed(text):
    with pytest.raises(InputError, match="at least one method of pmcnet"):
        method_names(text)


def test_quick_spends_little_unless_more_is_asked_for():
    assert spending("quick", None, None) == ("60s", 20.0)
    assert spending("quick", "90s", "1min") == ("90s", 60.0)
    assert spending("all", None, None) == (None, 600.0)
    said = spending("quick", None, None).remark(method_names("annealed,linear,random-forest"))
    assert said == (
        "budget 60s for pmcnet, then at most 20 s for each of 2 models of other libraries."
    )
    with pytest.raises(InputError, match="--limit must be positive seconds"):
        spending("quick", None, "soon")
