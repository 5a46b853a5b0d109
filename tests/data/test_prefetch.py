"""Made ahead: in order, by another thread, so far and no further, and errors where they belong."""

import threading

import pytest

from transformer_jax.data.prefetch import prefetched

TIMEOUT = 30.0


def threads():
    return [thread for thread in threading.enumerate() if thread.name.startswith("prefetch")]


@pytest.fixture(autouse=True)
def _no_thread_is_left():
    assert threads() == []
    yield
    assert threads() == []


@pytest.mark.parametrize("ahead", [0, 1, 3, 100])
@pytest.mark.parametrize("steps", [range(0), range(1), range(7, 19)])
def test_values_come_in_order(steps, ahead):
    assert list(prefetched(lambda step: step**2, steps, ahead=ahead)) == [step**2 for step in steps]


def test_another_thread_makes_them_one_after_another():
    makers = list(prefetched(lambda _: threading.current_thread(), range(13), ahead=3))
    assert len(set(makers)) == 1
    assert makers[0] is not threading.current_thread()


def test_so_many_are_made_ahead_and_no_more():
    begun, last_ahead = [], threading.Event()

    def make(step):
        begun.append(step)
        if step == 13:
            last_ahead.set()
        return step

    values = prefetched(make, range(10, 100), ahead=3)
    assert begun == [], "nothing is made before it is asked for"
    assert next(values) == 10
    assert last_ahead.wait(TIMEOUT)
    values.close()
    assert begun == [10, 11, 12, 13]


def test_an_error_comes_in_its_turn():
    def make(step):
        if step == 2:
            raise ValueError("the third cannot be made")
        return step

    values = prefetched(make, range(5), ahead=4)
    assert [next(values), next(values)] == [0, 1]
    with pytest.raises(ValueError, match="the third cannot be made"):
        next(values)


def test_what_is_closed_makes_no_more():
    begun, go_on = [], threading.Event()

    def make(step):
        begun.append(step)
        assert step == 0 or go_on.wait(TIMEOUT)

    values = prefetched(make, range(100), ahead=5)
    next(values)
    threading.Timer(0.5, go_on.set).start()  # by then it is closed
    values.close()
    assert begun in ([0], [0, 1])
