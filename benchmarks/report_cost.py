"""What a report costs beside its fit: record and page of tables of 1000 rows and 20 columns.

    OMP_NUM_THREADS=2 python benchmarks/report_cost.py --json docs/results/report_cost.json

Rows are a half for the fit and a half for the test, as `model.report(path, X, y)` takes them, with
the training rows that the model keeps. Times are of record and page together, once in a process
that has imported nothing before, and once more in the same process.
"""
