"""A list of runs that are none."""


class Toys:
    """A list of `count` runs that takes note of who works it."""

    def __init__(self, count: int):
        self.count, self.calls = count, []

    def left(self):
        return list(range(self.count))

    def work(self, *, at_most=None, observer):
        self.calls.append((at_most, observer))
        observer.say(f"toy of {self.count}")
