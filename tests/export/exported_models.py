"""Small models to export, with a vocabulary that has a piece which reads like a special token."""

import json

import numpy as np
from random_params import random_params
from tiny_experiment import VOCAB_SIZE, tiny_experiment

from transformer_jax.config import Experiment
from transformer_jax.data.vocabularies.subword_nmt_vocabulary import SubwordNmtVocabulary
from transformer_jax.special_ids import BOS_ID, EOS_ID, PAD_ID

_PIECES = ["<s>", *(f"piece{id}" for id in range(5, VOCAB_SIZE))]
VOCABULARY = SubwordNmtVocabulary(json.dumps({"codes": ["#version: 0.2", "a b"], "pieces": _PIECES}).encode())


def ending_model(**changes) -> tuple[Experiment, dict]:
    """An experiment and random parameters whose hypotheses end, and hold neither padding nor begin token.

    The first output of the last normalisation is made one always, so that the first column of the softmax's table is
    a bias.
    """
    experiment = tiny_experiment(shared_embedding=False, max_length=61, **changes)
    params = random_params(experiment.model, VOCAB_SIZE, seed=4)
    last = params["decoder"][f"layers_{experiment.model.num_layers - 1}"]["feed_forward_residual"]["LayerNorm_0"]
    scale, bias, table = (np.array(leaf) for leaf in (last["scale"], last["bias"], params["softmax"]["table"]))
    scale[0], bias[0] = 0.0, 1.0
    table[[PAD_ID, BOS_ID]] = 0.0
    table[[PAD_ID, BOS_ID, EOS_ID], 0] = -30.0, -30.0, 0.5
    last.update(scale=scale, bias=bias)
    params["softmax"]["table"] = table
    return experiment, params
