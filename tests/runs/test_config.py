"""Settings as TOML and back."""

import tomllib

import pytest

from pmcnet.errors import InputError
from pmcnet.runs.config import RunSettings, config_text, read_config


def test_settings_survive_toml(tmp_path):
    settings = RunSettings(
        data="wine",
        target="target",
        drop=("a", "b"),
        hidden=(3, 4),
        method="annealed",
        method_options={"n_moves": None, "n_particles": 24},
        prior_std=0.7,
        budget=90.0,
        seed=3,
    )
    path = tmp_path / "config.toml"
    path.write_text(config_text(settings, {"pmcnet": "1"}))
    config = read_config(path)
    assert config.pop("provenance") == {"pmcnet": "1"}
    assert config["method_options"] == {"n_moves": "auto", "n_particles": 24}
    again = RunSettings.of(config | {"method_options": dict(settings.method_options)})
    assert again == settings


def test_defaults_fill_what_is_not_given():
    assert RunSettings.of({"data": "wine"}) == RunSettings(data="wine")


def test_every_setting_is_written():
    config = tomllib.loads(config_text(RunSettings(data="wine"), {}))
    assert RunSettings.of({k: v for k, v in config.items() if k != "provenance"}) == RunSettings(
        data="wine"
    )


@pytest.mark.parametrize("value", [2, 2.0])
def test_whole_numbers_may_be_written_with_a_point(value):
    assert RunSettings.of({"data": "wine", "seed": value}).seed == 2


def test_data_must_be_named():
    with pytest.raises(InputError, match="none was given"):
        RunSettings.of({"data": ""})
