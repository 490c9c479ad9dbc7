"""Tables that come with scikit-learn: Wine, Breast cancer, Digits and Diabetes."""

from collections.abc import Sequence
from pathlib import Path

from pmcnet.data.datasets.data_folder import Form
from pmcnet.data.datasets.table_set import UCI, TableRows, TableSet

_BY_WAY = "By way of scikit-learn."


def _form(name: str, **options: bool) -> Form[TableRows]:
    """What `sklearn.datasets.load_<name>(**options)` gives; it needs no files."""

    def read(paths: Sequence[Path], verify: bool) -> TableRows:
        from sklearn import datasets  # type: ignore[import-untyped]  # slow; imports pandas

        bunch = getattr(datasets, f"load_{name}")(**options)
        return TableRows(tuple(map(str, bunch.feature_names)), bunch.data, bunch.target)

    return Form((), read)


WINE = TableSet(
    name="wine",
    n_rows=178,
    shape=(13,),
    classes=("class_0", "class_1", "class_2"),
    source=f"Aeberhard and Forina (1992), Wine. {UCI}. {_BY_WAY}",
    forms=(_form("wine"),),
)
BREAST_CANCER = TableSet(
    name="breast_cancer",
    n_rows=569,
    shape=(30,),
    classes=("malignant", "benign"),
    source="Wolberg, Mangasarian, Street and Street (1993), Breast Cancer Wisconsin (Diagnostic). "
    f"{UCI}. {_BY_WAY}",
    forms=(_form("breast_cancer"),),
)
DIGITS = TableSet(
    name="digits",
    n_rows=1797,
    shape=(64,),
    classes=tuple("0123456789"),
    source="Alpaydin and Kaynak (1998), Optical Recognition of Handwritten Digits, test rows. "
    f"{UCI}. {_BY_WAY}",
    forms=(_form("digits"),),
)
DIABETES = TableSet(
    name="diabetes",
    n_rows=442,
    shape=(10,),
    source="Efron, Hastie, Johnstone and Tibshirani (2004), Least Angle Regression, Annals of "
    f"Statistics 32, 407-499. {_BY_WAY}",
    # by default scaled over all rows, which would show the test rows to the training rows
    forms=(_form("diabetes", scaled=False),),
)
