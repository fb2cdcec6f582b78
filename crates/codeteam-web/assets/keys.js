// Keys: the same letters as those of the terminal screen. The page `Help` lists them.

import { openComment } from "./diff.js";
import { openPalette } from "./palette.js";

/** What was pressed before, for keys in a row.
 * @type {{ key: string, at: number } | null} */
let before = null;

/** The keys that this script carries out, by where they work. A test compares them with the help.
 * @type {Record<string, Record<string, () => boolean>>} */
export const KEYS = {
  "Everywhere": {
    "g i": () => go("i"),
    "g u": () => go("u"),
    "g m": () => go("m"),
    "g d": () => go("d"),
    "/": focusFilter,
    "?": showHelp,
  },
  "In lists": {
    "j": () => moveRow(1),
    "k": () => moveRow(-1),
    "Enter": openRow,
  },
  "In a change": {
    "j": () => moveLine("tr[id]", 1),
    "k": () => moveLine("tr[id]", -1),
    "]": () => moveLine("tr.hunk", 1),
    "[": () => moveLine("tr.hunk", -1),
    "}": () => moveFile(1),
    "{": () => moveFile(-1),
    "c": commentHere,
    "v": viewHere,
  },
  "With a question": {
    "a": () => focusKey("a"),
    "r": () => focusKey("r"),
    "d": () => focusKey("d"),
  },
};

/** Begins to listen. */
export function followKeys() {
  document.addEventListener("keydown", (event) => {
    if ((event.ctrlKey || event.metaKey) && event.key.toLowerCase() === "k") {
      event.preventDefault();
      void openPalette();
      return;
    }
    if (event.key === "Escape") {
      closeAll(event.target);
      return;
    }
    if (event.ctrlKey || event.metaKey || event.altKey || isTyping(event.target)) return;
    const pair = before && event.timeStamp - before.at < 1000 ? `${before.key} ${event.key}` : "";
    before = { key: event.key, at: event.timeStamp };
    for (const keys of keysHere()) {
      const act = keys[pair] ?? keys[event.key];
      if (act && act()) {
        event.preventDefault();
        before = null;
        return;
      }
    }
  });
}

/** The keys of this page, the most special first. */
function keysHere() {
  const here = [];
  if (document.querySelector("table.diff")) here.push(KEYS["In a change"]);
  here.push(KEYS["With a question"], KEYS["In lists"], KEYS["Everywhere"]);
  return here.filter((keys) => keys !== undefined);
}

/** @param {EventTarget | null} target */
function isTyping(target) {
  if (!(target instanceof HTMLElement)) return false;
  if (target instanceof HTMLInputElement) return !["checkbox", "radio", "submit"].includes(target.type);
  return target.isContentEditable || target instanceof HTMLTextAreaElement || target instanceof HTMLSelectElement;
}

/** @param {string} key */
function go(key) {
  const link = document.querySelector(`a[data-go="${key}"]`);
  if (!(link instanceof HTMLAnchorElement)) return false;
  link.click();
  return true;
}

/** @param {string} key */
function focusKey(key) {
  const element = document.querySelector(`[data-key="${key}"]`);
  if (!(element instanceof HTMLElement)) return false;
  if (element instanceof HTMLAnchorElement) element.click();
  else element.focus();
  return true;
}

function focusFilter() {
  const field = document.querySelector("[data-filter]");
  if (!(field instanceof HTMLInputElement)) return false;
  field.focus();
  field.select();
  return true;
}

/** @param {number} by */
function moveRow(by) {
  const rows = [...document.querySelectorAll("[data-row]")].filter((row) => row instanceof HTMLElement && !row.hidden);
  if (rows.length === 0) return false;
  const at = rows.findIndex((row) => row.classList.contains("cursor"));
  const next = rows[Math.max(0, Math.min(rows.length - 1, at + by))];
  rows[at]?.classList.remove("cursor");
  next?.classList.add("cursor");
  const link = next?.querySelector("a[data-open]");
  if (link instanceof HTMLElement) link.focus({ preventScroll: true });
  next?.scrollIntoView({ block: "nearest" });
  return true;
}

function openRow() {
  if (document.activeElement && document.activeElement !== document.body) return false;
  const link = document.querySelector("[data-row].cursor a[data-open]");
  if (!(link instanceof HTMLAnchorElement)) return false;
  link.click();
  return true;
}

/**
 * @param {string} selector
 * @param {number} by
 */
function moveLine(selector, by) {
  const rows = [...document.querySelectorAll(`table.diff ${selector}`)];
  if (rows.length === 0) return false;
  const cursor = document.querySelector("table.diff tr.cursor");
  let next;
  if (!cursor) next = rows[0];
  else if (rows.includes(cursor)) next = rows[rows.indexOf(cursor) + by];
  else {
    const isAfter = (/** @type {Element} */ row) =>
      (cursor.compareDocumentPosition(row) & Node.DOCUMENT_POSITION_FOLLOWING) !== 0;
    next = by > 0 ? rows.find(isAfter) : rows.filter((row) => !isAfter(row)).pop();
  }
  if (next) setCursor(next);
  return true;
}

/** @param {Element} row */
function setCursor(row) {
  document.querySelectorAll("table.diff tr.cursor").forEach((old) => old.classList.remove("cursor"));
  row.classList.add("cursor");
  row.scrollIntoView({ block: "nearest" });
}

/** @param {number} by */
function moveFile(by) {
  const files = [...document.querySelectorAll(".file")];
  const here = document.querySelector("tr.cursor")?.closest(".file");
  const at = here ? files.indexOf(here) : by > 0 ? -1 : files.length;
  const next = files[at + by];
  if (!next) return files.length > 0;
  next.scrollIntoView({ block: "start" });
  const row = next.querySelector("tr[id]");
  if (row) setCursor(row);
  else document.querySelectorAll("tr.cursor").forEach((old) => old.classList.remove("cursor"));
  return true;
}

function commentHere() {
  const row = document.querySelector("table.diff tr.cursor");
  const cell = row?.querySelector("td.no[data-new]") ?? row?.querySelector("td.no[data-old]");
  if (!(cell instanceof HTMLElement)) return false;
  openComment(cell, false);
  return true;
}

function viewHere() {
  const file = document.querySelector("tr.cursor")?.closest(".file");
  const form = file?.querySelector("form[data-viewed]");
  if (!(form instanceof HTMLFormElement)) return false;
  form.requestSubmit();
  return true;
}

/** Shows the keys that the page `Help` lists. */
function showHelp() {
  void (async () => {
    const response = await fetch("/help");
    const page = new DOMParser().parseFromString(await response.text(), "text/html");
    const keys = page.getElementById("keys");
    if (!keys) return;
    const dialog = document.createElement("dialog");
    dialog.setAttribute("aria-label", "Keys");
    dialog.append(keys);
    dialog.addEventListener("close", () => dialog.remove());
    dialog.addEventListener("click", (event) => {
      if (event.target === dialog) dialog.close();
    });
    document.body.append(dialog);
    dialog.showModal();
  })();
  return true;
}

/** @param {EventTarget | null} target */
function closeAll(target) {
  document.querySelectorAll("details.menu[open]").forEach((menu) => menu.removeAttribute("open"));
  const box = target instanceof Element ? target.closest(".comment-row [data-comment]") : null;
  if (box instanceof HTMLDetailsElement) box.open = false;
  if (target instanceof HTMLElement && isTyping(target)) target.blur();
}
