"""What every variant must do, on every dtype and device."""

from dataclasses import replace

import pytest
import torch

from pmcnet import ais, rng

M, K, D = 6, 15, 4


@pytest.fixture(params=ais.VARIANTS)
def algorithm(request):
    return replace(ais.VARIANTS[request.param], n_draws=K)


@pytest.fixture(params=[torch.float32, torch.float64])
def dtype(request):
    return request.param


def target() -> ais.FunctionTarget:
    known = ais.analytic.gaussian(
        torch.ones(D, dtype=torch.float64), 0.5 * torch.eye(D, dtype=torch.float64)
    )
    halves = lambda x: 0.5 * known.target.log_density(x)  # noqa: E731
    return replace(known.target, parts=(halves, halves))


def start(algorithm, dtype, device):
    loc = torch.randn(M, D, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
    return algorithm.init(loc.to(device, dtype), sigma=1.0, seed=3)


def test_shapes_types_and_devices(algorithm, dtype, device):
    state, info = algorithm.step(start(algorithm, dtype, device), target())
    assert info.samples.theta.shape == (M, K, D)
    assert info.samples.log_weight.shape == (M, K)
    assert info.samples.log_weight.dtype == torch.float64
    assert info.ancestors.shape == info.rejected_scale.shape == (M,)
    assert info.step_size.shape[0] == M
    assert state.proposals.loc.shape == (M, D)
    for tensor in (info.samples.theta, state.proposals.loc, state.proposals.scale.covariance):
        assert tensor.dtype == dtype
        assert tensor.device.type == device.type
    assert state.step == 1


def test_every_number_is_finite_over_many_steps(algorithm, dtype, device):
    state = start(algorithm, dtype, device)
    for _ in range(15):
        state, info = algorithm.step(state, target())
        for tensor in (
            info.samples.theta,
            info.samples.log_weight,
            state.proposals.loc,
            info.step_size,
        ):
            assert tensor.isfinite().all()
        assert state.proposals.scale.covariance.isfinite().all()


def test_single_proposal_works(algorithm, dtype, device):
    state = algorithm.init(torch.zeros(1, D, dtype=dtype, device=device), sigma=1.0, seed=0)
    result = ais.run(algorithm, target(), state, n_steps=3)
    assert result.samples.theta.shape == (1, K, D)


def test_global_generator_is_untouched(algorithm, dtype, device):
    before = torch.random.get_rng_state()
    algorithm.step(start(algorithm, dtype, device), target())
    assert torch.equal(before, torch.random.get_rng_state())


def test_float32_follows_float64_on_the_same_noise(algorithm, monkeypatch):
    """The same run in both precisions with the same noise has the same weights in float32."""
    from pmcnet.ais.pmc import proposals

    double = rng.standard_normal

    def rounded(sources, shape, like):
        return double(sources, shape, torch.zeros(1, dtype=torch.float64)).to(like.dtype)

    monkeypatch.setattr(proposals, "standard_normal", rounded)
    _, wide = algorithm.step(start(algorithm, torch.float64, "cpu"), target())
    _, narrow = algorithm.step(start(algorithm, torch.float32, "cpu"), target())
    torch.testing.assert_close(
        narrow.samples.log_weight, wide.samples.log_weight, rtol=1e-4, atol=1e-4
    )


def test_cuda_follows_cpu_on_the_same_noise(algorithm):
    """Fed the host's streams, a step on the GPU gives the host's numbers to rounding."""
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device on this machine")
    host, card = start(algorithm, torch.float64, "cpu"), start(algorithm, torch.float64, "cuda")
    for step in range(3):
        host, host_info = algorithm.step_with(host, target(), rng.streams(3, step, M))
        card, card_info = algorithm.step_with(card, target(), rng.streams(3, step, M))
        torch.testing.assert_close(
            card_info.samples.log_weight.cpu(), host_info.samples.log_weight, rtol=1e-8, atol=1e-8
        )
        torch.testing.assert_close(
            card.proposals.loc.cpu(), host.proposals.loc, rtol=1e-8, atol=1e-8
        )
        assert torch.equal(card_info.ancestors.cpu(), host_info.ancestors)


def test_cuda_streams_depend_on_seed_step_and_block_alone():
    if not torch.cuda.is_available():
        pytest.skip("no CUDA device on this machine")
    like = torch.zeros(1, dtype=torch.float64, device="cuda")
    noise = rng.standard_normal(rng.streams(3, 1, 4, like.device), (500,), like)
    again = rng.standard_normal(rng.streams(3, 1, 4, like.device)[2:3], (500,), like)
    assert torch.equal(noise[2], again[0])
    assert len(noise.unique()) == 2000
    assert abs(noise.mean()) < 5 / 2000**0.5
