import hashlib
import threading
from dataclasses import replace
from functools import partial
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer

import pytest

from data.making import batches, cifar_tar, made
from pmcnet import data
from pmcnet.data.datasets import catalogue, downloads
from pmcnet.data.datasets.downloads import Download
from pmcnet.data.datasets.mnist import MNIST
from pmcnet.data.readers.checksums import Published
from pmcnet.errors import InputError

CONTENT = b"some bytes" * 1000
FETCHED = [one for one in (*catalogue.TABLES, *catalogue.IMAGE_SETS) if one.downloads]


def item(url: str, path: str = "set/file.bin", content: bytes = CONTENT) -> Download:
    return Download(path, url, Published("set", hashlib.md5(content).hexdigest()))


@pytest.fixture
def known(monkeypatch):
    """Make `fetch` know these files as those of "set"."""

    def know(*items: Download) -> None:
        named = replace(MNIST, name="set", downloads=items)
        monkeypatch.setattr(catalogue, "IMAGE_SETS", (*catalogue.IMAGE_SETS, named))

    return know


@pytest.fixture
def source(tmp_path):
    return made(tmp_path / "there" / "file.bin", CONTENT)


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *arguments) -> None:
        pass


@pytest.fixture
def address(source):
    """Where a server of this machine has the folder of `source`."""
    with ThreadingHTTPServer(
        ("127.0.0.1", 0), partial(Quiet, directory=str(source.parent))
    ) as server:
        thread = threading.Thread(target=server.serve_forever)
        thread.start()
        yield f"http://127.0.0.1:{server.server_port}"
        server.shutdown()
        thread.join()


def files(folder) -> list[str]:
    return sorted(str(path.relative_to(folder)) for path in folder.rglob("*") if path.is_file())


def test_fetch_puts_the_file_in_its_place(known, address, tmp_path):
    known(item(f"{address}/file.bin"))
    said = []
    (path,) = data.fetch("set", tmp_path / "here", said.append)
    assert path == tmp_path / "here" / "set" / "file.bin"
    assert path.read_bytes() == CONTENT
    assert files(tmp_path / "here") == ["set/file.bin"]
    assert said == [f"fetching {address}/file.bin", f"wrote {path}"]


def test_fetch_keeps_what_is_already_there(known, source, tmp_path):
    known(item(source.as_uri()))
    data.fetch("set", tmp_path / "here")
    source.unlink()
    said = []
    data.fetch("set", tmp_path / "here", said.append)
    assert said == [f"{tmp_path / 'here' / 'set' / 'file.bin'} is already there."]


def test_fetch_replaces_a_file_of_another_sum(known, source, tmp_path):
    known(item(source.as_uri()))
    path = made(tmp_path / "here" / "set" / "file.bin", CONTENT[:-1])
    data.fetch("set", tmp_path / "here")
    assert path.read_bytes() == CONTENT


def test_fetch_keeps_nothing_of_another_sum(known, source, tmp_path):
    known(item(source.as_uri(), content=b"other"))
    with pytest.raises(
        InputError,
        match=r"not the published file: its md5 is \w{32} instead of \w{32}. Nothing was kept",
    ):
        data.fetch("set", tmp_path / "here")
    assert not files(tmp_path / "here")


def test_fetch_leaves_an_older_file_where_the_new_one_fails(known, source, tmp_path):
    known(item(source.as_uri(), content=b"other"))
    path = made(tmp_path / "here" / "set" / "file.bin", b"older")
    with pytest.raises(InputError):
        data.fetch("set", tmp_path / "here")
    assert path.read_bytes() == b"older"
    assert files(tmp_path / "here") == ["set/file.bin"]


@pytest.mark.parametrize("what", ["no.bin", ""])
def test_fetch_that_fails_names_address_and_place(known, address, tmp_path, what):
    url = f"{address}/{what}" if what else "http://127.0.0.1:9/file.bin"
    known(item(url))
    with pytest.raises(
        InputError,
        match=rf"{url} could not be fetched.*put the file at {tmp_path}/here/set/file\.bin",
    ):
        data.fetch("set", tmp_path / "here")
    assert not files(tmp_path / "here")


def test_fetch_into_a_folder_that_cannot_be_made_is_refused(known, source, tmp_path):
    known(item(source.as_uri(), path="file/below"))
    made(tmp_path / "here" / "file", b"no folder")
    with pytest.raises(InputError, match="could not be fetched"):
        data.fetch("set", tmp_path / "here")


def test_fetch_stops_at_a_bound(known, source, tmp_path, monkeypatch):
    monkeypatch.setattr(downloads, "_MOST_BYTES", 100)
    known(item(source.as_uri()))
    with pytest.raises(InputError, match=r"gives more than 100 bytes\. Nothing was kept"):
        data.fetch("set", tmp_path / "here")
    assert not files(tmp_path / "here")


def test_fetch_interrupted_leaves_nothing(known, source, tmp_path, monkeypatch):
    known(item(source.as_uri()))
    monkeypatch.setattr(
        downloads.os, "replace", lambda old, new: (_ for _ in ()).throw(KeyboardInterrupt)
    )
    with pytest.raises(KeyboardInterrupt):
        data.fetch("set", tmp_path / "here")
    assert not files(tmp_path / "here")


def test_fetch_goes_to_the_folder_of_the_environment(known, source, tmp_path, monkeypatch):
    known(item(source.as_uri()))
    monkeypatch.setenv("PMCNET_DATA", str(tmp_path / "named"))
    data.fetch("set")
    assert files(tmp_path / "named") == ["set/file.bin"]


@pytest.mark.parametrize("name", ["glass", "iris"])
def test_fetch_of_what_is_not_fetched_lists_what_is(name):
    with pytest.raises(
        InputError,
        match=f"'{name}' is nothing to fetch.*mnist, mnist-c, fashion-mnist, svhn-g, cifar10",
    ):
        data.fetch(name)


def test_loading_never_fetches(tmp_path, monkeypatch):
    monkeypatch.setattr(
        "urllib.request.urlopen", lambda *_, **__: pytest.fail("a network was asked for")
    )
    for name in data.image_names():
        with pytest.raises(InputError, match="not at hand"):
            data.load_images(name, tmp_path)
    data.catalogue(tmp_path)


def test_everything_of_the_folder_can_be_fetched():
    assert {one.name for one in FETCHED} == {*data.image_names(), "protein", "naval"}


@pytest.mark.parametrize("dataset", FETCHED, ids=lambda one: one.name)
def test_fetched_files_are_where_they_are_looked_for(dataset, tmp_path):
    for one in dataset.downloads:
        made(tmp_path / one.path, b"")
    assert None not in dataset.forms[0].found(tmp_path)


@pytest.mark.parametrize("dataset", FETCHED, ids=lambda one: one.name)
def test_official_addresses_are_secure_and_sums_complete(dataset):
    for one in dataset.downloads:
        assert one.url.startswith("https://")
        assert one.published.dataset == dataset.name
        assert len(one.published.digest) == {"md5": 32, "sha256": 64}[one.published.algorithm]


def test_fetched_archive_is_read(known, tmp_path):
    packed = cifar_tar(batches())
    source = made(tmp_path / "there" / "cifar.tar.gz", packed)
    known(item(source.as_uri(), path="cifar10/cifar-10-binary.tar.gz", content=packed))
    data.fetch("set", tmp_path / "here")
    assert data.load_images("cifar10", tmp_path / "here", verify=False).x_train.shape == (
        15,
        3,
        32,
        32,
    )
