"""Settings that came after runs had been made, each with the value by which the code did before.

A run's own config, and the settings that its results name, are read with these, so that an old run can be scored,
listed, compared and gone on with. Configs that people write say every setting.
"""

from typing import Any

ADDED: dict[str, Any] = {
    "Model.rematerialise": "nothing",
    "Model.encoder_neighbourhood": None,
    "Model.decoder_neighbourhood": None,
    "Training.label_smoothing_over": "others",
    "Training.skip_non_finite": 0,
    "Training.random_bits": "threefry2x32",
    "Training.deterministic": False,
    "Data.vocabulary": "bpe",
    "Data.vocab_sample": 1000000,
    "Data.merge_across_scripts": False,
    "Trees.remove_traces": True,
    "Trees.remove_function_labels": True,
    "Trees.collapse_unary_loops": False,
    "Trees.leaves": "tags",
    "Cleaning.empty": False,
    "Cleaning.identical": False,
    "Cleaning.max_words": None,
    "Cleaning.max_length_ratio": None,
    "Cleaning.duplicate": False,
    "Scoring.test_rows": None,
    "Scoring.bracketing_parameters": None,
    "Decoding.stop": "bound",
    "Decoding.max_length_ratio": 1.0,
    "Decoding.min_length_ratio": 0.0,
    "Decoding.constrained_to_trees": False,
    "Decoding.constrained_to_inventory": False,
    "Decoding.sampling_temperature": None,
    "Decoding.sampling_top_k": None,
    "Decoding.sampling_nucleus": None,
    "Decoding.sampling_seed": 1,
}
