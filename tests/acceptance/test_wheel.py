"""What we ship: the source archive and the wheel hold what they should, and the wheel works."""

from __future__ import annotations

import email
import re
import subprocess
import sys
import tarfile
import tomllib
import zipfile
from collections.abc import Iterator
from email.message import Message
from pathlib import Path

import pytest

import idetic
from tests.support.docs import ROOT, listed_files
from tests.support.strangers import LONG, Environment, new_place

PROJECT = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
EXTRAS = sorted(PROJECT["optional-dependencies"])
NAME = f"idetic-{idetic.__version__}"
IMPORT = "import time; s = time.perf_counter(); import idetic; print(time.perf_counter() - s)"


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A folder with the source archive, and the wheel made from that archive."""
    folder = tmp_path_factory.mktemp("dist")
    command = [sys.executable, "-m", "build", "--no-isolation", "--outdir", str(folder), str(ROOT)]
    done = subprocess.run(command, capture_output=True, text=True, check=False, timeout=300)
    assert done.returncode == 0, done.stderr
    return folder


@pytest.fixture(scope="module")
def wheel(built: Path) -> Path:
    (found,) = built.glob("*.whl")
    return found


def tracked() -> set[str]:
    """Every file of the repository, by its path below the root."""
    return {str(path.relative_to(ROOT)) for path in listed_files()}


# --- what is in them ----------------------------------------------------------------------------


def test_the_wheel_holds_the_package_and_nothing_else(wheel: Path) -> None:
    held = set(zipfile.ZipFile(wheel).namelist())
    package = {name.removeprefix("src/") for name in tracked() if name.startswith("src/idetic/")}
    told = (
        "METADATA",
        "WHEEL",
        "RECORD",
        "entry_points.txt",
        "licenses/LICENSE",
        "licenses/NOTICE",
    )
    assert held == package | {f"{NAME}.dist-info/{name}" for name in told}
    ends = {Path(name).suffix for name in package}
    assert {".py", ".sql", ".yaml", ".typed"} <= ends


def test_the_source_archive_holds_the_repository_and_nothing_else(built: Path) -> None:
    (archive,) = built.glob("*.tar.gz")
    with tarfile.open(archive) as opened:
        held = {each.name.removeprefix(f"{NAME}/") for each in opened if each.isfile()}
    wanted = {name for name in tracked() if not name.startswith((".ci/", ".github/"))}
    assert held == wanted | {"PKG-INFO"}


def told(wheel: Path) -> Message:
    text = zipfile.ZipFile(wheel).read(f"{NAME}.dist-info/METADATA").decode()
    return email.message_from_string(text)


def test_the_metadata_say_what_the_project_says(wheel: Path) -> None:
    found = told(wheel)
    assert (found["Name"], found["Version"]) == ("idetic", idetic.__version__)
    assert found["License-Expression"] == "Apache-2.0"
    assert sorted(found.get_all("Provides-Extra", [])) == EXTRAS
    needed = [each for each in found.get_all("Requires-Dist", []) if "extra ==" not in each]
    assert len(needed) == len(PROJECT["dependencies"])
    commands = zipfile.ZipFile(wheel).read(f"{NAME}.dist-info/entry_points.txt").decode()
    assert "idetic = idetic.surfaces.cli.app:main" in commands


# --- that they work -----------------------------------------------------------------------------


@pytest.fixture(scope="module")
def place() -> Iterator[Path]:
    with new_place() as path:
        yield path


@pytest.fixture(scope="module")
def installed(wheel: Path, place: Path) -> Environment:
    """The wheel in an environment that has nothing of ours."""
    made = Environment.make(place / "venv", place / "home")
    made.install(*([] if LONG else ["--no-deps", "--no-index"]), str(wheel))
    return made


def test_the_installed_wheel_runs_the_demo(installed: Environment) -> None:
    where = installed.run("python", "-c", "import idetic; print(idetic.__file__)").strip()
    assert Path(where) == installed.packages / "idetic" / "__init__.py"
    assert idetic.__version__ in installed.run("idetic", "--version")
    said = installed.run("idetic", "demo")
    assert "The demo world is loaded." in said
    assert [f"\n{number}. " in said for number in range(1, 10)] == [True] * 9
    assert "the embedded server in" in said


def test_how_long_the_import_takes_is_told(
    installed: Environment, capsys: pytest.CaptureFixture[str]
) -> None:
    """No bound here: a busy machine would break it. The figure to look at is 0.2 seconds."""
    seconds = sorted(float(installed.run("python", "-c", IMPORT)) for _ in range(5))
    with capsys.disabled():
        print(f" [import idetic from the wheel: {seconds[2] * 1000:.0f} ms, median of 5]")
    assert seconds[0] > 0


if LONG:  # minutes: everything comes from the registry, for each extra anew

    @pytest.mark.parametrize("extra", EXTRAS)
    def test_each_extra_installs_alone(wheel: Path, extra: str) -> None:
        wanted = PROJECT["optional-dependencies"][extra]
        names = [re.split(r"[<>=\[ ]", each)[0] for each in wanted]
        code = "import sys, importlib.metadata as m; print(*map(m.version, sys.argv[1:]))"
        # A place that goes at once: all of them together would fill the memory.
        with new_place() as place:
            made = Environment.make(place / "venv", place / "home")
            made.install(f"idetic[{extra}] @ {wheel.as_uri()}")
            assert idetic.__version__ in made.run("idetic", "--version")
            assert len(made.run("python", "-c", code, *names).split()) == len(names)
