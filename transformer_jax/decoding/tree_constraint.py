"""Hypotheses that are linearised trees over exactly the source's words, section 6.3: a constraint of the search.

What may follow is read off the ids so far: which symbols they say, which brackets these leave open, how many words have
no leaf yet. A piece is allowed where it leads to a symbol after which the tree can still be finished within the limit:
a leaf for each word left, a closing for each open bracket, and the end token.

The symbols are separated as the pieces tell (`tree_symbols`): the newest may be a whole one or the beginning of a
longer one, so that both what goes on with it and what may come after it is allowed.
"""

from typing import NamedTuple

import jax.numpy as jnp
import numpy as np
from jaxtyping import Array, Bool, Int

from transformer_jax.decoding.beam_search import Live, LogProbs
from transformer_jax.decoding.constraints import Constraint
from transformer_jax.decoding.tree_symbols import CLOSING, LEAF, NO_KIND, NOWHERE, OPENING, ROOT, TreeSymbols

_NEVER = 1 << 30


class Words(NamedTuple):
    """Of each source."""

    classes: Int[Array, "B W"]  # -1 beyond the last word
    counts: Int[Array, "B"]
    pieces: Int[Array, "B W+1"]  # that leaves of each word and all after it take at least


class Standing(NamedTuple):
    """What some symbols leave to be said."""

    begun: Bool[Array, "B beam"]
    opened: Int[Array, "B beam"]  # brackets at the end in a row; with any, the innermost has no child
    label: Int[Array, "B beam"]  # of the innermost open bracket
    depth: Int[Array, "B beam"]  # open brackets
    closing: Int[Array, "B beam"]  # pieces that close them
    words: Int[Array, "B beam"]  # without a leaf


class Said(NamedTuple):
    """The symbols of each hypothesis, each at the place of its first piece."""

    symbols: Int[Array, "B beam T"]  # none elsewhere
    begins: Int[Array, "B beam"]  # place of the newest one, whole or not; -1 without
    node: Int[Array, "B beam"]  # how far it is
    completed: Int[Array, "B beam 1"]  # the symbol that this is the whole of


def tree_constraint(
    symbols: TreeSymbols, classes: Int[Array, "B W"], limits: Int[Array, "B"], eos_id: int
) -> Constraint:
    """A tree over each source's words, within the limit of tokens, the end token included.

    Where no tree fits within the limit, nothing is allowed. No other constraint may ask for more tokens.

    Args:
      classes: of the words, by which each has leaves that it may have (`TreeSymbols.allowed`); -1 beyond the last.
    """
    words = _words(symbols, classes)

    def constraint(log_probs: LogProbs, live: Live, position: Int[Array, ""]) -> LogProbs:
        said = _said(symbols, live.ids, position)
        places = jnp.arange(live.ids.shape[2])
        newest = places == said.begins[:, :, None]
        before = _standing(symbols, jnp.where(newest, len(symbols.kinds) - 1, said.symbols), words)
        after = _standing(symbols, said.symbols, words)
        room = (limits - position)[:, None, None]
        said_pieces = (position - said.begins)[:, :, None]
        goes_on = (_needed(symbols, before, words) - said_pieces <= room) & (position > 0)
        whole = jnp.take_along_axis(goes_on, said.completed, axis=2)[:, :, 0] | (position == 0)
        begins = (_needed(symbols, after, words) <= room) & whole[:, :, None]
        root = jnp.full_like(said.node, ROOT)
        pieces = _leading(symbols, said.node, goes_on) | _leading(symbols, root, begins)
        ends = after.begun & (after.depth == 0) & (after.words == 0) & whole
        allowed = pieces[:, :, symbols.pieces]
        is_end = jnp.arange(log_probs.shape[2]) == eos_id
        return jnp.where(jnp.where(is_end, ends[:, :, None], allowed), log_probs, -jnp.inf)

    return constraint


def _words(symbols: TreeSymbols, classes: Int[Array, "B W"]) -> Words:
    least = jnp.where(classes < 0, 0, jnp.asarray(symbols.shortest_leaves)[classes])
    pieces = jnp.cumsum(least[:, ::-1], axis=1)[:, ::-1]
    return Words(classes, (classes >= 0).sum(axis=1), jnp.pad(pieces, ((0, 0), (0, 1))))


def _said(symbols: TreeSymbols, ids: Int[Array, "B beam T"], position: Int[Array, ""]) -> Said:
    places = jnp.arange(ids.shape[2])
    is_said = places < position
    pieces = jnp.where(is_said, jnp.asarray(symbols.pieces)[ids], symbols.children.shape[1] - 1)
    marked = jnp.asarray(symbols.marked)[pieces]
    begins = is_said & (marked if symbols.marks_begin else (jnp.roll(marked, 1, axis=2) | (places == 0)))
    nodes = jnp.where(begins, jnp.asarray(symbols.children)[ROOT][pieces], NOWHERE)
    goes_on = begins
    for further in range(1, int(symbols.lengths.max())):
        goes_on = goes_on & (places + further < position) & ~jnp.roll(begins, -further, axis=2)
        nodes = jnp.where(goes_on, jnp.asarray(symbols.children)[nodes, jnp.roll(pieces, -further, axis=2)], nodes)
    newest = jnp.where(begins, places, -1).max(axis=2)
    node = jnp.take_along_axis(nodes, jnp.maximum(newest, 0)[:, :, None], axis=2)[:, :, 0]
    completed = jnp.asarray(symbols.completed)
    return Said(completed[nodes], newest, node, completed[node][:, :, None])


def _standing(symbols: TreeSymbols, said: Int[Array, "B beam T"], words: Words) -> Standing:
    kinds, labels = jnp.asarray(symbols.kinds)[said], jnp.asarray(symbols.labels)[said]
    change = (kinds == OPENING).astype(jnp.int32) - (kinds == CLOSING)
    depths = jnp.cumsum(change, axis=2)
    depth = depths[:, :, -1]
    # After whole symbols of a tree, the last bracket that opened at the present depth is the innermost open one.
    innermost = jnp.maximum(_last_place((kinds == OPENING) & (depths == depth[:, :, None])), 0)
    others = _last_place((kinds == LEAF) | (kinds == CLOSING))
    return Standing(
        begun=(kinds != NO_KIND).any(axis=2),
        opened=((kinds == OPENING) & (jnp.arange(kinds.shape[2]) > others)).sum(axis=2),
        label=jnp.take_along_axis(labels, innermost, axis=2)[:, :, 0],
        depth=depth,
        closing=(change * jnp.asarray(symbols.closing_lengths)[said]).sum(axis=2),
        words=words.counts[:, None] - (kinds == LEAF).sum(axis=2),
    )


def _last_place(where: Bool[Array, "B beam T"]) -> Int[Array, "B beam 1"]:
    """The last true one; -1 without."""
    return jnp.where(where, jnp.arange(where.shape[2]), -1).max(axis=2, keepdims=True)


def _needed(symbols: TreeSymbols, standing: Standing, words: Words) -> Int[Array, "B beam symbols"]:
    """The fewest tokens that say each symbol and then the rest of a tree, the end token included."""
    next_word = words.counts[:, None] - standing.words
    its_class = jnp.take_along_axis(jnp.pad(words.classes, ((0, 0), (0, 1))), next_word, axis=1)
    rest = jnp.take_along_axis(words.pieces, next_word, axis=1)[:, :, None]
    begun, opened, label, depth, closing, left = (field[:, :, None] for field in standing)
    within = depth > 0
    may_be = {
        OPENING: (left > 0) & (within | ~begun) & (opened < symbols.most_openings),
        LEAF: (left > 0) & (within | (~begun & (words.counts == 1)[:, None, None])),
        CLOSING: within & (opened == 0) & (symbols.labels == label) & ((depth > 1) | (left == 0)),
    }
    its_leaves = (symbols.kinds != LEAF) | jnp.asarray(symbols.allowed)[its_class]
    allowed = sum((symbols.kinds == kind) & may for kind, may in may_be.items()) & its_leaves
    # Beyond the rest: an opening and its closing, or what a leaf is longer than the shortest. The rest has the closing.
    both = np.where(symbols.kinds == CLOSING, 0, symbols.lengths + symbols.closing_lengths)
    beyond_shortest = symbols.lengths - jnp.asarray(symbols.shortest_leaves)[its_class][:, :, None]
    more = jnp.where(symbols.kinds == LEAF, beyond_shortest, both)
    return jnp.where(allowed, rest + closing + 1 + more, _NEVER)


def _leading(
    symbols: TreeSymbols, node: Int[Array, "B beam"], wanted: Bool[Array, "B beam symbols"]
) -> Bool[Array, "B beam pieces"]:
    """The pieces that lead from a node to a wanted symbol."""
    leads = jnp.einsum("Bbs,ns->Bbn", wanted.astype(jnp.float32), symbols.leads_to.astype(jnp.float32)) > 0
    return jnp.take_along_axis(leads, jnp.asarray(symbols.children)[node], axis=2)
