"""`evaluate` writes what a run scores; every number is computed once more here, another way."""

import hashlib
import json
import shlex
import shutil

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import sacrebleu
from tiny_commands import run_command, sentence_pairs, snapshot

from experiments.weights import read_weights
from experiments.workdir import read_experiment, read_vocabulary
from transformer_jax.model.transformer import Transformer
from transformer_jax.special_ids import EOS_ID, PAD_ID

PAIRS = {"dev": sentence_pairs(13, 1), "test": sentence_pairs(11, 2)}
BINDINGS = ["--gin_param=Decoding.beam_size = 1", "--gin_param=Decoding.length_penalty = 0.0"]


@pytest.fixture(scope="module")
def evaluated(trained, tmp_path_factory):
    """The test split with the run's settings, then the dev split with a beam of one; all that happened on the way."""
    workdir = tmp_path_factory.mktemp("evaluated") / "run"
    shutil.copytree(trained, workdir)
    before = snapshot(workdir)
    test = run_command("evaluate", f"--workdir={workdir}")
    between = snapshot(workdir)
    first_results = json.loads((workdir / "results.json").read_text())
    dev = run_command("evaluate", f"--workdir={workdir}", "--split=dev", *BINDINGS, "--show=2")
    assert (test.code, test.err.strip(), dev.code, dev.err.strip()) == (0, "", 0, "")
    return {
        "workdir": workdir, "snapshots": (before, between, snapshot(workdir)), "first": first_results,
        "test": test.out.decode(), "dev": dev.out.decode(),
    }  # fmt: skip


def entry(evaluated, split):
    return json.loads((evaluated["workdir"] / "results.json").read_text(encoding="utf-8"))[split]


def translations(evaluated, split):
    text = (evaluated["workdir"] / f"translations.{split}.txt").read_text(encoding="utf-8")
    assert text.endswith("\n")
    return text[:-1].split("\n")


def changed(before, after):
    """Names of files that are new or other; none may be gone."""
    assert before.keys() <= after.keys()
    return {name for name in after if after[name] is not None and before.get(name) != after[name]}


def test_nothing_is_written_but_results_translations_and_averaged_weights(evaluated):
    before, between, after = evaluated["snapshots"]
    first = {name for name in changed(before, between) if not name.startswith("averaged/100_150/")}
    assert first == {"results.json", "translations.test.txt", "translations.test.jsonl"}
    assert changed(between, after) == {"results.json", "translations.dev.txt", "translations.dev.jsonl"}


def test_a_second_split_keeps_the_first(evaluated):
    assert evaluated["first"].keys() == {"test"}
    assert entry(evaluated, "test") == evaluated["first"]["test"]


def test_a_binding_is_honoured_recorded_and_not_kept(evaluated):
    names = ("Decoding.beam_size", "Decoding.length_penalty")
    settings = {split: [entry(evaluated, split)["settings"][name] for name in names] for split in PAIRS}
    assert settings == {"dev": [1, 0.0], "test": [2, 0.6]}
    kept = read_experiment(evaluated["workdir"], [], []).decoding
    assert (kept.beam_size, kept.length_penalty) == (2, 0.6)
    # Without a penalty the score is the log-probability; with it, the penalty is above one and the score higher.
    assert all(row["score"] == row["log_prob"] for row in read_rows(evaluated, "dev"))
    assert all(row["score"] > row["log_prob"] for row in read_rows(evaluated, "test"))


def test_the_command_is_recorded_so_that_a_shell_runs_it(evaluated):
    workdir = f"--workdir={evaluated['workdir']}"
    run = ["python", "-m", "experiments.evaluate", workdir]
    assert shlex.split(entry(evaluated, "test")["command"]) == run
    assert shlex.split(entry(evaluated, "dev")["command"]) == [*run, "--split=dev", *BINDINGS, "--show=2"]


@pytest.mark.parametrize("split", PAIRS)
def test_scores_are_those_of_the_written_text_against_the_raw_references(evaluated, split):
    references = [[german for _, german in PAIRS[split]]]
    hypotheses, found = translations(evaluated, split), entry(evaluated, split)
    assert found["bleu"]["value"] == pytest.approx(sacrebleu.corpus_bleu(hypotheses, references).score)
    assert found["chrf"]["value"] == pytest.approx(sacrebleu.corpus_chrf(hypotheses, references).score)
    assert found["bleu"]["value"] > 20, "the run has learned: its translations are not all one"
    same = [ours == theirs for ours, theirs in zip(hypotheses, references[0], strict=True)]
    assert found["exact_match_percent"] == pytest.approx(100 * np.mean(same))
    assert found["sentences"] == len(references[0])
    assert "tok:13a" in found["bleu"]["signature"]
    assert "nrefs:1|case:mixed" in found["chrf"]["signature"]


@pytest.mark.parametrize("split", PAIRS)
def test_the_corpus_is_recorded(evaluated, split):
    sides = [f"{len(side)}\n" + "".join(f"{line}\n" for line in side) for side in zip(*PAIRS[split], strict=True)]
    found = entry(evaluated, split)
    assert found["corpus_sha256"] == hashlib.sha256("".join(sides).encode()).hexdigest()
    assert f"{split}." in found["corpus"]
    assert found["checkpoint_steps"] == [100, 150]
    assert {"jax", "flax", "sacrebleu", "sentencepiece"} <= found["versions"].keys()


@pytest.fixture(scope="module")
def forced(evaluated):
    """Of each split's pairs: the target's ids, their log-probability, and the source's tokens; pair by pair."""
    workdir = evaluated["workdir"]
    experiment, vocabulary = read_experiment(workdir, [], []), read_vocabulary(workdir)
    params = jax.tree.map(jnp.asarray, read_weights(workdir, experiment).params)
    model = Transformer(experiment.model, vocabulary.size)
    longest = max(len(vocabulary.encode(side)) for pairs in PAIRS.values() for pair in pairs for side in pair) + 1

    @jax.jit
    def log_probs(source, target):
        logits = model.apply({"params": params}, source, target, deterministic=True)
        return jnp.take_along_axis(jax.nn.log_softmax(logits), target[..., None], axis=-1)[..., 0]

    def log_prob(pair):
        ids = [[*vocabulary.encode(side), EOS_ID] for side in pair]
        source, target = (np.array([side + [PAD_ID] * (longest - len(side))], np.int32) for side in ids)
        return ids[1], float(log_probs(source, target)[0, : len(ids[1])].sum()), len(ids[0])

    return {split: [log_prob(pair) for pair in pairs] for split, pairs in PAIRS.items()}


def test_the_perplexity_is_that_of_each_sentence_alone(evaluated, forced):
    for split, pairs in forced.items():
        tokens = sum(len(ids) for ids, _, _ in pairs)
        total = -sum(log_prob for _, log_prob, _ in pairs)
        assert entry(evaluated, split)["perplexity_per_piece"] == pytest.approx(np.exp(total / tokens), rel=1e-5)


def test_search_errors_are_references_with_a_higher_score_than_the_translation(evaluated, forced):
    """Without a length penalty on the dev split, with the paper's on the test split."""
    alphas = {"dev": 0.0, "test": 0.6}
    for split, pairs in forced.items():
        scores = [log_prob / ((5 + len(ids)) / 6) ** alphas[split] for ids, log_prob, _ in pairs]
        rows = read_rows(evaluated, split)
        better = [
            score > row["score"] and ids != [*row["ids"], EOS_ID] and len(ids) <= source + 3
            for score, row, (ids, _, source) in zip(scores, rows, pairs, strict=True)
        ]
        assert entry(evaluated, split)["search_errors"] == sum(better)
        said = f"\n{sum(better)} references have a higher score than the translation that was found\n"
        assert said in evaluated[split]


@pytest.mark.parametrize("split", PAIRS)
def test_the_command_score_gives_its_translations_the_search_s_score(evaluated, split, tmp_path):
    """Those whose text becomes the ids again that were found."""
    vocabulary, rows, texts = (
        read_vocabulary(evaluated["workdir"]),
        read_rows(evaluated, split),
        translations(evaluated, split),
    )
    (tmp_path / "source").write_text("".join(f"{english}\n" for english, _ in PAIRS[split]))
    (tmp_path / "target").write_text("".join(f"{text}\n" for text in texts))
    files = [f"--{side}={tmp_path / side}" for side in ("source", "target")]
    settings = BINDINGS if split == "dev" else []
    ended = run_command("score", f"--workdir={evaluated['workdir']}", *files, *settings)
    assert (ended.code, ended.err) == (0, "")
    scored = [tuple(map(float, line.split("\t"))) for line in ended.out.decode().splitlines()]
    same = [i for i, row in enumerate(rows) if row["finished"] and vocabulary.encode(texts[i]) == row["ids"]]
    assert len(same) > 3
    for i in same:
        assert scored[i] == pytest.approx((rows[i]["score"], rows[i]["log_prob"]), abs=1e-4)
    assert len(scored) == len(rows)


def test_lengths_beside_the_references_are_told(evaluated, forced):
    """In pieces, of all sentences and by the length of the source."""
    for split, pairs in forced.items():
        rows = read_rows(evaluated, split)
        lengths = np.array(
            [(source - 1, len(row["ids"]), len(ids) - 1) for (ids, _, source), row in zip(pairs, rows, strict=True)]
        )
        found = entry(evaluated, split)
        assert found["length_ratio"] == pytest.approx(lengths[:, 1].sum() / lengths[:, 2].sum())
        assert f"length {found['length_ratio']:.3f} of the references'" in evaluated[split]
        for group in found["length_ratio_by_source_length"]:
            own = lengths[(group["low"] <= lengths[:, 0]) & (lengths[:, 0] <= group["high"])]
            assert len(own) == group["sentences"]
            assert group["ratio"] == pytest.approx(own[:, 1].sum() / own[:, 2].sum())
            assert f"{group['low']}-{group['high']}: {group['ratio']:.3f} ({len(own)} sentence" in evaluated[split]
        assert sum(group["sentences"] for group in found["length_ratio_by_source_length"]) == len(pairs)


def read_rows(evaluated, split):
    text = (evaluated["workdir"] / f"translations.{split}.jsonl").read_text(encoding="utf-8")
    return [json.loads(line) for line in text.splitlines()]


@pytest.mark.parametrize("split", PAIRS)
def test_pieces_ids_and_text_are_the_same_line_by_line(evaluated, split):
    vocabulary = read_vocabulary(evaluated["workdir"])
    rows = read_rows(evaluated, split)
    assert [vocabulary.decode(row["ids"]) for row in rows] == translations(evaluated, split)
    assert [vocabulary.tokens(row["ids"]) for row in rows] == [row["tokens"] for row in rows]
    assert entry(evaluated, split)["cut_off_at_the_length_limit"] == sum(not row["finished"] for row in rows)
    assert len(rows) == len(PAIRS[split])


def test_the_score_is_printed_with_its_signature_and_translations_beside_references(evaluated):
    for split, shown in (("test", 5), ("dev", 2)):
        printed, found = evaluated[split], entry(evaluated, split)
        assert f"BLEU {found['bleu']['value']:.2f} {found['bleu']['detail']} [{found['bleu']['signature']}]" in printed
        blocks = [block.splitlines() for block in printed.split("\n\n")[:shown]]
        triples = [tuple(line.split(": ", 1)[1].strip() for line in block[:3]) for block in blocks]
        pairs = zip(PAIRS[split], translations(evaluated, split), strict=True)
        assert set(triples) <= {(english, ours, german) for (english, german), ours in pairs}
        assert len(triples) == shown
