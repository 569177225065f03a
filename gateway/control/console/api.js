// The control API. The credential lives in this module and nowhere else: no cookie, no storage.
let token = "";

export class Refused extends Error {
  constructor(status, code, message) {
    super(message);
    this.status = status;
    this.code = code;
  }
}

export function setToken(value) { token = value; }
export const isIn = () => token !== "";

async function send(method, path, body, signal) {
  const headers = token ? { Authorization: "Bearer " + token } : {};
  if (body !== undefined) headers["Content-Type"] = "application/json";
  try {
    return await fetch("/api/v1/" + path, { method, headers, body, signal, cache: "no-store", credentials: "omit", redirect: "error",
      referrerPolicy: "no-referrer" });
  } catch (error) {
    if (signal && signal.aborted) throw error;
    throw new Refused(0, "offline", "The gateway cannot be reached. Nothing was changed by this page.");
  }
}

// `body`: an object, or JSON text (where numbers must stay the tokens they are).
export async function api(method, path, body) {
  const text = body === undefined || typeof body === "string" ? body : JSON.stringify(body);
  const response = await send(method, path, text);
  const answer = await response.json().catch(() => ({}));
  if (response.ok) return answer;
  const error = answer.error || {};
  throw new Refused(response.status, error.code || "", error.message || "status " + response.status);
}

export const query = (path, members) => {
  const parts = new URLSearchParams();
  for (const [name, value] of Object.entries(members)) if (value) parts.set(name, value);
  const text = parts.toString();
  return text ? path + "?" + text : path;
};

// Calls back for every event until the stream is given up; says whether it is live. Comes back by itself.
export function listen(onEvent, onLive) {
  const stopped = new AbortController();
  const run = async () => {
    for (let pause = 1000; !stopped.signal.aborted; pause = Math.min(pause * 2, 15000)) {
      try {
        const response = await send("GET", "approvals/events", undefined, stopped.signal);
        if (!response.ok) throw new Refused(response.status, "", "the live view is refused: status " + response.status);
        const reader = response.body.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        for (;;) {
          const { done, value } = await Promise.race([reader.read(), silence(40000)]);
          if (done) break;
          pause = 1000;
          onLive(true);
          text += value;
          const end = text.lastIndexOf("\n\n");
          if (end < 0) continue;
          const events = text.slice(0, end);
          text = text.slice(end + 2);
          if (events.includes("data:")) await onEvent();
        }
        await reader.cancel().catch(() => {});
      } catch (error) {
        if (stopped.signal.aborted) return;
        onLive(false, error);
        if (error instanceof Refused && (error.status === 401 || error.status === 403)) return;
      }
      onLive(false);
      await new Promise((resolve) => setTimeout(resolve, pause));
    }
  };
  run();
  return () => stopped.abort();
}

// The gateway says something every 15 seconds; longer silence is a broken line.
const silence = (milliseconds) => new Promise((resolve) => setTimeout(() => resolve({ done: true }), milliseconds));
