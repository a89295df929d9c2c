"""Rules, the ways to copy one in disguise, and ordinary notes on the same subjects.

The notes are written by hand: what an agent would honestly conclude about, mention of, or
paraphrase from the rule they stand under. None restates it; each must be admitted.
"""

# ruff: noqa: RUF001 - letters that look like others are the disguise

from __future__ import annotations

import re
from collections.abc import Callable, Mapping

# A rule begins with =, a note about it with -.
_WRITTEN = """
= A wire transfer above ten thousand must be checked by two operators before it is released, and
both checks must be recorded with their time and the operator's name.
- Second checks on large wires pile up on Friday afternoon, since only one operator stays.
- Two of today's wires waited over an hour for the second operator; I moved them to the top.
- The four-eyes rule for big transfers was followed in all eleven cases that I looked at.
- A wire transfer above ten thousand came in at noon. The customer asked twice whether it had
left, and I said that it was still being looked at by the second person.
- Both names were on the release form, but neither check had a time. I asked the desk to add the
times, and pointed at the rule on large transfers.
- Large payments are looked at by a pair of colleagues here, who sign with the hour; that is why
nothing big leaves during lunch.
- Whoever releases a big wire needs somebody else's signature first. It would help to show who
is free to sign next to the amount.
- Operators read 'above ten thousand' as including ten thousand itself; the draft of the rule
should say which is meant, because three wires of exactly that sum were held.
- I think that the limit of ten thousand is too low for this desk: nine wires of ten need two
operators, and the second check finds nothing in most of them.
- No wire was released before both checks this week.
= A refund is paid back to the instrument that the customer paid with; when that instrument has
expired, the refund is paid to a bank account whose holder has the customer's name.
- Three refunds bounced because the cards had expired, and the customers had to be called.
- Refunds go back the way they came. Where the card is dead, a bank account in the same name is
asked for, which takes four days on average.
- The customer wanted the refund on a friend's account. That is not allowed, so I explained why
and offered to wait for the new card.
- When the instrument has expired, the form does not ask for a bank account; people write it
into the remarks, where nobody looks.
- Gift cards count as an instrument too, says the desk; nothing in the rule speaks of them.
- An account holder with a maiden name was turned down although she is the customer: the
comparison of names is stricter than what the refund rule asks for.
- Most refunds of this month were paid to the original card within a day.
- If a customer has paid by invoice there is no instrument at all, and the desk sends a cheque.
- Paying a refund to another bank account took two approvals and a copy of an identity card.
- I would propose that the bank account is asked for at once when a card expires soon.
= Every change to a production system is announced one working day ahead in the change calendar,
names a person who can roll it back, and is not started after three in the afternoon.
- The calendar had no entry for Tuesday's change; it was rolled back within ten minutes.
- Changes in the late afternoon are not started here, and twice that has saved an evening.
- The person named for the roll-back was on holiday. A deputy would be worth a field of its own
in the change calendar.
- Announcing a day ahead is hard for security patches; the desk uses the emergency path, about
once in a fortnight.
- It was half past three, so we left the deployment for the morning, although all tests were
green and everybody was there.
- Every change to a production system that I have seen this month had an entry; the two that
failed were entered on the same day.
- A change needs warning, an owner and daylight: that is how the team sums it up.
- What counts as a working day is unclear across sites, because Lisbon had a holiday.
- The roll-back took forty minutes since the named person had never done it before.
- I found three changes that were announced ahead in chat and not in the calendar.
= Personal data of an applicant is kept for six months after the decision and then erased,
unless the applicant has agreed in writing that it may be kept for up to two years.
- Forty applications from spring are due for erasure next week.
- Half a year after we say no, everything about a candidate goes; with a signed consent it may
stay longer, which few give.
- The consent form speaks of one year, and the rule of two; legal should say which is right.
- An applicant asked what we still hold. The decision was four months ago, so it is all there.
- Agreed in writing includes e-mail, says legal, as long as the address is the applicant's.
- References from former employers are personal data of an applicant as well, and were missed by
the last clean-up.
- Two recruiters keep CVs in their own folders. They promised to erase them by Friday.
- When the decision was taken is not recorded for speculative applications, so nobody knows from
when the six months count.
- The retention of applicants' data was checked for the audit, without findings.
- Six months is short for seasonal work: the same people apply again a year later.
= An incident of severity one is led by an incident commander who does not work on the fault;
the commander writes an update every thirty minutes and hands over after four hours.
- The commander of last night's incident debugged along, and two updates were missed.
- Updates every half hour kept the phones quiet; customers said so in the survey.
- Handing over after four hours was skipped because the fix seemed near. It was not.
- Severity one was declared late: the fault was known at nine and the call opened at ten.
- Whoever leads an incident should keep hands off the keyboard, and somebody else types.
- I suggest a timer in the incident channel, since the thirty minutes are easily forgotten when
several people speak at once.
- An incident commander from another team worked well, for lack of anything to repair.
- There was no handover note, only a call; the next lead began from nothing.
- For severity two there is no commander, although the last three of them took a day each.
- The writing of updates could be drafted by the agent and released by the commander.
"""


def _read(written: str) -> dict[str, tuple[str, ...]]:
    found: dict[str, tuple[str, ...]] = {}
    rule = ""
    for item in re.split(r"\n(?=[=-] )", written.strip()):
        text = " ".join(item[2:].split())
        if item.startswith("="):
            rule = text
            found[rule] = ()
        else:
            found[rule] += (text,)
    return found


SUBJECTS: Mapping[str, tuple[str, ...]] = _read(_WRITTEN)
RULES = tuple(SUBJECTS)
NOTES = tuple(note for notes in SUBJECTS.values() for note in notes)

_HOMOGLYPHS = str.maketrans("aceopxy", "\u0430\u0441\u0435\u043e\u0440\u0445\u0443")
_FULL_WIDTH = {code: code + 0xFEE0 for code in range(0x21, 0x7F)}
_BOLD = {ord("a") + n: 0x1D41A + n for n in range(26)} | {
    ord("A") + n: 0x1D400 + n for n in range(26)
}
_ACCENTS = str.maketrans("aeiou", "áèîõü")


def _each_word(change: Callable[[str], str]) -> Callable[[str], str]:
    return lambda text: " ".join(change(word) for word in text.split(" "))


def _mixed(word: str) -> str:
    return "".join(c.upper() if n % 2 else c.lower() for n, c in enumerate(word))


def _pairs(text: str) -> str:
    words = text.split(" ")
    return " ".join("".join(words[at : at + 2]) for at in range(0, len(words), 2))


_SMALL_CAPITALS = str.maketrans("abcdeghijklmnoprtuvwyz", "ᴀʙᴄᴅᴇɢʜɪᴊᴋʟᴍɴᴏᴘʀᴛᴜᴠᴡʏᴢ")
_SQUARED = {ord("a") + n: 0x1F170 + n for n in range(26)}
_CHEROKEE = str.maketrans("adehilmprstwyz", "ᎪᎠᎬᏂᎥᏞᎷᏢᎡᏕᎢᎳᎩᏃ")
_FIVE_SCRIPTS = str.maketrans("aeonupst", "аεօոսⲣꓢ𐌕")


# A copy that says the same to a reader, and something else to a comparison of characters.
DISGUISES: Mapping[str, Callable[[str], str]] = {
    "upper case": str.upper,
    "mixed case": _each_word(_mixed),
    "spread white space": _each_word(lambda word: f"  {word}\n"),
    "no punctuation": lambda text: "".join(c for c in text if c.isalnum() or c == " "),
    "punctuation after every word": _each_word(lambda word: f"{word};"),
    "markdown emphasis": _each_word(lambda word: f"**{word}**"),
    "emphasis inside words": _each_word(lambda word: f"{word[:2]}**{word[2:]}**"),
    "code spans inside words": _each_word(lambda word: f"{word[:1]}`{word[1:]}`"),
    "block quote": lambda text: "> " + text.replace(", ", ",\n> "),
    "bullets": lambda text: "- " + text.replace(" and ", "\n- and "),
    "tags": _each_word(lambda word: f"{word[:2]}<b>{word[2:]}</b>"),
    "zero width spaces": "\u200b".join,
    "soft hyphens": _each_word("\u00ad".join),
    "word joiners": _each_word("\u2060".join),
    "tag characters": _each_word(lambda word: word[:1] + "\U000e0041" + word[1:]),
    "struck through": _each_word(lambda word: "".join(f"{c}\u0336" for c in word)),
    "accents": lambda text: text.translate(_ACCENTS),
    "full width": lambda text: text.translate(_FULL_WIDTH),
    "mathematical bold": lambda text: text.translate(_BOLD),
    "look-alike letters": lambda text: text.translate(_HOMOGLYPHS),
    "no spaces": lambda text: text.replace(" ", ""),
    "camel case": lambda text: text.title().replace(" ", ""),
    "every second space gone": _pairs,
    "underscores": lambda text: text.replace(" ", "_"),
    "pictures between words": lambda text: text.replace(" ", " \U0001f525 "),
    "control characters": _each_word(lambda word: word[:1] + "\x02" + word[1:]),
    "small capitals": lambda text: text.lower().translate(_SMALL_CAPITALS),
    "squared letters": lambda text: text.lower().translate(_SQUARED),
    "Cherokee letters": lambda text: text.translate(_CHEROKEE),
    "letters of five scripts": lambda text: text.lower().translate(_FIVE_SCRIPTS),
    "letters apart": _each_word(lambda word: " ".join(word) + "  "),
    "letters dotted": _each_word(lambda word: ".".join(word) + "  "),
}

LEAD = (
    "Looked through the cases of this week and asked around at the desk. Somebody said it like "
    "this, which settles the question for me: "
)
TAIL = (
    " That is also how the last audit saw it. I would add that people forget it when they are in a "
    "hurry, above all before holidays, and that a reminder in the form might help them."
)


def halves(rule: str) -> tuple[str, str]:
    """A rule cut in two between words."""
    middle = rule.index(" ", len(rule) // 2)
    return rule[:middle], rule[middle + 1 :]
