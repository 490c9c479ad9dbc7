"""What readers of image files give: pixels and labels of the official training and test sets."""

from typing import NamedTuple

import numpy as np
from numpy.typing import NDArray

from pmcnet.errors import InputError

Pixels = NDArray[np.uint8]  # (N, C, H, W)
Classes = NDArray[np.int64]  # (N,)


class Parts(NamedTuple):
    """Both sets."""

    x_train: Pixels
    y_train: Classes
    x_test: Pixels
    y_test: Classes
    remark: str = ""  # how these files differ from the published ones

    def check(self, name: str, n_classes: int) -> None:
        """Refuse labels without an image, images without a label and classes that do not exist."""
        for part, x, y in (
            ("training", self.x_train, self.y_train),
            ("test", self.x_test, self.y_test),
        ):
            if len(x) != len(y):
                raise InputError(
                    f"the {part} files of {name} hold {len(x)} images and {len(y)} labels. Replace "
                    "them by a pair."
                )
            if y.min() < 0 or y.max() >= n_classes:
                raise InputError(
                    f"the {part} labels of {name} run from {y.min()} to {y.max()}; 0 to "
                    f"{n_classes - 1} are possible. "
                    "Replace them by the official file."
                )
