"""The only file that knows gin: files and bindings in, one frozen `Experiment` out, or one clear line on what is wrong.

gin's parser reads the files; gin's registry is not used: it accepts bindings that nothing reads, imports and references
to code. Here a binding sets a field of one of the config's dataclasses to a literal value, every field is set, and
nothing else is accepted but `Scale.divisor`, which changes other bindings (see `scale`), and what the caller names.
"""

import dataclasses
import difflib
import tokenize
import typing
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Any

from gin import config_parser

from experiments import scale
from transformer_jax.checked import ConfigError
from transformer_jax.config import Experiment

# "model" -> Model: an experiment's parts, and the names that bindings give them.
_PARTS: dict[str, Any] = typing.get_type_hints(Experiment)


def settings_of(cls: Any) -> list[str]:
    """What bindings call the fields of a dataclass: "Model.d_model"."""
    return [f"{cls.__name__}.{field.name}" for field in dataclasses.fields(cls)]


SETTINGS = [name for cls in _PARTS.values() for name in settings_of(cls)]


@dataclasses.dataclass(frozen=True)
class Binding:
    """`name` ("Model.d_model") has `value`, as said at `where` (a file and line, or the command line).

    In a scope the name is "scope/Model.d_model".
    """

    name: str
    value: Any
    where: str


Bindings = dict[str, Binding]  # by name; of several for one name the last holds


class _LiteralsOnly(config_parser.ParserDelegate):
    """A reference or a macro would be a value that stands elsewhere, and might run code."""

    def configurable_reference(self, scoped_configurable_name: str, evaluate: bool) -> Any:
        raise ConfigError(f"@{scoped_configurable_name}{'()' * evaluate}: a value must be a literal, not a reference")

    def macro(self, macro_name: str) -> Any:
        raise ConfigError(f"%{macro_name}: a value must be a literal, not a macro")


def load_experiment(gin_files: Sequence[str | Path], gin_params: Sequence[str] = ()) -> Experiment:
    """The experiment that the files say, in order, and then the bindings: of several for one field the last holds.

    Raises:
      ConfigError: a file is missing or not gin, a binding is misspelt, mistyped or not allowed, or a field is not set.
    """
    return build_experiment(load_bindings(gin_files, gin_params))


def load_bindings(
    gin_files: Sequence[str | Path], gin_params: Sequence[str] = (), *, known: Sequence[str] = (), scope: str = ""
) -> Bindings:
    """What the files and then the bindings say. Their names are those of an experiment's settings, or in `known`.

    In `scope`, if one is given, any name may be bound: what it means there is the caller's to say.

    Raises:
      ConfigError: a file is missing or not gin, or a binding is misspelt or not allowed.
    """
    bindings: Bindings = {}
    for path in gin_files:
        bindings |= {binding.name: binding for binding in _read_file(Path(path), included_by=())}
    for param in gin_params:
        bindings |= {binding.name: binding for binding in _parse(param, origin=f"--gin_param={param}", path=())}
    for binding in bindings.values():
        if not (scope and binding.name.startswith(f"{scope}/")):
            require_known(binding, [*SETTINGS, scale.DIVISOR, *known])
    return bindings


def build_experiment(bindings: Bindings) -> Experiment:
    """The experiment of which the bindings say every setting.

    Raises:
      ConfigError: a setting is mistyped, not possible, or not bound.
    """
    with _told_where(bindings):
        bindings = bindings | _scaled(bindings)
    _require_set(SETTINGS, bindings)
    parts = {part: build(cls, bindings) for part, cls in _PARTS.items()}
    with _told_where(bindings):
        return Experiment(**parts)


def resolved(experiment: Experiment) -> dict[str, Any]:
    """Every setting of an experiment: {"Model.num_layers": 6, ...}."""
    parts = [getattr(experiment, part) for part in _PARTS]
    return {f"{type(part).__name__}.{name}": value for part in parts for name, value in vars(part).items()}


def to_gin(experiment: Experiment) -> str:
    """The text of a gin file that gives `experiment` back, in full."""
    return "".join(f"{name} = {value!r}\n" for name, value in resolved(experiment).items())


def _read_file(path: Path, *, included_by: tuple[Path, ...]) -> Iterator[Binding]:
    by = f" (included by {included_by[-1]})" if included_by else ""
    if path.resolve() in [includer.resolve() for includer in included_by]:
        raise ConfigError(f"{path}{by}: includes itself")
    try:
        text = path.read_text(encoding="utf-8")
    except OSError as error:
        raise ConfigError(f"{path}{by}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise ConfigError(f"{path}{by}: not UTF-8") from error
    yield from _parse(text, origin=str(path), path=(*included_by, path))


def _parse(text: str, *, origin: str, path: tuple[Path, ...]) -> Iterator[Binding]:
    """The bindings of `text`, those of files that it includes (named relative to the file itself) in their places."""
    for statement in _statements(text, origin, is_file=bool(path)):
        where = f"{origin}, line {statement.location.line_num}" if path else origin
        if isinstance(statement, config_parser.IncludeStatement) and path:
            yield from _read_file(path[-1].parent / statement.filename, included_by=path)
        elif isinstance(statement, config_parser.BindingStatement):
            scope = f"{statement.scope}/" if statement.scope else ""
            name = f"{scope}{statement.selector}.{statement.arg_name}".removesuffix(".")
            yield Binding(name, statement.value, where)
        else:
            allowed = "`include` and bindings" if path else "bindings"
            raise ConfigError(f"{where}: only {allowed} such as `Model.d_model = 512` may stand here")


def _statements(text: str, origin: str, *, is_file: bool) -> Iterator[Any]:
    """gin's statements; whatever its parser raises becomes one line that names file and line."""
    parser = None
    try:
        parser = config_parser.ConfigParser(text, _LiteralsOnly())
        yield from parser
    except (SyntaxError, tokenize.TokenError, ValueError, TypeError) as error:
        location = error.args[1] if isinstance(error, SyntaxError) and len(error.args) > 1 else None
        line = location[1] if location else parser.current_token.start[0] if parser else 1
        raise ConfigError(
            f"{origin}, line {line}: {_reason(error)}" if is_file else f"{origin}: {_reason(error)}"
        ) from error


def _reason(error: Exception) -> str:
    """What is wrong, without the lines that gin adds: below our own message the place, above its own Python's words."""
    if isinstance(error, ConfigError):
        return str(error).splitlines()[0]
    return str(error.args[0]).strip().splitlines()[-1].strip()


def require_known(binding: Binding, known: Sequence[str]) -> None:
    """Raises ConfigError, with what may have been meant, unless the binding's name is `known`."""
    if binding.name not in known:
        close = difflib.get_close_matches(binding.name, known, n=1)
        hint = f"; did you mean {close[0]}?" if close else ""
        raise ConfigError(f"{binding.where}: {binding.name} is no setting{hint}")


def _scaled(bindings: Bindings) -> Bindings:
    """The widths, wherever they are bound, as `Scale.divisor` makes them."""
    if scale.DIVISOR not in bindings:
        return {}
    divisor = bindings[scale.DIVISOR].value
    widths = [bindings[name] for name in scale.WIDTHS if name in bindings]
    scaled = {}
    for width in widths:
        value = scale.divided(width.name, width.value, divisor)
        if value != width.value:
            where = f"{width.where}, divided by {scale.DIVISOR} = {divisor}"
            scaled[width.name] = Binding(width.name, value, where)
    return scaled


def build(cls: Any, bindings: Bindings) -> Any:
    """The dataclass of which the bindings say every field.

    Raises:
      ConfigError: a field is not bound, or the dataclass refuses its value.
    """
    names = settings_of(cls)
    _require_set(names, bindings)
    with _told_where(bindings):
        return cls(**{name.split(".")[1]: bindings[name].value for name in names})


def _require_set(names: Sequence[str], bindings: Bindings) -> None:
    missing = [name for name in names if name not in bindings]
    if missing:
        raise ConfigError(f"not set by any file or binding: {', '.join(missing)}")


@contextmanager
def _told_where(bindings: Bindings) -> Iterator[None]:
    """An error about a setting says where it was bound."""
    try:
        yield
    except ConfigError as error:
        culprit = bindings.get(str(error).split(" = ")[0])
        raise ConfigError(f"{culprit.where}: {error}" if culprit else str(error)) from error
