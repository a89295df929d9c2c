"""A long text is cut into overlapping pieces that leave nothing out."""

from __future__ import annotations

from hypothesis import given
from hypothesis import strategies as st

from idetic.pieces import OVERLAP, PIECE, WHOLE, excerpt, pieces


def test_a_short_text_is_its_only_piece() -> None:
    text = "x" * WHOLE
    assert pieces(text) == [text]
    assert excerpt(text, None) == text


@given(st.text(alphabet="ab \n", min_size=WHOLE + 1, max_size=6 * PIECE))
def test_the_pieces_cover_the_text_in_order(text: str) -> None:
    start = 0
    for number, piece in enumerate(pieces(text)):
        at = text.index(piece, max(0, start - OVERLAP) if number else 0)
        assert at <= start, "nothing lies between two pieces"
        assert len(piece) <= PIECE
        start = at + len(piece)
    assert start == len(text)


def test_a_word_is_not_cut() -> None:
    text = "wonderful " * 500
    assert all(piece.split()[-1] == "wonderful" for piece in pieces(text))


def test_an_excerpt_shows_that_text_is_left_out() -> None:
    text = "word " * 1000
    first, *_, last = range(len(pieces(text)))
    assert excerpt(text, first).endswith(" …")
    assert excerpt(text, last).startswith("… ")
    assert excerpt(text, first + 1).startswith("… ")
    assert excerpt(text, first + 1).endswith(" …")
