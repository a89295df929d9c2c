"""Pages by eye and by ear: light, dark and on a phone, each with a picture."""

from __future__ import annotations

from collections.abc import Mapping

from tests.support.console_visit import Visitor

# What can differ in the dark: the same elements stand there, in other colours.
COLOURS = ("color-contrast", "link-in-text-block")
LAPTOP, PHONE = {"width": 1280, "height": 860}, {"width": 390, "height": 844}


async def unreadable(visitor: Visitor, pages: Mapping[str, str]) -> dict[str, list[str]]:
    """What is wrong with each page, one login and one load for each."""
    found = {}
    for name, path in pages.items():
        await visitor.go(path)
        found[name] = await faults_of(visitor, name)
    return {name: faults for name, faults in found.items() if faults}


async def faults_of(visitor: Visitor, name: str) -> list[str]:
    """Serious violations in light, dark and on a phone, and what is wider than the screen.

    Of the page as it is: the theme follows the system while the page is open.
    """
    page, faults = visitor.page, []
    for look in ("light", "dark", "phone"):
        theme = "dark" if look == "dark" else "light"
        # Without motion: colours that are still on their way have no contrast to judge.
        await page.emulate_media(color_scheme=theme, reduced_motion="reduce")  # type: ignore[arg-type]
        await page.wait_for_selector(f"html[data-theme={theme}]", state="attached")
        await page.set_viewport_size(PHONE if look == "phone" else LAPTOP)  # type: ignore[arg-type]
        wide = await page.evaluate("document.documentElement.scrollWidth - innerWidth")
        faults += [f"{look}: {wide} px too wide"] if wide > 0 else []
        await visitor.shot(f"{name} {look}")
        rules = COLOURS if look == "dark" else ()
        faults += [f"{look}: {fault}" for fault in await visitor.violations(*rules)]
    await page.set_viewport_size(LAPTOP)  # type: ignore[arg-type]
    return faults
