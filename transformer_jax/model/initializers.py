"""Initial values of the weight matrices. The paper gives none; these are the code's (tensor2tensor v1.0.3)."""

import flax.linen as nn


def uniform_fan_in(*, in_axes: tuple[int, ...], out_axes: tuple[int, ...]) -> nn.initializers.Initializer:
    """Uniform with variance 1 / fan-in: a product with inputs of unit variance has unit variance."""
    return nn.initializers.variance_scaling(1.0, "fan_in", "uniform", in_axis=in_axes, out_axis=out_axes)
