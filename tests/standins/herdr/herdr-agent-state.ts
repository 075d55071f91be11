// HERDR_INTEGRATION_VERSION=8
// Stands in for what `herdr integration install pi` writes: tells herdr which session a pi in one of its panes is on
// and whether it works. Only a pi with a terminal interface reports; nothing is said on exit.
import { createConnection } from "node:net";

const TRIES_MS = [500, 1500];
let serial = 0;

export default function (pi) {
  const { HERDR_ENV, HERDR_SOCKET_PATH: socket, HERDR_PANE_ID: pane } = process.env;
  if (HERDR_ENV !== "1" || !socket || !pane) return;
  let state = "";
  let queue = Promise.resolve();

  const report = (method, fields) => {
    const seq = Date.now() * 1000 + (serial++ % 1000);
    const params = { pane_id: pane, source: "herdr:pi", agent: "pi", seq, ...fields };
    queue = queue.then(() => deliver(socket, { id: `herdr:pi:${seq}`, method, params }));
  };
  const session = (ctx) => {
    const file = ctx.sessionManager.getSessionFile();
    return file?.startsWith("/")
      ? { agent_session_path: file }
      : { agent_session_id: ctx.sessionManager.getSessionId() };
  };
  const become = (next, ctx) => {
    if (next === state) return;
    state = next;
    report("pane.report_agent", { state, ...session(ctx) });
  };
  const inTerminal = (handler) => (event, ctx) => {
    if (ctx.mode === "tui") handler(event, ctx);
  };

  pi.on("session_start", inTerminal((event, ctx) => {
    report("pane.report_agent_session", { ...session(ctx), session_start_source: event.reason });
    state = "";
    become(ctx.isIdle() ? "idle" : "working", ctx);
  }));
  pi.on("agent_start", inTerminal((_event, ctx) => {
    report("pane.report_agent_session", session(ctx));
    become("working", ctx);
  }));
  pi.on("agent_settled", inTerminal((_event, ctx) => {
    if (ctx.isIdle()) become("idle", ctx);
  }));
}

async function deliver(socket, request) {
  for (const ms of TRIES_MS) if (await attempt(socket, request, ms)) return;
}

function attempt(socket, request, ms) {
  return new Promise((resolve) => {
    const connection = createConnection(socket);
    const end = (done) => { connection.destroy(); resolve(done); };
    connection.setTimeout(ms, () => end(false));
    connection.on("error", () => end(false));
    connection.on("data", () => end(true));
    connection.on("close", () => resolve(false));
    connection.write(`${JSON.stringify(request)}\n`);
    connection.unref();
  });
}
