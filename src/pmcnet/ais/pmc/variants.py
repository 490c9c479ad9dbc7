"""The six algorithms of the paper, each one line of composition."""

from dataclasses import replace

from pmcnet.ais.pmc.algorithm import PMC
from pmcnet.ais.pmc.mean_steps import FixedMean, IncrementalLangevin
from pmcnet.ais.pmc.scale_steps import FixedScale, InverseHessian, RobustCovariance
from pmcnet.ais.scale import Diagonal

pmcnet = PMC()
pmcnet_light = PMC(scale_step=RobustCovariance(Diagonal), mean_step=IncrementalLangevin())
gradfree = replace(pmcnet, mean_step=FixedMean())
covfree = replace(pmcnet, scale_step=FixedScale())
dm_pmc = replace(covfree, mean_step=FixedMean())
sl_pmc = replace(pmcnet, scale_step=InverseHessian())

VARIANTS = {
    "pmcnet": pmcnet,
    "pmcnet-light": pmcnet_light,
    "gradfree": gradfree,
    "covfree": covfree,
    "dm-pmc": dm_pmc,
    "sl-pmc": sl_pmc,
}
"""Every variant by its name on the command line."""
