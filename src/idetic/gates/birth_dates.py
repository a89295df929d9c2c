"""Dates of birth: a date that the words before it call so, in a dozen languages.

Between the label and the date may stand what a form or a sentence puts there (`is`, `on`, `(DD/MM)`
or a name), and nothing else: `the birth date column was added on 2024-05-03` is about a column.
"""
# ruff: noqa: RUF001 - the words of other languages

from __future__ import annotations

import re
from collections.abc import Iterator

from idetic.gates.first_look import BIRTH_PIECES, holds
from idetic.gates.redaction import Detection

_MONTH = (
    r"(?:jan|feb|mar|apr|may|jun|jul|aug|sep|oct|nov|dec|mai|okt|dez|mrz|ene|abr|ago|dic|fev|avr|"
    r"aou|gen|mag|giu|lug|set|ott|out|mei|maa|maj|sty|lut|kwi|cze|lip|sie|wrz|paz|lis|gru|янв|фев|"
    r"мар|апр|мая|июн|июл|авг|сен|окт|ноя|дек)[a-zа-я]{0,8}\.?"
)
_ORDINAL = r"\d{1,2}(?:st|nd|rd|th|er|º|ª)?\.?"
_YEAR = r"(?:(?:18|19|20)\d\d|'?\d\d(?!\d))"
_DATE = (
    r"(?:(?:18|19|20)\d\d ?[-/._] ?\d{1,2} ?[-/._] ?\d{1,2}|(?:18|19|20)\d\d \d\d? \d\d?"
    r"|\d{1,2} ?[-/._] ?\d{1,2} ?[-/._] ?\d{2,4}|\d{1,2} \d{1,2} (?:19|20)\d\d|(?:19|20)\d{6}"
    rf"|{_ORDINAL}[ \-]?(?:day )?(?:of |de |d')?{_MONTH}[,\-]? ?(?:de |del |do )?{_YEAR}"
    rf"|{_MONTH} (?:the )?{_ORDINAL},? {_YEAR}|(?:18|19|20)\d\d,? {_MONTH} {_ORDINAL}"
    r"|\d{4} ?年 ?\d{1,2} ?月 ?\d{1,2} ?日?|\d{4} ?년 ?\d{1,2} ?월 ?\d{1,2} ?일?)"
)
# A birthday is one without its year as well.
_DAY = rf"(?:{_ORDINAL} (?:of |de )?{_MONTH}|{_MONTH} (?:the )?{_ORDINAL})"
_MARKS = r"\s:=|>→\"'`\-()\[\]*_,"
_SMALL = (
    r"is|was|as|on|the|of|for|her|his|my|your|their|our|in|at|it's|it|he|she|they|who|given|listed|"
    r"recorded|registered|stated|shown|entered|noted|said|confirmed|reads?|being|patient|customer|"
    r"member|client|applicant|user|employee|el|em|le|am|il|op|den|dia|les|est|ist|es|e|war|era|"
    r"jest|"
    r"en|a|w|der|die|dem|la|lo|du|de|del|della|do|da|mon|tue|wednes|thurs|fri|satur|sun)"
)
_JOIN = (
    rf"(?:'s)?(?:[.?] (?=it))?[{_MARKS}]{{0,6}}(?:(?:(?:{_SMALL}(?:day)?|dd|mm|yyyy|yy|jjjj|tt|"
    rf"aaaa|jj|[dmyjta]{{1,4}}"
    rf"[-/.][dmyjta]{{1,4}}[-/.][dmyjta]{{2,4}}|"
    rf"(?-i:[A-Z][\w'./\-]{{1,20}}))[{_MARKS}]{{1,4}}){{0,7}}"
)
_BIRTH_LABEL = (
    r"(?:dates? ?of ?birth|date_of_birth|birth[ _-]?dates?|birth[ _-]?day|d\.?o\.?b\.?(?![a-z])|"
    r"d/o/b|(?<![a-z])born|(?<![a-z])b\.(?= ?\d)|geburts(?:datum|tag)|geb(?:oren|\.)|"
    r"(?:date|jour) de naissance|(?<![a-z])nee? le|(?:fecha|dia) de nacimiento|nacid[oa]|nacio|"
    r"cumpleanos|data di nascita|(?<![a-z])nat[oa] (?:il|a)|compleanno|data de nascimento|"
    r"nascid[oa]|"
    r"nasceu|geboorte(?:datum|dag)|geboren|data urodzenia|urodz(?:on[ya]|ila? sie)|fodelsedatum|"
    r"(?<![a-z])fodd|fodselsdato|fødselsdato|(?<![a-z])født|syntynyt|syntymaaika|dogum tarihi|"
    r"дата рождения|родил(?:ся|ась)|出生(?:日期|年月日|于|於)?|生年月日|생년월일|تاريخ الميلاد)"
)
_BIRTH = re.compile(rf"{_BIRTH_LABEL}{_JOIN}(?P<date>{_DATE})(?!\d)", re.IGNORECASE)
_BIRTHDAY = re.compile(
    rf"(?:birth ?day|geburtstag|cumpleanos|compleanno)(?:'s)? ?(?::|(?:is|falls|es|ist)(?: on| am|"
    rf" el|"
    rf" le)?(?: the)?) (?P<date>{_DAY})(?![\d,]* ?\d)",
    re.IGNORECASE,
)
# The date first: `gave 3 May 1990 as her date of birth`.
_CALLED = re.compile(
    rf"(?<!\d)(?P<date>{_DATE}) (?:as|is|was|\()(?: (?:the|my|his|her|their|your|a|customer's|"
    r"patient's)){0,2} ?(?:date of birth|birth ?date|birth ?day|dob(?![a-z]))",
    re.IGNORECASE,
)
_PIECES = (*BIRTH_PIECES, "føds", "født", "рожд", "родил", "出生", "生年", "생년", "الميلاد")


def birth_dates(text: str) -> Iterator[Detection]:
    """Dates that are called somebody's birth."""
    if not holds(text.lower(), _PIECES):
        return
    for pattern in (_BIRTH, _BIRTHDAY, _CALLED):
        for found in pattern.finditer(text):
            yield Detection(*found.span("date"), "birth_date")
