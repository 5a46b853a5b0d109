"""Fixtures for the tests of this folder."""

from compilation import quick_to_compile

__all__ = ["quick_to_compile"]
