"""Every figure: data and a path in, a `.png` or `.svg` written, its path out."""

from pmcnet.reports.figures.confusion import confusion
from pmcnet.reports.figures.error_violins import squared_errors
from pmcnet.reports.figures.histograms import histograms
from pmcnet.reports.figures.roc import roc, roc_grid
from pmcnet.reports.figures.steps import metric_by_step

__all__ = ["confusion", "histograms", "metric_by_step", "roc", "roc_grid", "squared_errors"]
