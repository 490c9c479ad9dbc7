"""Named datasets, their splits and their scale; tables from files; images from the data folder.

table = data.load("glass")                           # raw rows (214, 9), class indices (214,)
split = data.standardise(data.split(table, seed=0))  # 6:2:2, in units of the training rows
split = data.standardise(data.paper_split("glass"))  # the paper's own rows
toy = data.control(400, seed=0)                      # rows of a known network, and that network
frame = data.read_frame("rows.csv")                  # your own table; large: data.frame_chunks
images = data.load_images("mnist")                   # bytes (60000, 1, 28, 28), once fetched
"""

from pmcnet.data.datasets.base import Entry
from pmcnet.data.datasets.catalogue import catalogue, fetch, image_names, load, load_images, names
from pmcnet.data.datasets.control import ControlData, control
from pmcnet.data.datasets.data_folder import data_folder
from pmcnet.data.datasets.images import Images, ImageSplit
from pmcnet.data.datasets.svhn import crops as svhn_crops
from pmcnet.data.fingerprint import fingerprint
from pmcnet.data.frames import built_in_target, frame_chunks, open_table, read_frame
from pmcnet.data.readers.base import TableFile
from pmcnet.data.readers.cells import Kind, column_kinds
from pmcnet.data.readers.options import ReadOptions
from pmcnet.data.scaling import Scaler, standardise, standardise_each
from pmcnet.data.splits import (
    PAPER_SPLITS,
    SplitSettings,
    default_sizes,
    image_split,
    paper_split,
    split,
)
from pmcnet.data.table import Features, Labels, Split, Table, Task

__all__ = [
    "PAPER_SPLITS",
    "ControlData",
    "Entry",
    "Features",
    "ImageSplit",
    "Images",
    "Kind",
    "Labels",
    "ReadOptions",
    "Scaler",
    "Split",
    "SplitSettings",
    "Table",
    "TableFile",
    "Task",
    "built_in_target",
    "catalogue",
    "column_kinds",
    "control",
    "data_folder",
    "default_sizes",
    "fetch",
    "fingerprint",
    "frame_chunks",
    "image_names",
    "image_split",
    "load",
    "load_images",
    "names",
    "open_table",
    "paper_split",
    "read_frame",
    "split",
    "standardise",
    "standardise_each",
    "svhn_crops",
]
