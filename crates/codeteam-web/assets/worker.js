// Holds the one stream of what changes for all tabs of this browser: a browser has only six
// connections for a server, and each stream would take one.

/**
 * @typedef {{ kind: "change", project: string, run: string, seq: number }
 *   | { kind: "log", project: string, run: string, fence: number, lines: number }
 *   | { kind: "reload" } | { kind: "open" } | { kind: "lost" }} LiveMessage
 */

/** @type {Set<MessagePort>} */
const ports = new Set();
/** @type {EventSource | null} */
let stream = null;
let isOpen = false;
let wait = 1000;

/** @param {LiveMessage} message */
function tell(message) {
  for (const port of ports) port.postMessage(message);
}

/** @param {string} path */
function connect(path) {
  stream = new EventSource(path);
  stream.onopen = () => {
    wait = 1000;
    isOpen = true;
    tell({ kind: "open" });
  };
  stream.onerror = () => {
    if (isOpen) tell({ kind: "lost" });
    isOpen = false;
    // After an answer that is no stream the browser gives up, and somebody must begin again. It has
    // forgotten what came last, so that every page must look.
    if (stream && stream.readyState === EventSource.CLOSED) {
      stream = null;
      setTimeout(() => {
        connect(path);
        tell({ kind: "reload" });
      }, wait);
      wait = Math.min(wait * 2, 30000);
    }
  };
  stream.addEventListener("change", (event) => tell({ kind: "change", ...JSON.parse(event.data) }));
  stream.addEventListener("log", (event) => tell({ kind: "log", ...JSON.parse(event.data) }));
  stream.addEventListener("reload", () => tell({ kind: "reload" }));
}

self.addEventListener("connect", (event) => {
  const port = /** @type {MessageEvent} */ (event).ports[0];
  if (!port) return;
  ports.add(port);
  port.onmessage = ({ data }) => {
    if (data.leave) ports.delete(port);
    else if (data.path && !stream) connect(data.path);
    else if (isOpen) port.postMessage({ kind: "open" });
  };
  port.start();
});

export {};
