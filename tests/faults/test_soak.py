"""A soak of seconds; `faults/soak.py` makes one of an hour."""

import mmap
import os
import re

import pytest

from faults.soak import LEAST_ROUNDS, Sample, judged, sampled, soak
from faults.soaked import ACTIVITIES, METHODS, soaked

MIB = 1 << 20


def steady(
    n_rounds=50, *, memory=lambda i: 500 * MIB, descriptors=lambda i: 7, threads=lambda i: 2
):
    return [
        Sample(i, 5.0 * (i + 1), int(memory(i)), descriptors(i), threads(i))
        for i in range(n_rounds)
    ]


def test_rounds_leave_no_descriptor_and_no_thread(monkeypatch):
    few = {name: METHODS[name] for name in ("annealed", "pmcnet-light", "adam-map")}
    monkeypatch.setattr("faults.soaked.METHODS", few)
    soaked(0)  # what is opened once, such as a font
    before = sampled(0, 0.0)
    (after,) = soak(1e-9, lambda number: soaked(number + 1))
    assert after.descriptors == before.descriptors
    assert after.threads <= before.threads
    assert after.memory < 1.1 * before.memory


def test_soak_ends_with_its_time_and_has_one_round_at_least():
    done = []
    assert len(list(soak(0.0, done.append))) == len(done) == 1
    assert len(list(soak(60.0, done.append, most_rounds=3))) == 3


def test_round_has_every_activity():
    assert {activity.__name__ for activity in ACTIVITIES} >= {
        "regressors",
        "classifiers",
        "samplers",
        "runs",
    }


def test_sample_counts_open_files_and_bytes(tmp_path):
    before = sampled(0, 0.0)
    (tmp_path / "file").write_bytes(b"")
    held = os.open(tmp_path / "file", os.O_RDONLY)
    block = b"x" * (64 * MIB)
    try:
        after = sampled(1, 0.0)
    finally:
        os.close(held)
    assert after.descriptors == before.descriptors + 1
    assert after.memory - before.memory == pytest.approx(len(block), rel=0.25)


def test_flat_memory_is_no_complaint():
    noise = [500 * MIB, 503 * MIB, 498 * MIB]
    assert judged(steady(memory=lambda i: noise[i % 3])).complaints == []


def test_growth_in_the_warm_up_is_no_complaint():
    assert judged(steady(memory=lambda i: min(500, 300 + 40 * i) * MIB)).complaints == []


@pytest.mark.parametrize(
    ("changes", "told"),
    [
        ({"memory": lambda i: (500 + i) * MIB}, r"memory went from .* by \+"),
        ({"memory": lambda i: (500 + i) * MIB}, r"memory grows by 1\.00 MiB a round"),
        ({"descriptors": lambda i: 7 + i // 10}, r"descriptors went from 8 to 11"),
        ({"threads": lambda i: 2 + (i == 49)}, r"threads went from 2 to 3"),
        ({"n_rounds": LEAST_ROUNDS}, r"rounds after the warm-up are too few"),
    ],
)
def test_growth_is_said(changes, told):
    complaints = judged(steady(**changes)).complaints
    assert any(re.search(told, complaint) for complaint in complaints)


def test_leak_is_found():
    kept, samples = [], []
    for i in range(40):
        kept.append(
            mmap.mmap(-1, 8 * MIB)
        )  # from the system, not from what the process has left over
        kept[-1].write(b"x" * (8 * MIB))
        samples.append(sampled(i, 0.0)._replace(seconds=5.0 * (i + 1)))
    assert any("memory grows" in complaint for complaint in judged(samples).complaints)
