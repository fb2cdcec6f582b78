// Comments on lines, files that unfold in place, marks of viewed files. Without this script the same
// is done with the form below each file and with links.

import { announce, refreshParts } from "./live.js";
import { morph, parseElement } from "./morph.js";

/** The line at which a range begins.
 * @type {{ cell: HTMLElement, file: HTMLElement } | null} */
let anchor = null;
/** How far from the window files unfold, in pixels. */
const NEAR = 1200;

/** Files that are folded only because the change is long, in the order in which they come into view.
 * @type {HTMLAnchorElement[]} */
const near = [];
let isUnfolding = false;

/** Unfolds such files before somebody scrolls to them. */
function unfoldNear() {
  const observer = new IntersectionObserver((entries) => {
    for (const { target, isIntersecting } of entries) {
      if (!isIntersecting || !(target instanceof HTMLAnchorElement)) continue;
      observer.unobserve(target);
      near.push(target);
    }
    void unfoldNext(observer);
  }, { rootMargin: `${NEAR}px` });
  for (const link of document.querySelectorAll("[data-near]")) observer.observe(link);
}

/** @param {IntersectionObserver} observer */
async function unfoldNext(observer) {
  if (isUnfolding) return;
  isUnfolding = true;
  try {
    for (let link = near.shift(); link; link = near.shift()) {
      // Files above it may have unfolded meanwhile, and moved it away.
      const { top, bottom } = link.getBoundingClientRect();
      if (top > innerHeight + NEAR || bottom < -NEAR) observer.observe(link);
      else if (link.isConnected) await unfoldFile(link);
    }
  } catch {
    // The server is not there. Files that stay folded still have their links.
  } finally {
    isUnfolding = false;
  }
}

/** Makes a change work with mouse and keys. */
export function followDiff() {
  if (!document.querySelector(".diff-files")) return;
  unfoldNear();
  document.addEventListener("click", (event) => {
    const target = event.target;
    if (!(target instanceof Element)) return;
    const unfold = target.closest("[data-unfold]");
    if (unfold instanceof HTMLAnchorElement) {
      event.preventDefault();
      void followUnfold(unfold);
      return;
    }
    const cell = target.closest(".diff td.no");
    if (cell instanceof HTMLElement) openComment(cell, event.shiftKey);
  });
  document.addEventListener("submit", (event) => {
    const form = event.target;
    if (form instanceof HTMLFormElement && form.closest(".diff-files")) {
      event.preventDefault();
      void sendForm(form);
    }
  });
}

/**
 * Unfolds a file that somebody asked for; if it cannot be had alone, its link is followed.
 * @param {HTMLAnchorElement} link
 */
async function followUnfold(link) {
  const isUnfolded = await unfoldFile(link).catch(() => false);
  if (isUnfolded) focusFile(link.dataset.unfold ?? "");
  else location.href = link.href;
}

/**
 * Puts a file in place of its link. Returns false if the server does not have it.
 * @param {HTMLAnchorElement} link
 */
async function unfoldFile(link) {
  const id = link.dataset.unfold ?? "";
  const address = new URL(link.href);
  address.searchParams.set("part", id);
  const response = await fetch(address, { cache: "no-store" });
  if (!response.ok) return false;
  const fresh = parseElement(await response.text());
  const old = document.getElementById(id);
  if (fresh && old) old.replaceWith(fresh);
  return true;
}

/**
 * Moves the focus to what took the place of the link that was followed.
 * @param {string} id
 */
function focusFile(id) {
  const target = document.querySelector(`#${id} [data-unfold], #${id} button, #${id} .scroll`);
  if (target instanceof HTMLElement) target.focus({ preventScroll: true });
}

/**
 * Opens the form for a comment below a line; with Shift, for all lines since the last one.
 * @param {HTMLElement} cell
 * @param {boolean} extends_
 */
export function openComment(cell, extends_) {
  const file = cell.closest(".file");
  const row = cell.closest("tr");
  const box = file?.querySelector("[data-comment]");
  if (!(file instanceof HTMLElement) || !row || !(box instanceof HTMLDetailsElement)) return;
  const isOld = cell.dataset.old !== undefined && cell.dataset.new === undefined && isRemoved(cell, row);
  const line = Number(isOld ? cell.dataset.old : newLine(row) ?? cell.dataset.old);
  if (!line) return;
  let first = line;
  if (extends_ && anchor && anchor.file === file) {
    const start = Number(anchor.cell.dataset.new ?? anchor.cell.dataset.old);
    if (start) first = Math.min(start, line);
  }
  const last = Math.max(first, extends_ && anchor?.file === file ? Number(anchor.cell.dataset.new ?? line) : line);
  anchor = { cell, file };
  moveBox(box, row);
  setField(box, "line", String(first));
  setField(box, "last", String(Math.max(first, last)));
  setField(box, "quoted", row.querySelector("td.code:last-of-type")?.textContent ?? "");
  const old = box.querySelector("input[name=old]");
  if (old instanceof HTMLInputElement) old.checked = isOld;
  markRange(file, first, Math.max(first, last), isOld);
  box.open = true;
  const words = box.querySelector("textarea");
  words?.focus();
}

/**
 * @param {HTMLElement} cell
 * @param {Element} row
 */
function isRemoved(cell, row) {
  return row.classList.contains("del") || cell.classList.contains("del");
}

/** @param {Element} row */
function newLine(row) {
  const cell = row.querySelector("td.no[data-new]");
  return cell instanceof HTMLElement ? cell.dataset.new : undefined;
}

/**
 * Puts the form into a row of its own below a line.
 * @param {HTMLDetailsElement} box
 * @param {Element} row
 */
function moveBox(box, row) {
  document.querySelectorAll(".comment-row").forEach((other) => {
    const own = other.querySelector("[data-comment]");
    if (own && own !== box) other.closest(".file")?.append(own);
    other.remove();
  });
  const holder = document.createElement("tr");
  holder.className = "comment-row";
  const cell = document.createElement("td");
  cell.colSpan = 4;
  cell.append(box);
  holder.append(cell);
  row.after(holder);
}

/**
 * @param {Element} box
 * @param {string} name
 * @param {string} value
 */
function setField(box, name, value) {
  const field = box.querySelector(`input[name=${name}]`);
  if (field instanceof HTMLInputElement) field.value = value;
}

/**
 * @param {Element} file
 * @param {number} first
 * @param {number} last
 * @param {boolean} isOld
 */
function markRange(file, first, last, isOld) {
  document.querySelectorAll(".diff .chosen").forEach((row) => row.classList.remove("chosen"));
  for (const cell of file.querySelectorAll(isOld ? "td.no[data-old]" : "td.no[data-new]")) {
    const line = Number(cell.getAttribute(isOld ? "data-old" : "data-new"));
    if (line >= first && line <= last) cell.closest("tr")?.classList.add("chosen");
  }
}

/**
 * Sends a form and brings what it changes up to date, without loading the whole change again.
 * @param {HTMLFormElement} form
 */
async function sendForm(form) {
  const file = form.closest(".file");
  const body = new URLSearchParams();
  for (const [name, value] of new FormData(form)) body.append(name, String(value));
  const isViewed = form.matches("[data-viewed]");
  const response = await fetch(form.action, { method: "POST", body, redirect: "manual" });
  if (response.type !== "opaqueredirect" && !response.ok) {
    form.submit();
    return;
  }
  await refreshParts(["diff-tree", "diff-review"]);
  if (file) await refreshFile(file, !isViewed);
  announce(isViewed ? "The mark is kept" : "Kept");
}

/**
 * @param {Element} file
 * @param {boolean} staysOpen
 */
async function refreshFile(file, staysOpen) {
  const address = new URL(location.href);
  if (staysOpen) address.searchParams.set("file", file.getAttribute("data-path") ?? "");
  const more = file.getAttribute("data-more");
  if (staysOpen && more) address.searchParams.set("more", more);
  else if (staysOpen) address.searchParams.delete("more");
  address.searchParams.set("part", file.id);
  address.hash = "";
  const response = await fetch(address, { cache: "no-store" });
  const fresh = response.ok ? parseElement(await response.text()) : null;
  if (fresh) morph(file, fresh);
}
