"""The errors that whoever started a command can mend."""


class UserError(ValueError):
    """Its message is one clear line that names the file, setting or step. Commands print it and end non-zero."""
