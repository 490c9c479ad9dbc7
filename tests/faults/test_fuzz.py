"""A short fuzz of every reader with a fixed seed; `faults/fuzz.py` makes a long one."""

import json

import pytest

from faults import fuzz
from faults.fuzz import fuzzed, main
from faults.readers import REQUIRED
from faults.table_readers import TABLE_READERS


@pytest.mark.parametrize("name", [*REQUIRED, "parquet", "folder", *TABLE_READERS])
def test_damaged_file_is_refused_in_a_sentence_or_read(name):
    cases = list(fuzzed(name, range(150), seed=7))
    assert not [case for case in cases if case.outcome not in ("refused", "read")]
    assert {case.outcome for case in cases} == {
        "refused",
        "read",
    }  # damages are neither all fatal nor all harmless


def test_summary_is_written(tmp_path, monkeypatch):
    given = [
        "--count",
        "20",
        "--seed",
        "3",
        "--readers",
        "config",
        "--json",
        str(tmp_path / "found.json"),
    ]
    monkeypatch.setattr("sys.argv", ["fuzz", *given])
    assert main() == 0
    found = json.loads((tmp_path / "found.json").read_text())["readers"]["config"]
    assert sum(found["outcomes"].values()) == found["n_files"] == 20
    assert found["wrong"] == 0
    assert 0 <= found["slowest"]["seconds"] < 5
    assert found["peak_bytes"] > found["grown_most"]["bytes"] >= 0


def test_memory_of_a_case_is_its_own(tmp_path):
    """One large case does not hide the next."""

    class Hungry:
        def damaged(self, folder, draw):
            raise NotImplementedError

        def read(self, path):
            bytearray(80 << 20)

    (tmp_path / "file").write_bytes(b"x")
    assert [fuzz._case(Hungry(), tmp_path / "file", i).outcome for i in range(2)] == [
        "large",
        "large",
    ]


@pytest.mark.slow
@pytest.mark.parametrize("name", [*REQUIRED, "parquet", "folder", "report", *TABLE_READERS])
def test_thousand_damaged_files_are_refused_or_read(name):
    n_cases = 100 if name == "report" else 3000
    assert not [
        case
        for case in fuzzed(name, range(n_cases), seed=8)
        if case.outcome not in ("refused", "read")
    ]
