"""The built-in treebank: English sentences with their trees, drawn from a small grammar, the same on every machine.

With it parsing can be tried where there is no treebank. Its labels and tags are the Penn Treebank's, and what makes
parsing hard is in it on a small scale: words of two tags ("walks", "her"), relative clauses, coordination, and
prepositional phrases whose place depends on the words: "put the book on the table", "saw the book on the table". No
sentence occurs twice, so no two splits share one.
"""

import functools
import random
from collections.abc import Iterator

from transformer_jax.trees.tree import Tree

SPLIT_SIZES = {"test": 500, "dev": 500, "train": 8_000}
_MOST_WORDS = 24

# A symbol over what it is made of, in several ways: each a weight and symbols. What follows ":" is the grammar's own,
# number above all; a tree has what stands before it. What has no line here is a tag.
_RULES = """
S       6 NP:s VP:s .  5 NP:p VP:p .  2 PP:t , NP:s VP:s .  2 SBAR:t , NP:p VP:p .  2 S:in CC S:in .
S       1 NP:s VP:s SBAR:t .  1 ADVP:s , NP:p VP:p .
S:in    1 NP:s VP:s  1 NP:p VP:p
S:to    1 VP:to
NP:s    5 DT:s NN  3 DT:s JJ NN  3 NNP  1 NNP NNP:f  2 PRP:s  2 PRP$ NN  3 NP:s1 PP:of  2 NP:s1 SBAR:s  1 NP:s1 PP:in
NP:s    1 DT:s NN:m NN
NP:p    5 DT:p NNS  3 JJ NNS  2 PRP:p  2 CD NNS  2 PRP$ NNS  2 NP:p1 PP:of  2 NP:p1 SBAR:p  2 NP:c CC NP:c
NP:s1   3 DT:s NN  1 DT:s JJ NN
NP:p1   3 DT:p NNS  1 CD NNS
NP:c    2 DT:s NN  1 NNP  1 PRP$ NNS  1 NNS
NP:o    3 DT:s NN  1 DT:s JJ NN  3 DT:p NNS  1 CD NNS  2 NNP  1 NNS  1 PRP:o  1 PRP$ NN  1 PRP$ JJ NNS
NP:o    1 NP:s1 PP:of  1 NP:s1 PP:in  1 NP:p1 SBAR:p
NP:o    1 NP:c CC NP:c
NP:t    3 DT:t NN:t  1 NNP:t
PP:of   1 IN:of NP:o
PP:in   1 IN NP:o
PP:t    1 IN:t NP:t
PP:by   1 IN:by NP:o
VP:s    5 VBZ:t NP:o  2 VBZ:i  2 VBZ:i PP:in  2 VBZ:t NP:o PP:t  3 VBZ:p NP:o PP:in  2 MD VP:b  2 VBZ:be VP:n
VP:s    2 VBZ:be ADJP  2 VBZ:want S:to  2 VBZ:say SBAR:that  2 VBD:t NP:o  1 VBD:i ADVP  1 VBZ:i ADVP
VP:p    5 VBP:t NP:o  2 VBP:i  2 VBP:i PP:in  2 VBP:t NP:o PP:t  3 VBP:p NP:o PP:in  2 MD VP:b  2 VBP:be VP:n
VP:p    2 VBP:be ADJP  2 VBP:want S:to  2 VBP:say SBAR:that  2 VBD:t NP:o  1 VBD:i ADVP  1 VBP:i ADVP
VP:b    4 VB:t NP:o  2 VB:i  2 VB:p NP:o PP:in  1 VB:i PP:t
VP:to   1 TO VP:b
VP:n    3 VBN PP:by  1 VBN PP:t  1 VBN PP:in PP:by
SBAR:s  2 WHNP S:vs  1 WHNP S:gap
SBAR:p  2 WHNP S:vp  1 WHNP S:gap
SBAR:that 1 IN:that S:in
SBAR:t  1 IN:when S:in
S:vs    1 VP:s
S:vp    1 VP:p
S:gap   1 NP:c1 VP:g
NP:c1   1 DT:s NN  1 NNP
VP:g    1 VBZ:t
WHNP    1 WDT
ADJP    3 JJ  2 RB JJ
ADVP    1 RB:m
ADVP:s  1 RB:s
"""
_VERBS = "see find like know follow need remember draw paint"
_PLACING = "put leave keep hang"
_RESTING = "walk sleep work talk wait play dream"
_WORDS = {
    "DT:s": "the the the a this every", "DT:p": "the the the these some all", "DT:t": "the that",
    "NN": "dog cat book table house garden river teacher doctor farmer child picture letter window door tree street "
    "bridge boat lamp plan walk play friend sister song story bird horse road hill kitchen basket coat key",
    "NN:m": "garden kitchen street river music", "NN:t": "morning evening day week summer winter night",
    "NNP:t": "Monday Tuesday Friday Sunday",
    "NNS": "dogs cats books tables houses gardens rivers teachers doctors farmers children pictures letters windows "
    "doors trees streets bridges boats lamps plans walks plays friends sisters songs stories birds horses roads keys",
    "NNP": "Anna Peter Maria John Clara Paul London Paris", "NNP:f": "Miller Baker Fisher Young",
    "JJ": "brown new big small red green quiet happy young long heavy wooden cold full",
    "PRP:s": "he she it", "PRP:p": "they we", "PRP:o": "him her them us", "PRP$": "her his their our",
    "CD": "two three four five 12 20", "CC": "and or", "WDT": "that which", "TO": "to", "MD": "can will must may",
    "IN": "on in near under behind", "IN:of": "of", "IN:t": "on during before after", "IN:by": "by", "IN:that": "that",
    "IN:when": "because when if before after", "RB": "very too quite", "RB:m": "slowly often well loudly",
    "RB:s": "Today Sometimes Often", ".": ".", ",": ",",
    "VB:t": _VERBS, "VBP:t": _VERBS, "VBZ:t": "sees finds likes knows follows needs remembers draws paints",
    "VBD:t": "saw found liked knew followed needed remembered drew painted",
    "VBN": "seen found followed needed remembered drawn painted", "VB:p": _PLACING, "VBP:p": _PLACING,
    "VBZ:p": "puts leaves keeps hangs", "VB:i": _RESTING, "VBP:i": _RESTING,
    "VBZ:i": "walks sleeps works talks waits plays dreams", "VBD:i": "walked slept worked talked waited played dreamed",
    "VBZ:be": "is", "VBP:be": "are", "VBZ:want": "wants hopes", "VBP:want": "want hope", "VBZ:say": "says thinks",
    "VBP:say": "say think",
}  # fmt: skip


def builtin_trees(split: str) -> list[Tree]:
    """The trees of one split of the built-in treebank, each with its S for a root.

    Raises:
        ValueError: there is no such split.
    """
    if split not in SPLIT_SIZES:
        raise ValueError(f"built-in treebank: split {split!r}: must be one of train, dev, test")
    return list(_splits()[split])


@functools.cache
def _splits() -> dict[str, tuple[Tree, ...]]:
    trees = _distinct_trees()
    return {split: tuple(next(trees) for _ in range(size)) for split, size in SPLIT_SIZES.items()}


def _distinct_trees() -> Iterator[Tree]:
    """Endless; none has too many words, and no sentence comes twice."""
    grammar = _Grammar()
    seen: set[str] = set()
    while True:
        tree = grammar.drawn("S")
        sentence = " ".join(tree.words())
        if sentence.count(" ") < _MOST_WORDS and sentence not in seen:
            seen.add(sentence)
            yield tree


class _Grammar:
    """The lines above, and the state of a random generator."""

    def __init__(self) -> None:
        self._rng = random.Random("built-in treebank")
        self._words = {symbol: text.split() for symbol, text in _WORDS.items()}
        self._ways: dict[str, list[tuple[int, list[str]]]] = {}
        for line in _RULES.strip().split("\n"):
            symbol, *parts = line.split()
            ways = self._ways.setdefault(symbol, [])
            for part in parts:
                if part.isdecimal():
                    ways.append((int(part), []))
                else:
                    ways[-1][1].append(part)

    def drawn(self, symbol: str) -> Tree:
        label = symbol.split(":")[0]
        if symbol in self._words:
            return Tree(label, word=self._rng.choice(self._words[symbol]))
        weights, parts = zip(*self._ways[symbol], strict=True)
        (chosen,) = self._rng.choices(parts, weights)
        return Tree(label, tuple(map(self.drawn, chosen)))
