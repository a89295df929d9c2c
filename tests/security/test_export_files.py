"""A file that leaves memory is new, its owner's alone, and never written through a link."""

from __future__ import annotations

import os
from collections.abc import Awaitable, Callable, Iterator
from pathlib import Path

import pytest

from idetic import errors
from idetic.transfer import disclosure, exports
from tests.conftest import World
from tests.support.moving import names_in

pytestmark = pytest.mark.anyio

Leaving = Callable[[World, Path], Awaitable[object]]


async def exported(world: World, path: Path) -> object:
    return await world.operator.export_to(path)


async def disclosed(world: World, path: Path) -> object:
    return await world.operator.disclose_to(path)


def text_of(path: Path) -> str:
    return path.read_text()


each_way = pytest.mark.parametrize("leave", [exported, disclosed], ids=lambda way: way.__name__)


@pytest.fixture
def umask() -> Iterator[None]:
    """A user whose files everybody may read and write."""
    before = os.umask(0)
    yield
    os.umask(before)


@pytest.fixture
def victim(tmp_path: Path) -> Path:
    place = tmp_path / "victim"
    place.write_text("mine")
    return place


@pytest.fixture
async def seeded(world: World) -> World:
    await world.operator.prefer("Ask before releasing.")
    return world


@pytest.mark.usefixtures("umask")
@each_way
async def test_it_is_its_owners_alone(seeded: World, tmp_path: Path, leave: Leaving) -> None:
    path = tmp_path / "out"
    await leave(seeded, path)
    assert path.stat().st_mode & 0o777 == 0o600
    assert path.stat().st_size > 0


@each_way
async def test_what_lies_there_is_left_as_it_is(
    seeded: World, tmp_path: Path, victim: Path, leave: Leaving
) -> None:
    dangling, link = tmp_path / "dangling", tmp_path / "link"
    dangling.symlink_to(tmp_path / "nowhere")
    link.symlink_to(victim)
    for place in (victim, link, dangling):
        with pytest.raises(errors.InputError, match="already"):
            await leave(seeded, place)
    assert text_of(victim) == "mine"
    assert not (tmp_path / "nowhere").exists()


@each_way
async def test_a_link_laid_between_look_and_writing_is_not_followed(
    seeded: World, tmp_path: Path, victim: Path, leave: Leaving, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(exports, "free_path", Path)
    monkeypatch.setattr(disclosure, "free_path", Path)
    link = tmp_path / "link"
    link.symlink_to(victim)
    with pytest.raises(errors.InputError):
        await leave(seeded, link)
    assert text_of(victim) == "mine"
    assert names_in(tmp_path) == ["link", "victim"], "no part is left"


@pytest.mark.usefixtures("umask")
async def test_control_opened_as_any_file_it_is_followed(
    seeded: World, tmp_path: Path, victim: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(disclosure, "free_path", Path)
    monkeypatch.setattr(disclosure, "NEW", os.O_WRONLY | os.O_CREAT | os.O_TRUNC)
    link = tmp_path / "link"
    link.symlink_to(victim)
    await disclosed(seeded, link)
    assert text_of(victim) != "mine"
