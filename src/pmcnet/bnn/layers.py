"""Layers that need a decision before a module can be a posterior's network: random ones and batch normalisation."""

from torch import nn
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from pmcnet.errors import InputError


def refuse_random_layers(module: nn.Module) -> None:
    """Raise when the module has layers whose output is random in training."""
    random = [name or "the module" for name, layer in module.named_modules() if _is_random(layer)]
    if random:
        raise InputError(
            f"{', '.join(random)} draws random numbers, so the likelihood would not be a function of the parameters. "
            'Remove it, or pass random_layers="freeze" to leave it out.'
        )


def _is_random(layer: nn.Module) -> bool:
    dropout = isinstance(layer, _DropoutNd | nn.RReLU | nn.FractionalMaxPool2d | nn.FractionalMaxPool3d)
    return dropout or (isinstance(layer, nn.RNNBase | nn.MultiheadAttention) and layer.dropout > 0)


def uses_batch_norm(module: nn.Module) -> None:
    """Make batch normalisation layers use the statistics of the rows they are given, in every mode."""
    for layer in module.modules():
        if isinstance(layer, _BatchNorm):
            layer.track_running_stats = False
            layer.running_mean = layer.running_var = layer.num_batches_tracked = None
