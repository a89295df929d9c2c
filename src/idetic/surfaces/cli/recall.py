"""`idetic recall` and `idetic embed`: asking memory from the shell."""

from __future__ import annotations

from rich.console import Console

from idetic.library.idetic import Idetic
from idetic.recall.embedding import Embedded
from idetic.recall.hits import Hit, Recall, as_data
from idetic.surfaces.cli import output
from idetic.surfaces.cli.memory import Asked, memory_of
from idetic.surfaces.cli.progress import bar
from idetic.surfaces.cli.sources import with_database


def show_recall(query: str, limit: int, asked: Asked, dsn: str | None, as_json: bool) -> None:
    """Hits with every signal's rank and value, and what the recall did without."""

    async def ask(db: Idetic) -> Recall:
        return await (await memory_of(db, asked)).recall(query, limit=limit)

    recall = with_database(dsn, ask)
    output.answer(as_data(recall), as_json, lambda console: _show(console, recall))


def embed_pending(asked: Asked, dsn: str | None, as_json: bool) -> None:
    """Embed what is pending, with a bar on stderr."""

    async def run(db: Idetic) -> Embedded:
        memory = await memory_of(db, asked)
        with bar("embedded", quiet=as_json) as report:
            return await memory.embed(report)

    done = with_database(dsn, run)
    data = {"embedded": done.embedded, "profile_id": done.profile_id}
    said = f"{done.embedded} entries embedded."
    output.answer(data, as_json, lambda console: console.print(said))


def _show(console: Console, recall: Recall) -> None:
    if not recall.hits:
        console.print(f"Nothing in {recall.considered} entries answers that.")
    else:
        table = output.table("score", "note", "signals (rank, value)", "by")
        for hit in recall.hits:
            entry = hit.entry
            table.add_row(
                f"{hit.score:.4f}",
                output.literal(entry.body_text),
                _signals(hit),
                output.literal(f"{entry.created_by}\n{entry.origin} {entry.trust}"),
            )
        console.print(table)
    for each in recall.not_used:
        console.print(output.literal(f"Not used: {each.what}: {each.why}. {each.remedy}", "dim"))


def _signals(hit: Hit) -> str:
    told = [
        f"{signal.value} {word.rank}, {word.value:.2f}"
        for signal, word in hit.signals.items()
        if word.contribution and word.value is not None
    ]
    return "\n".join(told)
