"""Table 2's costs: the paper's recomputed, and ours from logs that are made up."""

import json
import math
import re

import pytest
from run_folders import write_run
from tiny_experiment import VOCAB_SIZE, tiny_experiment

from experiments.costs.compiled import Shares
from experiments.costs.recomputed import IN_SUMMARIES, LANGUAGES, recomputed, scientific, verdicts
from experiments.costs.runs import costs, measured_peaks
from experiments.paper import TABLE_2, TABLE_2_ENSEMBLE, TABLE_2_HARDWARE, TABLE_2_OURS
from experiments.registry.records import read_run
from transformer_jax.analysis.cost import training_flops


@pytest.fixture
def table_2(shared):
    """As typed in by someone else, with what its costs are made of."""
    return json.loads((shared / "paper" / "tables.json").read_text(encoding="utf-8"))["table2"]


def test_the_papers_own_hours_and_devices_are_those_noted_with_the_table(table_2):
    notes = {row["model"]: row.get("note", "") for row in table_2["rows"]}
    for system in ("Transformer (base model)", "Transformer (big)"):
        amount, unit, devices, tflops = re.search(
            r"([\d.]+) ([hd]) x (\d+) GPUs x ([\d.]+) TFLOPS", notes[system]
        ).groups()
        hours = float(amount) * {"h": 1, "d": 24}[unit]
        hardware = TABLE_2_HARDWARE[system]
        assert (hardware.hours_en_de, hardware.hours_en_fr, hardware.devices) == (hours, hours, int(devices))
        assert table_2["tflops_assumed_per_gpu"][hardware.device] == float(tflops)


def test_gnmt_s_hours_and_devices_are_those_noted_with_the_table(table_2):
    (note,) = [line for line in table_2["internal_checks"] if line.startswith("GNMT")]
    devices, device, one, other = re.search(r"(\d+) (K\d+): (\d) day = \S+ (\d) days", note).groups()
    hardware = TABLE_2_HARDWARE["GNMT + RL"]
    assert (hardware.devices, hardware.device) == (int(devices), device)
    assert (hardware.hours_en_de, hardware.hours_en_fr) == (24 * int(one), 24 * int(other))


@pytest.mark.parametrize("languages", LANGUAGES)
def test_what_can_be_recomputed_gives_the_printed_digits(languages):
    """Thirteen cells of eighteen: of the rest nobody says hours and devices."""
    found = {system: recomputed(system, languages) for system in TABLE_2}
    known = {system: again for system, again in found.items() if again}
    ensembles = {
        system for system in TABLE_2 if "Ensemble" in system and getattr(TABLE_2[system], f"flops_{languages}")
    }
    assert known.keys() == TABLE_2_HARDWARE.keys() | ensembles
    for system, again in known.items():
        assert float(f"{again.flops:.1e}") == getattr(TABLE_2[system], f"flops_{languages}"), system


def test_the_products_in_full():
    assert recomputed("Transformer (base model)", "en_de").flops == 43_200 * 8 * 9.5e12 == 3.2832e18
    assert recomputed("Transformer (big)", "en_fr").flops == 302_400 * 8 * 9.5e12 == 2.29824e19
    assert recomputed("GNMT + RL", "en_de") == (96 * 86_400 * 2.8e12, "96 K80 x 24 h x 2.8 TFLOPS")
    assert recomputed("ConvS2S Ensemble", "en_de") == (TABLE_2_ENSEMBLE * 9.6e18, "8 x 9.6e18")


def test_of_two_printed_costs_the_paper_s_is_right():
    lines = list(verdicts())
    assert len(lines) == len(IN_SUMMARIES) == 2
    assert "96 K80 x 24 h x 2.8 TFLOPS = 2.32e19; of 2.3e19 in the paper and 2.3e18 in summaries" in lines[0]
    assert all("the paper is right" in line for line in lines)
    assert [line.split()[-3] for line in lines] == ["2.3e18", "1.8e19"]


def test_a_summary_that_is_nearer_would_be_right(monkeypatch):
    monkeypatch.setitem(IN_SUMMARIES, "GNMT + RL", 2.32e19)
    assert "the summary is right, and 2.3e19 is not" in next(verdicts())


def test_our_rows_are_the_configs_of_table_2():
    assert {languages for _, languages in TABLE_2_OURS.values()} == set(LANGUAGES)
    assert {system for system, _ in TABLE_2_OURS.values()} == {name for name in TABLE_2 if "Transformer" in name}


@pytest.mark.parametrize(("flops", "text"), [(3.3e18, "3.3e18"), (2.29824e19, "2.3e19"), (1.4e20, "1.4e20")])
def test_costs_are_written_as_the_paper_prints_them(flops, text):
    assert scientific(flops) == text


SOURCE, TARGET, PAIRS, SECONDS = 6, 5, 7, 20.0
SHARES = Shares(update=1000.0, pair=100.0, token=10.0)
PAIR_FLOPS = training_flops(tiny_experiment().model, VOCAB_SIZE, source=SOURCE, target=TARGET)
PEAK = 1e9


@pytest.fixture(autouse=True)
def lengths(monkeypatch):
    """The lengths that XLA's count was asked for: of any, it is SHARES."""
    asked = []

    def shares(_experiment, *, source, target):
        asked.append((source, target))
        return SHARES

    monkeypatch.setattr("experiments.costs.runs.compiled_shares", shares)
    return asked


def log(*, utilisation=True, seconds=SECONDS, **changes):
    """Two records of ten updates, the second half as fast; the devices' peak is PEAK."""
    records = []
    for step, slower in ((10, 1), (20, 2)):
        speed = 10 * PAIRS / (seconds * slower)
        record = {
            "kind": "train", "step": step, "seconds": seconds * slower, "pairs_per_update": PAIRS,
            "source_tokens_per_update": PAIRS * SOURCE, "target_tokens_per_update": PAIRS * TARGET,
            "target_tokens_per_second": speed * TARGET, "padding_share": 0.0,
            "utilisation": speed * PAIR_FLOPS / PEAK,
        }  # fmt: skip
        records.append(record | changes if utilisation else {k: v for k, v in record.items() if k != "utilisation"})
    return records


def costs_of(path, *, devices="1 x cpu", **changes):
    return costs(read_run(write_run(path, tiny_experiment(), log(**changes), {"devices": devices}, {})))


def test_a_device_of_the_paper_s_counts_by_its_peak_there(tmp_path):
    found = costs_of(tmp_path / "run", devices="8 x gpu (Tesla P100-SXM2-16GB)").estimate
    assert found.flops == pytest.approx(60 * 8 * 9.5e12, rel=1e-12)
    assert "8 Tesla P100-SXM2-16GB" in found.how
    assert "9.5 TFLOPS in the paper" in found.how


@pytest.mark.parametrize("devices", ["1 x cpu", "4 x gpu (NVIDIA A30)"])
def test_any_other_counts_by_the_peak_that_its_log_s_utilisation_is_a_share_of(tmp_path, devices):
    """All devices' together: however many they are."""
    assert measured_peaks(tiny_experiment(), log()) == pytest.approx([PEAK, PEAK])
    found = costs_of(tmp_path / "run", devices=devices).estimate
    assert found.flops == pytest.approx(60 * PEAK, rel=1e-12)
    assert "measured" in found.how


def test_peaks_that_were_measured_anew_count_for_their_time(tmp_path):
    """20 s at PEAK, then 40 s at half of it."""
    records = log()
    records[1]["utilisation"] *= 2
    run = write_run(tmp_path / "run", tiny_experiment(), records, {"devices": "1 x cpu"}, {})
    assert costs(read_run(run)).estimate.flops == pytest.approx(20 * PEAK + 40 * PEAK / 2, rel=1e-12)


def test_the_formula_is_of_the_pairs_that_were_trained_on(tmp_path):
    assert costs_of(tmp_path / "run").formula == pytest.approx(20 * PAIRS * PAIR_FLOPS, rel=1e-12)


def test_xla_s_count_is_of_updates_pairs_and_tokens(tmp_path, lengths):
    """Pairs are of the logged lengths, as no position was padding."""
    assert costs_of(tmp_path / "run").compiled == pytest.approx(20 * (1000 + PAIRS * (100 + TARGET * 10)), rel=1e-12)
    assert lengths == [(SOURCE, TARGET)]


def test_xla_counts_padding_of_pairs_and_none_of_the_loss(tmp_path, lengths):
    """Three positions of ten are padding: lengths of 8.57 and 7.14, of which the program has the next whole ones."""
    pair = 100 * (SOURCE + TARGET) / 0.7 / (9 + 7)
    found = costs_of(tmp_path / "run", padding_share=0.3).compiled
    assert found == pytest.approx(20 * (1000 + PAIRS * (pair + TARGET * 10)), rel=1e-12)
    assert lengths == [(9, 7)]


def test_what_is_not_logged_is_blank(tmp_path):
    assert costs_of(tmp_path / "old", utilisation=False).estimate is None
    assert costs_of(tmp_path / "moved", devices="one").estimate is None
    assert costs_of(tmp_path / "odd", pairs_per_update=math.nan)[1:] == (None, None)
    assert costs(read_run(write_run(tmp_path / "new", tiny_experiment(), [], {}, {}))) == (None, None, None)


def test_two_kinds_of_devices_have_no_one_peak(tmp_path):
    run = write_run(tmp_path / "run", tiny_experiment(), log(), {"devices": "1 x cpu"}, {})
    with (run / "launches.jsonl").open("a") as file:
        file.write(json.dumps({"devices": "8 x gpu (Tesla P100-SXM2-16GB)"}) + "\n")
    assert costs(read_run(run)).estimate is None
