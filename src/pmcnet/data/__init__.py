"""Named datasets, their splits and their scale.

table = data.load("glass")                                 # raw rows (214, 9), class indices (214,)
split = data.standardise(data.split(table, seed=0))        # 6:2:2, in units of the training rows
split = data.standardise(data.paper_split("glass"))        # the paper's own rows
toy = data.control(400, seed=0)                            # rows from a known network, and that network
"""

from pmcnet.data.catalogue import load, names
from pmcnet.data.control import ControlData, control
from pmcnet.data.scaling import Scaler, standardise, standardise_each
from pmcnet.data.splits import PAPER_SPLITS, SplitSettings, default_sizes, paper_split, split
from pmcnet.data.table import Features, Labels, Split, Table, Task

__all__ = [
    "PAPER_SPLITS",
    "ControlData",
    "Features",
    "Labels",
    "Scaler",
    "Split",
    "SplitSettings",
    "Table",
    "Task",
    "control",
    "default_sizes",
    "load",
    "names",
    "paper_split",
    "split",
    "standardise",
    "standardise_each",
]
