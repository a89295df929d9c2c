"""How many tokens a text costs, without knowing whose tokenizer will read it.

A model's own tokenizer is always the better judge: any object with `name` and `count` is a
`TokenCounter`. The default here errs on the side of too many, because the ceiling of an
injected context is a promise and the budget it wastes is not.
"""

from __future__ import annotations

import re
import unicodedata
from functools import lru_cache
from typing import Protocol


class TokenCounter(Protocol):
    """Counts tokens the way one model does."""

    @property
    def name(self) -> str:
        """Which tokenizer this is, for records."""
        ...

    def count(self, text: str) -> int:
        """The tokens of this text; 0 for an empty one."""
        ...


class ConservativeCounter:
    """An estimate meant never to fall below what a common BPE tokenizer counts.

    English words are cut, longest match first, by a vocabulary in miniature whose every word
    is one token to all tokenizers measured: fewer words known, more pieces, never fewer.
    Digits and punctuation cost one each (Llama, Qwen and Mistral cut digits singly), all other
    scripts one per UTF-8 byte, which no byte-level BPE exceeds.

    Measured against cl100k, o200k, p50k, Qwen, Tekken, Claude 2 and Mistral 32k on 18,308 texts
    (chat, news, docstrings, code, 63 languages, URLs, random letters): @UNDER@. The
    sum over LoCoMo's chat is @LOCOMO@, over docstrings
    @STD@. Appending never lowers the count.
    """

    name = "conservative"

    def count(self, text: str) -> int:
        """The tokens of this text at the most; 0 for an empty one."""
        if not text:
            return 0
        hundredths = sum(map(_cost, _PARTS.findall(text)))
        return -(-hundredths // 100) + _PER_TEXT


# SentencePiece puts a space of its own before a text; the other one is for a text of a single
# word, where one rare piece is all it takes to be wrong.
_PER_TEXT = 2

# In hundredths of a token. A word that starts a line or follows a bracket, and a capitalised
# one, have fewer merges to their name than the same word after a space.
_PIECE, _BARE, _CAPITAL, _INNER_CAPITAL = 100, 50, 30, 60

# Inside a word a merge rarely spans a whole common word: "deliciousebosweet" is not three.
_INNER_PIECE_MAX = 4

# One space belongs to the word after it; of more, Mistral's vocabulary joins up to 15.
_PARTS = re.compile(r" ?[A-Za-z]+| +|[0-9]+|[!-/:-@\[-`{-~\t\n\r]+|.", re.DOTALL)


@lru_cache(maxsize=16_384)
def _cost(part: str) -> int:
    last = part[-1]
    if not last.isascii():
        # Claude's tokenizer folds compatibility forms first; U+FDFA becomes 33 bytes.
        folded = unicodedata.normalize("NFKC", last)
        return _PIECE * max(_bytes(last), _bytes(folded))
    if last.isalpha():
        return _word(part)
    if last == " ":
        return _PIECE * (1 + len(part) // 8)
    return _PIECE * len(part)


def _bytes(text: str) -> int:
    return len(text.encode("utf-8", "surrogatepass"))


def _word(part: str) -> int:
    word = part.lstrip(" ")
    cost = _PIECE * _pieces(word.lower())
    cost += _CAPITAL * word[0].isupper() + _INNER_CAPITAL * sum(c.isupper() for c in word[1:])
    if word is part:
        cost += _BARE
    return min(cost, _PIECE * len(word))


def _pieces(word: str) -> int:
    """Longest match first; as every beginning of a word is known, appending never saves one."""
    pieces, start = 0, 0
    while start < len(word):
        end, limit = start + 1, len(word)
        if start:
            limit = min(limit, start + _INNER_PIECE_MAX)
        while end < limit and word[start : end + 1] in _BEGINNINGS:
            end += 1
        pieces, start = pieces + 1, end
    return pieces


# The commonest words of chat, news and docstrings that are one token each, after a space, in
# all seven vocabularies; those that begin another one are left out.
_WORDS = """
able about above absolutely abstract acceptance access accident according accused across actions
activities actor actually added additional address administration advanced adventure advice affects
afternoon afterwards against agency agents ago agreed agreement agriculture ahead aircraft airport
alias alleged allowed allowing allows almost along already also although always amazing among
amount anchor and animals announced annual another answers anti anyone anything apartment api
append applications applying appreciated approval archive areas args arguments arms around arrested
articles asked asking asks assault assert assistance associated association assume async atmosphere
attacks attempt attended attorney attributes audit authentication authorities automatically
available average await away awesome baby backend background bad balance bank based basketball
battle beach beautiful beauty became because becomes bed been before began beginning begins
behavior behind being believed below bench beside best better between biggest bike billion binary
birds bit black blast blocks blue board bodies body bomb bond books bool boost border both boundary
bowl boys breaking breaks brief bringing brings broader broken brought brown browser budget buffer
building bush business busy button bytes cache called calling calls camera campaign cancer
candidate cannot canonical capital captured career carries carrying cases catch caused causes
ceiling cell centers central cents certain chairman challenging chance changed changes characters
charges chat checked checking checks chemical chief children choose church city claimed claims
classes classic clear clients closed closer cluster coast code collapse collection colors columns
combined comes comfort coming commands comments commission committee common community companies
company compared compatibility competition compiler completed completely composite computers
concepts conditions conference confidence configuration confirmed conflict congress connections
considered consistent construction consumer containing contents context continued contract controls
conversations convicted cooking cool copy corporate corresponding costs couldn council countries
county couple course courts coverage crash created creates creating criminal critical crossed
crossing crowd currently customers cutting cycle damage dance dancing database daughter days db
dead dealing deaths decay decided decimal decisions declared declined defaults defense defined
definitely deleted delicious demand democratic denied department depends derived described designed
despite details determined development dictionary didn died differences different difficult digest
directory discipline disease display distribution division doctors documents doesn dogs doing
dollar domain domestic done double download dreams driving dropped drugs dry duplicate duration
during each earlier early earnings east eating economic edition education effectively efforts eight
either elections elements else embedded emergency emotions employees empty enable encoding
encountered ended ending ends energy enforcement engineering enjoying enough ensure entity entries
entry enum envelope environment epic equivalent errors escaped especially estimated events
eventually everyone everything evidence exactly examples exceptions exchange excited exciting
exclusive executive exercise existing exists expected experiences explanation explicit exploring
expression extensions extra faces factory failed failure false family fantasy far father favorites
features federal feelings feels fell felt fewer fields fifteen fighting figures filed filename
files filled filter finally financial findings finds finished fired fires first five fixture flags
flight floor focused following food forced forces forcing forecast foreign forget format former
forward foundation fourth framework freedom fresh friendship from front fully functions further
future gained games gaming garbage gates gave generally generated generator gets getting girls
given gives giving glad global goals goes going gonna good gorgeous gotta government grant grass
greater green groups growing growth guard guess guilty guitar had half handler handles happened
happiness happy hard hash haven having headers healthy heard hearing heart heavy held helped
helpful helping helps here hey higher highest highly himself history hits hitting holding holds
homeless homes hook hope horse hospital host hours house however html https huge human hundreds
hurt ideas identical identified idle if ignored illegal imagine immediately impact implementation
important improvement incident included including income increased increases incredible independent
index indicates individuals industrial infected information infrastructure initialization injection
injured inline input insert inside inspired installed instances instead insurance integer
intelligence intended interaction interesting interface international internet interpreted
interview into invalid investigation investors involved io island isn issued issues items iterator
itself jobs joined journey joy json judge jumping justice justified keeping keeps kept keyboard
keys keyword kids killed killing kills kinda kindness kinds knowing knowledge known labels language
largest last lately later latest launched lawsuit lawyers layer leadership leading learning least
leaves left legal legislation length less letter levels library license life light likely limited
limits lines linked listed lists little lives living ll loader local logging logical longer looking
looks loop lost lots loved loving lower lucky lying machines made magical maintenance majority
maker makes making management manager manually manufacturing many mapping march marketing markets
marriage matches matching matters maximum maybe mayor md meaningful means medical meeting mel
members memories memory mental mentioned messages metadata methods middle might miles military
million minister minutes missing model modifications modules moments money months more morning
mostly mother motivated mountains moved moves movies ms much multiple murder music must myself
named namespace national nature nearby nearly necessary needed needs negative neither networking
networks never news next nice night nine nodes none normally northern notebook notes nothing now
nuclear null numbers objects observed occurred ocean offered officers officials offset often oh oil
okay old once ones online only opened opening opens operations operator opinion opportunity
opposition optional orange ordered ordinary organizations originally os others otherwise ourselves
output outside overall overnight override owned owner owns packages page painting pair paper
parameters parents park parser partially particular partner parts party passed passengers
passionate past patch paths patients patterns payments peaceful penalty pending people percentage
perfect performance period persistent personal personnel pets pg phone photos physical piano picked
pictures pieces places planning plans platform playing plus points police policies policy political
poor population port position positive possible posted potential pounds powerful practice preferred
prefix prepared present presidential pressure pretty previously prices primary primitive principal
printed priority prisoners private probably problems processed processing processor products
profile programming programs progress projects promotion prompt property protection protocol proud
provided public published purpose pushing puts putting python quarter query questions queue quite
quoted quotes raises range rates rather raw reached reaching reader reading reads ready really
reasoning reasons recall received recently recipe recommended recorded records red references
refused regardless registered regular rejected related relationships released remains remember
reminds removed render replaced replacement reported reporters reports representation requested
requests required researchers resolution resources response restaurant restrict results returned
returning returns revenue riding rights risk river road rock roles room root rose round routine
rows ruled rules ruling running runs safety said sales same satisfying save saying says scandal
scheduled schema schools science scope screen script searching season seconds secretary section
security seeing seeking seems seen selector self sending senior sense sentence separated sequences
series servers services sessions sets settings settlement setup several shadow shares sharing sheep
shell shelter shipped shooting short shot should showed showing shown shows side signals signed
significant silently similar simple since single sitting situation six size skills slightly smaller
smiling snapshot snow soccer society socket software soldiers solutions someone something sometimes
son soon sorry sought sounds sources southern space speaking special specific specified spectral
spending split spots spreading sql stages standards standing started starting starts stated
statements states station status staying stays steps still stocks stopped stops storage stored
stores stories strategy stream street strength strike strings stronger students studio stuff
stunning style subject subsequent successfully such suicide summer super supported supporters
supporting supportive supports sure surfaces surgery surrounded suspected sweet swimming syntax
systems tables taken takes taking talked talking talks targets task tax teams technology television
tell temporary tenant terminal terrorist tested testing tests text thanks that their theme
themselves then there these they things thinking third this those thoughts thousands three
threshold throughout tier timeout times tips titled today together tokens told toll tomorrow
tonight took tools topic totally tough tournament towards town tracks trading training transaction
transition treatment trees trial tried trigger trip troops true trust trying tuple turned turns
twice two types underlying understanding unemployment union unique united university unknown unless
unsafe until updated upper url usage used useful users uses using usually validation values
variables verify versions very vessels via victims video views violence visibility visited volume
voters votes waiting walking wanted wants warnings wasn watched watching water ways weapons wearing
weekend weeks weights well went were western whatever whenever where whether which while white
whoever whole whose why widget wife will windows winning within without woman women wonderful
wooden words workers working worlds worries worth wouldn wounded wrapper writes writing written
wrong ya yeah years yellow yesterday yet yield yoga young yourself zero zone
"""

_BEGINNINGS = frozenset(
    word[:end] for word in _WORDS.split() for end in range(1, len(word) + 1)
)
