import pytest
import torch

from pmcnet import ais
from pmcnet.errors import InputError, TargetError


def quartic(theta):
    return -(theta**4).sum(-1) - theta[:, 0] * theta[:, 1]


POINTS = torch.tensor([[0.5, -1.0, 2.0], [1.0, 0.0, -0.5]], dtype=torch.float64)


def test_score_by_autograd_is_the_gradient():
    value, score = ais.FunctionTarget(quartic, 3).value_and_score(POINTS)
    expected = -4 * POINTS**3
    expected[:, 0] -= POINTS[:, 1]
    expected[:, 1] -= POINTS[:, 0]
    torch.testing.assert_close(value, quartic(POINTS))
    torch.testing.assert_close(score, expected)
    assert not value.requires_grad


def test_hessian_by_autograd_is_the_second_derivative():
    hessian = ais.FunctionTarget(quartic, 3).hessian(POINTS)
    expected = torch.diag_embed(-12 * POINTS**2)
    expected[:, 0, 1] = expected[:, 1, 0] = -1
    torch.testing.assert_close(hessian, expected)


def test_hessian_of_a_given_score():
    target = ais.FunctionTarget(lambda x: -0.5 * x.square().sum(-1), 3, score=lambda x: -x)
    torch.testing.assert_close(target.hessian(POINTS), -torch.eye(3).double().expand(2, 3, 3))


def test_hessian_of_a_linear_function_is_zero():
    assert not ais.FunctionTarget(lambda x: x.sum(-1), 3).hessian(POINTS).any()


def test_given_derivatives_are_used():
    target = ais.FunctionTarget(
        lambda x: x.sum(-1),
        3,
        score=lambda x: 7 * x,
        second_derivative=lambda x: x[:, :, None] * x[:, None],
    )
    assert torch.equal(target.value_and_score(POINTS).score, 7 * POINTS)
    assert torch.equal(target.hessian(POINTS), POINTS[:, :, None] * POINTS[:, None])


def test_function_outside_torch_has_no_score():
    target = ais.FunctionTarget(lambda x: torch.as_tensor(-(x.detach().numpy() ** 2).sum(-1)), 3)
    assert target.log_density(POINTS).shape == (2,)
    for ask in (target.value_and_score, target.hessian):
        with pytest.raises(TargetError, match="cannot be differentiated"):
            ask(POINTS)


def test_target_without_parts_is_its_own_factor():
    target = ais.FunctionTarget(quartic, 3)
    assert target.factors() == (target,)


def test_factors_keep_the_budget():
    target = ais.FunctionTarget(
        quartic, 3, parts=(quartic, quartic), memory=1000, bytes_per_point=10
    )
    assert [(f.memory, f.bytes_per_point, f.dim) for f in target.factors()] == [(1000, 10, 3)] * 2


@pytest.mark.parametrize("name", ["dim", "memory", "bytes_per_point"])
@pytest.mark.parametrize("value", [0, -1, 2.5, True])
def test_sizes_must_be_positive_whole_numbers(name, value):
    with pytest.raises(InputError, match=f"{name} must be a positive whole number"):
        ais.FunctionTarget(quartic, **{"dim": 3, name: value})
