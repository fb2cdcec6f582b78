// Begins everything that scripts add to the pages. Without them, every page can be read and every form
// works.

import { followChanges } from "./live.js";
import { followDiff } from "./diff.js";
import { followKeys } from "./keys.js";
import { followLog } from "./log.js";

document.documentElement.classList.add("scripted");
followChanges();
followDiff();
followKeys();
followLog();
showTimes(document);
setInterval(() => showTimes(document), 15000);
document.addEventListener("part-changed", () => showTimes(document));

// A choice in a filter counts at once.
document.addEventListener("change", (event) => {
  const field = event.target;
  if (field instanceof HTMLSelectElement && field.matches("[data-submit]")) field.form?.requestSubmit();
});

// What is typed into a filter hides the lines that are listed and do not fit. Enter searches all.
document.addEventListener("input", (event) => {
  const field = event.target;
  if (!(field instanceof HTMLInputElement) || !field.matches("[data-filter]")) return;
  const wanted = field.value.toLowerCase();
  for (const row of document.querySelectorAll("main [data-row], main ol.log > li")) {
    if (row instanceof HTMLElement) row.hidden = !(row.textContent ?? "").toLowerCase().includes(wanted);
  }
});

// A form is sent once.
document.addEventListener("submit", (event) => {
  const form = event.target;
  if (!(form instanceof HTMLFormElement) || form.method !== "post" || event.defaultPrevented) return;
  if (form.dataset.sent) event.preventDefault();
  form.dataset.sent = "1";
});
addEventListener("pageshow", () => {
  for (const form of document.forms) delete form.dataset.sent;
});

// What a drawing links to may be folded.
addEventListener("hashchange", openTarget);
openTarget();

function openTarget() {
  const target = location.hash.length > 1 ? document.getElementById(location.hash.slice(1)) : null;
  if (target instanceof HTMLDetailsElement) target.open = true;
}

/**
 * Writes times as the person has them: those of a day in their time zone, distances as of now.
 * @param {ParentNode} root
 */
function showTimes(root) {
  for (const element of root.querySelectorAll("time[datetime]")) {
    if (!(element instanceof HTMLTimeElement)) continue;
    const at = new Date(element.dateTime);
    element.title = at.toLocaleString();
    if (element.hasAttribute("data-clock")) element.textContent = at.toLocaleTimeString([], { hour12: false });
    else element.textContent = distance(at.getTime(), Date.now());
  }
}

/**
 * Says how far a time is from now, in the words that the server uses.
 * @param {number} at
 * @param {number} now
 */
function distance(at, now) {
  const seconds = Math.floor(Math.abs(now - at) / 1000);
  const words =
    seconds < 60 ? `${seconds} s`
    : seconds < 3600 ? `${Math.floor(seconds / 60)} min`
    : seconds < 86400 ? `${Math.floor(seconds / 3600)} h`
    : seconds < 172800 ? "1 day"
    : `${Math.floor(seconds / 86400)} days`;
  if (at > now) return `in ${words}`;
  return seconds < 10 ? "just now" : `${words} ago`;
}
