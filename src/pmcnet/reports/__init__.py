"""Tables and figures, rendered from plain JSON data and never from live objects.

Import the part you need, so that text never waits for matplotlib:

    from pmcnet.reports import published_tables     # plain, rich_table, markdown
    from pmcnet.reports import figures    # roc, confusion, histograms, ...: files
    from pmcnet.reports import progress   # AnnealingProgress
    from pmcnet.reports import page       # write_report: the self-contained HTML page of a run
"""

__all__: list[str] = []
