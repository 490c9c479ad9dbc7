import numpy as np
import pytest
import torch

from pmcnet import rng
from pmcnet.errors import InputError

LIKE = torch.zeros(1, dtype=torch.float64)


def test_stream_is_a_function_of_seed_step_block():
    first = rng.stream(3, 5, 7).host.standard_normal(10)
    assert np.array_equal(first, rng.stream(3, 5, 7).host.standard_normal(10))
    for other in (rng.stream(4, 5, 7), rng.stream(3, 6, 7), rng.stream(3, 5, 8)):
        assert not np.intersect1d(first, other.host.standard_normal(1000)).size


def test_noise_does_not_depend_on_threads_or_company():
    """A block's numbers are its own: the same alone, among others, or filled in parallel."""
    n = rng._PARALLEL_FROM // 4
    before = torch.get_num_threads()
    torch.set_num_threads(2)
    try:
        together = rng.standard_normal(rng.streams(0, 2, 8), (n,), LIKE)
    finally:
        torch.set_num_threads(before)
    alone = rng.standard_normal([rng.stream(0, 2, 5)], (n,), LIKE)
    assert torch.equal(together[5], alone[0])


def test_noise_is_standard_normal():
    noise = rng.standard_normal(rng.streams(1, 0, 40), (5000,), LIKE)
    n = noise.numel()
    assert abs(noise.mean()) < 5 / n**0.5
    assert abs(noise.var() - 1) < 5 * (2 / n) ** 0.5
    between = torch.corrcoef(noise) - torch.eye(40, dtype=torch.float64)
    assert between.abs().max() < 5 / 5000**0.5


@pytest.mark.parametrize("dtype", [torch.float32, torch.float64])
def test_noise_has_the_dtype_asked_for(dtype):
    assert (
        rng.standard_normal(rng.streams(1, 0, 2), (3, 4), torch.zeros(1, dtype=dtype)).dtype
        == dtype
    )


def test_uniform_lies_in_unit_interval():
    u = rng.uniform(rng.streams(0, 0, 10), 1000, LIKE)
    assert u.shape == (10, 1000)
    assert ((u >= 0) & (u < 1)).all()


@pytest.mark.parametrize("seed", [-1, 1.5, "0", True, 2**64, None])
def test_bad_seed_is_refused(seed):
    with pytest.raises(InputError, match="seed must be a whole number"):
        rng.check_seed(seed)


def test_global_generator_is_untouched():
    before = torch.random.get_rng_state()
    rng.standard_normal(rng.streams(1, 0, 2), (3,), LIKE)
    assert torch.equal(before, torch.random.get_rng_state())
