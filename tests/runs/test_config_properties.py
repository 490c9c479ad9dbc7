"""Settings from any plain data: refused in a sentence, or written and read again as they were."""

import datetime
from dataclasses import fields

import tomli_w
from hypothesis import given, settings
from hypothesis import strategies as st

from pmcnet.errors import InputError
from pmcnet.runs.config import RunSettings, config_text, read_config

NAMES = [item.name for item in fields(RunSettings)]
SCALARS = (
    st.booleans()
    | st.integers(-(2**70), 2**70)
    | st.floats()
    | st.text(max_size=8)
    | st.dates(datetime.date(1900, 1, 1))
    | st.sampled_from(["auto", "tanh", "annealed", "gaussian", "columns", "3min", "learn", "wine"])
)
VALUES = st.recursive(
    SCALARS,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(st.text(max_size=5), inner, max_size=3)
    ),
    max_leaves=6,
)
CONFIGS = st.dictionaries(
    st.sampled_from([*NAMES, "provenance"]) | st.text(max_size=5), VALUES, max_size=5
)


@settings(max_examples=200, deadline=None)
@given(CONFIGS)
def test_settings_are_refused_in_a_line_or_come_back(tmp_path_factory, config):
    path = tmp_path_factory.mktemp("config") / "config.toml"
    path.write_bytes(tomli_w.dumps({"data": "wine"} | config).encode("utf-8", "surrogatepass"))
    try:
        found = read_config(path)
        provenance = found.pop("provenance", {})
        made = RunSettings.of(found)
    except InputError as error:
        told = str(error)
        assert told.isprintable() and len(told) < 1000, told  # noqa: PT018
        return
    path.write_bytes(config_text(made, provenance).encode("utf-8"))
    again = read_config(path)
    again.pop("provenance", {})
    assert repr(RunSettings.of(again)) == repr(made)
