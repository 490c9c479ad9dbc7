"""A page of names that were chosen to break it: what is a name stays a name."""

import html
import json
from html.parser import HTMLParser

import pandas as pd
import pytest

from cli.commands import LIGHT, TINY, classes, done, numbers
from pmcnet.reports.page import render
from reports.page_scripts import without_scripts

SCRIPT = "<script>alert(1)</script>"
IMAGE = '"><img src=x onerror="alert(1)">'
FILE = '"><img src=x onerror=alert(1)>.csv'  # no slash in a file's name


class Tags(HTMLParser):
    """Every tag and attribute of a page, and its words."""

    def __init__(self, text: str) -> None:
        super().__init__()
        self.tags: set[str] = set()
        self.attributes: set[str] = set()
        self.words = ""
        self.feed(text)
        self.close()

    def handle_starttag(self, tag, attrs):
        self.tags.add(tag)
        self.attributes |= {key for key, _ in attrs}

    def handle_data(self, data):
        self.words += data


def check(text: str, *names: str) -> None:
    """Nothing but our scripts runs, nothing loads, and every name is shown."""
    text = without_scripts(text)
    page = Tags(text)
    assert not {"script", "img", "iframe", "object", "embed", "link", "base", "form"} & page.tags
    assert not [
        key
        for key in page.attributes
        if key.startswith("on") or key in ("src", "srcdoc", "formaction")
    ]
    assert "<script" not in text.lower()
    assert "<img" not in text.lower()
    for name in names:
        assert name in page.words or html.escape(name) in text, name


def hostile() -> pd.DataFrame:
    """Names of columns, classes and categories."""
    frame = classes()
    frame["y"] = frame["y"].map({"yes": SCRIPT, "no": IMAGE})
    frame["city"] = frame["city"].map({"Bergen": SCRIPT, "Oslo": IMAGE, "Tromsø": "t"})
    return frame.rename(columns={"x": SCRIPT, "z": IMAGE, "y": f"target {SCRIPT}{IMAGE}"})


@pytest.fixture(scope="module")
def run(tmp_path_factory):
    folder = tmp_path_factory.mktemp("hostile")
    frame = hostile()
    frame.to_csv(folder / FILE, index=False)
    done("fit", folder / FILE, "--target", frame.columns[-1], *TINY, "--out", folder / "run")
    return folder / "run"


def test_page_of_a_run_escapes_names(run):
    check((run / "report.html").read_text(), SCRIPT, IMAGE, FILE)


def test_page_drawn_again_escapes_names(run):
    done("report", run)
    check((run / "report.html").read_text(), SCRIPT, IMAGE, FILE)


def test_page_escapes_the_name_of_a_dataset_and_every_text_of_its_record(run):
    def poisoned(value):
        if isinstance(value, dict):
            return {key: poisoned(item) for key, item in value.items()}
        if isinstance(value, list):
            return [poisoned(item) for item in value]
        return f"{value}{SCRIPT}{IMAGE}" if isinstance(value, str) else value

    record = json.loads((run / "report.json").read_text())
    free = {key: poisoned(value) for key, value in record.items() if key not in ("task", "verdict")}
    reason = {"status": record["verdict"]["status"], "reason": SCRIPT + IMAGE}
    check(render(free | {"task": record["task"], "verdict": reason}), SCRIPT, IMAGE)


def test_page_of_a_regression_escapes_names(tmp_path):
    frame = numbers().rename(columns={"x": SCRIPT, "y": IMAGE})
    frame.to_csv(tmp_path / FILE, index=False)
    done(
        "fit",
        tmp_path / FILE,
        "--target",
        IMAGE,
        *LIGHT,
        "--prior-std",
        "1",
        "--out",
        tmp_path / "run",
    )
    check((tmp_path / "run" / "report.html").read_text(), IMAGE, FILE)


def test_page_of_a_comparison_escapes_names(tmp_path):
    frame = hostile()
    frame.to_csv(tmp_path / FILE, index=False)
    options = (
        "--methods",
        "adam-map",
        "--tune",
        "none",
        "--hidden",
        "2",
        "--prior-std",
        "1",
        "--device",
        "cpu",
    )
    done(
        "compare",
        tmp_path / FILE,
        "--target",
        frame.columns[-1],
        *options,
        "--out",
        tmp_path / "run",
    )
    check((tmp_path / "run" / "report.html").read_text(), SCRIPT, FILE)
