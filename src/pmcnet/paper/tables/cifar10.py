"""CIFAR10, ResNet-20."""

from pmcnet.bnn import FlipAndCrop, ResNet20
from pmcnet.paper.deep_settings import DeepSettings
from pmcnet.paper.deep_table import experiment
from pmcnet.paper.image_problem import ImageProblem
from pmcnet.paper.published import SEVERAL, Published, points

PUBLISHED = Published(
    {
        "adam-mle": points(SEVERAL, 0.9951, 0.9149, 0.9149),
        "adam-map": points(SEVERAL, 0.9954, 0.9141, 0.9142),
        "bbp": points(SEVERAL, 0.9968, 0.9310, 0.9310),
        "sgld": points(SEVERAL, 0.9881, 0.8610, 0.8600),
        "mc-dropout": points(SEVERAL, 0.9829, 0.8281, 0.8287),
        "sae": points(SEVERAL, 0.9622, 0.7414, 0.7419),
        "pmcnet-light": points(SEVERAL, 0.9972, 0.9364, 0.9364),
    }
)
SETTINGS = DeepSettings(
    n_steps=2,
    n_epochs=80,
    batch_size=1024,
    learning_rate=0.012,
    weight_decay=0.3,
    precision="bf16",
    n_chains=3,
)


def flip_and_crop(black: float) -> FlipAndCrop:
    """Random flips and crops, which need no value for a black pixel."""
    return FlipAndCrop()


PROBLEM = ImageProblem(
    name="cifar10",
    module=ResNet20,
    n_train=45_000,
    n_validation=5_000,
    augmentation=flip_and_crop,
    n_reference=500,
)

EXPERIMENT = experiment("cifar10", "CIFAR10, ResNet-20", PROBLEM, PUBLISHED, SETTINGS)
