"""`idetic export`, `import` and `adopt`: memory into a file, and out of one."""

# ruff: noqa: PLC0415 - the work is imported when it is asked for: `idetic --help` stays quick
from __future__ import annotations

import sys
from collections.abc import Mapping
from typing import TYPE_CHECKING, Annotated, Any

import typer

from idetic.surfaces.cli import output
from idetic.surfaces.cli.failures import UsageRefused
from idetic.surfaces.cli.options import SCOPE, AgentName, Anchor, As, Dsn, Json, examples
from idetic.surfaces.cli.sources import memory_of, principal_of, with_database, with_memory

if TYPE_CHECKING:
    from rich.console import Console

    from idetic.library.handles import Memory
    from idetic.library.idetic import Idetic
    from idetic.transfer.disclosure import DisclosureForm
    from idetic.transfer.imports import Imported

EXPORT = examples(
    f"idetic export memory.jsonl {SCOPE}",
    f"idetic export - --vectors {SCOPE} | gzip > memory.jsonl.gz",
    f"idetic export ada.md --for-user --form markdown {SCOPE}",
)
IMPORT = examples(
    f"idetic import memory.jsonl {SCOPE}",
    f"idetic import memory.jsonl --apply --embed {SCOPE}",
)
ADOPT = examples(
    f"idetic adopt mem0.json --from mem0 --dry-run {SCOPE}",
    f"idetic adopt items.jsonl --from langgraph {SCOPE}",
)
# A screenful; `--json` has them all.
_SHOWN = 20


def export(
    file: Annotated[
        str,
        typer.Argument(
            metavar="FILE", show_default=False, help="The new file to write; - is stdout."
        ),
    ],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    vectors: Annotated[bool, typer.Option("--vectors", help="Export the embeddings too.")] = False,
    for_user: Annotated[
        bool, typer.Option("--for-user", help="Write a document to read, not to import.")
    ] = False,
    form: Annotated[
        str | None, typer.Option(metavar="FORM", help="With --for-user: json or markdown.")
    ] = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Write the whole memory of one anchor, with its history, to a file.

    The file is as confidential as the memory. A later erasure does not change it.
    """
    if file == "-" and json:
        raise UsageRefused("--json and an export to stdout cannot share stdout.")
    if form is not None and not for_user:
        raise UsageRefused("--form is for the document of --for-user.")
    chosen = _document_form(form or "json", vectors=vectors) if for_user else None

    async def work(memory: Memory) -> dict[str, Any] | None:
        """Write to the file, with a bar for an export, or piece by piece to stdout."""
        if file == "-":
            export = memory.export(vectors=vectors)
            async for piece in export if chosen is None else memory.disclosure(form=chosen):
                sys.stdout.buffer.write(piece)
            return None
        if chosen is not None:
            return {"form": chosen.value, "size": await memory.disclose_to(file, form=chosen)}
        with output.bar("rows", quiet=json) as report:
            return (await memory.export_to(file, vectors=vectors, progress=report)).as_data()

    done = with_memory(agent, anchor, as_, dsn, work)
    if done is not None:
        data = {"file": file, **done}
        output.answer(data, json, lambda console: console.print(_facts(data)))


def _document_form(form: str, *, vectors: bool) -> DisclosureForm:
    """The form of the document for a user, which holds no vectors."""
    from idetic.transfer.disclosure import DisclosureForm
    from idetic.verbs.arguments import member_of

    if vectors:
        raise UsageRefused("--vectors are for an export that is imported, not for a user.")
    return member_of(DisclosureForm, form, "--form")


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    apply: Annotated[
        bool, typer.Option("--apply", help="Apply the file's spec first, if the agent is new here.")
    ] = False,
    leave_vectors: Annotated[
        bool, typer.Option("--leave-vectors", help="Do not import the file's embeddings.")
    ] = False,
    embed: Annotated[
        bool, typer.Option("--embed", help="Then embed entries without a vector.")
    ] = False,
    head: Annotated[
        str | None,
        typer.Option(
            metavar="FILE", help="A kept head; the import then notices missing last links."
        ),
    ] = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Import an exported anchor into a database that has no memory for it yet.

    The import verifies the whole file before it keeps anything.
    """
    from idetic.surfaces.cli.verbs import read_head

    who = principal_of(as_)
    kept = None if head is None else read_head(head)

    async def work(db: Idetic) -> tuple[int, Imported, int]:
        """Apply the file's spec if asked, take the file in, and embed if asked."""
        applied = await db.apply_specs(file) if apply else 0
        memory = await memory_of(db, agent, anchor, who)
        with output.bar("rows", quiet=json) as report:
            imported = await memory.import_from(
                file, vectors=not leave_vectors, head=kept, progress=report
            )
        with output.bar("entries", quiet=json) as report:
            embedded = (await memory.embed(report)).embedded if embed else 0
        return applied, imported, embedded

    applied, imported, embedded = with_database(dsn, work)
    data = {"applied": applied, **imported.as_data(), "embedded": embedded}
    shown = {**data, "head": f"{imported.head.position}, {imported.head.hash.hex()}"}
    output.answer(data, json, lambda console: console.print(_facts(shown)))


def adopt(
    file: Annotated[str, typer.Argument(metavar="FILE", show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    from_: Annotated[
        str,
        typer.Option("--from", metavar="STORE", help="Which store wrote it: mem0 or langgraph."),
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only show what would be imported.")
    ] = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Import the memories of another store; the gateway checks each one."""
    done = with_memory(
        agent, anchor, as_, dsn, lambda memory: memory.adopt(from_, file, dry_run=dry_run)
    )
    became = ", ".join(f"{count} {what}" for what, count in sorted(done.became.items()))

    def show(console: Console) -> None:
        """Print what was taken, and the first memories that were not, each with the reason."""
        taken = "would take" if dry_run else "taken"
        rows = {
            taken: done.taken,
            "known already": done.known,
            "not taken": len(done.not_taken),
            "metadata left out": ", ".join(sorted(done.left_out)) or "none",
            "became": became or "nothing yet",
        }
        console.print(output.facts(rows))
        if not done.not_taken:
            return
        lost = [{"not taken": o.id, "code": o.code, "why": o.why} for o in done.not_taken[:_SHOWN]]
        console.print(output.Listing(lost))
        if len(done.not_taken) > _SHOWN:
            console.print(f"and {len(done.not_taken) - _SHOWN} more; --json lists all.")

    output.answer(done.as_data(), json, show)


def _facts(data: Mapping[str, Any]) -> Any:
    """A table of an outcome, its names as words."""
    return output.facts({name.replace("_", " "): value for name, value in data.items()})
