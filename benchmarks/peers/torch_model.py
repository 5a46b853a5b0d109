"""PyTorch's nn.Transformer made the paper's model, with weights of ours."""

import math
from collections.abc import Mapping
from typing import Any

import numpy as np
import torch
from torch import Tensor, nn
from torch.nn import functional

PAD_ID, BOS_ID = 0, 1
_SUBLAYERS = {
    "encoder": {"self_attention": "self_attn", "feed_forward": None},
    "decoder": {"self_attention": "self_attn", "source_attention": "multihead_attn", "feed_forward": None},
}


class Transformer(nn.Module):
    """nn.Transformer without what the paper has not: norms after the stacks, dropout within the sub-layers."""

    def __init__(self, settings: dict[str, Any]):
        super().__init__()
        size, heads, layers = settings["d_model"], settings["num_heads"], settings["num_layers"]
        self.table = nn.Parameter(torch.empty(settings["vocab_size"], size))
        self.dropout = nn.Dropout(settings["dropout_rate"])
        self.stacks = nn.Transformer(
            size,
            heads,
            layers,
            layers,
            settings["d_ff"],
            dropout=settings["dropout_rate"],
            layer_norm_eps=settings["layer_norm_epsilon"],
            batch_first=True,
        )
        self.stacks.encoder.norm = self.stacks.decoder.norm = None
        for module in self.stacks.modules():
            if isinstance(module, nn.MultiheadAttention):
                module.dropout = 0.0
                if not settings["attention_biases"]:
                    module.in_proj_bias = module.out_proj.bias = None
            if isinstance(module, nn.TransformerEncoderLayer | nn.TransformerDecoderLayer):
                module.dropout.p = 0.0  # after the ReLU
        self.register_buffer("positions", sinusoids(settings["max_length"], size))

    def forward(self, source: Tensor, target: Tensor) -> Tensor:
        """The decoder's outputs [B, T, D]."""
        shifted = functional.pad(target[:, :-1], (1, 0), value=BOS_ID)
        length, padding = target.shape[1], source == PAD_ID
        future = torch.ones(length, length, dtype=torch.bool, device=target.device).triu(1)
        return self.stacks(
            self.embed(source),
            self.embed(shifted),
            tgt_mask=future,
            src_key_padding_mask=padding,
            memory_key_padding_mask=padding,
            tgt_is_causal=True,
        )

    def embed(self, ids: Tensor) -> Tensor:
        scaled = functional.embedding(ids, self.table) * math.sqrt(self.table.shape[1])
        return self.dropout(scaled + self.positions[: ids.shape[1]])


def sinusoids(length: int, size: int) -> Tensor:
    angles = torch.arange(length)[:, None] / 10000.0 ** (torch.arange(0, size, 2) / size)
    return torch.stack([angles.sin(), angles.cos()], -1).reshape(length, size).float()


def load_params(model: Transformer, params: Mapping[str, np.ndarray]) -> None:
    """Flax's weights, by name; each attention's three projections are one matrix here, and kernels lie transposed."""
    own = dict(model.named_parameters())
    size = model.table.shape[1]

    def put(name: str, value: np.ndarray) -> None:
        own.pop(name).data.copy_(torch.from_numpy(np.ascontiguousarray(value)))

    def put_attention(name: str, theirs: str) -> None:
        for kind, axis in (("kernel", 1), ("bias", 0)):
            if f"{theirs}/query/{kind}" in params:
                parts = [params[f"{theirs}/{part}/{kind}"] for part in ("query", "key", "value")]
                joined = np.concatenate([part.reshape(*[size] * axis, -1) for part in parts], axis)
                put(f"{name}.in_proj_{'weight' if axis else 'bias'}", joined.T)
        put(f"{name}.out_proj.weight", params[f"{theirs}/output/kernel"].reshape(-1, size).T)
        if f"{theirs}/output/bias" in params:
            put(f"{name}.out_proj.bias", params[f"{theirs}/output/bias"])

    put("table", params["source_embedding/table"])
    for stack, sublayers in _SUBLAYERS.items():
        for layer in range(len(getattr(model.stacks, stack).layers)):
            name, theirs = f"stacks.{stack}.layers.{layer}", f"{stack}/layers_{layer}"
            for number, (sublayer, ours) in enumerate(sublayers.items(), start=1):
                if ours:
                    put_attention(f"{name}.{ours}", f"{theirs}/{sublayer}")
                norm = f"{theirs}/{sublayer}_residual/LayerNorm_0"
                put(f"{name}.norm{number}.weight", params[f"{norm}/scale"])
                put(f"{name}.norm{number}.bias", params[f"{norm}/bias"])
            for number, part in enumerate(("inner", "outer"), start=1):
                put(f"{name}.linear{number}.weight", params[f"{theirs}/feed_forward/{part}/kernel"].T)
                put(f"{name}.linear{number}.bias", params[f"{theirs}/feed_forward/{part}/bias"])
    assert not own, f"no weights for {', '.join(own)}"
