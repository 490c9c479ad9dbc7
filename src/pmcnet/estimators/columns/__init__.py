"""The columns of a table: what kind each is, and how it becomes inputs of a network."""

from pmcnet.estimators.columns.base import Column, Matrix
from pmcnet.estimators.columns.given import are_times
from pmcnet.estimators.columns.inference import COLUMN_KINDS
from pmcnet.estimators.columns.left_out import LeftOut
from pmcnet.estimators.columns.training_columns import MAX_COLUMNS, Columns, ColumnsAsked

__all__ = [
    "COLUMN_KINDS",
    "MAX_COLUMNS",
    "Column",
    "Columns",
    "ColumnsAsked",
    "LeftOut",
    "Matrix",
    "are_times",
]
