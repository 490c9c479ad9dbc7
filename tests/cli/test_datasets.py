"""`pmcnet datasets`, and what other commands say of names that are no table at hand."""

import hashlib
import json
from dataclasses import replace

from cli.commands import done, refused
from pmcnet import data
from pmcnet.data.datasets import catalogue
from pmcnet.data.datasets.downloads import Download
from pmcnet.data.datasets.uci import NAVAL
from pmcnet.data.readers.checksums import Published


def test_datasets_are_listed():
    names = [*data.names(), *data.image_names()]
    assert [entry["name"] for entry in json.loads(done("datasets", "--json").stdout)] == names
    lines = done("datasets").stdout.splitlines()
    assert [line.split()[0] for line in lines[2:]] == names
    assert any("50000 + 10000 x 3 x 32 x 32" in line for line in lines)


def test_datasets_say_which_are_at_hand(tmp_path, monkeypatch):
    monkeypatch.setenv("PMCNET_DATA", str(tmp_path))
    (tmp_path / "CASP.csv").touch()
    found = {
        entry["name"]: entry["at_hand"] for entry in json.loads(done("datasets", "--json").stdout)
    }
    assert (found["glass"], found["protein"], found["naval"], found["mnist"]) == (
        True,
        True,
        False,
        False,
    )


def test_datasets_are_fetched_when_asked(tmp_path, monkeypatch):
    source = tmp_path / "source.zip"
    source.write_bytes(b"zip")
    item = Download(
        "naval/naval.zip", source.as_uri(), Published("naval", hashlib.md5(b"zip").hexdigest())
    )
    monkeypatch.setattr(catalogue, "TABLES", (replace(NAVAL, downloads=(item,)),))
    monkeypatch.setenv("PMCNET_DATA", str(tmp_path / "folder"))
    result = done("datasets", "--fetch", "naval")
    assert result.stdout.strip() == str(tmp_path / "folder" / "naval" / "naval.zip")
    assert source.as_uri() in result.stderr


def test_datasets_that_are_not_fetched_are_named():
    refused(
        "datasets",
        "--fetch",
        "glass",
        says=("'glass' is nothing to fetch", "mnist, mnist-c, fashion-mnist"),
    )


def test_images_are_no_table_to_fit(tmp_path):
    refused(
        "fit",
        "cifar10",
        "--out",
        tmp_path / "run",
        says=("cifar10 is a set of images", "load_images('cifar10')"),
    )
    assert not (tmp_path / "run").exists()


def test_table_that_is_not_at_hand_says_how_to_get_it(tmp_path, monkeypatch):
    monkeypatch.setenv("PMCNET_DATA", str(tmp_path))
    line = refused(
        "fit", "naval", "--out", tmp_path / "run", says=("naval/data.txt", str(tmp_path))
    )
    assert "`pmcnet datasets --fetch naval`" in line
