"""The cells of a table as they were given."""

from collections.abc import Sequence
from typing import Any

import narwhals.stable.v2 as nw
import numpy as np
from narwhals.stable.v2.dependencies import is_into_dataframe

from pmcnet.estimators.predictions import EncodedRows


def cells_of(x: Any, names: Sequence[str]) -> list[list[Any]] | None:
    """Cells of the columns of these names, row by row; None of encoded rows, which have none.

    Args:
        x: a table, or an array whose columns are called "column 0" and so on.
        names: of the columns, in the order that is wanted.
    """
    if isinstance(x, EncodedRows):
        return None
    if is_into_dataframe(x):
        frame = nw.from_native(x, eager_only=True)
        columns = {str(name): frame[name].to_list() for name in frame.columns}
    else:
        array = np.asarray(x)
        columns = {f"column {i}": column.tolist() for i, column in enumerate(array.T)}
    return [list(row) for row in zip(*(columns[name] for name in names), strict=True)]
