"""The parser that a run has trained, and what such a run keeps beside its weights and vocabulary."""

from pathlib import Path

from experiments.weights import read_weights
from experiments.workdir import WorkdirError, read_vocabulary, whole_file
from transformer_jax.config import Experiment
from transformer_jax.data.tree_inventory import INVENTORY, TreeInventory, load_inventory
from transformer_jax.data.vocabulary import Vocabulary
from transformer_jax.decoding.generate import Generator
from transformer_jax.decoding.parser import Parser, symbols_for
from transformer_jax.decoding.translator import Translator
from transformer_jax.decoding.tree_symbols import TreeSymbols
from transformer_jax.model.transformer import Transformer


def keep_inventory(workdir: Path, inventory: TreeInventory | None) -> None:
    """Saves what a parser has to know of its training trees, if there are any, beside the vocabulary."""
    if inventory is not None:
        with whole_file(workdir / INVENTORY) as temporary:
            inventory.save(temporary)


def read_inventory(workdir: Path) -> TreeInventory:
    """Raises WorkdirError for a run that was not trained on trees."""
    path = workdir / INVENTORY
    if not path.exists():
        raise WorkdirError(f"{workdir} holds no parser (it has no {INVENTORY}): it was not trained on trees")
    return load_inventory(path)


def read_symbols(workdir: Path, experiment: Experiment, vocabulary: Vocabulary) -> TreeSymbols | None:
    """What the run's search needs if it is constrained to trees; None if it is not.

    Raises:
      WorkdirError: the run was not trained on trees.
      TreeSymbolError: its vocabulary cannot be used to search for trees.
    """
    if not experiment.decoding.constrained_to_trees:
        return None
    return symbols_for(experiment, read_inventory(workdir), vocabulary)


def read_parser(workdir: Path, experiment: Experiment) -> Parser:
    """The parser of a run; nothing but its folder is read.

    Raises:
      WorkdirError: nothing is trained there yet, or not on trees.
      UserError: a file of the run is damaged, or its search cannot be constrained to trees.
    """
    inventory, vocabulary = read_inventory(workdir), read_vocabulary(workdir)
    symbols = read_symbols(workdir, experiment, vocabulary)
    model = Transformer(experiment.model, vocabulary.size)
    generator = Generator(model, read_weights(workdir, experiment).params, experiment.decoding, symbols)
    return Parser(Translator(generator, vocabulary), experiment.trees.leaves, inventory)
