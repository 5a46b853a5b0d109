"""Settings that came after runs had been made, each with the value by which the code did before.

A run's own config, and the settings that its results name, are read with these, so that an old run can be scored,
listed, compared and gone on with. Configs that people write say every setting.
"""

from typing import Any

ADDED: dict[str, Any] = {
    "Training.label_smoothing_over": "others",
    "Data.vocabulary": "bpe",
    "Data.vocab_sample": 1000000,
    "Cleaning.empty": False,
    "Cleaning.identical": False,
    "Cleaning.max_words": None,
    "Cleaning.max_length_ratio": None,
    "Cleaning.duplicate": False,
    "Scoring.test_rows": None,
    "Decoding.stop": "bound",
    "Decoding.max_length_ratio": 1.0,
    "Decoding.min_length_ratio": 0.0,
    "Decoding.sampling_temperature": None,
    "Decoding.sampling_top_k": None,
    "Decoding.sampling_nucleus": None,
    "Decoding.sampling_seed": 1,
}
