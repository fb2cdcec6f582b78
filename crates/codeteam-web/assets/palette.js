// Finds a page or a run by a few letters of its name.

/** @typedef {{ label: string, place: string, href: string }} PaletteEntry */

/** Opens the palette. */
export async function openPalette() {
  if (document.querySelector("dialog[open]")) return;
  const dialog = document.createElement("dialog");
  dialog.setAttribute("aria-label", "Go to");
  const input = document.createElement("input");
  input.type = "search";
  input.placeholder = "Go to a page or a run";
  input.setAttribute("role", "combobox");
  input.setAttribute("aria-expanded", "true");
  input.setAttribute("aria-controls", "palette-list");
  input.setAttribute("aria-label", "Go to a page or a run");
  const list = document.createElement("ul");
  list.className = "palette-list";
  list.id = "palette-list";
  list.setAttribute("role", "listbox");
  list.setAttribute("aria-label", "Places");
  dialog.append(input, list);
  dialog.addEventListener("close", () => dialog.remove());
  dialog.addEventListener("click", (event) => {
    if (event.target === dialog) dialog.close();
  });
  document.body.append(dialog);
  dialog.showModal();
  let entries = placesHere();
  const show = () => showEntries(list, input, entries);
  input.addEventListener("input", show);
  input.addEventListener("keydown", (event) => choose(event, list, input));
  show();
  entries = [...entries, ...(await runs())];
  show();
}

/** The links of this page that lead to other pages.
 * @returns {PaletteEntry[]} */
function placesHere() {
  const links = document.querySelectorAll(".places a, .tabs a, .crumbs a, a.ask");
  return [...links].map((link) => ({
    label: (link.textContent ?? "").trim().replace(/\s+/g, " "),
    place: link.closest(".tabs") ? "this run" : link.matches(".ask") ? "asks" : "",
    href: link.getAttribute("href") ?? "",
  }));
}

/** All runs, as the page with all runs lists them.
 * @returns {Promise<PaletteEntry[]>} */
async function runs() {
  const path = document.body.dataset.runsPath;
  if (!path) return [];
  const response = await fetch(path);
  if (!response.ok) return [];
  const page = new DOMParser().parseFromString(await response.text(), "text/html");
  return [...page.querySelectorAll("a[data-run-link]")].map((link) => ({
    label: (link.textContent ?? "").trim(),
    place: link.closest("[data-row]")?.querySelector(".mark")?.textContent?.trim() ?? "",
    href: link.getAttribute("href") ?? "",
  }));
}

/**
 * Whether all letters of a query are in a text, in their order. Fewer gaps are better; -1 is no.
 * @param {string} query
 * @param {string} text
 */
export function rank(query, text) {
  let at = 0;
  let gaps = 0;
  for (const letter of query.toLowerCase()) {
    const found = text.toLowerCase().indexOf(letter, at);
    if (found < 0) return -1;
    gaps += found - at;
    at = found + 1;
  }
  return gaps;
}

/**
 * @param {HTMLElement} list
 * @param {HTMLInputElement} input
 * @param {PaletteEntry[]} entries
 */
function showEntries(list, input, entries) {
  const ranked = entries.map((entry) => ({ entry, gaps: rank(input.value, `${entry.label} ${entry.place}`) }));
  const fitting = ranked.filter(({ gaps }) => gaps >= 0);
  if (input.value) fitting.sort((one, other) => one.gaps - other.gaps);
  list.replaceChildren(
    ...fitting.slice(0, 30).map(({ entry }, at) => {
      const item = document.createElement("li");
      item.id = `palette-${at}`;
      item.setAttribute("role", "option");
      item.setAttribute("aria-selected", String(at === 0));
      const link = document.createElement("a");
      link.href = entry.href;
      link.tabIndex = -1;
      const label = document.createElement("span");
      label.textContent = entry.label;
      const place = document.createElement("span");
      place.className = "faint small";
      place.textContent = entry.place;
      link.append(label, place);
      item.append(link);
      return item;
    }),
  );
  input.setAttribute("aria-activedescendant", list.firstElementChild?.id ?? "");
}

/**
 * @param {KeyboardEvent} event
 * @param {HTMLElement} list
 * @param {HTMLInputElement} input
 */
function choose(event, list, input) {
  const items = [...list.children];
  const at = items.findIndex((item) => item.getAttribute("aria-selected") === "true");
  if (event.key === "Enter") {
    event.preventDefault();
    items[at]?.querySelector("a")?.click();
    return;
  }
  const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
  const next = items[at + by];
  if (by === 0 || !next) return;
  event.preventDefault();
  items[at]?.setAttribute("aria-selected", "false");
  next.setAttribute("aria-selected", "true");
  next.scrollIntoView({ block: "nearest" });
  input.setAttribute("aria-activedescendant", next.id);
}
