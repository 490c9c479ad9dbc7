"""`torchrun -m pmcnet fit`: one voice, the same answer after a kill and between two hosts."""

import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path

import numpy as np
import pytest
from safetensors.torch import load_file

from distributed.launching import free_port, launched

TORCHRUN = [sys.executable, "-m", "torch.distributed.run"]
FIT = ["-m", "pmcnet", "fit", "wine", "--method", "pmcnet", "--prior-std", "1", "--hidden", "3"]
SMALL = ["n_proposals=8", "n_draws=20", "n_epochs=5", "n_steps=25"]
OPTIONS = [part for option in SMALL for part in ("--option", option)]
ENVIRONMENT = os.environ | {"OMP_NUM_THREADS": "1", "PMCNET_CHECKPOINT_SECONDS": "0"}


def run(*arguments, cwd, **options):
    return subprocess.run(
        [*TORCHRUN, *arguments],
        cwd=cwd,
        env=ENVIRONMENT,
        capture_output=True,
        text=True,
        timeout=240,
        **options,
    )


@pytest.fixture(scope="module")
def alone(tmp_path_factory):
    """The model of one process."""
    place = tmp_path_factory.mktemp("alone")
    done = run(
        "--nproc-per-node=1",
        f"--master-port={free_port()}",
        *FIT,
        *OPTIONS,
        "--out",
        "run",
        cwd=place,
    )
    assert done.returncode == 0, done.stderr
    return place / "run"


def same(run_folder: Path, other: Path) -> bool:
    ours, theirs = (
        load_file(place / "model" / "tensors.safetensors") for place in (run_folder, other)
    )
    assert ours.keys() == theirs.keys()
    text = (run_folder / "predictions.csv").read_bytes() == (other / "predictions.csv").read_bytes()
    return text and all(tensor.equal(theirs[name]) for name, tensor in ours.items())


def follower() -> int | None:
    """The process that is second in a run of this test."""
    for place in Path("/proc").iterdir():
        if not place.name.isdigit() or place.name == str(os.getpid()):
            continue
        try:
            words = (place / "environ").read_bytes().split(b"\0")
            command = (place / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if b"RANK=1" in words and b"pmcnet" in command and b"PMCNET_KILLED=yes" in words:
            return int(place.name)
    return None


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="processes are found in /proc")
def test_a_killed_process_is_restarted_and_the_answer_is_the_same(alone, tmp_path):
    command = [
        *TORCHRUN,
        "--nproc-per-node=2",
        "--max-restarts=1",
        f"--master-port={free_port()}",
        *FIT,
        *OPTIONS,
    ]
    job = subprocess.Popen(
        [*command, "--out", "run"],
        cwd=tmp_path,
        env=ENVIRONMENT | {"PMCNET_KILLED": "yes"},
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    history, killed, deadline = tmp_path / "run" / "history.jsonl", False, time.monotonic() + 200
    while job.poll() is None and not killed and time.monotonic() < deadline:
        if history.is_file() and len(history.read_text().splitlines()) >= 3 and (pid := follower()):
            os.kill(pid, signal.SIGKILL)
            killed = True
        time.sleep(0.01)
    output = job.communicate(timeout=200)
    assert killed
    assert job.returncode == 0, output
    assert "lost touch with the others" in output[1]
    assert same(tmp_path / "run", alone)
    assert len(history.read_text().splitlines()) == 25


def test_out_must_be_given_and_only_one_process_says_so(tmp_path):
    done = run("--nproc-per-node=2", f"--master-port={free_port()}", *FIT, cwd=tmp_path)
    assert done.returncode != 0
    assert done.stderr.count("needs --out") == 1
    assert not (tmp_path / "runs").exists()


CHAINS = ["-m", "pmcnet", "fit", "table.csv", "--target", "y", "--method", "hmc", "--hidden", "3"]
CHAINS += ["--prior-std", "1", "--likelihood", "gaussian", "--noise", "learn", "--no-what-if"]
FEW = ["n_chains=4", "n_warmup=10", "n_draws=90", "max_leapfrog=8", "n_epochs=3", "walk_epochs=2"]
CHAINS += [part for option in FEW for part in ("--option", option)]


def test_chains_of_one_process_are_continued_by_two_to_the_same_answer(tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    x = np.random.default_rng(0).normal(size=(40, 3))
    np.savetxt("table.csv", x, delimiter=",", header="a,b,y", comments="")
    whole, part = Path("whole"), Path("part")
    (job,) = launched(1, [*CHAINS, "--out", whole])
    output = job.communicate(timeout=240)
    assert job.returncode == 0, output
    (job,) = launched(1, [*CHAINS, "--out", part], PMCNET_CHECKPOINT_SECONDS="0")
    history, deadline = part / "history.jsonl", time.monotonic() + 200
    while job.poll() is None and time.monotonic() < deadline:
        if history.is_file() and len(history.read_text().splitlines()) >= 3:
            job.send_signal(signal.SIGTERM)
            break
        time.sleep(0.01)
    output = job.communicate(timeout=240)
    assert "go on with: pmcnet resume" in output[1], output
    resumed = ["-m", "pmcnet", "resume", part]
    done = run("--nproc-per-node=2", f"--master-port={free_port()}", *resumed, cwd=tmp_path)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("report:") == 1
    assert same(part, whole)
    assert history.read_text().count("acceptance") == 100


NAMES = ("pmcnet-a", "pmcnet-b")


def ip(*words):
    subprocess.run(["ip", *words], check=True, capture_output=True)


@pytest.fixture
def hosts():
    """Two network namespaces with a cable between them: (name, address) of each."""
    if shutil.which("ip") is None or os.geteuid() != 0:
        pytest.skip("making network namespaces needs `ip` and root")
    try:
        for name in NAMES:
            ip("netns", "add", name)
        ip(
            "link",
            "add",
            "cable-a",
            "netns",
            NAMES[0],
            "type",
            "veth",
            "peer",
            "name",
            "cable-b",
            "netns",
            NAMES[1],
        )
        for name, end, address in zip(
            NAMES, ("cable-a", "cable-b"), ("10.77.0.1", "10.77.0.2"), strict=True
        ):
            ip("-n", name, "addr", "add", f"{address}/24", "dev", end)
            ip("-n", name, "link", "set", end, "up")
            ip("-n", name, "link", "set", "lo", "up")
    except subprocess.CalledProcessError as error:
        pytest.skip(f"network namespaces cannot be made here: {error.stderr!r}")
    else:
        yield [(NAMES[0], "10.77.0.1", "cable-a"), (NAMES[1], "10.77.0.2", "cable-b")]
    finally:
        for name in NAMES:
            subprocess.run(["ip", "netns", "del", name], check=False, capture_output=True)


def test_two_hosts_give_the_answer_of_one_process(alone, hosts, tmp_path):
    jobs = []
    for rank, (name, _, cable) in enumerate(hosts):
        place = tmp_path / name
        place.mkdir()
        torchrun = [
            *TORCHRUN,
            "--nnodes=2",
            f"--node-rank={rank}",
            "--nproc-per-node=1",
            "--master-port=29517",
        ]
        command = [
            "ip",
            "netns",
            "exec",
            name,
            *torchrun,
            f"--master-addr={hosts[0][1]}",
            *FIT,
            *OPTIONS,
        ]
        environment = ENVIRONMENT | {"GLOO_SOCKET_IFNAME": cable, "TP_SOCKET_IFNAME": cable}
        jobs.append(
            subprocess.Popen(
                [*command, "--out", "run"],
                cwd=place,
                env=environment,
                stdout=subprocess.PIPE,
                stderr=subprocess.PIPE,
                text=True,
            )
        )
    output = [job.communicate(timeout=240) for job in jobs]
    assert [job.returncode for job in jobs] == [0, 0], output
    assert same(tmp_path / NAMES[0] / "run", alone)
    assert not (tmp_path / NAMES[1] / "run").exists()  # the second host writes nothing
    assert output[1][0] == ""
