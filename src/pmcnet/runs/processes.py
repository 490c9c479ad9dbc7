"""A run that several processes share: the first has the folder, the others follow it."""

import signal
import tempfile
from pathlib import Path
from typing import Any

from pmcnet import ais
from pmcnet.distributed import Ranks, n_restarts
from pmcnet.errors import RunFailed
from pmcnet.estimators.plan import resolve_device
from pmcnet.io.checkpoint import load_checkpoint
from pmcnet.runs.config import RunSettings, read_config
from pmcnet.runs.estimator import method_of, unfitted
from pmcnet.runs.folder import RunFolder
from pmcnet.runs.prepare import RunRows, prepare

Settings = dict[str, Any]


def begun_before(out: Path | None) -> bool:
    """Whether torchrun has restarted a run that had begun to write there."""
    return n_restarts() > 0 and out is not None and RunFolder(out).config.is_file()


def share_settings(comm: ais.Communicator, text: str) -> None:
    """Send the others the settings as in config.toml; "" for those they were started with."""
    if isinstance(comm, Ranks):
        comm.share(text.encode())


def share_rows(comm: ais.Communicator, prepared: RunRows, state: Path | None) -> None:
    """Send the others which rows these are, and the checkpoint to go on from."""
    if isinstance(comm, Ranks):
        comm.share(prepared.fingerprint.encode())
        comm.share(state.read_bytes() if state else None)


def follow(comm: ais.Communicator, settings: RunSettings | None) -> None:
    """Work with the first process until it has fitted; nothing is written, nothing shown.

    Args:
        comm: the processes.
        settings: those that this process was started with; a run that goes on has them in its
            folder.
    """
    assert isinstance(comm, Ranks)
    for number in (signal.SIGINT, signal.SIGTERM):  # the first process decides when to stop
        signal.signal(number, signal.SIG_IGN)
    with tempfile.TemporaryDirectory() as folder:
        if text := comm.share(None):
            config = Path(folder) / "config.toml"
            config.write_bytes(text)
            found = read_config(config)
            found.pop("provenance", None)
            settings = RunSettings.of(found)
        assert settings is not None
        prepared = prepare(settings)
        if comm.share(None).decode() != prepared.fingerprint:
            raise RunFailed(
                f"process {comm.rank} reads other rows from {settings.data} than the first "
                "process. Give all hosts the same file."
            )
        state = None
        if checkpoint := comm.share(None):
            place = Path(folder) / "state.safetensors"
            place.write_bytes(checkpoint)
            state = load_checkpoint(
                place, method_of(prepared.settings).state_types, resolve_device(settings.device)
            )
    model = unfitted(prepared.settings, prepared.task)
    second = prepared.second_train
    y = second.response(prepared.y_train)
    model.fit_with(prepared.x_train, y, state=state, comm=comm, **second.arguments)
