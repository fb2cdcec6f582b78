// Adds lines to the output of an attempt while its worker prints them.

import { parseElement } from "./morph.js";

/** The most lines that stay in the page. */
const MOST_LINES = 5000;
let isAsking = false;
let isBehind = false;

/**
 * @param {number} fence The attempt.
 * @param {number} lines How many lines it has printed.
 */
export async function appendLog(fence, lines) {
  const section = document.getElementById("attempt-log");
  if (!section || section.dataset.fence !== String(fence) || section.dataset.log !== "follow") return;
  if (Number(section.dataset.next) >= lines) return;
  if (isAsking) {
    isBehind = true;
    return;
  }
  isAsking = true;
  try {
    await fetchLines(section);
  } finally {
    isAsking = false;
  }
  if (isBehind) {
    isBehind = false;
    await appendLog(fence, lines);
  }
}

/** @param {HTMLElement} section */
async function fetchLines(section) {
  const address = new URL(location.href);
  address.searchParams.set("part", "attempt-log");
  address.searchParams.set("from", section.dataset.next ?? "0");
  address.hash = "";
  const response = await fetch(address, { cache: "no-store" });
  if (!response.ok) return;
  const fresh = parseElement(await response.text());
  const list = section.querySelector("ol.log");
  if (!(fresh instanceof HTMLElement) || !list) return;
  const added = fresh.querySelectorAll("ol.log > li");
  if (added.length === 0) return;
  section.dataset.next = fresh.dataset.next;
  const box = section.querySelector(".log-box");
  const follow = section.querySelector("[data-follow]");
  list.append(...added);
  while (list.children.length > MOST_LINES) list.firstElementChild?.remove();
  const isFollowing = follow instanceof HTMLInputElement && follow.checked;
  if (box && isFollowing) box.scrollTop = box.scrollHeight;
}

/** Shows the end of the output when the page is opened, and stops to follow when somebody scrolls up. */
export function followLog() {
  const box = document.querySelector("#attempt-log .log-box");
  const follow = document.querySelector("[data-follow]");
  if (!box || !(follow instanceof HTMLInputElement)) return;
  box.scrollTop = box.scrollHeight;
  box.addEventListener("wheel", (event) => {
    if (/** @type {WheelEvent} */ (event).deltaY < 0) follow.checked = false;
  });
  follow.addEventListener("change", () => {
    if (follow.checked) box.scrollTop = box.scrollHeight;
  });
}
