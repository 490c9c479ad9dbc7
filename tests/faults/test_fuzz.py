"""A short fuzz of every reader with a fixed seed; `faults/fuzz.py` makes a long one."""

import pytest

from faults.fuzz import fuzzed
from faults.readers import REQUIRED


@pytest.mark.parametrize("name", REQUIRED)
def test_damaged_file_is_refused_in_a_sentence_or_read(name):
    cases = list(fuzzed(name, range(150), seed=7))
    assert not [case for case in cases if case.outcome not in ("refused", "read")]
    assert {case.outcome for case in cases} == {"refused", "read"}  # damages are neither all fatal nor all harmless


@pytest.mark.slow
@pytest.mark.parametrize("name", [*REQUIRED, "report"])
def test_thousand_damaged_files_are_refused_or_read(name):
    n_cases = 100 if name == "report" else 3000
    assert not [case for case in fuzzed(name, range(n_cases), seed=8) if case.outcome not in ("refused", "read")]
