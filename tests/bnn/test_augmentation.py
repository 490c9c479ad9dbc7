"""Random changes to images."""

import pytest
import torch

from pmcnet.bnn import BayesianTarget, Categorical, ModuleNetwork
from pmcnet.bnn.augmentation import FlipAndCrop, RandomAffine
from pmcnet.errors import InputError
from pmcnet.rng import stream


def images(n=50, size=9, channels=2):
    return torch.randn(
        n, channels, size, size, generator=torch.Generator().manual_seed(0), dtype=torch.float64
    )


def test_affine_without_amounts_changes_nothing():
    x = images()
    torch.testing.assert_close(RandomAffine()(x, stream(0, 0, 0)), x)


def test_affine_shifts_by_at_most_the_pixels_given():
    x = torch.zeros(200, 1, 15, 15)
    x[:, :, 7, 7] = 1.0
    shifted = RandomAffine(shift=3)(x, stream(0, 0, 0))[:, 0]
    place = torch.arange(15.0)
    total = shifted.sum((1, 2))
    down, across = ((shifted.sum(axis) * place).sum(1) / total - 7 for axis in (2, 1))
    torch.testing.assert_close(total, torch.ones(200))
    for amount in (down, across):
        assert amount.abs().max() <= 3
        assert amount.abs().max() > 2.5
    assert abs(float(torch.corrcoef(torch.stack([down, across]))[0, 1])) < 5 / 200**0.5


def test_affine_turns_within_the_angle():
    x = torch.zeros(200, 1, 21, 21)
    x[:, :, 10, 18] = 1.0
    turned = RandomAffine(degrees=30)(x, stream(0, 0, 0))[:, 0]
    place = torch.arange(21.0) - 10
    down, across = ((turned.sum(axis) * place).sum(1) / turned.sum((1, 2)) for axis in (2, 1))
    angle = torch.rad2deg(torch.atan2(down, across))
    assert 25 < angle.abs().max() < 32
    torch.testing.assert_close(torch.hypot(down, across), torch.full((200,), 8.0), rtol=0, atol=0.3)


def test_affine_brings_in_the_background():
    x = torch.full((5, 1, 8, 8), -0.4)
    torch.testing.assert_close(
        RandomAffine(degrees=20, scale=0.2, shear=0.2, shift=3, fill=-0.4)(x, stream(0, 0, 0)), x
    )


@pytest.mark.parametrize("given", [{"degrees": -1}, {"scale": 1.0}, {"shift": -2}])
def test_affine_refuses_impossible_amounts(given):
    with pytest.raises(InputError, match="must not be negative"):
        RandomAffine(**given)


def test_crops_are_windows_of_the_padded_image_mirrored_or_not():
    x, padding = images(), 2
    changed = FlipAndCrop(padding=padding)(x, stream(0, 0, 0))
    padded = torch.nn.functional.pad(x, (padding,) * 4)
    kinds = set()
    for image, whole in zip(changed, padded, strict=True):
        found = [
            (i, j, flip)
            for i in range(2 * padding + 1)
            for j in range(2 * padding + 1)
            for flip in (False, True)
            if torch.equal(
                image, (lambda w, f: w.flip(-1) if f else w)(whole[:, i : i + 9, j : j + 9], flip)
            )
        ]
        assert len(found) == 1
        kinds.add(found[0])
    assert {flip for *_, flip in kinds} == {False, True}
    assert len({(i, j) for i, j, _ in kinds}) > 10


def test_crop_without_padding_and_flip_changes_nothing():
    x = images()
    assert torch.equal(FlipAndCrop(padding=0, flip=False)(x, stream(0, 0, 0)), x)


def test_density_does_not_know_the_augmentation():
    torch.manual_seed(0)
    module = torch.nn.Sequential(torch.nn.Flatten(), torch.nn.Linear(162, 3)).double()
    network, x = ModuleNetwork(module), images()
    y = torch.arange(50).remainder(3).double()
    plain, changed = (
        BayesianTarget(network, Categorical(3), x, y, augmentation=augmentation)
        for augmentation in (None, FlipAndCrop(padding=2))
    )
    theta = network.initial()[None]
    assert torch.equal(plain.log_density(theta), changed.log_density(theta))
    positions = torch.arange(10)
    assert torch.equal(changed.batch(positions).x, x[:10])
    assert not torch.equal(changed.batch(positions, stream(0, 0, 0)).x, x[:10])
    assert torch.equal(
        changed.batch(positions, stream(0, 0, 0)).x, changed.batch(positions, stream(0, 0, 0)).x
    )


def test_crop_refuses_less_than_no_padding():
    with pytest.raises(InputError, match=r"padding must not be negative; got -1"):
        FlipAndCrop(padding=-1)
