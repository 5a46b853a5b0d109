"""TensorFlow Datasets, through the real builders and without TensorFlow: the paper's data sets by the paper's path."""

import dataclasses
import gzip
import hashlib
import itertools
import json
import sys
import types

import pytest
from readings import reading

from transformer_jax.data.corpus import CorpusError, read_corpus, read_pairs, source_identity

tfds = pytest.importorskip("tensorflow_datasets")
mocking = pytest.importorskip("tensorflow_datasets.testing.mocking")
tree = pytest.importorskip("tree")

# What WMT 2014's archives hold, as their builder looks for it, once unpacked.
TRAINING = {
    "de": ["training/europarl-v7", "commoncrawl", "training/news-commentary-v9"],
    "fr": ["training/europarl-v7", "commoncrawl", "un/undoc.2000", "training/news-commentary-v9"],
}
GIGA = "giga-fren.release2.fixed"
TRAIN_PAIRS = {"de": 5 + 6 + 7, "fr": 5 + 6 + 7 + 8 + 9}  # of `write_wmt14`: 5 in the first file, one more in each next
ODD = "\x85, \u2028, \xa0, \ufeff, \r, \0, 🤖, שלום"


def between(language="de", source="en"):
    return reading(source_language=source, target_language=language if source == "en" else "en")


def write(path, lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    data = "".join(f"{line}\n" for line in lines).encode()
    path.write_bytes(gzip.compress(data) if path.suffix == ".gz" else data)


def write_wmt14(folder, language):
    """Text like WMT 2014's, in its files; returns the parallel files of the training split."""
    names = [f"{name}.{language}-en." + "{}" for name in TRAINING[language]]
    names += [GIGA + ".{}.gz"] if language == "fr" else []
    for number, name in enumerate(names):
        for side in ("en", language):
            write(folder / name.format(side), [f"{side} {number} {line} {ODD}" for line in range(5 + number)])
    for side in ("en", language):
        write(folder / f"dev/newstest2013.{side}", [f"{side} {line}" for line in range(3)])
        end = "src" if side == language else "ref"
        write(folder / f"dev/newstest2014-{language}en-{end}.{side}.sgm", [f'<seg id="1">{side} of 2014</seg>'])
    return tuple((str(folder / name.format("en")), str(folder / name.format(language))) for name in names)


@pytest.fixture(scope="module", params=["de", "fr"])
def prepared(request, tmp_path_factory):
    """WMT 2014 as its real builder writes it on disk (array_record), when the archives hold `write_wmt14`."""
    folder = tmp_path_factory.mktemp("wmt14")
    files = write_wmt14(folder / "unpacked", request.param)
    source = f"tfds:wmt14_translate/{request.param}-en:"
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(tfds.core.constants, "DATA_DIR", str(folder / "tfds"))
        unpacked = lambda _, urls: tree.map_structure(lambda _: str(folder / "unpacked"), urls)  # noqa: E731
        patch.setattr(tfds.download.DownloadManager, "download_and_extract", unpacked)
        next(read_pairs(f"{source}train", between(request.param)))
        patch.setattr(tfds.download.DownloadManager, "download_and_extract", None)  # what is prepared needs no more
        yield types.SimpleNamespace(source=source, language=request.param, files=files, folder=folder / "tfds")


def test_what_is_on_disk_is_what_the_files_hold(prepared):
    """TFDS shuffles what it writes; the pairs are the same."""
    expected = list(read_pairs(prepared.files, between(prepared.language)))
    found = list(read_pairs(f"{prepared.source}train", between(prepared.language)))
    assert len(found) == len(expected) == TRAIN_PAIRS[prepared.language]
    assert sorted(found) == sorted(expected)
    assert all(ODD in source and ODD in target for source, target in found)
    assert list(prepared.folder.rglob("*train.array_record*"))
    assert "tensorflow" not in sys.modules


def test_wmt14_has_the_paper_s_dev_and_test_sets(prepared):
    """Section 6: newstest2013 and newstest2014. Configs name splits; which sets these are is the data set's to say."""
    for split, sentences in (("validation", ["0", "1", "2"]), ("test", ["of 2014"])):
        found = list(read_pairs(f"{prepared.source}{split}", between(prepared.language)))
        assert sorted(found) == [(f"en {sentence}", f"{prepared.language} {sentence}") for sentence in sentences]


def test_reading_starts_anywhere_also_in_the_part_after(prepared):
    parts = ((f"{prepared.source}train[:5]",), prepared.files[0], (f"{prepared.source}train[5:]",))
    pairs = list(read_pairs(parts, between(prepared.language)))
    train = list(read_pairs(f"{prepared.source}train", between(prepared.language)))
    assert pairs == train[:5] + list(read_pairs(prepared.files[0], between(prepared.language))) + train[5:]
    for start in range(0, len(pairs) + 2, 3):
        assert list(read_pairs(parts, between(prepared.language), start=start)) == pairs[start:]


def test_direction_follows_the_languages(prepared):
    source, language = f"{prepared.source}train", prepared.language
    forward = list(read_pairs(source, between(language)))
    assert list(read_pairs(source, between(language, source=language))) == [pair[::-1] for pair in forward]
    assert all(pair[0].startswith("en ") and pair[1].startswith(language) for pair in forward)


def test_a_version_may_be_named(prepared):
    sources = [f"{prepared.source}train", f"{prepared.source}1.0.0:train"]
    found, versioned = (list(read_pairs(source, between(prepared.language))) for source in sources)
    assert found == versioned


@pytest.mark.parametrize(("split", "known"), [("9.9.9:train", "1.0.0"), ("trian", "'train', 'validation', 'test'")])
def test_an_unknown_version_or_split_names_the_known_ones(prepared, split, known):
    with pytest.raises(CorpusError, match=rf"-en:{split}: TensorFlow Datasets cannot .*{known}"):
        read_corpus(prepared.source + split, between(prepared.language))


def test_identity_names_version_and_number_of_examples(prepared):
    for split, number in (("train", TRAIN_PAIRS[prepared.language]), ("train[:4]", 4), ("validation", 3)):
        found = source_identity(prepared.source + split, between(prepared.language))
        assert json.loads(json.dumps(found)) == found
        name, _, examples = found[-1][1:]
        assert (name, examples) == (f"wmt14_translate/{prepared.language}-en/1.0.0", number)


def test_languages_must_be_in_the_data_set(prepared):
    known = ", ".join(sorted(("en", prepared.language)))
    for side in ("source_language", "target_language"):
        for of in (read_corpus, source_identity):
            with pytest.raises(CorpusError, match=f"-en:train: has no language 'cs', only {known}$"):
                of(f"{prepared.source}train", dataclasses.replace(between(prepared.language), **{side: "cs"}))


def prepare_own_pairs(folder, pairs):
    """A data set as a user may have it: on disk, while TFDS knows no builder of its name. It is not shuffled."""
    with tfds.core.registered.skip_registration():

        class OwnPairs(tfds.core.GeneratorBasedBuilder):
            VERSION = tfds.core.Version("2.0.0")

            def _info(self):
                features = tfds.features.Translation(languages=("en", "de"))
                return tfds.core.DatasetInfo(builder=self, features=features, disable_shuffling=True)

            def _split_generators(self, _):
                return {"train": self._generate_examples()}

            def _generate_examples(self):
                yield from ((number, {"en": en, "de": de}) for number, (en, de) in enumerate(pairs))

    OwnPairs(data_dir=str(folder), file_format="array_record").download_and_prepare()


def test_a_data_set_may_be_on_disk_only(tmp_path, monkeypatch):
    """With a line end in a sentence; and two data sets of one name and number of pairs are told apart by their size."""
    identities = []
    for end in ("", " more"):
        pairs = [(f"en {number}\nand {ODD}", f"de {number}{end}") for number in range(7)]
        prepare_own_pairs(tmp_path / end, pairs)
        monkeypatch.setattr(tfds.core.constants, "DATA_DIR", str(tmp_path / end))
        assert list(read_pairs("tfds:own_pairs:train", between())) == pairs
        identities.append(source_identity("tfds:own_pairs:train", between())[-1])
    assert {identity[1] for identity in identities} == {"own_pairs/2.0.0"}
    assert identities[0] != identities[1]


def test_a_flipped_bit_is_found_and_named(tmp_path, monkeypatch):
    prepare_own_pairs(tmp_path, [(hashlib.sha512(bytes([number])).hexdigest() * 9, "x") for number in range(200)])
    monkeypatch.setattr(tfds.core.constants, "DATA_DIR", str(tmp_path))
    (file,) = tmp_path.rglob("*.array_record*")
    data = bytearray(file.read_bytes())
    data[20_000] ^= 1
    file.write_bytes(data)
    with pytest.raises(CorpusError, match=rf"own_pairs:train, examples 0 to 199, in {file.parent}: Corrupted"):
        list(read_pairs("tfds:own_pairs:train", between()))


class FakeExamples(list):
    """A TFDS data source that keeps what it was asked for."""

    dataset_info = types.SimpleNamespace(features={"de": None, "en": None})

    def __getitems__(self, numbers):
        self.asked = [*getattr(self, "asked", []), list(numbers)]
        return [self[number] for number in numbers]


@pytest.mark.parametrize("start", [0, 1, 2999, 3000, 3001, 7500, 8000])
def test_what_comes_before_the_start_is_not_fetched(monkeypatch, start):
    examples = FakeExamples({"en": str(number), "de": "x"} for number in range(7501))
    monkeypatch.setattr(tfds, "data_source", lambda _, **__: examples)
    found = list(read_pairs("tfds:own_pairs:train", between(), start=start))
    assert found == [(str(number), "x") for number in range(start, 7501)]
    asked = getattr(examples, "asked", [])
    assert list(itertools.chain(*asked)) == list(range(start, 7501))
    assert len(asked) == -(-max(0, 7501 - start) // 1000)


def test_what_is_not_utf8_is_named(monkeypatch):
    examples = FakeExamples([{"en": "ü".encode(), "de": "ä"}, {"en": b"\xff", "de": "b"}])
    monkeypatch.setattr(tfds, "data_source", lambda name, split: {("a/b", "c[:2]"): examples}[name, split])
    pairs = read_pairs("tfds:a/b:c[:2]", between())
    assert next(pairs) == ("ü", "ä")
    with pytest.raises(CorpusError, match=r"tfds:a/b:c\[:2\], example 1: not UTF-8 \(invalid start byte\)"):
        next(pairs)


@pytest.fixture
def mock_data(monkeypatch):
    """TFDS's stand-in for a data set, with its `__getitems__` mended: called as a method, it wants itself once more."""
    monkeypatch.setattr(mocking, "_getitems", lambda numbers, generator: [generator[number] for number in numbers])
    with tfds.testing.mock_data(num_examples=2003):
        yield


@pytest.mark.parametrize("language", ["de", "fr"])
@pytest.mark.usefixtures("mock_data")
def test_mocked_data_goes_through_the_real_builder(language):
    source = f"tfds:wmt14_translate/{language}-en:train"
    pairs = list(read_pairs(source, between(language)))
    assert len(pairs) == 2003
    assert list(read_pairs(source, between(language), start=1990)) == pairs[1990:]
    assert list(read_pairs(source, between(language, source=language))) == [pair[::-1] for pair in pairs]
    assert pairs[0][0] != pairs[0][1]
    assert source_identity(source, between(language))[-1][-1] == 2003


def test_a_failed_download_is_one_line_with_the_manual_route(tmp_path, monkeypatch):
    def fail(*_):
        raise ConnectionError("HTTP 503.\nand a long explanation")

    monkeypatch.setattr(tfds.core.constants, "DATA_DIR", str(tmp_path))
    monkeypatch.setattr(tfds.download.DownloadManager, "download_and_extract", fail)
    for of in (read_corpus, source_identity):
        with pytest.raises(CorpusError) as caught:
            of("tfds:wmt14_translate/de-en:train", between())
        assert str(caught.value) == (
            f"tfds:wmt14_translate/de-en:train: TensorFlow Datasets cannot provide it in {tmp_path}: HTTP 503; or "
            "download the text yourself, e.g. from https://www.statmt.org/wmt14/translation-task.html, and name the "
            'files: Data.train = ("train.en", "train.de")'
        )


@pytest.mark.parametrize("name", ["wmt14_translate/xx-yy", "no_such_pairs"])
def test_an_unknown_data_set_is_an_error(name, tmp_path, monkeypatch):
    monkeypatch.setattr(tfds.core.constants, "DATA_DIR", str(tmp_path))
    with pytest.raises(CorpusError, match=rf"{name}:train: TensorFlow Datasets cannot .* not found"):
        read_corpus(f"tfds:{name}:train", between())


@pytest.mark.parametrize("source", ["tfds:wmt14_translate/de-en", "tfds::train", "tfds:", "tfds:a:"])
def test_a_source_needs_builder_and_split(source):
    for of in (read_corpus, source_identity):
        with pytest.raises(CorpusError, match='must be "tfds:builder/config:split"'):
            of(source, between())
