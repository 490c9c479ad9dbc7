"""SVHN in grey, LeNet-5."""

from functools import partial

from pmcnet.bnn import LeNet5
from pmcnet.paper.deep_settings import DeepSettings
from pmcnet.paper.deep_table import experiment
from pmcnet.paper.image_problem import ImageProblem, affine
from pmcnet.paper.published import SEVERAL, Published, points

PUBLISHED = Published(
    {
        "adam-mle": points(SEVERAL, 0.9817, 0.8446, 0.8591),
        "adam-map": points(SEVERAL, 0.9812, 0.8483, 0.8619),
        "bbp": points(SEVERAL, 0.9826, 0.8567, 0.8701),
        "sgld": points(SEVERAL, 0.9806, 0.8451, 0.8594),
        "mc-dropout": points(SEVERAL, 0.9842, 0.8506, 0.8642),
        "sae": points(SEVERAL, 0.9837, 0.8490, 0.8621),
        "pmcnet-light": points(SEVERAL, 0.9880, 0.8742, 0.8867),
    }
)
PROBLEM = ImageProblem(
    name="svhn-g",
    module=partial(LeNet5, image_size=32),
    n_train=54_942,
    n_validation=18_315,
    augmentation=affine,
)

EXPERIMENT = experiment("svhn-g", "SVHN in grey, LeNet-5", PROBLEM, PUBLISHED, DeepSettings())
