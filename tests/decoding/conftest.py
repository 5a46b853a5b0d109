"""Searches of tests are compiled once for few steps."""

from compilation import quick_to_compile

__all__ = ["quick_to_compile"]
