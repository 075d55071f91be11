/**
 * strawboss inside pi: starts `strawboss run` for a session in herdr once it has launched a subagent (never for a
 * subagent itself), answers what only code inside pi can answer, does what only code inside pi can do, replaces a
 * process that crashed or hangs, and ends it with the session.
 * Every decision is in the process. JSON-RPC 2.0, one object a line, over its stdin and stdout.
 * An exception that leaves this file could end pi, and a context outlives its session only to throw: so everything
 * pi or Node calls here is wrapped, and `session` is dropped in session_shutdown.
 *
 * Usage: `strawboss install` (that is `pi install <this directory>`); `/strawboss` shows each run and its state.
 */
import { type ChildProcess, spawn } from "node:child_process";
import { closeSync, openSync, readFileSync, readSync, statSync } from "node:fs";
import { dirname, join } from "node:path";
import { type ExtensionAPI, type ExtensionContext, getAgentDir, VERSION } from "@earendil-works/pi-coding-agent";
import { completions, type Row, show } from "./view.ts";

const PROTOCOL = 1;
const ENTRY = "from strawboss.__main__ import main; main()"; // `-m` would cost 15 ms more
const CUSTOM_TYPE = "straw-boss";
const MAX_LINE = 1 << 20;
const RESTART_PAUSES_MS = [500, 1500, 4500];
const RUNS_WELL_MS = 600_000; // a process that lived this long earns its three restarts anew
const REGISTRY_MS = 5000; // between two reads of a registry without entries: a command may launch, not only a tool
const LOOK_MS = 15_000; // until the process tells its own interval
const SILENT_LOOKS = 4; // so many intervals without a look, and it hangs
const REPLACEMENTS = 3;
const LAST_CALL_MS = 2000; // the process ends by itself within a second
const STATUS_MS = 3000;
const HEADER_BYTES = 64 * 1024;
const LAUNCHES = new Set(["subagent", "subagent_resume"]);
const TRACES = ["subagent-scripts", "subagent-activity"]; // in the artifacts of a session that launched
const ABSENT = new Set(["ENOENT", "ENOTDIR"]);
const NOTHING_YET = "strawboss: this session has launched no subagents yet; strawboss starts with the first one";
const REPAIR = "run `strawboss install` (after `pip install strawboss`, if it is gone), then /reload";

// What pi-herdr-agents gives the pi of a child. Its PI_SUBAGENT_* settings for people are not among them.
const CHILD_VARIABLE =
	/^PI_SUBAGENT_(ACTIVITY_FILE|AGENT|AUTO_EXIT|GENERATION_ID|ID|NAME|PERSISTENT|PROCESS_FILE|SESSION|SURFACE|TASK_ID)$/;

type Params = Record<string, any>;
type Answers = Record<string, (params: Params) => unknown>;
const warned = new Set<string>(); // of this pi, not of one session: /new must not repeat a warning

export default function strawboss(pi: ExtensionAPI) {
	let session: Process | undefined;
	let off = "no session has started yet";
	let running = false;
	let compacting = false;

	const on = (name: string, handler: (event: any, ctx: ExtensionContext) => void) =>
		pi.on(name as any, (event: any, ctx: ExtensionContext) => quietly(() => handler(event, ctx)));

	on("session_start", (event, ctx) => {
		session?.end();
		session = undefined;
		off = reasonToStayOff(ctx);
		const launched = hasLaunched(event, ctx);
		if (off) return void (launched && ctx.ui.setStatus("strawboss", `strawboss is off: ${off}`));
		session = new Process(started(event.reason, ctx), answers(ctx), (text) => warnOnce(ctx, text));
		if (launched) session.begin();
	});
	on("session_shutdown", ({ reason }, ctx) => {
		session?.end({ reason });
		session = undefined;
		ctx.ui.setStatus("strawboss", undefined);
	});
	on("tool_result", ({ toolName }) => void (LAUNCHES.has(toolName) && session?.begin()));
	on("agent_start", () => void (running = true));
	on("agent_settled", (event) => {
		running = false;
		session?.send({ method: "session.settled", params: { aborted: event.aborted === true } });
	});
	on("session_before_compact", () => void (compacting = true));
	for (const end of ["session_compact", "session_compact_failed"]) on(end, () => void (compacting = false));
	on("message_end", ({ message: { customType, details } }) => {
		if (customType === CUSTOM_TYPE) session?.send({ method: "session.entry", params: { id: details?.id } });
	});
	pi.registerCommand("strawboss", {
		description: "Show what strawboss knows of the subagents this session launched, or of one: /strawboss RUN",
		getArgumentCompletions: async (begin) => completions((await session?.rows()) ?? [], begin.trim()),
		handler: (args, ctx) => show(session, off, args.trim(), ctx),
	});

	/** Neither idle nor in a run: a compaction, beside which a message would start a run (or one is being prepared). */
	function state(ctx: ExtensionContext) {
		const idle = ctx.isIdle();
		compacting &&= !idle; // a compaction that was called off tells nobody
		return { idle, compacting: compacting || !(idle || running) };
	}

	function answers(ctx: ExtensionContext): Answers {
		return {
			"registry.read": readRegistry,
			"session.state": () => state(ctx),
			// What came as JSON can be written as JSON: pi spoils a new session's file with anything else.
			"session.append": ({ data }) => (pi.appendEntry(CUSTOM_TYPE, data), "appended"),
			"session.tell": ({ text, ...details }) => {
				if (state(ctx).compacting) return "compacting";
				const message = { customType: CUSTOM_TYPE, content: String(text), display: true, details };
				pi.sendMessage(message, { triggerTurn: true, deliverAs: "steer" });
				return "told";
			},
			"ui.notify": ({ level, text }) => (ctx.ui.notify(String(text), level === "warning" ? "warning" : "info"), true),
			"ui.status": ({ text }) => (ctx.ui.setStatus("strawboss", text ? String(text) : undefined), true),
		};
	}
}

function reasonToStayOff(ctx: ExtensionContext): string {
	if (process.env.HERDR_ENV !== "1") return "this pi does not run in herdr";
	if (Object.keys(process.env).some((name) => CHILD_VARIABLE.test(name))) return "this session is a subagent";
	return ctx.mode === "tui" || ctx.mode === "rpc" ? "" : `this pi runs in ${ctx.mode} mode`;
}

function started(reason: string, { sessionManager, mode }: ExtensionContext): Params {
	return {
		protocol: PROTOCOL, reason, mode,
		id: sessionManager.getSessionId(),
		file: sessionManager.getSessionFile() ?? null,
		dir: sessionManager.getSessionDir() ?? null,
		name: sessionManager.getSessionName() ?? "",
		cwd: sessionManager.getCwd(),
		pane: process.env.HERDR_PANE_ID ?? null,
		pids: { pi: process.pid },
		versions: { pi: VERSION, node: process.versions.node },
	};
}

/** Whether subagents were launched by this session, or by one it was forked or resumed from. */
function hasLaunched({ reason, previousSessionFile }: Params, { sessionManager: own }: ExtensionContext): boolean {
	const file = own.getSessionFile();
	const before = [own.getHeader()?.parentSession, reason === "new" ? undefined : previousSessionFile];
	return (
		tracksAny() ||
		(!!file && [dirname(file), own.getSessionDir()].some((place) => leftTraces(place, own.getSessionId()))) ||
		before.some((one) => !!one && maybe(() => leftTraces(dirname(one), sessionIdIn(one))))
	);
}

const leftTraces = (place: string, id: string) =>
	TRACES.some((name) => maybe(() => !!statSync(join(place, "artifacts", id, name))));

/** Of a session file: the id in its header, which its name need not agree with. */
function sessionIdIn(file: string): string {
	const descriptor = openSync(file, "r");
	try {
		const start = Buffer.alloc(HEADER_BYTES);
		return JSON.parse(start.toString("utf8", 0, readSync(descriptor, start)).split("\n")[0]).id;
	} finally {
		closeSync(descriptor);
	}
}

/** What cannot be looked at may be there; the process then says why it cannot. */
function maybe(holds: () => boolean): boolean {
	try {
		return holds();
	} catch (error: any) {
		return !ABSENT.has(error?.code);
	}
}

const tracksAny = () => !!readRegistry().ids?.length;

/** The ids pi-herdr-agents tracks in this process; unreadable unless its Map is there and holds what is expected. */
function readRegistry(): { readable: boolean; ids?: string[] } {
	const tracked = (globalThis as any)[Symbol.for("pi-subagents/runtime")]?.runningSubagents;
	if (Object.prototype.toString.call(tracked) !== "[object Map]") return { readable: false };
	const ids = [...tracked.keys()];
	return ids.every((id) => typeof id === "string") ? { readable: true, ids } : { readable: false };
}

/** The file is written by `strawboss install`. */
const interpreter = () =>
	process.env.STRAWBOSS_PYTHON || String(JSON.parse(readFileSync(join(getAgentDir(), "strawboss.json"), "utf8")).python);

/** The process of one session: started once there is work, restarted after a crash, replaced, spoken with, ended. */
class Process {
	private child?: ChildProcess;
	private restart?: NodeJS.Timeout;
	private beat?: NodeJS.Timeout;
	private begun = false;
	private over = "";
	private crashes = 0;
	private hangs = 0;
	private silent = 0;
	private asked = 0;
	private waiting = new Map<number, (result?: unknown) => void>();

	constructor(private session: Params, private answers: Answers, private warn: (text: string) => void) {
		this.every(REGISTRY_MS, () => tracksAny() && this.begin());
	}

	begin() {
		if (!this.begun) this.start();
	}

	private start() {
		this.begun = true;
		try {
			this.watch(LOOK_MS);
			this.listen(spawn(interpreter(), ["-P", "-c", ENTRY, "run"], { stdio: "pipe", windowsHide: true }));
			this.send({ method: "session.started", params: this.session });
		} catch (error) {
			this.stop(`its Python is not known (${reason(error)}); ${REPAIR}`);
		}
	}

	send(message: Params) {
		const stdin = this.child?.stdin;
		if (!stdin?.writable || stdin.writableLength > MAX_LINE) return; // one that reads nothing must not fill pi's memory
		quietly(() => stdin.write(`${JSON.stringify({ jsonrpc: "2.0", ...message })}\n`));
	}

	/** Of all runs, or of the one that is named. */
	status(run = ""): Promise<string[]> {
		if (!this.begun) return Promise.resolve([NOTHING_YET]);
		if (!this.child) return Promise.resolve([`strawboss is off: ${this.over || "its process is being restarted"}`]);
		return this.ask("status", { run }).then((lines) => (lines ? lines.map(String) : ["strawboss does not answer"]));
	}

	/** Lines of which some tell of a run; none where nobody answers. */
	rows(): Promise<Row[]> {
		return this.child ? this.ask("view", {}).then((rows) => rows ?? []) : Promise.resolve([]);
	}

	private ask(method: string, params: Params): Promise<any[] | undefined> {
		const id = ++this.asked;
		return new Promise((resolve) => {
			this.waiting.set(id, (result) => resolve(Array.isArray(result) ? result : undefined));
			setTimeout(() => this.answered(id), STATUS_MS).unref();
			this.send({ id, method, params });
		});
	}

	end(params: Params = {}) {
		const child = this.child;
		clearTimeout(this.restart);
		clearInterval(this.beat);
		this.send({ method: "session.ended", params });
		this.child = undefined;
		quietly(() => child?.stdin?.end());
		quietly(() => child?.kill()); // one that hangs would outlive a pi that quits
		setTimeout(() => quietly(() => child?.kill("SIGKILL")), LAST_CALL_MS).unref();
	}

	private listen(child: ChildProcess) {
		const startedAt = Date.now();
		let complaint = "";
		this.child = child;
		const unable = (error: Error) => this.stop(`${child.spawnfile} cannot be started (${reason(error)}); ${REPAIR}`);
		child.on("error", (error) => this.gone(child, () => unable(error)));
		child.on("close", (code, signal) => {
			if (Date.now() - startedAt > RUNS_WELL_MS) this.crashes = 0;
			this.gone(child, () => this.crashed(complaint.trim().split("\n").pop() || `${signal ?? `exit code ${code}`}`));
		});
		for (const stream of [child.stdin, child.stdout, child.stderr]) {
			stream?.on("error", () => {});
			(stream as any)?.unref?.(); // `pi -p` ends although we listen
		}
		child.unref();
		child.stdout?.setEncoding("utf8").on("data", lines((line) => quietly(() => this.hear(child, JSON.parse(line)))));
		child.stderr?.setEncoding("utf8").on("data", (text: string) => void (complaint = (complaint + text).slice(-2000)));
	}

	private hear(child: ChildProcess, message: Params) {
		if (child !== this.child) return;
		if (typeof message.method !== "string") return this.answered(message.id, message.result);
		this.silent = 0;
		if (message.method === "process.looks") return this.watch(message.params.every * 1000);
		try {
			this.send({ id: message.id, result: this.answers[message.method](message.params ?? {}) });
		} catch (error) {
			this.send({ id: message.id, error: { code: -32000, message: reason(error) } });
		}
	}

	private answered(id: number, result?: unknown) {
		this.waiting.get(id)?.(result);
		this.waiting.delete(id);
	}

	private every(milliseconds: number, act: () => unknown) {
		clearInterval(this.beat);
		if (milliseconds > 0) this.beat = setInterval(() => quietly(act), milliseconds).unref();
	}

	/** Counts intervals, not time: a sleep, of the machine or of pi, is one of them at most. 0: it does not look. */
	private watch(interval: number) {
		this.silent = 0;
		this.every(interval, () => this.child && ++this.silent >= SILENT_LOOKS && this.replace(this.child));
	}

	private replace(child: ChildProcess) {
		quietly(() => child.kill("SIGKILL"));
		this.gone(child, () => {
			if (++this.hangs > REPLACEMENTS) return this.stop("its process hung again and again; run `strawboss doctor`");
			const text = `strawboss: its process hung and was replaced (${this.hangs} of at most ${REPLACEMENTS} times)`;
			this.answers["ui.notify"]({ level: "warning", text });
			this.start();
		});
	}

	private gone(child: ChildProcess, next: () => void) {
		if (child !== this.child) return; // already seen to, or the session has ended
		this.child = undefined;
		for (const id of [...this.waiting.keys()]) this.answered(id);
		quietly(next);
	}

	private crashed(why: string) {
		if (/No module named|unknown option/i.test(why)) return this.stop(`${why}; ${REPAIR}`);
		const pause = RESTART_PAUSES_MS[this.crashes++];
		if (!pause) return this.stop(`its process stopped again and again (${why}); run \`strawboss doctor\``);
		this.restart = setTimeout(() => this.start(), pause).unref();
	}

	private stop(why: string) {
		this.over = why;
		clearInterval(this.beat);
		this.warn(`strawboss is off: ${why}`);
		this.answers["ui.status"]({ text: `strawboss is off: ${why}` });
	}
}

/** Calls `take` for each whole line; a line longer than MAX_LINE is dropped. */
function lines(take: (line: string) => void) {
	let rest = "";
	return (chunk: string) => {
		const parts = (rest + chunk).split("\n");
		rest = (parts.pop() ?? "").slice(0, MAX_LINE);
		parts.filter(Boolean).forEach(take);
	};
}

const reason = (error: any) => String(error?.code ?? error?.message ?? error).slice(0, 300);

function warnOnce(ctx: ExtensionContext, text: string) {
	if (!warned.has(text)) quietly(() => ctx.ui.notify(text, "warning"));
	warned.add(text);
}

function quietly(act: () => void) {
	try {
		act();
	} catch {} // a stale context, a closed pipe: there is nobody left to tell
}
