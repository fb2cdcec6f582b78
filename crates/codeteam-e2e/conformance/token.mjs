// Loaded before the conformance suite, which has no way to send a token: every request gets the one
// in MCP_TOKEN, unless it has another.
import { getGlobalDispatcher, setGlobalDispatcher } from 'undici';

const name = 'authorization';
const value = `Bearer ${process.env.MCP_TOKEN}`;

function withToken(headers) {
  if (Array.isArray(headers)) {
    const names = headers.filter((_, at) => at % 2 === 0).map((h) => String(h).toLowerCase());
    return names.includes(name) ? headers : [...headers, name, value];
  }
  const all = headers?.[Symbol.iterator] ? Object.fromEntries(headers) : { ...headers };
  const names = Object.keys(all).map((h) => h.toLowerCase());
  return names.includes(name) ? all : { ...all, [name]: value };
}

setGlobalDispatcher(
  getGlobalDispatcher().compose(
    (dispatch) => (options, handler) =>
      dispatch({ ...options, headers: withToken(options.headers) }, handler),
  ),
);
