"""Signals: heard in the main thread, after the step, given back afterwards."""

import os
import signal
import threading

import pytest

from pmcnet.runs.signals import Stopping


def press(number=signal.SIGINT):
    os.kill(os.getpid(), number)


@pytest.fixture
def told():
    return []


@pytest.fixture
def stop(told):
    return Stopping(lambda: told.append(1))


@pytest.mark.parametrize("number", [signal.SIGINT, signal.SIGTERM])
def test_first_signal_waits_for_the_step(stop, told, number):
    with stop:
        stop.check(stepping=True)
        press(number)
        assert (stop.asked, stop.number, stop.at_once, told) == (True, number, False, [1])
        with pytest.raises(KeyboardInterrupt):
            stop.check(stepping=True)


def test_second_signal_stops_at_once(stop):
    with stop:
        stop.check(stepping=True)
        press(signal.SIGTERM)
        with pytest.raises(KeyboardInterrupt):
            press()
        assert stop.at_once


def test_signal_where_there_are_no_steps_stops_at_once(stop, told):
    with stop:
        stop.check(stepping=True)
        stop.check(stepping=False)
        with pytest.raises(KeyboardInterrupt):
            press(signal.SIGTERM)
        assert not stop.at_once
        assert not told


def test_handlers_are_given_back(stop):
    before = [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)]
    with pytest.raises(KeyboardInterrupt), stop:
        press()
    assert [signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM)] == before


def test_signal_that_is_ignored_stays_so(stop):
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)
    try:
        with stop:
            press()
        assert not stop.asked
    finally:
        signal.signal(signal.SIGINT, before)


def test_other_threads_hear_nothing(stop):
    before = signal.getsignal(signal.SIGINT)

    def work():
        with stop:
            assert signal.getsignal(signal.SIGINT) is before
            stop.check(stepping=True)

    thread = threading.Thread(target=work)
    thread.start()
    thread.join()
    assert not stop.asked


def test_line_that_is_being_written_does_not_stop_the_handler():
    def tell():
        raise RuntimeError("reentrant call")

    with Stopping(tell) as stop:
        stop.check(stepping=True)
        press()
        assert stop.asked
