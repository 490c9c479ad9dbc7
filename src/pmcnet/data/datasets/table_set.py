"""Tables known by name, whatever their files: `TableSet`."""

from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar, Literal, NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet.data.datasets.base import Dataset
from pmcnet.data.table import Labels, Table
from pmcnet.errors import InputError

UCI = "UCI Machine Learning Repository, CC BY 4.0"


class TableRows(NamedTuple):
    """What the files of a table hold."""

    features: tuple[str, ...]  # name of each column of x
    x: NDArray[Any]  # (N, d)
    y: NDArray[Any]  # (N,): class index from 0, or a real response


@dataclass(frozen=True, kw_only=True)
class TableSet(Dataset[TableRows]):
    """A table that `load` knows."""

    kind: ClassVar[Literal["table"]] = "table"

    def load(self, folder: str | Path | None, verify: bool) -> Table:
        """The table, raw, in arrays of its own and in the order of its source."""
        features, x, y = self.read(folder, verify)
        if not (np.isfinite(x).all() and np.isfinite(y).all()):
            raise InputError(
                f"the file of {self.name} holds values that are not finite. Replace it by the "
                "official file."
            )
        labels: Labels = y.astype(np.int64) if self.classes else y.astype(np.float64)
        return Table(
            name=self.name,
            x=np.array(x, np.float64),  # (N, d)
            y=labels,  # (N,)
            task=self.task,
            classes=self.classes,
            features=features,
            source=self.source,
        )
