"""What is wrong with an export."""

from transformer_jax.errors import UserError


class ExportError(UserError):
    """A model that a format cannot hold, or a file that holds none: the message says why."""
