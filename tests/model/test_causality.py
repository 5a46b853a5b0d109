"""What the logits at a position depend on, told by gradients, which nothing escapes."""

import dataclasses

import jax
import jax.numpy as jnp
import numpy as np
import pytest

SOURCE = jnp.array([[7, 11, 5, 29, 2, 0, 0]])
LENGTH = 5


@pytest.mark.parametrize("pre_norm", [False, True])
def test_logits_depend_on_the_target_up_to_their_own_position(pre_norm, small_model, build):
    model, variables = build(dataclasses.replace(small_model, pre_norm=pre_norm))
    target_embedded = jnp.asarray(np.random.default_rng(1).normal(size=(1, LENGTH, small_model.d_model)), jnp.float32)
    direction = jnp.asarray(np.random.default_rng(2).normal(size=(37,)), jnp.float32)

    def one_number_a_position(embedded):
        def read(bound):
            mask = (SOURCE != 0)[:, None, None, :]
            encoded, _ = bound.encoder(bound.source_embedding(SOURCE), mask, deterministic=True)
            return bound.decoder(embedded, encoded, mask, deterministic=True)[0]

        outputs = model.apply(variables, method=read)
        return outputs[0] @ variables["params"]["source_embedding"]["table"].T @ direction

    jacobian = jax.jit(jax.jacrev(one_number_a_position))(target_embedded)[:, 0]
    influence = np.abs(jacobian).max(-1)  # [position of the logits, position of the target]
    assert (influence[np.triu_indices(LENGTH, 1)] == 0).all()
    assert (influence[np.tril_indices(LENGTH)] > 1e-6).all()


def test_logits_depend_on_every_source_token_and_on_no_padding(small_model, build):
    model, variables = build(dataclasses.replace(small_model, num_layers=1))
    embedded = jnp.asarray(np.random.default_rng(1).normal(size=(1, 7, small_model.d_model)), jnp.float32)
    target = jnp.array([[13, 4, 2]])

    def one_number_a_position(embedded):
        def read(bound):
            mask = (SOURCE != 0)[:, None, None, :]
            encoded, _ = bound.encoder(embedded, mask, deterministic=True)
            return bound.decoder(bound.target_embedding(target), encoded, mask, deterministic=True)[0]

        return model.apply(variables, method=read)[0, :, 3]

    jacobian = jax.jit(jax.jacrev(one_number_a_position))(embedded)[:, 0]
    influence = np.abs(jacobian).max(-1)
    assert (influence[:, :5] > 1e-6).all()
    assert (influence[:, 5:] == 0).all()
