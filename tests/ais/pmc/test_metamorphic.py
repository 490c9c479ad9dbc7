"""Properties that hold whatever the numbers: shift, permutation, chunking, factors, device."""

from dataclasses import replace

import torch
from hypothesis import given, settings
from hypothesis import strategies as st
from torch import Tensor

from pmcnet import ais, rng
from pmcnet.ais import diagnostics

settings.register_profile("pmcnet", deadline=None, max_examples=40, derandomize=True)
settings.load_profile("pmcnet")

VARIANTS = st.sampled_from(sorted(ais.VARIANTS))
SEEDS = st.integers(0, 2**63)
SHAPES = st.tuples(st.integers(1, 6), st.integers(2, 12), st.integers(1, 5))  # (M, K, D)


def problem(seed: int, dim: int, shift: float = 0.0, **settings) -> ais.FunctionTarget:
    """A logistic regression with made-up data, in three batches, shifted by a constant."""
    generator = torch.Generator().manual_seed(seed % 2**31)
    x = torch.randn(12, dim, generator=generator, dtype=torch.float64)

    def part(rows: slice, share: float):
        def log_density(theta: Tensor) -> Tensor:
            fit = torch.nn.functional.logsigmoid(theta @ x[rows].mT).sum(-1)
            return fit + share * (shift - 0.5 * theta.square().sum(-1))

        return log_density

    parts = (part(slice(0, 3), 0.25), part(slice(3, 8), 0.25), part(slice(8, 12), 0.5))
    return ais.FunctionTarget(part(slice(None), 1.0), dim, parts=parts, **settings)


def start(algorithm: ais.PMC, seed: int, shape: tuple[int, int, int]) -> ais.PMCState:
    generator = torch.Generator().manual_seed(seed % 2**31)
    loc = torch.randn(shape[0], shape[2], generator=generator, dtype=torch.float64)
    return algorithm.init(loc, sigma=1.3, seed=seed)


@given(VARIANTS, SEEDS, SHAPES, st.floats(-1e4, 1e4))
def test_adding_a_constant_shifts_the_evidence_and_nothing_else(name, seed, shape, shift):
    algorithm = replace(ais.VARIANTS[name], n_draws=shape[1])
    _, plain = algorithm.step(start(algorithm, seed, shape), problem(seed, shape[2]))
    _, moved = algorithm.step(start(algorithm, seed, shape), problem(seed, shape[2], shift))
    tolerance = 1e-12 * max(1.0, abs(shift))
    assert abs(moved.samples.log_evidence - plain.samples.log_evidence - shift) <= 10 * tolerance
    torch.testing.assert_close(
        moved.samples.weight, plain.samples.weight, rtol=0, atol=10 * tolerance
    )
    assert torch.equal(moved.samples.theta, plain.samples.theta)


@given(st.sampled_from(sorted(ais.VARIANTS)), SEEDS, SHAPES, st.randoms(use_true_random=False))
def test_permuting_proposals_permutes_the_results(name, seed, shape, random):
    algorithm = replace(ais.VARIANTS[name], n_draws=shape[1])
    target, state = problem(seed, shape[2]), start(algorithm, seed, shape)
    order = random.sample(range(shape[0]), shape[0])
    permuted = state._replace(
        proposals=ais.Proposals(
            state.proposals.loc[order], type(state.proposals.scale)(state.proposals.scale[0][order])
        )
    )
    sources = rng.streams(seed, 0, shape[0])
    after, info = algorithm.step_with(state, target, sources)
    sources = rng.streams(seed, 0, shape[0])
    after_permuted, info_permuted = algorithm.step_with(
        permuted, target, [sources[m] for m in order]
    )
    close = {"rtol": 1e-9, "atol": 1e-9}
    torch.testing.assert_close(
        info_permuted.samples.log_weight, info.samples.log_weight[order], **close
    )
    torch.testing.assert_close(after_permuted.proposals.loc, after.proposals.loc[order], **close)
    torch.testing.assert_close(
        after_permuted.proposals.scale.covariance, after.proposals.scale.covariance[order], **close
    )
    assert torch.equal(info_permuted.ancestors % shape[1], info.ancestors[order] % shape[1])
    assert torch.equal(info_permuted.step_size, info.step_size[order])


@given(VARIANTS, SEEDS, SHAPES, st.integers(1, 5000))
def test_memory_changes_nothing(name, seed, shape, memory):
    algorithm = replace(ais.VARIANTS[name], n_draws=shape[1])
    state = start(algorithm, seed, shape)
    whole_state, whole = algorithm.step(state, problem(seed, shape[2]))
    small_state, small = algorithm.step(state, problem(seed, shape[2], memory=memory))
    close = {"rtol": 1e-10, "atol": 1e-10}
    torch.testing.assert_close(small.samples.log_weight, whole.samples.log_weight, **close)
    torch.testing.assert_close(small_state.proposals.loc, whole_state.proposals.loc, **close)
    assert torch.equal(small.ancestors, whole.ancestors)


@given(SEEDS, st.integers(1, 6), st.integers(1, 9))
def test_factors_sum_to_the_target(seed, dim, n):
    target = problem(seed, dim, shift=3.0)
    theta = torch.randn(n, dim, generator=torch.Generator().manual_seed(1), dtype=torch.float64)
    value, score = target.value_and_score(theta)
    answers = [factor.value_and_score(theta) for factor in target.factors()]
    torch.testing.assert_close(sum(a.value for a in answers), value)
    torch.testing.assert_close(sum(a.score for a in answers), score)


@given(VARIANTS, SEEDS, SHAPES)
def test_same_seed_same_answer_and_other_seed_other_draws(name, seed, shape):
    algorithm = replace(ais.VARIANTS[name], n_draws=shape[1])
    target, state = problem(seed, shape[2]), start(algorithm, seed, shape)
    first, info = algorithm.step(state, target)
    again, _ = algorithm.step(state, target)
    assert torch.equal(first.proposals.loc, again.proposals.loc)
    _, other = algorithm.step(state._replace(seed=(seed + 1) % 2**63), target)
    assert not torch.equal(info.samples.theta, other.samples.theta)


@given(SEEDS, SHAPES)
def test_a_proposals_draws_do_not_depend_on_the_other_proposals(seed, shape):
    """Which is what lets proposals be spread over processes and devices."""
    state = start(ais.pmcnet, seed, shape)
    together = state.proposals.draw(rng.streams(seed, 4, shape[0]), shape[1])
    last = shape[0] - 1
    alone = ais.Proposals(state.proposals.loc[last:], state.proposals.scale.take(slice(last, None)))
    torch.testing.assert_close(
        alone.draw([rng.stream(seed, 4, last)], shape[1])[0], together[last], rtol=1e-14, atol=1e-14
    )


@given(st.lists(st.floats(-700, 700), min_size=1, max_size=50), st.floats(-1e5, 1e5))
def test_ess_lies_between_one_and_n_and_ignores_a_constant(values, shift):
    log_weight = torch.tensor(values, dtype=torch.float64)
    ess = float(diagnostics.ess(log_weight))
    assert 1 - 1e-9 <= ess <= len(values) + 1e-9
    assert abs(float(diagnostics.ess(log_weight + shift)) - ess) <= 1e-6 * len(values)
