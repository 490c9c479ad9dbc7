"""Pieces of work on threads of our own."""

import multiprocessing
import threading

import pytest
import torch

from pmcnet import threads


@pytest.fixture(params=[1, 2, 4])
def n_threads(request):
    before = torch.get_num_threads()
    torch.set_num_threads(request.param)
    yield request.param
    torch.set_num_threads(before)


def test_every_piece_is_worked_on_once(n_threads):
    done = []
    threads.in_parallel(done.append, range(100))
    assert sorted(done) == list(range(100))


def test_as_many_threads_work_as_torch_may_use(n_threads):
    everyone, seen = threading.Barrier(n_threads), set()

    def work(piece):
        everyone.wait(30)
        seen.add(threading.current_thread().name)

    threads.in_parallel(work, range(n_threads))
    assert len(seen) == n_threads


def test_pieces_of_pieces_stay_with_their_thread(n_threads):
    def inner(piece):
        assert threading.current_thread() is owner

    for _ in range(3):
        owner = threading.current_thread()
        threads.in_parallel(lambda piece: threads.in_parallel(inner, range(3)), range(1))
    counts = []
    threads.in_parallel(lambda piece: counts.append(threads.n_threads()), range(8))
    assert set(counts) == {1} or n_threads == 1


def test_a_failed_piece_is_reported(n_threads):
    def work(piece):
        if piece == 7:
            raise ValueError("piece 7")

    with pytest.raises(ValueError, match="piece 7"):
        threads.in_parallel(work, range(20))
    threads.in_parallel(lambda piece: None, range(20))


def test_coarse_blocks_nest_and_give_torch_its_threads_back(n_threads):
    with threads.coarse():
        assert torch.get_num_threads() == 1
        assert threads.n_threads() == n_threads
        with threads.coarse():
            assert threads.n_threads() == n_threads
        assert torch.get_num_threads() == 1
    assert torch.get_num_threads() == n_threads


def test_coarse_gives_back_after_an_error(n_threads):
    with pytest.raises(KeyError), threads.coarse():
        raise KeyError
    assert torch.get_num_threads() == n_threads


def test_threads_of_the_caller_begin_with_torchs_setting(n_threads):
    threads.in_parallel(lambda piece: None, range(8))
    found = []
    mine = threading.Thread(target=lambda: found.append(torch.get_num_threads()))
    mine.start()
    mine.join()
    assert found == [n_threads]


def _in_child(connection):
    done = []
    threads.in_parallel(done.append, range(10))
    connection.send(sorted(done))


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")
def test_a_forked_process_has_threads_of_its_own():
    threads.in_parallel(lambda piece: None, range(8))
    here, there = multiprocessing.Pipe()
    child = multiprocessing.get_context("fork").Process(target=_in_child, args=(there,))
    child.start()
    assert here.poll(60)
    assert here.recv() == list(range(10))
    child.join()
