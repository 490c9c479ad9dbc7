"""A dataset known by name: what is known of it before it is read, and how it is read."""

import math
from dataclasses import dataclass
from pathlib import Path
from typing import ClassVar, Generic, Literal, TypedDict, TypeVar

from pmcnet.data.datasets.data_folder import Form, at_hand, data_folder, read_first
from pmcnet.data.datasets.downloads import Download
from pmcnet.data.table import Task

Read = TypeVar("Read", covariant=True)


class Entry(TypedDict):
    """One line of the catalogue."""

    name: str
    kind: Literal["table", "images"]
    task: Task
    rows: int
    test_rows: int  # of those, the last that make an official test set
    columns: int  # features; the target is one more
    shape: list[int]  # of the features of one row: columns, or channels, height and width
    classes: int  # 0 for regression
    source: str
    at_hand: bool  # whether it can be read without fetching anything


@dataclass(frozen=True, kw_only=True)
class Dataset(Generic[Read]):
    """A table or a set of images."""

    kind: ClassVar[Literal["table", "images"]]

    name: str
    n_rows: int
    n_test: int = 0  # of those, the last that make an official test set
    shape: tuple[int, ...]  # of the features of one row: columns, or channels, height and width
    classes: tuple[str, ...] = ()  # name of each class index; empty for regression
    source: str  # who made it and under which licence
    forms: tuple[Form[Read], ...]  # the first whose files are there is read
    downloads: tuple[Download, ...] = ()  # the official files

    @property
    def task(self) -> Task:
        """Whether classes are predicted, or a number."""
        return "classification" if self.classes else "regression"

    def read(self, folder: str | Path | None, verify: bool) -> Read:
        """What the files of the first form at hand hold."""
        return read_first(self.name, self.forms, data_folder(folder), verify)

    def entry(self, folder: str | Path | None) -> Entry:
        """Its line of the catalogue; no file is opened."""
        return Entry(
            name=self.name,
            kind=self.kind,
            task=self.task,
            rows=self.n_rows,
            test_rows=self.n_test,
            columns=math.prod(self.shape),
            shape=list(self.shape),
            classes=len(self.classes),
            source=self.source,
            at_hand=at_hand(self.forms, data_folder(folder)),
        )
