"""A stranger clones the repository, does what the pages say, and ends where they say.

Other tests run the pages' blocks within this process. Here they are typed: at a shell in a fresh
clone, at the Python prompt that the page has the reader start, and in the second terminal. In the
short form the clone's `.venv` stands already, with a view of the packages installed here, so
`make setup` finds nothing to do; `make stranger` has it install everything.
"""

from __future__ import annotations

import json
import re
import subprocess
import sys
from collections.abc import Callable, Iterator
from textwrap import indent

import pytest

from idetic.store import embedded
from tests.support.docs import ROOT, Block, blocks, typed_lines
from tests.support.following import check_output
from tests.support.shown import settled
from tests.support.strangers import LONG, Environment, new_place
from tests.support.terminal import Terminal

TUTORIAL = "docs/tutorial/first-memory.md"
CHAT = "docs/tutorial/chat-agent.md"
README = "README.md"
PROMPT = "python -m asyncio"


@pytest.fixture(scope="module")
def clone() -> Iterator[Environment]:
    """A fresh clone, with a home of its own; in the short form with a `.venv`, too."""
    with new_place() as place:
        path = place / "idetic"
        # Also of a tree that belongs to another user; the second process has to be told by itself.
        git = "git -c safe.directory=*"
        cloned = [*git.split(), "clone", "--quiet", f"--upload-pack={git} upload-pack"]
        subprocess.run([*cloned, str(ROOT), str(path)], check=True, timeout=120)
        made = Environment(path / ".venv", place / "home")
        if not LONG:
            Environment.make(made.path, made.home)
            (made.packages / "idetic.pth").write_text(str(path / "src"))
            program = made.path / "bin" / "idetic"
            program.write_text(STARTER.format(made.path / "bin" / "python"))
            program.chmod(0o755)
            (made.path / ".ready").touch()
        yield made


# As pip writes it where a path is long or has blanks: a shell starts the file once more, by Python,
# to which the shell's line is a text.
STARTER = """#!/bin/sh
'''exec' "{}" "$0" "$@"
' '''
import sys
from idetic.surfaces.cli.app import main
sys.exit(main())
"""


Opens = Callable[[], Terminal]


@pytest.fixture
def terminal(clone: Environment, request: pytest.FixtureRequest) -> Opens:
    """Opens terminals in the clone's directory. Nothing is activated in them."""
    environment = clone.variables(activated=False)
    if not LONG:  # the model that this machine has already
        environment["IDETIC_MODEL_DIR"] = str(request.getfixturevalue("model_path"))
    return lambda: Terminal(clone.path.parent, environment)


def page(clone: Environment, name: str) -> list[Block]:
    return list(blocks(clone.path.parent / name))


def test_the_tutorial_ends_where_it_says(clone: Environment, terminal: Opens) -> None:
    with terminal() as first, terminal() as second:
        second.shell("cd .")
        printed = ""
        for block in page(clone, TUTORIAL):
            if block.language == "python":
                printed = first.paste(block.text)
            elif block.language == "text":
                check_output(block, block.text, printed)
            else:
                for line, shown in typed_lines(block):
                    type_one(line, shown, block, first, second)
    # "You were the last one, so the embedded server stops. The memory stays."
    assert not embedded.status(clone.home).running
    anchor = [f"--anchor={each}" for each in anchors(clone)]
    told = clone.run(
        "idetic", "list", "--json", "--agent=world_agent", "--as=operator:ada", *anchor,
        "--typology=procedural", cwd=clone.path.parent,
    )  # fmt: skip
    assert [each["body_text"] for each in json.loads(told)["entries"]] == [
        "Give one sentence with a count."
    ]


def type_one(line: str, shown: str, block: Block, first: Terminal, second: Terminal) -> None:
    """Set-up and the prompt go into the first terminal; `idetic` into the second, activated."""
    if line == PROMPT:
        first.start(line)
    elif not line.startswith("idetic "):
        first.shell(line)
        if line.startswith("source "):
            second.shell(line)
    else:
        said = second.shell(line)
        if shown.strip():
            check_output(block, shown, said)


def anchors(clone: Environment) -> list[str]:
    text = (clone.path.parent / TUTORIAL).read_text("utf-8")
    return re.findall(r"--anchor (\w+=[0-9a-f-]{36})", text)


def test_the_readme_ends_where_it_says(clone: Environment, terminal: Opens) -> None:
    """`make demo`, then the tour; `idetic` is `.venv/bin/idetic`, as the page says."""
    said = (clone.path.parent / README).read_text("utf-8")
    assert f"Start `.venv/bin/{PROMPT}`" in said
    assert "`idetic` is `.venv/bin/idetic`" in said
    with terminal() as first, terminal() as second:
        demo = first.shell("make demo")
        assert [f"\n{number}. " in demo for number in range(1, 10)] == [True] * 9
        first.start(f".venv/bin/{PROMPT}")
        printed = ""
        ran = 0
        # What stands before is a script, which test_docs_run runs: a prompt would show receipts.
        begin = said[: said.index(f"Start `.venv/bin/{PROMPT}`")].count("\n")
        for block in (block for block in page(clone, README) if block.line > begin):
            if block.language == "python":
                printed, ran = first.paste(block.text), ran + 1
            elif block.language == "text":
                check_output(block, block.text, printed)
            else:
                for line, shown in typed_lines(block):
                    if line.startswith("idetic "):
                        check_output(block, shown, second.shell(f".venv/bin/{line}"))
        assert ran >= 3
    assert not embedded.status(clone.home).running


def test_the_chat_agent_ends_where_it_says_at_a_prompt(clone: Environment, terminal: Opens) -> None:
    with terminal() as first:
        first.start(f".venv/bin/{PROMPT}")
        printed, checked = "", 0
        for block in page(clone, CHAT):
            if block.language == "python":
                printed = first.paste(block.text)
            else:
                check_output(block, block.text, printed)
                checked += 1
        assert checked >= 5
    assert not embedded.status(clone.home).running


def test_the_chat_agent_ends_where_it_says_as_a_script(clone: Environment, terminal: Opens) -> None:
    """The blocks, one below the other inside an `async def`, as the page says."""
    told = page(clone, CHAT)
    body = "\n".join(block.text for block in told if block.language == "python")
    clone.path.with_name("chat.py").write_text(
        f"import asyncio\n\nasync def main():\n{indent(body, '    ')}\n\nasyncio.run(main())\n"
    )
    with terminal() as first:
        printed = first.shell("IDETIC_HOME=$IDETIC_HOME/script .venv/bin/python chat.py")
    said = "\n".join(settled(printed))
    shown = [block.text for block in told if block.language == "text"]
    assert [one for one in shown if "\n".join(settled(one)) not in said] == []


def test_control_a_wrong_output_and_a_failing_line_are_seen(terminal: Opens) -> None:
    with terminal() as first:
        with pytest.raises(AssertionError, match="FAILED"):
            first.shell("make no-such-target")
        first.start(sys.executable + " -m asyncio")
        block = Block(ROOT / README, 1, "text", "2\n")
        with pytest.raises(AssertionError):
            check_output(block, block.text, first.paste("print(1)"))
        with pytest.raises(AssertionError, match="Traceback"):
            first.paste("1 / 0")
