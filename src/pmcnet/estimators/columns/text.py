"""Columns of free text: a few directions in which their character n-grams differ most.

Counts of n-grams within words, weighted by how rare they are (tf-idf), are projected on their first
singular directions. Words that are spelt alike come out alike, so typing errors and inflections do
little harm, and words that training never saw are understood by their parts.
"""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, ClassVar, Self

import numpy as np
from numpy.typing import NDArray

from pmcnet.estimators.columns.base import Column, Matrix
from pmcnet.estimators.columns.given import Given
from pmcnet.io.schema import Form, listing, number, text

N_DIRECTIONS = 10
N_GRAMS = 1000
_LENGTHS = (2, 4)  # of an n-gram


@dataclass(frozen=True, kw_only=True)
class TextColumn(Column):
    """Free text.

    Args:
        grams: the n-grams that count (V,).
        rarity: the weight of each (V,).
        directions: of the projection (V, K), in units that make the first one vary by 1.
    """

    grams: tuple[str, ...]
    rarity: tuple[float, ...]
    directions: tuple[tuple[float, ...], ...]

    kind: ClassVar[str] = "text"
    forms: ClassVar[Mapping[str, Form]] = {
        "grams": listing(text(), 1),
        "rarity": listing(number(), 1),
        "directions": listing(listing(number(), 1), 1),
    }

    @classmethod
    def of(cls, name: str, strings: NDArray[Any], why: str) -> Self:
        """The column that the strings of the training table tell."""
        from sklearn.decomposition import TruncatedSVD  # type: ignore[import-untyped]
        from sklearn.feature_extraction.text import (  # type: ignore[import-untyped]
            TfidfVectorizer,
        )

        present = sorted({cell for cell in strings.tolist() if cell is not None})
        vectorizer = TfidfVectorizer(analyzer="char_wb", ngram_range=_LENGTHS, max_features=N_GRAMS)
        counted = vectorizer.fit_transform(present)
        n = min(N_DIRECTIONS, counted.shape[0], counted.shape[1])
        svd = TruncatedSVD(n, algorithm="randomized", random_state=0)
        first = svd.fit_transform(counted)[:, 0]
        unit = float(np.std(first)) or 1.0
        return cls(
            name=name,
            why=why,
            grams=tuple(map(str, vectorizer.get_feature_names_out())),
            rarity=tuple(vectorizer.idf_.tolist()),
            directions=tuple(map(tuple, (svd.components_.T / unit).tolist())),
        )

    @property
    def n_numbers(self) -> int:
        """K."""
        return len(self.directions[0])

    @property
    def n_inputs(self) -> int:
        """K."""
        return self.n_numbers

    @property
    def described(self) -> str:
        """How its cells are written."""
        return f"{self.n_inputs} directions of {len(self.grams)} character n-grams"

    def numbers(self, given: Given, first_row: int) -> Matrix:
        """Projections (N, K)."""
        from sklearn.feature_extraction.text import CountVectorizer
        from sklearn.preprocessing import normalize  # type: ignore[import-untyped]

        strings = given.strings
        present = np.array([cell is not None for cell in strings], dtype=bool)
        found = np.full((len(strings), self.n_numbers), np.nan)
        if present.any():
            vectorizer = CountVectorizer(
                analyzer="char_wb", ngram_range=_LENGTHS, vocabulary=list(self.grams)
            )
            counted = vectorizer.transform(strings[present]).multiply(np.array(self.rarity))
            found[present] = normalize(counted.tocsr()) @ np.array(self.directions)
        return found

    def learned(self, numbers: Matrix, weight: Matrix, y: Matrix) -> Self:
        """Itself: the strings are all it needs."""
        return self

    def inputs(self, numbers: Matrix) -> Matrix:
        """Projections, 0 where missing (N, K)."""
        return np.where(np.isnan(numbers), 0.0, numbers)

    def check(self) -> None:
        """There is one weight and one row of the projection for every n-gram."""
        lengths = {len(self.grams), len(set(self.grams)), len(self.rarity), len(self.directions)}
        if len(lengths) != 1 or len({len(row) for row in self.directions}) != 1:
            raise ValueError(f"the n-grams of column {self.name!r} do not belong together")
