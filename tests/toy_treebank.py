"""A treebank of twenty short sentences, in Penn format, and a config that learns it by heart."""

from pathlib import Path

from tiny_commands import PROJECT_ROOT

_NOUNS = {"dog": "NN", "cats": "NNS", "Ann": "NNP", "it": "PRP", "rain": "NN"}
_VERBS = {"sleeps": "VBZ", "fell": "VBD"}
SENTENCES = [
    *(f"( (S (NP-SBJ ({tag} {noun})) (VP ({verb_tag} {verb})) (. .)) )"
      for noun, tag in _NOUNS.items() for verb, verb_tag in _VERBS.items()),
    *(f"( (S (NP-SBJ (DT the) (NN dog)) (VP ({verb_tag} {verb}) (PP-LOC (IN {by}) (NP ({tag} {noun}))))))"
      for (noun, tag), by in zip(_NOUNS.items(), ("by", "near", "by", "near", "in"), strict=True)
      for verb, verb_tag in _VERBS.items()),
]  # fmt: skip
TRACES = "( (X (-NONE- *)))"
SETTINGS = """
Data.train = "trees:train"
Data.dev = "trees:dev.mrg"
Data.test = "trees:test.mrg"
Data.vocabulary = "bpe"
Data.vocab_size = 73
Data.merge_across_scripts = True
Data.max_train_length = 40
Batching.tokens_per_batch = 1024
Batching.tokens_per_device = 1024
Batching.num_shapes = 1
Model.num_layers = 1
Model.d_model = 32
Model.d_ff = 64
Model.num_heads = 4
Model.d_k = 8
Model.d_v = 8
Model.max_length = 50
Model.dropout_rate = 0.0
Training.label_smoothing = 0.0
Training.num_steps = 100
Training.log_every_steps = 50
Training.evaluate_every_steps = 100
Training.checkpoint_every_steps = 100
Training.keep_checkpoints = 1
Optimizer.warmup_steps = 30
Decoding.average_checkpoints = 1
Decoding.beam_size = 1
Decoding.tokens_per_batch = 384
"""


def write_treebank(folder: Path) -> Path:
    """The same trees as all three splits, the training trees as two files; their config, which is returned."""
    (folder / "train" / "02").mkdir(parents=True)
    (folder / "train" / "01.mrg").write_text("\n".join(SENTENCES[:9]))
    (folder / "train" / "02" / "01.mrg").write_text("\n".join([*SENTENCES[9:], TRACES]))
    (folder / "dev.mrg").write_text("\n".join(SENTENCES))
    (folder / "test.mrg").write_text("\n".join([*SENTENCES[:5], TRACES, *SENTENCES[5:]]))
    config = folder / "toy.gin"
    base = PROJECT_ROOT / "gin_configs" / "base.gin"
    places = f'Data.directory = "{folder}"\nData.cache_directory = "{folder / "cache"}"\n'
    config.write_text(f'include "{base}"\n{SETTINGS}{places}')
    return config
