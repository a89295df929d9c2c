"""How `idetic export`, `import` and `adopt` are called; their work is imported when run."""

# ruff: noqa: PLC0415
from __future__ import annotations

from typing import Annotated

import typer

from idetic.surfaces.cli.options import AgentName, Anchor, As, Dsn, Json, examples

SCOPE = "--agent world_agent --anchor org_id=UUID --anchor domain_id=UUID --as operator:ada"
EXPORT = examples(
    f"idetic export memory.jsonl {SCOPE}",
    f"idetic export - --vectors {SCOPE} | gzip > memory.jsonl.gz",
)
IMPORT = examples(
    f"idetic import memory.jsonl {SCOPE}",
    f"idetic import memory.jsonl --apply --embed {SCOPE}",
)
ADOPT = examples(
    f"idetic adopt mem0.json --from mem0 --dry-run {SCOPE}",
    f"idetic adopt items.jsonl --from langgraph {SCOPE}",
)


def export(
    file: Annotated[
        str, typer.Argument(metavar="FILE", show_default=False, help="A new file; - is stdout.")
    ],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    vectors: Annotated[
        bool, typer.Option("--vectors", help="With the embeddings; without, embed anew there.")
    ] = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Write one anchor's whole memory, with all of its history, to a file.

    The file is as confidential as the memory. Erasing somebody later does not reach it.
    """
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.moving import export_anchor

    export_anchor(file, Asked(agent, tuple(anchor), as_), vectors=vectors, dsn=dsn, as_json=json)


def import_(
    file: Annotated[str, typer.Argument(metavar="FILE", show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    apply: Annotated[
        bool, typer.Option("--apply", help="Apply the file's spec first, if the agent is new here.")
    ] = False,
    leave_vectors: Annotated[
        bool, typer.Option("--leave-vectors", help="Do not take the file's embeddings.")
    ] = False,
    embed: Annotated[
        bool, typer.Option("--embed", help="Then embed what has no vector yet.")
    ] = False,
    head: Annotated[
        str | None, typer.Option(metavar="FILE", help="A head kept earlier: a cut tail shows.")
    ] = None,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Take an exported anchor into this database, where it must have no memory yet.

    Everything is verified before anything stays.
    """
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.moving import Taking, import_anchor

    taking = Taking(file, apply=apply, vectors=not leave_vectors, embed=embed, head=head)
    import_anchor(taking, Asked(agent, tuple(anchor), as_), dsn, json)


def adopt(
    file: Annotated[str, typer.Argument(metavar="FILE", show_default=False)],
    agent: AgentName,
    anchor: Anchor,
    as_: As,
    from_: Annotated[
        str, typer.Option("--from", metavar="STORE", help="Whose file it is: mem0 or langgraph.")
    ],
    dry_run: Annotated[
        bool, typer.Option("--dry-run", help="Only say what would be taken.")
    ] = False,
    dsn: Dsn = None,
    json: Json = False,
) -> None:
    """Take in what another store exported: each memory passes the gateway, with low trust."""
    from idetic.surfaces.cli.memory import Asked
    from idetic.surfaces.cli.moving import adopt_file

    asked = Asked(agent, tuple(anchor), as_)
    adopt_file(file, from_, asked, dry_run=dry_run, dsn=dsn, as_json=json)
