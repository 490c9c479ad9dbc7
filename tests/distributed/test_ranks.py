"""1, 2 and 4 processes give the same answer, bit by bit where the work is shared by blocks."""

from pathlib import Path

import pytest
import torch
import torch.distributed as dist
from safetensors.torch import load_file

from distributed import worker
from distributed.launching import launched
from pmcnet import ais
from pmcnet.distributed import Ranks
from pmcnet.errors import InputError
from pmcnet.methods.hmc import HMCMethod

SIZES = (1, 2, 4)
CASES = [
    f"{name} {dtype}" for name in worker.pmc_cases() for dtype in (torch.float32, torch.float64)
]
CASES += [
    f"{name} {dtype}"
    for name in ("annealed", "islands")
    for dtype in (torch.float32, torch.float64)
]
CASES += ["annealed in four groups", "all steps", "mixture"]
CASES += [*worker.CHAINS, "hmc, burnt in"]


@pytest.fixture(scope="module")
def answers(tmp_path_factory):
    """What each number of processes found: {size: {case: {part: tensor}}}."""
    found, before = {}, None
    for size in SIZES:
        place = tmp_path_factory.mktemp("ranks")
        processes = launched(size, [Path(worker.__file__), place, before or place])
        errors = [process.communicate(timeout=300)[1] for process in processes]
        assert [process.returncode for process in processes] == [0] * size, errors
        cases = {}
        before = place
        for name, tensor in load_file(place / "found.safetensors").items():
            case, _, part = name.partition("/")
            cases.setdefault(case, {})[part] = tensor
        found[size] = cases
    return found


@pytest.mark.parametrize("case", CASES)
def test_answers_have_the_same_bits_for_any_number_of_processes(answers, case):
    for size in SIZES[1:]:
        for part, expected in answers[1][case].items():
            assert torch.equal(answers[size][case][part], expected), (size, part)


@pytest.mark.parametrize("case", worker.CHAINS)
def test_a_process_works_on_chains_of_its_own(answers, case):
    """The start of all chains of hmc is evaluated by every process."""
    counts = [int(answers[size]["gradients of the first process"][case]) for size in SIZES]
    assert counts[1] < 0.6 * counts[0]
    assert counts[2] < 0.4 * counts[0]


@pytest.mark.parametrize("case", worker.CHAINS)
def test_chains_of_other_processes_go_on_to_the_same_bits(answers, case):
    """One process from its own state, two from that of one, four from that of two."""
    for size in SIZES:
        for part, expected in answers[1][case].items():
            assert torch.equal(answers[size][f"{case}, resumed"][part], expected), (size, part)


def test_more_processes_than_chains_are_refused_before_networks_are_trained(monkeypatch):
    monkeypatch.setattr(dist, "get_rank", lambda: 0)
    monkeypatch.setattr(dist, "get_world_size", lambda: 4)
    method = HMCMethod(n_chains=2, start=pytest.fail)
    with pytest.raises(InputError, match="4 processes cannot share 2 proposals, chains"):
        method.fit(worker.problem(torch.float64), seed=0, comm=Ranks(torch.device("cpu")))


def test_chains_without_processes_agree_to_rounding(answers):
    """In a few trajectories: more of them amplify the last bit."""
    alone = worker.burnt_in(worker.problem(torch.float32), ais.SERIAL)
    for part, expected in answers[1]["hmc, burnt in"].items():
        torch.testing.assert_close(alone[part], expected, rtol=1e-4, atol=1e-4)


@pytest.mark.parametrize("name", ["pmcnet", "pmcnet-light", "global"])
def test_a_run_without_processes_agrees_to_rounding(answers, name):
    target = worker.problem(torch.float64)
    alone = worker.sampled(target, worker.pmc_cases()[name], ais.SERIAL, torch.float64)
    torch.testing.assert_close(
        alone["loc"], answers[1][f"{name} {torch.float64}"]["loc"], rtol=1e-9, atol=1e-9
    )


@pytest.mark.parametrize(
    "part", ["density", "value", "score", "hessian", "factors", "factor score", "run", "light"]
)
def test_rows_spread_over_processes_give_the_sum(answers, part):
    one, limit = answers[1]["summed"][part], 1e-9 if part in ("run", "light") else 1e-12
    for size in SIZES[1:]:
        torch.testing.assert_close(answers[size]["summed"][part], one, rtol=limit, atol=limit)


def test_rows_spread_over_processes_anneal_to_the_same_evidence(answers):
    one = answers[1]["summed, annealed"]["evidence"]
    for size in SIZES[1:]:
        torch.testing.assert_close(
            answers[size]["summed, annealed"]["evidence"], one, rtol=1e-9, atol=0
        )


def test_the_sum_is_the_posterior_of_all_rows(answers):
    target = worker.problem(torch.float64)
    points = worker.start(target, torch.float64)
    whole = target.value_and_score(points)
    torch.testing.assert_close(answers[4]["summed"]["value"], whole.value, rtol=1e-12, atol=0)
    torch.testing.assert_close(answers[4]["summed"]["score"], whole.score, rtol=1e-10, atol=1e-10)
