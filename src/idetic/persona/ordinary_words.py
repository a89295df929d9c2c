"""Words that tell nothing about anybody: those in which one says how to work.

A note may use them although the Subconscious used them too. The list is our own and short on
purpose: a word that is missing here is looked for in what the Actor knows, and only then refused.
"""

from __future__ import annotations

import re

_WORDS = """
a about above accept add after again agree all allow almost alone already also always an and
another answer any anybody anyone anything apologise apology appear approve are argue around as
ask assume at attach attention avoid away back bad be because become been before begin behind
being below best better between big both brief bring bullet but by call calm came can cancel
cannot careful case cause change chat check choose clarify clear close come comment common compare
complain complaint complete concern concise confirm consider contact continue conversation copy
correct could customer data date day decide deep default detail did different direct discuss do
document does doubt down draft each early easy either else email end english enough ensure entry
error even ever every everybody everyone everything exact example except expect explain explicit
extra fact false far fast feel few figure file final find finish first fix focus follow for form
formal format forward found friendly from full further future gave general gentle get give go good
got great greet group guess had half happen hard has have he heading hear help her here him his
hold honest hour how however if image impatient important in include inform information instead
into invoice is issue it item its itself just keep key kind knew know known language large last
late later law leave length less let like likely limit line link list listen little long look lot
low made mail main make many mark matter may maybe me mean meeting mention message might mind
minute mistake month more most move much must my name near need never new next nice no nobody none
nor not note nothing now number of off offer often old on once one only open option or order other
ought our out over own page paragraph part past path pause pay people per perhaps person phone
phrase pick place plain plan please point polite politely possible practical prefer present
private problem process promise proper proposal propose provide put question quick quiet quote
rather reach read ready real reason recent record reduce refer refuse regard remain remember
remind repeat reply report request research respect respond response rest result return reveal
review right round rule run safe said same save say schedule second see seem send sentence
separate serious set several shall share she short should show side simple since single sit slow
small so some somebody someone something soon sorry sort sound source speak specific spell start
state stay step still stop story straight style subject such suggest sum summarise summarize
summary support suppose sure table take talk task tell term test text than thank that the their
them then there these they thing think this those though thought through time timezone title to
today together tomorrow tone too tool top topic translate true truth try turn type under
understand unit unless until up update upon urgent us use user usual very view visit wait want
warn was watch way we week welcome well went were what when where whether which while who whole
whom why will wish with within without word work worry would write wrong year yes yesterday
yet you young your
"""
_ENDING = re.compile(r"(?:ies|ing|ed|ly|er|s|e|y)$")


def stem(word: str) -> str:
    """A word without its endings: "replies" and "reply" are one."""
    while len(word) > 4 and (shorter := _ENDING.sub("", word)) != word:
        word = shorter
    return word


ORDINARY = frozenset(stem(word) for word in _WORDS.split())
