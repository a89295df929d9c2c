"""How each scene of the demo looks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import singledispatch
from uuid import UUID

from rich.console import Console, RenderableType
from rich.padding import Padding
from rich.panel import Panel

from idetic.model import Entry, Receipt, Tier
from idetic.spec.memory_spec import MemorySpec
from idetic.spec.typology import DEFAULTS
from idetic.surfaces.cli import demo_scenes as scenes
from idetic.surfaces.cli import demo_story as story
from idetic.surfaces.cli import output
from idetic.surfaces.cli.memory import ledger_table


class Stage:
    """Where the story is told: a console that numbers the scenes and knows rules by name."""

    def __init__(self, console: Console) -> None:
        self.console = console
        self.rules: dict[UUID, str] = {}
        self._scene = 0

    def heading(self, title: str, why: str) -> None:
        """Begin a scene."""
        self._scene += 1
        self.console.print()
        self.console.print(output.literal(f"{self._scene}. {title}", "bold cyan"))
        self.put(output.literal(why, "dim"))

    def put(self, *parts: RenderableType) -> None:
        """Print parts of the scene below its heading."""
        for part in parts:
            self.console.print(Padding(part, (0, 0, 0, 3)))


@singledispatch
def show(scene: object, stage: Stage) -> None:
    """Tell one scene."""
    raise TypeError(f"No way to show a {type(scene).__name__}.")


@show.register
def _spec(scene: scenes.SpecScene, stage: Stage) -> None:
    stage.heading(
        "A declared spec",
        "What this agent's memory is, stored as a version; its tables are compiled from it.",
    )
    stage.put(output.facts({"Agent": f"{scene.spec.title}, version {scene.version}"}
                           | _answers(scene.spec)))  # fmt: skip


def _answers(spec: MemorySpec) -> dict[str, object]:
    keys = ", ".join(f"{key.name} {key.type}" for key in spec.anchor.keys)
    sections = {name: len(getattr(spec, name).deviations) for name in DEFAULTS}
    sections["injection"] = int(spec.injection.justification is not None)
    accepted = ", ".join(name for name, deviations in sections.items() if not deviations)
    justified = ", ".join(f"{name} {count}" for name, count in sections.items() if count)
    nouns = ", ".join(f"{c.noun} ({c.table})" for c in spec.references.canonical)
    signals = ", ".join(f"{signal} {weight:g}" for signal, weight in spec.retrieval.signals.items())
    guard = spec.leak_defence
    return {
        "Anchor": f"{keys}; root {spec.anchor.root.noun}" if spec.anchor.root else keys,
        "Typology": "; ".join(f"{t}: {', '.join(spec.typology.at(t))}" for t in Tier),
        "Signals": f"{signals}; fused by {spec.retrieval.fusion.method}",
        "References": nouns,
        "Guard": f"{guard.guard}: the agent reasons {guard.reasons} canonical content",
        "Defaults": f"accepted for {accepted or 'nothing'}",
        "Deviations": f"justified for {justified}" if justified else "none",
    }


@show.register
def _world(scene: scenes.WorldScene, stage: Stage) -> None:
    stage.heading(
        f"A world: {story.WORLD}",
        "Canonical rules live in tables of their own. Memory refers to them, and never copies.",
    )
    stage.rules = {ref.id: name for name, ref in scene.rules.items()}
    table = output.table("rule", "strength", "text")
    for rule in story.RULES:
        table.add_row(rule.name, rule.strength, output.literal(rule.text))
    stage.put(table)


@show.register
def _session(scene: scenes.SessionScene, stage: Stage) -> None:
    stage.heading(
        f"A session: {scene.name}",
        f"The agent {story.EXPLORER} notes what it sees, with an envelope and references.",
    )
    stage.put(_notes(scene.entries, stage.rules))


def _notes(entries: Sequence[Entry], rules: Mapping[UUID, str]) -> RenderableType:
    table = output.table("tier", "origin, trust", "note", "envelope", "refers to")
    for entry in reversed(entries):
        tags = ", ".join(entry.envelope["tags"])
        table.add_row(
            entry.tier,
            f"{entry.origin} {entry.trust}",
            output.literal(entry.body_text),
            output.literal(f"{entry.envelope['topic']}\n{tags}"),
            "\n".join(f"{rules[ref.id]}, v{ref.version}" for ref in entry.refs) or "nothing",
        )
    return table


@show.register
def _replay(scene: scenes.ReplayScene, stage: Stage) -> None:
    stage.heading(
        "The same write twice",
        "A repeated idempotency key gives the first receipt back and writes nothing.",
    )
    table = output.table("write", "receipt", "position", "replayed", keep=("receipt",))
    for name, receipt in (("first", scene.first), ("again", scene.again)):
        replayed = "yes" if receipt.replayed else "no"
        table.add_row(name, str(receipt.id), str(receipt.position), replayed)
    stage.put(table)


@show.register
def _refusals(scene: scenes.RefusalScene, stage: Stage) -> None:
    stage.heading(
        "Two writes that are refused",
        "The gateway enforces the spec, and an error says what to do next.",
    )
    for each in scene.attempts:
        said = output.literal(f"“{each.text}”\n", "italic")
        said += output.literal(f"{each.error['message']}\n", "red")
        said += output.literal(f"What to do: {each.error['remedy']}")
        stage.put(Panel(said, title=each.error["code"], title_align="left", border_style="red"))


@show.register
def _action(scene: scenes.ActionScene, stage: Stage) -> None:
    stage.heading(
        "An action rests on memory",
        f"The operator {story.OPERATOR} accepts a change set. What it rests on stays.",
    )
    rows = {
        "Action": f"{scene.kind} {scene.action_id}",
        "Rests on": f"{len(scene.entries)} entries",
        "Receipt": _receipt(scene.receipt),
    }
    stage.put(output.facts(rows))


@show.register
def _preferences(scene: scenes.PreferenceScene, stage: Stage) -> None:
    stage.heading(
        "A preference takes another's place",
        "Same claim key, new value: the old entry is superseded, not overwritten.",
    )
    table = output.table("claim", "note", "receipt")
    for (text, claim), receipt in zip(story.PREFERRED, (scene.first, scene.second), strict=True):
        stated = f"{claim.subject}.{claim.attribute} = {claim.value}"
        table.add_row(stated, output.literal(text), _receipt(receipt))
    stage.put(table)


def _receipt(receipt: Receipt) -> str:
    return f"{receipt.decision} at position {receipt.position}: {receipt.reason}"


@show.register
def _ledger(scene: scenes.LedgerScene, stage: Stage) -> None:
    stage.heading(
        "The ledger",
        "Every transition of the first preference, each link hashed over the one before it.",
    )
    table = output.table("asked", "which preference is current")
    then = f"as of {scene.moment:%H:%M:%S.%f}, position {scene.history[0].position}"
    for asked, entries in ((then, scene.then), ("now", scene.now)):
        table.add_row(asked, output.literal("\n".join(entry.body_text for entry in entries)))
    stage.put(ledger_table(scene.history), table)
