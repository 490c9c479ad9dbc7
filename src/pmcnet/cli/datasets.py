"""`pmcnet datasets`: tables that are at hand by name."""

import click


@click.command()
@click.option("--json", "as_json", is_flag=True, help="Print JSON.")
def datasets(as_json: bool) -> None:
    """Names, sizes, where each comes from, and whether it is at hand."""
    from pmcnet import data
    from pmcnet.cli.showing import print_json, print_table

    found = data.catalogue()
    if as_json:
        print_json(found)
        return
    rows = [
        [
            entry["name"],
            f"{entry['rows']} x {entry['columns']}",
            f"{entry['classes']} classes" if entry["classes"] else entry["task"],
            "yes" if entry["at_hand"] else "no",
            entry["source"],
        ]
        for entry in found
    ]
    print_table(["name", "size", "task", "at hand", "source"], rows, "built-in datasets: pmcnet fit NAME")
