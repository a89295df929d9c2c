"""Letters that look like Latin ones, script by script: what a reader takes for an `a` is an `a`.

The table is our own. What Unicode's names say is derived ("LATIN LETTER SMALL CAPITAL R"); what
only an eye says is written down. It never depends on the Python that reads it: names are stable,
and the blocks that are walked through are full. The database folds with the very same table.
"""

# ruff: noqa: RUF001 - these letters are what the table is about

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator

# Each script: its letters, and below them the Latin ones that they look like, in order.
_DRAWN = """
АВЕКМНОРСТУХІЈЅԀԌԚԜҺӀҮѴЬ авекмнорстухіјѕԁԍԛԝһӏүѵьгѡөғ
abekmhopctyxijsdgqwhlyvb abekmhopctyxijsdgqwhlyvbrwof
ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹϳ αβεζηικνορτυχγωϲσ
abezhikmnoptyxcj abeznikvoptuxywco
ԼՍՕՏՀ աօոսհցզյգւք
luosh wonuhgqjqip
ᎠᎡᎢᎥᎩᎪᎫᎬᎳᎷᎻᎽᏀᏂᏃᏒᏔᏕᏙᏚᏞᏟᏢᏦᏳᏴ
drtiyajewmhyghzrwsvslcpkgb
ꭰꭱꭲꭵꭹꭺꭻꭼꮃꮇꮋꮍꮐꮒꮓꮢꮤꮥꮩꮪꮮꮯꮲꮶᏻᏼ
drtiyajewmhyghzrwsvslcpkgb
ⲀⲂⲈⲌⲎⲒⲔⲘⲚⲞⲢⲤⲦⲨⲬ ⲁⲃⲉⲍⲏⲓⲕⲙⲛⲟⲣⲥⲧⲩⲭ
abezhikmnopctyx abezhikmnopctyx
ꓐꓑꓓꓔꓖꓗꓙꓚꓜꓝꓟꓠꓡꓢꓣꓦꓧꓪꓫꓬꓮꓰꓲꓳꓴ
bpdtgkjczfmnlsrvhwxyaeiou
ᗅᗩᗷᑲᖯᑕᗞᗪᑯᗴᖴᕼᒍᒪᗰᑎᑭᑫᖇᔕᑌᐯᗯ᙭ᘔ
aabbbcdddefhjlmnpqrsuvwxz
ⵏⵔⵙⵝⵊ ᚱᚷᛁᛒᛕᛖ ߀ߊ
looxi rxibkm ol
اهەہھ וןסט ዐሀ ყჿ ဝഠଠ
loooo llov ou yo ooo
𐌀𐌁𐌂𐌄𐌅𐌉𐌊𐌌𐌍𐌏𐌐𐌑𐌔𐌕𐌗 𐊂𐊆𐊇 𐊠𐊢𐊫𐊰𐊲𐊴
abcefikmnopmstx bef acomyx
𐐄𐐕𐐛𐐠𐐬𐐽𐑈 𐒴𐓂𐓎𐓪𐓶
oclsocs rouou
𑢠𑢢𑢣𑢤𑢦𑢩𑢮𑢲𑢵𑢸𑢼𑣀𑣁𑣃𑣄𑣈𑣗𑣘𑣜
vflyezeloutvsizoouy
𖼈𖼊𖼖𖼵𖼺𖽂𖽃
vtlrsuy
ıȷɑɡɩʋɯɣɛǀꜰꜱ〇
ijagivwyelfso
"""
# Blocks whose names tell the letter: strokes and hooks, small capitals, squared letters.
_NAMED = ((0xC0, 0x2B0), (0x1D00, 0x1DC0), (0x2C60, 0x2C80), (0x1F130, 0x1F18A), (0x1F1E6, 0x1F200))
_LETTER = re.compile(
    r"(?:(?:NEGATIVE )?(?:SQUARED|CIRCLED) )?LATIN (?:CAPITAL LETTER|SMALL LETTER|LETTER SMALL "
    r"CAPITAL) ([A-Z])(?: WITH .+)?|REGIONAL INDICATOR SYMBOL LETTER ([A-Z])"
)
# Digits that are written as others draw them, by their zeros.
_ZEROS = (0x660, 0x6F0, 0x966, 0x9E6, 0xE50)
# Capitals of scripts in which a letter may stand that looks like no Latin one.
_CASED = ((0xC0, 0x180), (0x370, 0x400), (0x400, 0x530), (0x531, 0x557), (0x2C80, 0x2CE4))


def _drawn() -> Iterator[tuple[str, str]]:
    """The pairs that are written down above."""
    lines = _DRAWN.split("\n")[1:-1]
    for letters, latin in zip(lines[::2], lines[1::2], strict=True):
        yield from zip(letters.replace(" ", ""), latin.replace(" ", ""), strict=True)


def _named() -> Iterator[tuple[str, str]]:
    """The pairs that Unicode's names tell."""
    for first, end in _NAMED:
        for letter in map(chr, range(first, end)):
            if found := _LETTER.fullmatch(unicodedata.name(letter, "")):
                yield letter, (found[1] or found[2]).lower()


def _cased() -> Iterator[tuple[str, str]]:
    """Capitals with their small letters, where no look-alike decides."""
    for first, end in _CASED:
        for letter in map(chr, range(first, end)):
            if len(low := letter.lower()) == 1 and low != letter:
                yield letter, low


def _digits() -> Iterator[tuple[str, str]]:
    """Digits of other scripts with ours."""
    for zero in _ZEROS:
        yield from ((chr(zero + digit), str(digit)) for digit in range(10))


def _lasting(letter: str) -> bool:
    """Whether a letter is still there after compatibility forms and accents were taken off."""
    return unicodedata.normalize("NFKC", unicodedata.normalize("NFKD", letter)[0]) == letter


def _pairs() -> dict[str, str]:
    """Every letter that is folded with what it becomes; what is written down goes first."""
    found: dict[str, str] = {}
    for letter, plain in (*_drawn(), *_named(), *_digits(), *_cased()):
        if _lasting(letter):
            found.setdefault(letter, plain)
    # A capital whose small letter looks Latin ends where that ends.
    return {letter: found.get(plain, plain) for letter, plain in found.items()}


LOOK_ALIKES = _pairs()
