"""EVALB's parameter files."""

import pytest

from transformer_jax.metrics.bracketing.parameters import (
    STANDARD,
    BracketingParameters,
    ParameterFileError,
    parse_parameters,
    read_parameters,
)

TEXT = """\
# DELETE_LABEL X
DEBUG 2
MAX_ERROR 3

CUTOFF_LEN\t7
LABELED 0  \n\
DELETE_LABEL TOP
DELETE_LABEL #
DELETE_LABEL_FOR_LENGTH -NONE-
QUOTE_LABEL ``
EQ_LABEL ADVP PRT
EQ_WORD  This this"""


def test_each_keyword_is_read(tmp_path):
    path = tmp_path / "some.prm"
    path.write_text(TEXT)
    assert read_parameters(path) == BracketingParameters(
        labeled=False,
        max_errors=3,
        cutoff_length=7,
        deleted=frozenset({"TOP", "#"}),
        deleted_for_length=frozenset({"-NONE-"}),
        quote_labels=frozenset({"``"}),
        equal_labels=frozenset({("ADVP", "PRT")}),
        equal_words=frozenset({("This", "this")}),
    )


def test_the_standard_is_nk_prm(shared):
    assert read_parameters(shared / "data/evalb/nk.prm") == STANDARD


@pytest.mark.parametrize(
    ("line", "reason"),
    [
        ("DELETE_LABLE TOP", "must start with one of MAX_ERROR, .*, DEBUG, or with #"),
        ("  DELETE_LABEL TOP", "must start with one of"),  # EVALB passes over it
        ("DELETE_LABEL", "0 values where there must be 1"),
        ("DELETE_LABEL A B", "2 values where there must be 1"),
        ("EQ_LABEL A", "1 values where there must be 2"),
        ("CUTOFF_LEN forty", "must be a whole number from 0 on"),
        ("MAX_ERROR -1", "must be a whole number from 0 on"),
        ("LABELED 2", "must be 0 or 1"),
    ],
)
def test_a_line_that_means_nothing_is_an_error(line, reason):
    with pytest.raises(ParameterFileError, match=rf"^some\.prm, line 2: {line.strip()!r}: .*{reason}"):
        parse_parameters(["DEBUG 0", line], name="some.prm")


def test_a_file_that_cannot_be_read_is_an_error(tmp_path):
    with pytest.raises(ParameterFileError, match=r"absent\.prm: cannot be read"):
        read_parameters(tmp_path / "absent.prm")
    (tmp_path / "latin.prm").write_bytes(b"DELETE_LABEL \xe9\n")
    with pytest.raises(ParameterFileError, match=r"latin\.prm: cannot be read"):
        read_parameters(tmp_path / "latin.prm")
