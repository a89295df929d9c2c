// The theme, before anything is painted; and the keys of the keyboard.
(() => {
  const root = document.documentElement;
  const kept = () => {
    try {
      return localStorage.getItem("idetic-theme");
    } catch {
      return null; // A browser that keeps nothing follows the system.
    }
  };
  const wanted = matchMedia("(prefers-color-scheme: dark)");
  const apply = () => {
    root.dataset.theme = kept() || (wanted.matches ? "dark" : "light");
  };
  apply();
  wanted.addEventListener("change", apply);

  window.ideticTheme = () => {
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    try {
      localStorage.setItem("idetic-theme", next);
    } catch {
      // Then it lasts as long as the page.
    }
    root.dataset.theme = next;
  };

  // The slider of the Explorer writes the moment into the field beside it, and asks again.
  const slid = (event) => {
    const slider = event.target.closest?.("[data-back]");
    if (!slider) return;
    const days = Number(slider.value);
    const moment = new Date(Date.now() - days * 86_400_000).toISOString().slice(0, 16);
    slider.form.elements[slider.dataset.back].value = days ? moment : "";
    slider.form.querySelector("output").textContent = days ? `${days} ${days === 1 ? "day" : "days"} ago` : "now";
    if (event.type === "change") slider.form.requestSubmit();
  };
  document.addEventListener("input", slid);
  document.addEventListener("change", slid);

  // A text that is being written keeps its line numbers, and tells its form once it has settled.
  let settling;
  document.addEventListener("input", (event) => {
    const text = event.target.closest?.("[data-settles]");
    if (!text) return;
    const count = text.value.split("\n").length;
    if (Number(text.rows) !== count) {
      text.rows = count;
      const numbers = Array.from({ length: count }, (_, line) => line + 1);
      text.previousElementSibling.textContent = numbers.join("\n");
    }
    clearTimeout(settling);
    settling = setTimeout(() => text.form.dispatchEvent(new Event("settled")), 500);
  });

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const search = [...document.querySelectorAll("#search, #query")].find((each) => each.offsetParent);
      if (search) {
        event.preventDefault();
        search.focus();
        search.select();
      }
    }
    if (event.key === "Escape" && typing) event.target.blur();
    const box = event.target.matches?.("[type=checkbox]");
    const cards = [...document.querySelectorAll(".item:not(.decided)")];
    const bulk = document.querySelector(".bulk");
    if ((!cards.length && !bulk) || (typing && !box)) return;
    if (event.ctrlKey || event.metaKey || event.altKey) return;
    const here = cards.findIndex((card) => card.contains(document.activeElement));
    const go = { j: here + 1, k: here - 1 }[event.key];
    if (go !== undefined) cards[Math.max(0, Math.min(go, cards.length - 1))]?.focus();
    if (event.key === "x" && here >= 0) cards[here].querySelector("[type=checkbox]")?.click();
    const ticked = document.querySelector(".item [type=checkbox]:checked");
    const form = ticked || here < 0 ? (bulk ?? cards[0]) : cards[here];
    if (event.key === "r") {
      event.preventDefault();
      form?.querySelector("[name=reason]")?.focus();
    }
    if (event.key === "a") bulk?.querySelector(".tick-all")?.click();
    if (event.key === "u") (cards[here] ?? bulk)?.querySelector("[data-undo]")?.click();
  });
})();
