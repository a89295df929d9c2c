"""The documentation as a site: it builds without a warning, is complete, and fetches nothing."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator
from html.parser import HTMLParser
from pathlib import Path
from typing import Any
from urllib.parse import unquote, urlsplit

import pytest
import yaml

from tests.support.docs import DOCS, ROOT

CONFIG = ROOT / "mkdocs.yml"
_STYLE_LOADS = re.compile(r"""(?:url\(|@import)\s*["']?(?:https?:)?//[^"')]*""")
SECTIONS = ["Start", "Use", "Operate", "Understand", "Reference", "Contribute", "Decisions"]


def build(config: Path, into: Path) -> subprocess.CompletedProcess[str]:
    """Build a site as `make docs` does."""
    return subprocess.run(
        [sys.executable, "-m", "mkdocs", "build", "--strict", "-f", str(config), "-d", str(into)],
        capture_output=True,
        text=True,
        check=False,
        timeout=600,
        env={**os.environ, "NO_MKDOCS_2_WARNING": "1"},
    )


@pytest.fixture(scope="module")
def site(tmp_path_factory: pytest.TempPathFactory) -> Path:
    into = tmp_path_factory.mktemp("site")
    built = build(CONFIG, into)
    assert built.returncode == 0, built.stderr
    assert "WARNING" not in built.stderr
    return into


# --- what a built page holds --------------------------------------------------------------------


class Page(HTMLParser):
    """The ids of a page, the places it links to, and what a browser loads for it unasked."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.ids: set[str] = set()
        self.links: list[str] = []
        self.loads: list[str] = []
        self.feed(path.read_text("utf-8"))

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        told = {name: value or "" for name, value in attrs}
        self.ids |= {told["id"]} if "id" in told else set()
        if tag in ("a", "area"):
            self.links += [told["href"]] if "href" in told else []
            return
        self.loads += [told[name] for name in ("src", "srcset", "data", "href") if name in told]


@pytest.fixture(scope="module")
def pages(site: Path) -> dict[Path, Page]:
    return {path: Page(path) for path in sorted(site.rglob("*.html"))}


def outside(address: str) -> bool:
    """Whether following the address would leave the site."""
    return bool(urlsplit(address).netloc)


def test_every_page_is_built(pages: dict[Path, Page], site: Path) -> None:
    wanted = {site / page.relative_to(DOCS).with_suffix(".html") for page in DOCS.rglob("*.md")}
    assert wanted | {site / "404.html"} == set(pages)


def test_every_link_of_every_page_leads_to_a_page_and_a_place_on_it(
    pages: dict[Path, Page],
) -> None:
    followed = 0
    for path, page in pages.items():
        if path.name == "404.html":  # served for any address, so its links begin at the root
            continue
        for link in page.links:
            if outside(link):
                continue
            parts = urlsplit(link)
            target = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            target = target / "index.html" if target.is_dir() else target
            assert target in pages, f"{path.name}: {link}"
            if parts.fragment:
                assert unquote(parts.fragment) in pages[target].ids, f"{path.name}: {link}"
            followed += 1
    assert followed > 1000


def test_a_readers_browser_is_sent_to_no_other_host(pages: dict[Path, Page], site: Path) -> None:
    loads = {address for page in pages.values() for address in page.loads}
    assert loads
    assert [address for address in loads if outside(address)] == []
    styles = [style.read_text("utf-8") for style in site.rglob("*.css")]
    assert styles
    assert [hit for text in styles for hit in _STYLE_LOADS.findall(text)] == []


def test_no_page_uses_what_the_theme_would_fetch_from_elsewhere(pages: dict[Path, Page]) -> None:
    """The theme's script fetches a drawing library for diagrams, and a repository's figures."""
    for path in pages:
        text = path.read_text("utf-8")
        assert 'class="mermaid"' not in text, path.name
        assert 'data-md-component="source"' not in text, path.name


def test_control_a_font_from_elsewhere_is_seen(tmp_path: Path) -> None:
    page = tmp_path / "page.html"
    page.write_text(
        '<link rel="stylesheet" href="https://fonts.example/css"><a href="//x.example">'
    )
    assert [address for address in Page(page).loads if outside(address)]


# --- the order of the pages ---------------------------------------------------------------------


class Plain(yaml.SafeLoader):
    """Reads the settings without making the objects they name."""


Plain.add_multi_constructor("tag:yaml.org,2002:python/", lambda *_: None)


def navigation() -> list[dict[str, Any]]:
    found: list[dict[str, Any]] = yaml.load(CONFIG.read_text("utf-8"), Plain)["nav"]  # noqa: S506
    return found


def listed(part: object) -> Iterator[str]:
    if isinstance(part, str):
        yield part
        return
    for each in part.values() if isinstance(part, dict) else part:  # type: ignore[attr-defined]
        yield from listed(each)


def test_the_navigation_has_every_page_once_and_in_the_usual_order() -> None:
    assert [name for part in navigation() for name in part] == SECTIONS
    found = list(listed(navigation()))
    assert sorted(found) == sorted(str(page.relative_to(DOCS)) for page in DOCS.rglob("*.md"))


# --- a warning is an error ----------------------------------------------------------------------

FAULTS = {
    "a link to no page": "[gone](gone.md)",
    "a link to no place on a page": "[gone](index.md#gone)",
    "a link that only this machine knows": "[gone](/etc/hosts)",
}


@pytest.mark.parametrize("fault", [None, *FAULTS])
def test_a_fault_fails_the_build(fault: str | None, tmp_path: Path) -> None:
    """The real settings over one page; without a fault it builds, so it is the fault that fails."""
    assert small_site(tmp_path, FAULTS.get(fault or "", "")) == bool(fault)


def test_a_page_that_is_not_in_the_navigation_fails_the_build(tmp_path: Path) -> None:
    (tmp_path / "docs").mkdir()
    (tmp_path / "docs" / "more.md").write_text("# More\n")
    assert small_site(tmp_path, "")


def small_site(folder: Path, text: str) -> bool:
    """Build one page with the real settings; whether that failed."""
    (folder / "docs").mkdir(exist_ok=True)
    (folder / "docs" / "index.md").write_text(f"# One page\n\n{text}\n")
    config = folder / "mkdocs.yml"
    config.write_text(f"INHERIT: {CONFIG}\ndocs_dir: docs\nnav: [index.md]\n")
    return build(config, folder / "site").returncode != 0
