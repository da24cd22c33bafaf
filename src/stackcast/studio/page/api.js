// What the page asks the server. A mistake is the package's own sentence.

export class Mistake extends Error {
  constructor(sentence, field, status) { super(sentence); Object.assign(this, { field, status }); }
}

async function answerOf(response) {
  const text = await response.text();
  let found = null;
  try { found = text ? JSON.parse(text) : null; } catch { /* no JSON */ }
  if (response.ok) return found;
  const sentence = { 401: "This window has lost its key. Open the address that stackcast studio printed.", 403: "This window may not speak to the studio.", 413: "That is more than the studio takes: files of at most 50 MB." }[response.status];
  throw new Mistake(found?.sentence ?? sentence ?? `The studio answered ${response.status}.`, found?.field ?? "", response.status);
}

async function ask(method, path, body, signal) {
  const form = body instanceof FormData;
  let response;
  try {
    response = await fetch(`api/${path}`, { method, signal, headers: body && !form ? { "content-type": "application/json" } : {}, body: form ? body : body && JSON.stringify(body) });
  } catch (error) {
    if (error.name === "AbortError") throw error;
    throw new Mistake("The studio does not answer. Is it still running?", "", 0);
  }
  return answerOf(response);
}
const name = encodeURIComponent;

export const api = {
  get: (path, signal) => ask("GET", path, undefined, signal),
  post: (path, body = {}, signal) => ask("POST", path, body, signal),
  put: (path, body) => ask("PUT", path, body),
  remove: (path) => ask("DELETE", path),
  upload(path, file) {
    const form = new FormData();
    form.append("file", file, file.name);
    return ask("POST", `upload/${path}`, form);
  },
};
export const at = (...parts) => parts.map(name).join("/");

/** Save what the server sends as a file of the person's. */
export async function keep(path, body, fallback) {
  const response = await fetch(`api/${path}`, body ? { method: "POST", headers: { "content-type": "application/json" }, body: JSON.stringify(body) } : {});
  if (!response.ok) return answerOf(response);
  const file = /filename="([^"]+)"/.exec(response.headers.get("content-disposition") ?? "")?.[1] ?? fallback;
  const link = document.createElement("a");
  link.href = URL.createObjectURL(await response.blob());
  link.download = file;
  link.click();
  setTimeout(() => URL.revokeObjectURL(link.href), 10_000);
  return file;
}
/** Let the person choose a file of theirs. */
export function choose(accept, chosen) {
  const input = document.createElement("input");
  input.type = "file"; input.accept = accept; input.hidden = true;
  input.addEventListener("change", () => { if (input.files[0]) chosen(input.files[0]); input.remove(); });
  document.body.append(input);
  input.click();
}
