// Makes an element of the page like one that the server has sent, and keeps what the person is doing:
// the focus, what is typed, what is unfolded, how far something is scrolled.

/**
 * @param {Element} old The element in the page.
 * @param {Element} fresh What it is to look like.
 * @returns {void}
 */
export function morph(old, fresh) {
  if (old.isEqualNode(fresh)) return;
  if (old.nodeName !== fresh.nodeName) {
    old.replaceWith(fresh);
    return;
  }
  morphAttributes(old, fresh);
  if (keepsContent(old)) return;
  morphChildren(old, fresh);
}

/**
 * Whether the content of an element belongs to the person who types in it.
 * @param {Element} element
 */
function keepsContent(element) {
  return element instanceof HTMLTextAreaElement && element.value !== element.defaultValue;
}

/**
 * @param {Element} old
 * @param {Element} fresh
 */
function morphAttributes(old, fresh) {
  for (const { name, value } of fresh.attributes) {
    // What is unfolded stays so.
    if (name === "open" && old instanceof HTMLDetailsElement) continue;
    if (old.getAttribute(name) !== value) old.setAttribute(name, value);
  }
  for (const { name } of [...old.attributes]) {
    if (name === "open" && (old instanceof HTMLDetailsElement || old instanceof HTMLDialogElement)) continue;
    if (name === "class" && fresh.hasAttribute("class")) continue;
    if (!fresh.hasAttribute(name)) old.removeAttribute(name);
  }
}

/**
 * What two elements must have in common to be the same one.
 * @param {Node} node
 */
function nodeKey(node) {
  return node instanceof Element && node.id ? `#${node.id}` : "";
}

/**
 * @param {Element} old
 * @param {Element} fresh
 */
function morphChildren(old, fresh) {
  /** @type {Map<string, Node>} */
  const known = new Map();
  for (const child of old.childNodes) {
    const key = nodeKey(child);
    if (key) known.set(key, child);
  }
  /** @type {ChildNode | null} */
  let at = old.firstChild;
  for (const wanted of [...fresh.childNodes]) {
    const key = nodeKey(wanted);
    const same = key ? known.get(key) : undefined;
    if (same && same instanceof Element && wanted instanceof Element && same.nodeName === wanted.nodeName) {
      if (same === at) at = at.nextSibling;
      else old.insertBefore(same, at);
      known.delete(key);
      morph(same, wanted);
      continue;
    }
    if (at && !key && !nodeKey(at) && at.nodeName === wanted.nodeName) {
      const next = at.nextSibling;
      if (at instanceof Element && wanted instanceof Element) morph(at, wanted);
      else if (at.nodeValue !== wanted.nodeValue) at.nodeValue = wanted.nodeValue;
      at = next;
      continue;
    }
    old.insertBefore(wanted, at);
  }
  while (at) {
    const next = at.nextSibling;
    at.remove();
    at = next;
  }
}

/**
 * Reads one element from HTML that the server has sent.
 * @param {string} html
 * @returns {Element | null}
 */
export function parseElement(html) {
  const parsed = new DOMParser().parseFromString(`<body>${html}`, "text/html");
  return parsed.body.firstElementChild;
}
