"""Every block of the documentation is run, used, or compared with what came out."""

from __future__ import annotations

import os
import re
import shlex
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from inspect import CO_COROUTINE
from pathlib import Path
from urllib.parse import quote

import pytest
from psycopg.conninfo import conninfo_to_dict

from idetic.store import embedded
from idetic.store.database import APP_ROLE
from idetic.store.embedded import EmbeddedServer
from tests.conftest import TestDatabase
from tests.support import shell
from tests.support.databases import copy_of
from tests.support.docs import DOCS, ROOT, Block, blocks, pages, typed_lines
from tests.support.following import FILES, OUTPUTS, TYPED, check_output, follow, statements
from tests.support.mcp_house import NO_HOME
from tests.support.servers import EmbeddedTestServer, TestServer
from tests.support.shell import served
from tests.support.strangers import new_place

README = ROOT / "README.md"
CHAT = DOCS / "tutorial" / "chat-agent.md"
START = DOCS / "tutorial" / "getting-started.md"
PER_USER = DOCS / "how-to" / "memory-per-user.md"
BACKUP = DOCS / "how-to" / "back-up-and-restore.md"
CONSOLE = DOCS / "how-to" / "console.md"
SERVE = DOCS / "how-to" / "serve.md"
MCP = DOCS / "how-to" / "mcp.md"
MODEL = DOCS / "how-to" / "install-the-model.md"
MOVE = DOCS / "how-to" / "move-memory.md"
OWN_TABLES = DOCS / "how-to" / "own-canonical-tables.md"

HERE = "tests/acceptance/test_docs_run.py"
# Pages that need another place to be followed in, and the tests that do.
ELSEWHERE = {
    **dict.fromkeys(
        (OWN_TABLES, BACKUP, MODEL, SERVE, MCP, MOVE), "tests/acceptance/test_docs_run.py"
    ),
    DOCS / "how-to" / "use-a-reasoner.md": "tests/unit/test_reason_docs.py",
    DOCS / "tutorial" / "a-month.md": "tests/acceptance/test_month.py",
}
# Text that is neither typed nor printed: formulas, and one answer that a test of its own makes.
FIGURES = {
    DOCS / "reference" / "identity.md": 1,
    DOCS / "reference" / "schema.md": 3,
    DOCS / "reference" / "mcp.md": 1,  # tests/surfaces/test_mcp_docs.py
}
# What stands in a page for a database of the reader's own: a program's login, and the one that
# administers.
THEIRS = "postgresql://idetic@db.example/idetic"
ADMIN = "postgresql://admin@db.example/idetic"
DESK = "postgresql://desk@localhost/helpdesk"
DESK_ADMIN = "postgresql://me@localhost/helpdesk"


def named(page: Path) -> str:
    return str(page.relative_to(ROOT))


def typed_pages() -> list[Path]:
    """Every page with something to type."""
    return [page for page in pages() if any(block.language in TYPED for block in blocks(page))]


# --- following ----------------------------------------------------------------------------------


@pytest.fixture
def commands(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """`idetic` and `python` can be typed, as in an activated environment."""
    program = tmp_path / "bin" / "idetic"
    program.parent.mkdir()
    program.write_text(f'#!/bin/sh\nexec {shlex.quote(sys.executable)} -m idetic "$@"\n')
    program.chmod(0o755)
    paths = [str(program.parent), str(Path(sys.executable).parent), os.environ["PATH"]]
    monkeypatch.setenv("PATH", os.pathsep.join(paths))
    for name in ("IDETIC_DSN", "IDETIC_ADMIN_DSN"):
        monkeypatch.delenv(name, raising=False)


@pytest.fixture
def reader(
    commands: None,
    embedded_server: EmbeddedServer,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Somebody at a terminal in an empty directory, whose embedded server is the test's."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setenv("IDETIC_HOME", str(embedded_server.home))


def address(dsn: str) -> str:
    """A DSN as one word, as pages write it."""
    said = {key: quote(str(value), safe="") for key, value in conninfo_to_dict(dsn).items()}
    return "postgresql://{user}:{password}@{host}:{port}/{dbname}".format_map(said)


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("page", [p for p in typed_pages() if p not in ELSEWHERE], ids=named)
def test_what_a_page_says_to_run_runs_and_prints_what_it_shows(
    page: Path, model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    if page in (README, CHAT, START, PER_USER):
        # `remember` fetches the model: into a home that other pages share, which have none.
        monkeypatch.setenv("IDETIC_MODEL_DIR", str(model_path))
    assert follow(page) > 0


@pytest.mark.parametrize("page", ELSEWHERE, ids=named)
def test_a_page_that_is_followed_elsewhere_is(page: Path) -> None:
    assert page in typed_pages()
    text = (ROOT / ELSEWHERE[page]).read_text("utf-8")
    assert page.name in text
    assert "follow(" in text


@pytest.mark.usefixtures("reader")
def test_the_models_are_installed_as_the_page_says(
    model_path: Path, reranker_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """From the directory where this machine has them: the registry is not asked once more."""
    assert model_path.parent == reranker_path.parent
    models = str(model_path.parent)
    monkeypatch.setenv("IDETIC_MODEL_DIR", models)
    assert follow(MODEL, {"/srv/models": models, "IDETIC_MODEL=fp16": "IDETIC_MODEL=int8"}) > 4


@pytest.mark.usefixtures("reader")
def test_a_spec_can_be_pointed_at_ones_own_tables(empty_database: TestDatabase) -> None:
    own = {DESK: address(empty_database.dsn), DESK_ADMIN: address(empty_database.admin_dsn)}
    assert follow(OWN_TABLES, own) > 5


@pytest.mark.usefixtures("reader")
def test_memory_moves_into_a_database_that_knew_nothing(
    empty_database: TestDatabase, model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(model_path))
    own = {THEIRS: address(empty_database.dsn), ADMIN: address(empty_database.admin_dsn)}
    assert follow(MOVE, own) > 5


@pytest.mark.usefixtures("reader")
def test_a_client_starts_what_its_configuration_says(
    embedded_server: EmbeddedServer, model_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_MODEL_DIR", str(model_path))
    with closing(EmbeddedTestServer(embedded_server)) as server:
        server.ensure_login(APP_ROLE)
    own = {"/home/me/key.txt": str(Path("key.txt").resolve())}
    assert follow(MCP, own | {THEIRS: address(embedded_server.dsn(user=APP_ROLE))}) > 4


def test_a_backup_is_restored_into_a_new_server(
    commands: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    """With the real programs: dumped, the server gone, restored into another, verified."""
    with new_place() as place:
        monkeypatch.setenv("IDETIC_HOME", str(place / "home"))
        monkeypatch.chdir(place)
        try:
            assert follow(BACKUP) > 5
        finally:
            embedded.stop(place / "restored")


# --- one served demo for the pages that speak of it ---------------------------------------------


@dataclass(frozen=True)
class Demo:
    """What the server that `make serve` starts said."""

    said: str

    @property
    def url(self) -> str:
        return str(re.findall(r"http://[\d.:]+", self.said)[0])

    @property
    def key(self) -> str:
        """The operator's, with which it shows how to ask over HTTP."""
        return str(re.findall(r"Bearer (idk_[^']+)'", self.said)[0])


def shown_by(page: Path, typed: str) -> tuple[Block, str]:
    """What a page shows below a line."""
    found = [
        (block, shown)
        for block in blocks(page)
        if block.language == "console"
        for line, shown in typed_lines(block)
        if line == typed
    ]
    return found[0]


@pytest.fixture(scope="module")
def demo(server: TestServer, demo_template: str) -> Iterator[Demo]:
    with copy_of(server, demo_template) as database, pytest.MonkeyPatch.context() as patch:
        patch.setenv("IDETIC_DSN", database.dsn)
        patch.setenv("IDETIC_ADMIN_DSN", database.admin_dsn)
        patch.setenv("IDETIC_HOME", NO_HOME)
        patch.setenv("XDG_CONFIG_HOME", NO_HOME)
        _, shown = shown_by(SERVE, "make serve")
        with served([sys.executable, "-m", "idetic", "serve", "--demo"], shown) as running:
            yield Demo(running.said)


@pytest.mark.parametrize("page", [SERVE, CONSOLE], ids=named)
def test_what_is_shown_of_make_serve_is_what_it_says(page: Path, demo: Demo) -> None:
    check_output(*shown_by(page, "make serve"), demo.said)
    assert made("serve").endswith("bin/idetic serve --demo\n")


def test_a_served_memory_is_used_from_elsewhere(
    commands: None, demo: Demo, database: TestDatabase, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("IDETIC_URL", demo.url)
    monkeypatch.setenv("IDETIC_KEY", demo.key)
    assert follow(SERVE, {THEIRS: address(database.dsn)}) > 2


# --- that nothing is left out -------------------------------------------------------------------


def left_over(page: Path) -> list[Block]:
    """The blocks that are neither typed, nor a file that is used, nor what came out."""
    found = list(blocks(page))
    left = []
    for n, block in enumerate(found):
        printed = block.language in OUTPUTS and n and found[n - 1].language in ("python", "sh")
        later = [each.text for each in found[n + 1 :] if each.language in TYPED]
        used = block.language in FILES and block.title and block.title in "".join(later)
        if not (block.language in TYPED or printed or used):
            left.append(block)
    return left


def test_every_block_of_every_page_is_typed_used_or_printed() -> None:
    left = {page: left_over(page) for page in pages()}
    assert {page: len(found) for page, found in left.items() if found} == FIGURES
    assert {block.language for page in FIGURES for block in left[page]} == {"text"}


def test_every_fence_is_one_that_is_understood() -> None:
    """A fence that is written otherwise would hide its block from the tests."""
    fence = re.compile(r'^```(?:\w+(?: title="[\w.-]+")?)?$')
    found = [
        f"{page}: {line}"
        for page in pages()
        for line in page.read_text("utf-8").splitlines()
        if line.lstrip().startswith(("```", "~~~")) and not fence.match(line)
    ]
    assert found == []


def test_no_code_hides_in_a_block_that_is_not_run() -> None:
    """Output and formulas are shown as text; what can be typed is typed."""
    hidden = re.compile(
        r"^(?:\$ |idetic \w|(?:from|import|async|await|def|class|with) |\w+ = await )", re.M
    )
    found = [
        str(block)
        for page in pages()
        for block in blocks(page)
        if block.language not in TYPED and hidden.search(block.text)
    ]
    assert found == []


def made(target: str) -> str:
    """What `make` would do for a target that is set up."""
    done = subprocess.run(
        ["make", "--no-print-directory", "--dry-run", "--assume-old=setup",
         "--assume-old=model", target],
        cwd=ROOT, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("line", shell.ELSEWHERE)
def test_a_line_that_is_typed_elsewhere_is(line: str) -> None:
    showing = [
        page
        for page in pages()
        for block in blocks(page)
        if block.language == "console"
        and line in [typed.partition(" #")[0].rstrip() for typed, _ in typed_lines(block)]
    ]
    assert showing, "a line that no page shows need not be listed"
    text = (ROOT / shell.ELSEWHERE[line]).read_text("utf-8")
    program, _, rest = line.partition(" ")
    if program == "pip":
        extras = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"][
            "optional-dependencies"
        ]
        wanted = re.findall(r"\[(.+)\]", rest)[0].split(",")
        assert set(wanted) <= set(extras)
        assert "def test_each_extra_installs_alone" in text
        return
    assert line in text or any(named(page) in text for page in showing)
    if program == "make":
        made(rest)


CONTROLS = {
    "a line that nothing types": "```console\n$ apt-get install idetic\n```\n",
    "a line that fails": "```console\n$ idetic spec render no_such_agent\n```\n",
    "another output": "```console\n$ idetic --version\nidetic 0.0.0\n```\n",
    "a script that fails": "```sh\nfalse\n```\n",
    "a script's other output": "```sh\necho 1\n```\n\n```text\n2\n```\n",
    "another key's value": '```sh\necho \'{"a": 1}\'\n```\n\n```json\n{"a": 2}\n```\n',
    "settings that nothing reads": "```yaml\nagent: clerk\n```\n",
    "a language that nothing runs": "```ruby\nputs 1\n```\n",
    "code that raises": "```python\nassert 1 == 2\n```\n",
    "a loop that a prompt does not end": "```python\nfor n in [1]:\n    print(n)\nprint(2)\n```\n",
    "an empty line within a block": "```python\nif True:\n    a = 1\n\n    b = 2\n```\n",
    "a block that does not end": "```python\nprint(\n```\n",
    "a server that says otherwise": "```console\n$ idetic serve --rate many\nIdetic serves.\n```\n",
}


@pytest.mark.usefixtures("reader")
@pytest.mark.parametrize("text", CONTROLS.values(), ids=CONTROLS)
def test_control_a_page_that_is_wrong_is_seen(text: str) -> None:
    page = Path("page.md")
    page.write_text(text, "utf-8")
    with pytest.raises(AssertionError):
        follow(page)


UNUSED = {
    "a file that no line names": '```yaml title="a.yaml"\na: 1\n```\n\n```sh\ncat b.yaml\n```\n',
    "settings": "```toml\na = 1\n```\n",
    "an answer to nothing": "```json\n{}\n```\n",
    "text after nothing": "```text\n1\n```\n",
    "another language": "```ruby\nputs 1\n```\n",
    "no language": "```\n1\n```\n",
}


@pytest.mark.parametrize("text", UNUSED.values(), ids=UNUSED)
def test_control_a_block_that_nothing_uses_is_seen(text: str, tmp_path: Path) -> None:
    page = tmp_path / "page.md"
    page.write_text(text, "utf-8")
    assert len(left_over(page)) == 1


@pytest.mark.parametrize("page", pages(), ids=named)
def test_a_page_that_awaits_names_the_prompt_that_can_and_is_no_how_to(page: Path) -> None:
    """A how-to is a script: it runs as a file and at the plain prompt."""
    python = [block for block in blocks(page) if block.language == "python"]
    if any(code.co_flags & CO_COROUTINE for block in python for code in statements(block)):
        assert page.parent != DOCS / "how-to"
        assert "python -m asyncio" in page.read_text("utf-8")
