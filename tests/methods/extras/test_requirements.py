"""Methods of other libraries: refused with a remedy where these are not installed."""

import pytest

from pmcnet import PMCNetClassifier, requirements
from pmcnet.errors import InputError
from pmcnet.methods.registry import METHODS, check_name, names_at_hand, options

EXTRAS = [name for name, settings in METHODS.items() if settings.library]


def test_every_extra_names_its_library():
    assert EXTRAS == ["laplace", "nuts"]
    for name in EXTRAS:
        title, module, extra = METHODS[name].library
        assert (extra, bool(title), bool(module)) == (name, True, True)


@pytest.mark.parametrize("name", EXTRAS)
def test_missing_library_is_refused_with_the_extra_to_install(name, monkeypatch):
    monkeypatch.setattr(requirements, "find_spec", lambda module: None)
    with pytest.raises(InputError, match=rf"{name} needs .* pip install 'pmcnet\[{name}\]'"):
        options(name, {}, 100)
    with pytest.raises(InputError, match="not installed"):
        PMCNetClassifier(method=name).fit([[0.0], [1.0], [2.0]], [0, 1, 1])


def test_methods_at_hand_are_those_whose_library_is_there(monkeypatch):
    monkeypatch.setattr(
        requirements, "find_spec", lambda module: True if module == "numpyro" else None
    )
    assert names_at_hand() == [name for name in METHODS if name != "laplace"]


@pytest.mark.parametrize("name", EXTRAS)
def test_name_of_an_extra_is_known_without_its_library(name, monkeypatch):
    monkeypatch.setattr(requirements, "find_spec", lambda module: None)
    assert check_name(name) == name
