"""MNIST-C (rotate), LeNet-5; the accuracy of SAE is as printed."""

from pmcnet.bnn import LeNet5
from pmcnet.paper.deep_settings import DeepSettings
from pmcnet.paper.deep_table import experiment
from pmcnet.paper.image_problem import ImageProblem, affine
from pmcnet.paper.published import SEVERAL, Published, points

PUBLISHED = Published(
    {
        "adam-mle": points(SEVERAL, 0.9998, 0.9833, 0.9834),
        "adam-map": points(SEVERAL, 0.9988, 0.9547, 0.9550),
        "bbp": points(SEVERAL, 0.9998, 0.9855, 0.9856),
        "sgld": points(SEVERAL, 0.9949, 0.9115, 0.9126),
        "mc-dropout": points(SEVERAL, 0.9998, 0.9837, 0.9838),
        "sae": points(SEVERAL, 0.9998, 0.9824, 0.9998),
        "pmcnet-light": points(SEVERAL, 1.0000, 0.9913, 0.9914),
    },
    seconds={
        "adam-mle": (1760, 2),
        "adam-map": (1800, 2),
        "bbp": (1035, 2),
        "sgld": (560, 77),
        "mc-dropout": (680, 168),
        "sae": (2100, 261),
        "pmcnet-light": (1240, 535),
    },
)
PROBLEM = ImageProblem(
    name="mnist-c", module=LeNet5, n_train=45_000, n_validation=15_000, augmentation=affine
)

EXPERIMENT = experiment("mnist-c", "MNIST-C (rotate), LeNet-5", PROBLEM, PUBLISHED, DeepSettings())
