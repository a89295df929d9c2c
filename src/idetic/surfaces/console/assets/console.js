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

  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest?.("input, textarea, select, [contenteditable]");
    if (event.key === "/" && !typing && !event.ctrlKey && !event.metaKey && !event.altKey) {
      const search = document.getElementById("search");
      if (search) {
        event.preventDefault();
        search.focus();
        search.select();
      }
    }
    if (event.key === "Escape" && typing) event.target.blur();
  });
})();
