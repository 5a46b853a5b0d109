"""What the next steps need, made in the background while the present step is computed."""

from collections import deque
from collections.abc import Callable, Generator, Iterable
from concurrent.futures import Future, ThreadPoolExecutor
from typing import TypeVar

T = TypeVar("T")


def prefetched(make: Callable[[int], T], steps: Iterable[int], *, ahead: int) -> Generator[T, None, None]:
    """`make(step)` for each step, in order, made by one thread that is up to `ahead` steps ahead of who asks.

    What `make` raises is raised where that step's value is asked for. Closing ends the thread; what is not yet begun
    is never made.
    """
    waiting: deque[Future[T]] = deque()
    pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix="prefetch")
    try:
        for step in steps:
            waiting.append(pool.submit(make, step))
            if len(waiting) > ahead:
                yield waiting.popleft().result()
        while waiting:
            yield waiting.popleft().result()
    finally:
        pool.shutdown(cancel_futures=True)
