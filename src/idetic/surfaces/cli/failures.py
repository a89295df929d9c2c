"""How an error looks: what happened, what to do, and never a traceback."""

from __future__ import annotations

import sys
from collections.abc import Callable, Mapping, Sequence
from types import TracebackType
from typing import Any

from idetic.errors import IdeticError, InputError, SpecError
from idetic.surfaces import unforeseen
from idetic.surfaces.cli import output

# A screenful; `--json` has them all.
_SHOWN = 50


def report(error: IdeticError, as_json: bool) -> int:
    """Say on stderr what went wrong and what to do; the exit code is the error's."""
    if as_json:
        sys.stderr.write(output.as_text({"error": described(error)}) + "\n")
        return error.exit_code
    console = output.console(stderr=True)
    about = described(error)
    message = output.literal("Error: ", "bold red") + output.literal(about["message"], "red")
    console.print(message, soft_wrap=True)
    print_problems(console, about.get("problems", ()))
    remedy = output.literal("What to do: ", "bold") + output.literal(error.remedy)
    console.print(remedy, soft_wrap=True)
    return error.exit_code


def described(error: IdeticError) -> dict[str, Any]:
    """An error as data."""
    problems = error.detail.get("problems")
    # A spec's message spells its problems out; here they are listed on their own.
    message = error.message.partition("\n")[0].rstrip(":") + "." if problems else error.message
    about = {"code": error.code, "message": message, "remedy": error.remedy}
    return {**about, "problems": problems} if problems else about


def check_each(
    many: str,
    source: str,
    given: Sequence[str],
    read: Callable[[str], tuple[dict[str, Any], str]],
    *,
    as_json: bool,
) -> int:
    """Check files one by one, and answer with what each holds or lacks; returns the exit code.

    `read` returns what is known of a file, as data and in words. One that is not usable does not
    hide the others.
    """
    reports: list[dict[str, Any]] = []
    good: dict[str, str] = {}
    for each in given:
        try:
            known, good[each] = read(each)
            reports.append({source: each, "valid": True, **known})
        except SpecError as error:
            reports.append({source: each, "valid": False, "error": described(error)})

    def show(console: Any) -> None:
        """Print each file as valid, or its problems or remedy."""
        for one in reports:
            name = one[source]
            if one["valid"]:
                said = output.literal(f"{name}: ", "bold") + output.literal("valid", "green")
                console.print(said + output.literal(f", {good[name]}"), soft_wrap=True)
                print_problems(console, [*one.get("warnings", ()), *one.get("notes", ())])
                continue
            error = one["error"]
            console.print(output.literal(error["message"], "red"), soft_wrap=True)
            print_problems(console, error.get("problems", ()))
            if not error.get("problems"):
                console.print(output.literal(f"  → {error['remedy']}", "green"), soft_wrap=True)

    output.answer({many: reports}, as_json, show)
    return 0 if all(one["valid"] for one in reports) else SpecError.exit_code


def print_problems(console: Any, problems: Sequence[Mapping[str, Any]]) -> None:
    """Each problem of a spec: its primitive and place, what is wrong, how to fix it."""
    for problem in problems[:_SHOWN]:
        line = f" (line {problem['line']})" if problem["line"] is not None else ""
        place = f"{problem['path'] or 'the whole file'}{line}"
        level = problem.get("level", "error")
        # An error is the usual level; a warning or a note is named.
        kind = "" if level == "error" else f"{level}: "
        heading = output.literal(f"  {kind}{problem['primitive']}", "bold")
        console.print(heading + output.literal(f" · {place}", "cyan"), soft_wrap=True)
        console.print(output.literal(f"    {problem['message']}"), soft_wrap=True)
        console.print(output.literal(f"    → {problem['remedy']}", "green"), soft_wrap=True)
    if len(problems) > _SHOWN:
        console.print(output.literal(f"  and {len(problems) - _SHOWN} more; --json lists all."))


class UsageRefused(InputError, code="usage"):
    """The command line cannot be read."""

    remedy = "Run `idetic --help`."


def unexpected(
    kind: type[BaseException], error: BaseException, trace: TracebackType | None
) -> None:
    """The hook for what no one foresaw; `unforeseen` says what is shown of it."""
    del kind, trace
    report(unforeseen.terminal_error(error), "--json" in sys.argv)
