import math

import pytest
import torch

from pmcnet import ais
from pmcnet.ais.evaluation import Evaluation
from pmcnet.errors import InputError, TargetError

POINTS = torch.linspace(-1, 1, 30, dtype=torch.float64).reshape(10, 3)


def evaluation(log_density, **settings) -> Evaluation:
    return Evaluation(ais.FunctionTarget(log_density, 3, **settings))


def test_no_call_sees_more_points_than_the_memory_allows():
    seen = []

    def log_density(theta):
        seen.append(len(theta))
        return theta.sum(-1)

    value = evaluation(log_density, memory=400, bytes_per_point=100).log_density(POINTS)
    assert seen == [4, 4, 2]
    assert torch.equal(value, POINTS.sum(-1))


def test_a_point_larger_than_the_memory_still_goes_alone():
    seen = []
    evaluation(
        lambda x: seen.append(len(x)) or x.sum(-1), memory=1, bytes_per_point=100
    ).log_density(POINTS)
    assert seen == [1] * 10


@pytest.mark.parametrize("rows", [1, 3, 7])
def test_chunked_score_and_hessian_equal_unchunked(rows):
    def log_density(theta):
        return -(theta**4).sum(-1)

    whole, chunked = (
        evaluation(log_density),
        evaluation(log_density, memory=rows * 3, bytes_per_point=1),
    )
    for name in ("log_density", "value_and_score", "hessian"):
        torch.testing.assert_close(
            getattr(chunked, name)(POINTS), getattr(whole, name)(POINTS), rtol=0, atol=0
        )


def test_leading_shape_is_kept():
    value, score = evaluation(lambda x: x.sum(-1)).value_and_score(POINTS.reshape(2, 5, 3))
    assert value.shape == (2, 5)
    assert score.shape == (2, 5, 3)


def test_values_are_float64_for_float32_points():
    assert evaluation(lambda x: x.sum(-1)).log_density(POINTS.float()).dtype == torch.float64


def with_row(value):
    def log_density(theta):
        result = -0.5 * theta.square().sum(-1)
        return torch.where(theta[:, 0] > 0.7, value, result)

    return log_density


def test_minus_infinity_is_zero_density_and_has_no_score():
    value, score = evaluation(with_row(-math.inf)).value_and_score(POINTS)
    assert value[-1] == -math.inf
    assert not score[-1].any()
    assert score[0].all()


@pytest.mark.parametrize(("value", "text"), [(math.nan, "NaN"), (math.inf, r"\+inf")])
@pytest.mark.parametrize("method", ["log_density", "value_and_score"])
def test_nan_and_plus_infinity_are_refused(value, text, method):
    far = torch.cat([POINTS[:-1], torch.ones(1, 3, dtype=torch.float64)])
    with pytest.raises(
        TargetError, match=rf"returned {text} at 1 of 10 points, first at theta = \[1, 1, 1\]"
    ):
        getattr(evaluation(with_row(value)), method)(far)


def test_trial_lets_nan_through_but_not_plus_infinity():
    far = torch.ones(1, 3, dtype=torch.float64)
    assert evaluation(with_row(math.nan)).trial(far).isnan().all()
    with pytest.raises(TargetError, match="inf"):
        evaluation(with_row(math.inf)).trial(far)


def test_nan_score_is_refused():
    target = evaluation(lambda x: x.sum(-1), score=lambda x: x * math.nan)
    with pytest.raises(TargetError, match="a score that is not finite at 10 of 10 points"):
        target.value_and_score(POINTS)


@pytest.mark.parametrize(
    "log_density",
    [lambda x: x, lambda x: x.sum(), lambda x: x.sum(-1, keepdim=True), lambda x: 1.0],
)
def test_wrong_shape_is_refused(log_density):
    with pytest.raises(
        TargetError, match=r"log_density of 10 points must be a tensor of shape \(10,\)"
    ):
        evaluation(log_density).log_density(POINTS)


@pytest.mark.parametrize("dtype", [torch.float16, torch.float32, torch.int64])
def test_wrong_dtype_is_refused(dtype):
    with pytest.raises(TargetError, match=r"must return torch\.float64 like its points"):
        evaluation(lambda x: x.sum(-1).to(dtype)).log_density(POINTS)


def test_wrong_shapes_of_derivatives_are_refused():
    target = evaluation(
        lambda x: x.sum(-1), score=lambda x: x[:, :2], second_derivative=lambda x: x
    )
    with pytest.raises(TargetError, match="score of 10 points"):
        target.value_and_score(POINTS)
    with pytest.raises(TargetError, match="hessian of 10 points"):
        target.hessian(POINTS)


def test_points_of_another_dimension_are_refused():
    with pytest.raises(InputError, match=r"theta must be \(\.\.\., dim=3\); got \(10, 2\)"):
        evaluation(lambda x: x.sum(-1)).log_density(POINTS[:, :2])
