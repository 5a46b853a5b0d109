"""A smaller model of the same shape: every width divided by one number, the number of heads and of layers kept.

A scale is no setting of an experiment: it changes settings on their way into one, so that any row of Table 3 and a
scale file together are a smaller row, and nothing is written twice.
"""

from transformer_jax.checked import ConfigError

DIVISOR = "Scale.divisor"
WIDTHS = ("Model.d_model", "Model.d_ff", "Model.d_k", "Model.d_v")


def divided(name: str, width: int, divisor: int) -> int:
    """`width` of the setting `name`, scaled.

    Raises:
      ConfigError: it does not divide.
    """
    if isinstance(divisor, bool) or not isinstance(divisor, int) or divisor < 1:
        raise ConfigError(f"{DIVISOR} = {divisor!r}: must be a whole number of at least 1")
    if isinstance(width, bool) or not isinstance(width, int):
        return width  # which the config refuses
    if width % divisor:
        raise ConfigError(f"{name} = {width}: is not divisible by {DIVISOR} = {divisor}")
    return width // divisor
