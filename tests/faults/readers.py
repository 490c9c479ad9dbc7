"""What is fuzzed: for each reader its valid files, how they are damaged, how they are read."""

import gzip
import hashlib
import json
import math
import os
import shutil
import tempfile
from collections.abc import Callable, Sequence
from pathlib import Path
from random import Random
from typing import Any, NamedTuple, Protocol

import numpy as np
import pandas as pd
import tomli_w
import torch
from safetensors import safe_open
from torch import nn

from faults.data_readers import DataFolders, ParquetTables
from faults.mutations import ODD, mutated_bytes, mutated_data, mutated_header, mutated_tensors
from faults.table_readers import TABLE_READERS
from pmcnet import PMCNetClassifier, PMCNetRegressor, ais, data
from pmcnet.bnn import MLP, BayesianTarget, LearnedGaussian
from pmcnet.errors import InputError
from pmcnet.estimators.model_file import fingerprint
from pmcnet.io.tensors import DTYPES
from pmcnet.reports.page import render
from pmcnet.runs.config import RunSettings, config_text, read_config
from pmcnet.runs.folder import read_json

QUICK: dict[str, Any] = {
    "hidden_layer_sizes": (2,),
    "method": "annealed",
    "method_options": {"n_islands": 4, "n_particles": 4},
    "prior_std": 1.0,
    "random_state": 0,
    "device": "cpu",
}


class Reader(Protocol):
    """Something that reads files of others."""

    def damaged(self, folder: Path, draw: Random) -> Path:
        """Write a damaged file or folder and return its path."""
        ...

    def read(self, path: Path) -> None:
        """Read it; raises `InputError`, or what came of it can be used."""
        ...


def odd_file(path: Path, draw: Random) -> None:
    """Put something that is no plain file in the place of one."""
    path.unlink()
    match draw.randrange(7):
        case 0:
            os.mkfifo(path)
        case 1:
            path.mkdir()
        case 2:
            path.symlink_to("/dev/zero")
        case 3:
            path.symlink_to("/etc/passwd")
        case 4:
            path.symlink_to(path)
        case 5:
            path.write_bytes(b"")
        case _:
            pass


class _Seed(NamedTuple):
    kind: type[Any]
    json: bytes
    tensors: bytes
    rows: Any
    module: Any


class Models:
    """Folders that `save` wrote: `model.json` is signed again after most damages."""

    def __init__(self) -> None:
        source = np.random.default_rng(0)
        x = source.normal(size=(24, 3))
        frame = pd.DataFrame(
            {"city": ["rome", None, "oslo", "bonn"] * 6, "size": [1.0, math.nan, 3.0, 4.0] * 6}
        )
        norm = _norm
        models = [
            (PMCNetRegressor(**QUICK).fit(x, x[:, 0]), x[:3], None),
            (PMCNetClassifier(**QUICK).fit(frame, ["no", "yes", "so", "no"] * 6), frame[:3], None),
            (PMCNetClassifier(**QUICK, module=norm).fit(x, x[:, 0] > 0), x[:3], norm),
        ]
        self.seeds = []
        with tempfile.TemporaryDirectory() as place:
            for i, (model, rows, module) in enumerate(models):
                for record in model.history_:
                    record["seconds"] = 0.5  # or a case would be another each time
                path = model.save(Path(place) / str(i))
                files = [
                    (path / name).read_bytes() for name in ("model.json", "tensors.safetensors")
                ]
                self.seeds.append(_Seed(type(model), *files, rows, module))
        self.last = self.seeds[0]

    def damaged(self, folder: Path, draw: Random) -> Path:
        self.last = seed = draw.choice(self.seeds)
        path = folder / "model"
        path.mkdir()
        record, tensors = json.loads(seed.json), seed.tensors
        text: bytes | None = None
        match draw.randrange(10):
            case 0:
                text = mutated_bytes(seed.json, draw)
            case 1:
                tensors = mutated_bytes(tensors, draw)
            case 2 | 3:
                tensors = mutated_bytes(tensors, draw)
                record = _described(record, tensors)
            case 4:
                tensors = mutated_header(tensors, draw)
                record = _described(record, tensors)
            case 5:
                tensors = mutated_tensors(tensors, draw, None)
                record = _described(record, tensors)
            case _:
                record = mutated_data(record, draw)
        (path / "tensors.safetensors").write_bytes(tensors)
        if text is None:
            text = _signed(record)
        (path / "model.json").write_bytes(text)
        if draw.random() < 0.03:
            odd_file(path / draw.choice(("model.json", "tensors.safetensors")), draw)
        return path

    def read(self, path: Path) -> None:
        seed = self.last
        model = seed.kind.load(path, module=seed.module, device="cpu")
        try:
            found = model.predictive(seed.rows)
        except InputError:  # its columns or levels are others now
            return
        assert np.isfinite(found.mean).all(), "NaN in a prediction"
        assert np.isfinite(found.total).all(), "NaN in an uncertainty"


def _norm(n_inputs: int, n_outputs: int) -> nn.Module:
    return nn.Sequential(
        nn.Linear(n_inputs, 2), nn.BatchNorm1d(2), nn.Tanh(), nn.Linear(2, n_outputs)
    )


def _described(record: dict[str, Any], tensors: bytes) -> dict[str, Any]:
    """The record with what it says of the tensors made true, as a false writer would."""
    told = record["tensors"] | {"sha256": hashlib.sha256(tensors).hexdigest()}
    try:
        header = json.loads(tensors[8 : 8 + int.from_bytes(tensors[:8], "little")])
        for name, entry in header.items():
            told[name] = {"shape": entry["shape"], "dtype": str(DTYPES.get(entry["dtype"]))}
        told = {name: value for name, value in told.items() if name in header or name == "sha256"}
    except (
        ValueError,
        TypeError,
        KeyError,
        AttributeError,
        RecursionError,
        OverflowError,
        MemoryError,
    ):
        pass
    return record | {"tensors": told}


def _signed(record: Any) -> bytes:
    if isinstance(record, dict):
        record["fingerprint"] = fingerprint(record)
    return json.dumps(record).encode()


class Checkpoints:
    """States of the three kinds there are."""

    def __init__(self) -> None:
        x = torch.randn(10, 2, generator=torch.Generator().manual_seed(0), dtype=torch.float64)
        target = BayesianTarget(MLP((2, 2, 1)), LearnedGaussian(), x, x[:, 0])
        states: list[ais.State] = [ais.AnnealedPMC(n_particles=16).init(target, seed=0)]
        states += [
            ais.VARIANTS[name].init(torch.zeros(3, 2), seed=1)
            for name in ("pmcnet", "pmcnet-light")
        ]
        self.seeds = []
        with tempfile.TemporaryDirectory() as place:
            for state in states:
                path = ais.save_state(state, Path(place) / "state")
                with safe_open(path, framework="pt") as file:
                    self.seeds.append((path.read_bytes(), dict(file.metadata())))

    def damaged(self, folder: Path, draw: Random) -> Path:
        content, metadata = draw.choice(self.seeds)
        match draw.randrange(6):
            case 0 | 1:
                content = mutated_bytes(content, draw)
            case 2:
                content = mutated_header(content, draw)
            case 3:
                content = mutated_tensors(content, draw, metadata)
            case _:
                state = json.dumps(mutated_data(json.loads(metadata["state"]), draw))
                if draw.random() < 0.1:
                    state = mutated_bytes(state.encode(), draw).decode("utf-8", "replace")
                n = int.from_bytes(content[:8], "little")
                header = json.loads(content[8 : 8 + n]) | {
                    "__metadata__": metadata | {"state": state}
                }
                text = json.dumps(header).encode()
                content = len(text).to_bytes(8, "little") + text + content[8 + n :]
        path = folder / "state.safetensors"
        path.write_bytes(content)
        if draw.random() < 0.02:
            odd_file(path, draw)
        return path

    def read(self, path: Path) -> None:
        state = ais.load_state(path)
        assert isinstance(state, ais.AnnealedState | ais.PMCState)
        theta = state.points.theta if isinstance(state, ais.AnnealedState) else state.proposals.loc
        assert theta.isfinite().all()
        again = path.with_name("again")
        ais.save_state(state, again)
        ais.load_state(again)


class Tables:
    """CSV and TSV, plain and gzipped."""

    def __init__(self) -> None:
        city = ("Oslo", "Bergen", "", "NA", "-x")
        rows = [
            f'{i},{i / 7 - 3:.3f},{city[i % 5]},2024-05-{i % 28 + 1:02},"a, ""b"""\n'
            for i in range(40)
        ]
        self.seeds = [
            b"id,x,city,when,y\n" + "".join(rows).encode(),
            b'"a","b\n c"\r\n1,?\r\n,true\r\n',
            "ä,'=b\n1e5,=x\ninf,+y\n".encode(),
            b"a\n1\n2\n",
        ]

    def damaged(self, folder: Path, draw: Random) -> Path:
        content, name = draw.choice(self.seeds), "rows.csv"
        if draw.random() < 0.3:
            content, name = content.replace(b",", b"\t"), "rows.tsv"
        if draw.random() < 0.95:
            content = mutated_bytes(content, draw)
        if draw.random() < 0.2:
            content, name = gzip.compress(content, 1), f"{name}.gz"
            content = mutated_bytes(content, draw) if draw.random() < 0.5 else content
        path = folder / name
        path.write_bytes(content)
        if draw.random() < 0.02:
            odd_file(path, draw)
        return path

    def read(self, path: Path) -> None:
        frame = data.read_frame(path)
        assert len(frame) > 0
        kinds = data.column_kinds(frame)
        again = sum(len(chunk) for chunk in data.frame_chunks(path, 7, columns=kinds))
        assert again == len(frame), "chunks have other rows"


class Configs:
    """TOML files with the settings of a run."""

    def __init__(self) -> None:
        settings = RunSettings(
            data="wine",
            target="target",
            drop=("a", "b.c"),
            hidden=(3, 4),
            method="annealed",
            method_options={"n_moves": None, "n_particles": 24, "x": 0.5, "flag": True},
            prior_std=0.7,
        )
        provenance = {"pmcnet": "1", "data_fingerprint": "ab"}
        self.seeds = [config_text(settings, provenance), config_text(RunSettings(data="w"), {})]

    def damaged(self, folder: Path, draw: Random) -> Path:
        text = draw.choice(self.seeds)
        if draw.random() < 0.5:
            content = mutated_bytes(text.encode(), draw)
        else:
            content = self._other(text, draw).encode("utf-8", "surrogatepass")
        path = folder / "config.toml"
        path.write_bytes(content)
        if draw.random() < 0.02:
            odd_file(path, draw)
        return path

    def _other(self, text: str, draw: Random) -> str:
        import tomllib

        if draw.random() < 0.4:
            lines = text.split("\n")
            lines.insert(draw.randrange(len(lines)), draw.choice(TOML_LINES))
            return "\n".join(lines)
        try:
            return tomli_w.dumps(mutated_data(tomllib.loads(text), draw))
        except (TypeError, ValueError, AttributeError):  # null, which TOML has not
            return text.replace("3", str(draw.choice(ODD)))

    def read(self, path: Path) -> None:
        config = read_config(path)
        provenance = config.pop("provenance", {})
        settings = RunSettings.of(config)
        again = path.with_name("again.toml")
        again.write_text(config_text(settings, provenance), encoding="utf-8")
        repeated = read_config(again)
        repeated.pop("provenance", {})
        assert repr(RunSettings.of(repeated)) == repr(
            settings
        )  # NaN is among method_options until they are used


TOML_LINES = (
    "seed = " + "9" * 400,
    "seed = " + "9" * 5000,
    "seed = 0x" + "f" * 5000,
    "budget = 1e999",
    "prior_std = nan",
    "hidden = " + "[" * 2000 + "]" * 2000,
    "hidden = [1_000_000_000_000]",
    "hidden = [" + "1," * 5000 + "]",
    ".".join("a" * 20_000) + " = 1",
    "[" + ".".join("a" * 900) + "]",
    "drop = " + "{a=" * 500 + "1" + "}" * 500,
    "target = 1979-05-27T07:32:00Z",
    "target = [1]",
    "data = '/dev/zero'",
    "data = '\\u0000'",
    'data = "\\u0000"',
    "method_options = {a = {b = 1}}",
    "n_passes = 1000000000000",
    "test_share = -inf",
    "noise = 9e99999",
    "[provenance]\nmethod_reason = [1]",
    "[[method_options]]",
)


class Reports:
    """`report.json`, from which pages are drawn."""

    def __init__(self) -> None:
        from reports import records

        self.seeds = [
            json.dumps(make()).encode()
            for make in (records.binary, records.multiclass, records.regression)
        ]

    def damaged(self, folder: Path, draw: Random) -> Path:
        content = draw.choice(self.seeds)
        if draw.random() < 0.3:
            content = mutated_bytes(content, draw)
        else:
            content = json.dumps(mutated_data(json.loads(content), draw)).encode()
        path = folder / "report.json"
        path.write_bytes(content)
        return path

    def read(self, path: Path) -> None:
        render(read_json(path))


READERS: dict[str, Callable[[], Reader]] = {
    "model": Models,
    "checkpoint": Checkpoints,
    "table": Tables,
    "config": Configs,
    "report": Reports,
    "parquet": ParquetTables,
    "folder": DataFolders,
    **TABLE_READERS,
}
REQUIRED: Sequence[str] = ("model", "checkpoint", "table", "config")


def emptied(folder: Path) -> Path:
    """The folder, empty."""
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir(parents=True)
    return folder
