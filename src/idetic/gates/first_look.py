"""The first look at a text: which recognisers could find anything in it at all.

Most notes hold no digit, no label and no word that could be a key. A look that is sure of that
spares the recognisers, which together take far longer. Each sign below is what every detection of
some recognisers needs; a sign too many only costs time. Of a text beyond ASCII the look is sure of
nothing, and it shows every sign.
"""

from __future__ import annotations

import re

# Plain numbers: an operation on the flags of an enumeration takes longer than a whole look.
DIGIT, TOKEN, SECRET_LABEL, HANDED_OVER, AT = 1, 2, 4, 8, 16
TAX_CODE, BIRTH, STREET, ADDRESS_LABEL = 32, 64, 128, 256
EVERY_SIGN = 511

_DIGIT = re.compile("[0-9]")


def signs(text: str) -> int:
    """The signs that a folded text shows."""
    if not text.isascii():
        return EVERY_SIGN
    low = text.lower()
    shown = _of_letters(text, low)
    if _DIGIT.search(text) is None:
        return shown
    shown |= DIGIT
    if holds(low, CODES):
        shown |= HANDED_OVER
    if holds(low, BIRTH_PIECES):
        shown |= BIRTH
    return shown | STREET if _HOUSE_NUMBER.search(text) else shown


def _of_letters(text: str, low: str) -> int:
    """The signs for which a text needs no digit."""
    shown = TOKEN if _has_token(text) else 0
    if holds(low, LABEL_PIECES) and (holds(low, PHRASES) or _LABELLED.search(low)):
        shown |= SECRET_LABEL
    if " -" in text or text.startswith("-") or holds(low, SCHEMES):
        shown |= HANDED_OVER
    if "@" in text or "%40" in text or _BRACKETED_AT.search(text):
        shown |= AT
    if _CODICE_END.search(text):
        shown |= TAX_CODE
    return shown | ADDRESS_LABEL if holds(low, ADDRESS_PIECES) else shown


def holds(low: str, pieces: tuple[str, ...]) -> bool:
    """Whether a text holds a piece. A plain loop: `any` with a generator takes twice as long."""
    for piece in pieces:  # noqa: SIM110
        if piece in low:
            return True
    return False


# --- tokens: a long word that no language has, or how a shorter key begins ----------------------

_LONG_WORD = re.compile(r"[A-Za-z0-9_\-+/=.]{14,}")
_PLAIN_WORD = re.compile(r"[A-Za-z][a-z]*(?:-[a-z]+)*")
# The shortest key that could be written in small letters alone has 20 characters.
_LONGEST_PLAIN = 19
_TOKEN_PIECES = ("://", "eyJ", "xox", "PRIVATE KEY", "_authToken")


def _has_token(text: str) -> bool:
    """Whether a text has a word that could be a key, or a piece that says so of a shorter one."""
    if holds(text, _TOKEN_PIECES):
        return True
    for match in _LONG_WORD.finditer(text):
        word = match[0].rstrip(".")
        if len(word) > _LONGEST_PLAIN or not _PLAIN_WORD.fullmatch(word):
            return True
    return False


# --- secrets behind a label --------------------------------------------------------------------

LABEL_PIECES = (
    *("pass", "pwd", "pw", "psd", "key", "secret", "token", "credential", "wort", "contrasena"),
    *("senha", "wachtwoord", "haslo", "clave", "parol", "losenord", "adgangskode", "salasana"),
    *("heslo", "jelszo", "sifre", "khau", "sandi", "lozinka", "parool", "sess", "sid", "cookie"),
    *("mnemonic", "phrase", " words"),
)
PHRASES = ("phrase", "words", "mnemonic")
# Labels that go on behind a space.
_ON = {
    "pass": "(?:[ _-]?word)?",
    "clave": "(?: de acceso)?",
    "parol": "(?:a d'ordine)?",
    "sess": "(?:ion)?(?:[ _-]?(?:id|key))?",
}
_LABELS = "|".join(piece + _ON.get(piece, "") for piece in LABEL_PIECES)
# Between a label and its value stands a sign, or a verb with spaces around it.
_LABELLED = re.compile(
    rf"(?:{_LABELS})[\w\-]{{0,48}}+['\"`\]]{{0,2}}(?:[ \t]{{0,8}}(?:[:=!>]|->)| - |"
    r"[ \t]{1,8}(?:is|was|now|changed|re?set|ist|war|lautet|est|es|era|e|to|jest|ar|er|on|je|la|"
    r"adalah)[ \t])"
)
SCHEMES = ("bearer ", "basic ", "token ")
CODES = ("pin", "otp", "cvv", "cvc")

# --- persons -----------------------------------------------------------------------------------

_BRACKETED_AT = re.compile(r"[\[({<] ?[aA][tT]")
# How an Italian tax code ends; in it, letters may stand for digits.
_CODICE_END = re.compile(r"[0-9L-V]{3}[A-Za-z](?![A-Za-z0-9])")
BIRTH_PIECES = (
    *("birth", "born", "dob", "d.o.b", "d/o/b", "b.", "geb", "naissance", "ne le", "nee le"),
    *("nacim", "nacid", "nacio", "cumple", "nascita", "nato", "nata", "compleanno", "nascim"),
    *("nascid", "nasceu", "geboor", "urodz", "fodel", "fodd", "fods", "synty", "dogum"),
)
ADDRESS_PIECES = tuple(
    "addr anschrift adres direcc indirizzo endereco live living resid wohn domicil".split()
)
# A number beside a name, or before the French word for a street.
_HOUSE_NUMBER = re.compile(
    r"[0-9][\w/\-]{0,9}[ ,\-]{0,3}\n?[ \t]?[A-Z]"
    r"|[A-Z][\w'\-]{0,30}\.?,? {1,2}(?:n[ro]?\.? ?)?[0-9]"
    r"|[0-9](?: bis| ter)?,? (?:[Rr]ue|[Aa]v|[Bb]|[Cc]h|[Qq]uai|[Ii]mp|[Aa]ll|[Cc]ours|[Rr]oute|"
    r"[Pp])"
)
