"""Conformal prediction: intervals and sets of classes, calibrated on rows that the fit never saw.

Training rows are split (`calibration_rows`). Scores of the rows held out say how far their truth
lies outside what the posterior states, and a quantile of the scores (`order_statistic`) widens or
narrows what is stated of new rows (`intervals`, `class_sets`). For rows that are exchangeable with
those held out, y is then inside with at least the probability asked for, whatever the posterior.
"""
