"""Operations of a trace, put down to the parts of the model."""

import pytest

from benchmarks.train_profile import named_operations, operations, part_of

UPDATE = "jit(_fun)/while/body/closed_call/"
FORWARD = f"{UPDATE}jvp(Transformer.outputs)/decoder/while/body/closed_call/layers_0"
BACKWARD = f"{UPDATE}transpose(jvp(Transformer.outputs))/decoder/while/body/closed_call/checkpoint/layers_0"


@pytest.mark.parametrize(
    ("name", "part"),
    [
        (f"{FORWARD}/self_attention_residual/self_attention.attend/query/btd,dhk->bhtk/dot_general", "attention"),
        (f"{BACKWARD}/layers_0._after_self_attention/source_attention.memory/value/dot_general", "attention"),
        (f"{FORWARD}/layers_0._after_self_attention/feed_forward/inner/dot_general", "feed-forward"),
        (f"{FORWARD}/self_attention_residual/Dropout_0/select_n", "dropout"),
        (f"{FORWARD}/self_attention_residual/LayerNorm_0/mul", "norms, residual sums"),
        (f"{BACKWARD}/layers_0._after_self_attention/feed_forward_residual/add", "norms, residual sums"),
        (f"{UPDATE}jvp(Transformer.outputs)/source_embedding/gather", "embeddings, positions"),
        (f"{UPDATE}jvp(Transformer.outputs)/decoder/while/body/dynamic_slice", "other work in the stacks"),
        (f"{UPDATE}jvp()/while/body/closed_call/nd,vd->nv/dot_general", "logits and loss"),
        (f"{UPDATE}transpose(jvp())/mul", "logits and loss"),
        ("jit(_fun)/div", "optimizer and the rest"),
        ("", "what has no place in the source"),
    ],
)
def test_parts(name, part):
    assert part_of(name) == part


def test_names_are_those_that_the_program_gives():
    program = """
  %sub.1 = f32[512,9]{1,0} subtract(%a, %b), metadata={op_name="jit(f)/sub" stack_frame_id=3}
  ROOT %dot_general.30 = f32[512,8]{1,0} dot(%a, %c), metadata={op_name="jit(f)/dot_general"}
  %copy = f32[2]{0} copy(%a)
"""
    assert dict(named_operations(program)) == {"sub.1": "jit(f)/sub", "dot_general.30": "jit(f)/dot_general"}


def test_a_loop_has_no_time_of_its_own():
    events = [
        {"ph": "M", "name": "thread_name", "args": {"name": "python"}},
        {"ph": "X", "name": "step", "dur": 90.0},
        {"ph": "X", "name": "while.1", "dur": 70.0, "args": {"hlo_op": "while.1"}},
        {"ph": "X", "name": "dot.2", "dur": 30.0, "args": {"hlo_op": "dot.2"}},
        {"ph": "X", "name": "dot.2", "dur": 31.0, "args": {"hlo_op": "dot.2"}},
    ]
    assert list(operations(events)) == [("dot.2", 30.0), ("dot.2", 31.0)]
