"""What the signals read off entries themselves, as arrays: whose words they are, when they held.

Where an entry stands, and what its words are, is in `members.py`; this is what else recall weighs.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field, fields
from datetime import datetime
from typing import Any

import numpy as np
import numpy.typing as npt

from idetic.dates import DateWindow
from idetic.model import Origin
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import DecayModel
from idetic.store.entry_sql import SPEAKERS
from idetic.store.family import CELLS

Array = npt.NDArray[Any]
# In words that count: an entry of so many says as much as any longer one. Chosen on the development
# sets.
FULL_ENTRY = 30
# A long entry names some time or other: fully counts one of so many words.
_DATED_ENTRY = 15
# What is said soon after a time tells of it, and so does less of what is said soon before.
_AFTER, _BEFORE = (0.7, 604_800.0), (0.5, 172_800.0)
_DAY = 86_400.0


@dataclass(frozen=True, slots=True)
class Traits:
    """One value for each of some entries; `entry_sql.packed` says what its bits mean.

    `valid` and `since` are seconds: when an entry was true first, and last known to hold.
    `speakers` are places in `names`.
    """

    cells: Array
    asks: Array
    dated: Array
    claims: Array
    origins: Array
    own: Array
    valid: Array
    since: Array
    speakers: Array
    names: tuple[str, ...] = field(default=("",))

    @classmethod
    def read(cls, packed: Array, times: bytes | None, speakers: str | None) -> Traits:
        """The traits of a segment or a block, as the database sends them."""
        moments = np.frombuffer(times or b"", ">f8").astype(np.float64).reshape(-1, 2)
        said = (speakers or "").split(SPEAKERS)[: len(packed)]
        numbers = {name: n for n, name in enumerate(dict.fromkeys(("", *said)))}
        return cls(
            (packed >> 1 & 0xF).astype(np.uint8),
            (packed >> 5 & 1).astype(bool),
            (packed >> 6 & 1).astype(bool),
            (packed >> 7 & 1).astype(bool),
            (packed >> 8 & 0x7).astype(np.uint8),
            packed >> 11,
            moments[:, 0],
            moments[:, 1],
            np.array([numbers[name] for name in said], np.int32),
            tuple(numbers),
        )

    @classmethod
    def joined(cls, parts: Sequence[Traits]) -> Traits:
        """Several one after the other."""
        if len(parts) == 1:
            return parts[0]
        numbers = {n: at for at, n in enumerate(dict.fromkeys(n for p in parts for n in p.names))}
        places = [np.array([numbers[name] for name in part.names], np.int32) for part in parts]
        said = [place[part.speakers] for place, part in zip(places, parts, strict=True)]
        columns: dict[str, Any] = {
            name: np.concatenate([getattr(part, name) for part in parts]) for name in _COLUMNS
        }
        return cls(**columns | {"speakers": np.concatenate(said)}, names=tuple(numbers))

    def take(self, at: Array) -> Traits:
        """Those of some entries, by their places or by a mask."""
        columns: dict[str, Any] = {name: getattr(self, name)[at] for name in _COLUMNS}
        return Traits(**columns, names=self.names)

    def freshness(self, spec: MemorySpec, moment: datetime) -> Array:
        """From 1, just seen, towards 0, by each cell's decay model; as `entry_sql.freshness`."""
        halved = np.full(len(CELLS), np.nan)
        confirmed = np.zeros(len(CELLS), bool)
        for cell in spec.typology.cells():
            policy, n = spec.decay_of(*cell), CELLS.index(cell)
            confirmed[n] = policy.model is DecayModel.VALIDITY
            days = policy.validity_days if confirmed[n] else policy.half_life_days
            halved[n] = np.inf if policy.model is DecayModel.EXEMPT else days
        since = np.where(confirmed[self.cells], self.since, self.valid)
        age = np.maximum(0.0, moment.timestamp() - since) / _DAY
        fresh = 0.5 ** (age / halved[self.cells])
        return np.where(np.isposinf(self.since), 1.0, np.nan_to_num(fresh))

    def statement(self) -> Array:
        """How much each states: little in a few words ("hello"), less in a question.

        No more in many words than in some. A claim states all there is to say.
        """
        said = np.log1p(np.minimum(self.own, FULL_ENTRY)) / np.log1p(FULL_ENTRY) - 0.25 * self.asks
        return np.where(self.claims, 1.0, np.maximum(0.0, said))

    def voice(self, spec: MemorySpec) -> Array:
        """How much the spec gives on whoever said each."""
        voices = spec.retrieval.voices
        weights = np.array([float(voices.get(origin, 0.0)) for origin in Origin])
        found: Array = weights[self.origins]
        return found

    def named(self, names: Collection[str]) -> Array:
        """Whether a question names whoever said each."""
        asked = np.array([not asked_of.isdisjoint(names) for asked_of in map(_parts, self.names)])
        return asked[self.speakers].astype(np.float64)

    def within(self, windows: Sequence[DateWindow]) -> Array:
        """How well the time of each fits some dates; what is said soon after counts too."""
        fits = np.zeros(len(self.valid))
        for window in windows:
            since, until = window.since.timestamp(), window.until.timestamp()
            after = _AFTER[0] * np.exp(np.minimum(0.0, until - self.valid) / _AFTER[1])
            before = _BEFORE[0] * np.exp(np.minimum(0.0, self.valid - since) / _BEFORE[1])
            beside = np.where(self.valid >= until, after, before)
            inside = (self.valid >= since) & (self.valid < until)
            fits = np.fmax(fits, window.sure * np.where(inside, 1.0, beside))
        return fits

    def telling(self) -> Array:
        """Asked when, an entry that names a time may tell; a long one names some time or other."""
        short = np.minimum(1.0, _DATED_ENTRY / np.maximum(self.own, 1))
        return 0.5 * short * self.dated


_COLUMNS = tuple(one.name for one in fields(Traits) if one.name != "names")


def _parts(name: str) -> set[str]:
    return set(name.split(" ")) - {""}
