// Brings the page up to date when something changes: asks the server for the elements that may look
// different by now, and changes those that do.

import { morph, parseElement } from "./morph.js";
import { appendLog } from "./log.js";

/** @typedef {import("./worker.js").LiveMessage} LiveMessage */

/** What the server has called each element, so that it can say that nothing is new.
 * @type {Map<string, string>} */
const tags = new Map();
/** The elements to ask for.
 * @type {Set<string>} */
const wanted = new Set();
let isAsking = false;
/** @type {number | undefined} */
let timer;

/** Begins to follow what happens. */
export function followChanges() {
  const path = document.body.dataset.livePath;
  if (!path || !document.querySelector("[data-live], [data-log]")) return;
  if (typeof SharedWorker === "function") {
    const worker = new SharedWorker(new URL("./worker.js", import.meta.url), { type: "module", name: "codeteam" });
    worker.port.onmessage = ({ data }) => receive(data);
    worker.port.start();
    worker.port.postMessage({ path });
    addEventListener("pagehide", () => worker.port.postMessage({ leave: true }));
    addEventListener("pageshow", (event) => {
      if (event.persisted) location.reload();
    });
  } else {
    setInterval(() => wantAll(), 5000);
  }
  document.addEventListener("visibilitychange", () => {
    if (!document.hidden) schedule();
  });
}

/** @param {LiveMessage} message */
function receive(message) {
  const { project, run } = document.body.dataset;
  switch (message.kind) {
    case "open":
      showConnection("");
      break;
    case "lost":
      showConnection(`The connection is lost. This is as of ${new Date().toLocaleTimeString()}.`);
      break;
    case "reload":
      wantAll();
      break;
    case "change": {
      const isThis = message.project === project && message.run === run;
      for (const element of document.querySelectorAll("[data-live]")) {
        if (element.id && (isThis || element.getAttribute("data-live") === "all")) wanted.add(element.id);
      }
      schedule();
      break;
    }
    case "log":
      if (message.project === project && message.run === run) appendLog(message.fence, message.lines);
      break;
  }
}

function wantAll() {
  for (const element of document.querySelectorAll("[data-live]")) {
    if (element.id) wanted.add(element.id);
  }
  schedule();
}

/**
 * Asks for these elements soon.
 * @param {string[]} ids
 */
export function refreshParts(ids) {
  for (const id of ids) {
    tags.delete(id);
    wanted.add(id);
  }
  return ask();
}

function schedule() {
  if (document.hidden || timer !== undefined) return;
  timer = setTimeout(() => {
    timer = undefined;
    void ask();
  }, 120);
}

async function ask() {
  if (isAsking) return;
  isAsking = true;
  try {
    for (let id = takeWanted(); id !== undefined; id = takeWanted()) await refresh(id);
  } finally {
    isAsking = false;
  }
}

function takeWanted() {
  const [id] = wanted;
  if (id !== undefined) wanted.delete(id);
  return id;
}

/** @param {string} id */
async function refresh(id) {
  const address = new URL(location.href);
  address.searchParams.set("part", id);
  address.hash = "";
  /** @type {Record<string, string>} */
  const headers = {};
  const tag = tags.get(id);
  if (tag) headers["If-None-Match"] = tag;
  let response;
  try {
    response = await fetch(address, { headers, cache: "no-store" });
  } catch {
    showConnection("The server does not answer. This page is as it was.");
    return;
  }
  if (response.status === 304) return;
  if (!response.ok || response.status === 204) {
    showConnection("What this page shows has changed. Load it again to go on.");
    return;
  }
  const newTag = response.headers.get("ETag");
  if (newTag) tags.set(id, newTag);
  const fresh = parseElement(await response.text());
  const old = document.getElementById(id);
  if (!fresh || !old) return;
  morph(old, fresh);
  if (id === "nav") showCount();
  document.dispatchEvent(new CustomEvent("part-changed", { detail: id }));
}

/** Puts the number of things that need the person into the title and the icon. */
function showCount() {
  const nav = document.getElementById("nav");
  if (!nav) return;
  const count = Number(nav.dataset.count ?? "0");
  const title = document.title.replace(/^\(\d+\) /, "");
  const before = /^\((\d+)\) /.exec(document.title);
  document.title = count > 0 ? `(${count}) ${title}` : title;
  const icon = document.querySelector("link[rel=icon]");
  if (icon && nav.dataset.icon) icon.setAttribute("href", nav.dataset.icon);
  if (count > Number(before?.[1] ?? 0)) announce(count === 1 ? "One thing needs you" : `${count} things need you`);
}

/**
 * Says something to those who do not see the page.
 * @param {string} words
 */
export function announce(words) {
  const element = document.getElementById("announcer");
  if (element) element.textContent = words;
}

/** @param {string} words */
function showConnection(words) {
  const element = document.getElementById("connection");
  if (!element) return;
  element.hidden = words === "";
  element.textContent = words;
}
