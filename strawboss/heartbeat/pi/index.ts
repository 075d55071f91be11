/**
 * Heartbeats of a pi worker: says when, and leaves the records to `strawboss agent:beat`. Beats at the start, at each
 * change of phase and every 90 seconds; gives the parent's steers to the model and acknowledges them once they are in
 * the session; ends with the terminal record. A pi that is killed writes none, and that is what its monitor looks for.
 *
 * `/heartbeat` runs `strawboss heartbeat` with what is typed behind it (the wake-up cycle, the health of all agents, the
 * history, a forced wake-up) and puts its answer into the session, where people and the model read it.
 *
 * Usage: `STRAWBOSS_AGENT_ID=leaf-7 STRAWBOSS_PARENT_ID=run-42 pi -e <this directory>`, or in a running pi
 * `/beat leaf-7 run-42`, `/beat stop CLEAN`, `/beat` to see what was said last.
 */
import { type ChildProcess, execFile } from "node:child_process";
import { readFileSync } from "node:fs";
import { join } from "node:path";
import { type ExtensionAPI, type ExtensionContext, getAgentDir } from "@earendil-works/pi-coding-agent";

const CADENCE_MS = Number(process.env.STRAWBOSS_BEAT_SECONDS) * 1000 || 90_000;
const COMMAND_MS = 10_000;
const CUSTOM_TYPE = "straw-boss-steer";
const ANSWER_TYPE = "straw-boss-heartbeat";
const FLAGS = "--agent NAME, --check-all, --interval 60s, --timeout 180s, --history, --last 10, --wake NAME, --on-stall warn";
const STATES = ["CLEAN", "ERRORED", "TIMEOUT", "STALL", "FAILED", "BLOCKED"];

type Said = { phase: string; message: string; wait?: string };
type Output = { code: number; out: string; err: string };

export default function heartbeat(pi: ExtensionAPI) {
	let heart: Heart | undefined;
	let working = false;
	let failed = false;
	const asked = new Set<ChildProcess>();

	// An exception that leaves a handler is pi's to report, and a context outlives its session only to throw.
	const on = (name: string, handler: (event: any, ctx: ExtensionContext) => unknown) =>
		pi.on(name as any, async (event: any, ctx: ExtensionContext) => {
			try {
				await handler(event, ctx);
			} catch {
				// A heartbeat is never worth the worker's turn.
			}
		});

	function start(agent: string, parent: string, ctx: ExtensionContext) {
		heart?.stop();
		heart = new Heart(agent, parent, ctx.cwd, {
			warn: (text) => ctx.ui.notify(text, "warning"),
			// Beside a compaction a message would start a run: then the steer waits for the next beat.
			tell: (steer) => {
				if (!working && !ctx.isIdle()) return false;
				const content = `Your parent ${steer.writer_id} sends a ${steer.kind}. It changes what you do, not your rules.\n\n${steer.text}`;
				const message = { customType: CUSTOM_TYPE, content, display: true, details: { steerId: steer.steer_id } };
				pi.sendMessage(message, { triggerTurn: true, deliverAs: "steer" });
				return true;
			},
		});
		heart.say({ phase: "starting", message: "pi has started" });
	}

	on("session_start", (_event, ctx) => {
		const { STRAWBOSS_AGENT_ID: agent, STRAWBOSS_PARENT_ID: parent } = process.env;
		if (agent && parent) start(agent, parent, ctx);
	});
	on("agent_start", () => {
		working = true;
		failed = false;
		heart?.say({ phase: "implementing", message: "works on its prompt" });
	});
	on("tool_execution_start", ({ toolName }) => heart?.note(`runs ${toolName}`));
	on("message_end", ({ message }) => {
		if (message.role === "assistant") failed = message.stopReason === "error";
		if (message.customType === CUSTOM_TYPE) void heart?.acknowledge(message.details?.steerId); // pi must not wait
	});
	on("agent_settled", ({ aborted }) => {
		working = false;
		failed ||= aborted === true; // the end of pi aborts its run first, and only then says that it ends
		heart?.say({ phase: "polling", message: "waits for its next prompt", wait: "idle" });
	});
	on("session_shutdown", async ({ reason }) => {
		for (const child of asked) child.kill(); // a wake-up gives its task back on the way out
		const ending = heart;
		heart = undefined;
		// Another session of the same worker goes on beating; only the end of pi is the end of the worker.
		if (reason !== "quit") return ending?.stop();
		const state = working || failed ? "ERRORED" : "CLEAN";
		await ending?.end(state, state === "CLEAN" ? "pi has ended" : "pi ended with its work unfinished");
	});

	pi.registerCommand("beat", {
		description: "Heartbeats for a monitor: /beat AGENT PARENT, /beat stop STATE, /beat",
		handler: async (args, ctx) => {
			const [first, second] = args.trim().split(/\s+/);
			if (first === "stop" && STATES.includes(second ?? "CLEAN")) {
				await heart?.end(second ?? "CLEAN", "stopped by hand");
				heart = undefined;
			} else if (first && first !== "stop" && second) {
				// The environment outlives /new and /reload; this instance does not.
				process.env.STRAWBOSS_AGENT_ID = first;
				process.env.STRAWBOSS_PARENT_ID = second;
				start(first, second, ctx);
			} else if (first) {
				return ctx.ui.notify(`write /beat AGENT PARENT, or /beat stop ${STATES.join("|")}`, "warning");
			}
			ctx.ui.notify(heart ? heart.status() : "no heartbeats", "info");
		},
	});

	pi.registerCommand("heartbeat", {
		description: `Wake-up cycle and health of agents: /heartbeat ${FLAGS}`,
		handler: async (args, ctx) => {
			const words = (args.match(/"[^"]*"|\S+/g) ?? []).map((word) => word.replace(/^"(.*)"$/, "$1"));
			if (words.some((word) => word.startsWith("--every"))) {
				return ctx.ui.notify("a heartbeat that never ends needs a terminal: strawboss heartbeat --every", "warning");
			}
			const answered = run(["heartbeat", ...words], ctx.cwd, 0, asked).then((said) => answer(said, ctx));
			// A cycle may take as long as its task: nobody at this pi has to wait for it.
			if (ctx.mode !== "tui" && ctx.mode !== "rpc") await answered;
		},
	});

	function answer({ out, err }: Output, ctx: ExtensionContext) {
		const content = (out.trim() ? `${out.trimEnd()}\n${err}` : err).trim() || "no answer";
		try {
			if (ctx.mode === "print") return void process.stdout.write(`${content}\n`);
			// Beside a compaction a message would start a run.
			if (!working && !ctx.isIdle()) return ctx.ui.notify(content, "info");
			pi.sendMessage({ customType: ANSWER_TYPE, content, display: true, details: {} }, { triggerTurn: false });
		} catch {
			// The session is gone.
		}
	}
}

type Hooks = { warn: (text: string) => void; tell: (steer: Record<string, string>) => boolean };

/** One worker's beats. At most one command runs at a time, and the newest word wins. */
class Heart {
	private said: Said = { phase: "starting", message: "" };
	private waiting: Said | undefined;
	private running: Promise<void> | undefined;
	private told = new Set<string>();
	private complained = "";
	private over = false;
	private readonly timer: NodeJS.Timeout;

	constructor(private agent: string, private parent: string, private cwd: string, private hooks: Hooks) {
		this.timer = setInterval(() => this.running ?? this.say(this.said), CADENCE_MS);
		this.timer.unref();
	}

	say(said: Said) {
		if (this.over) return;
		this.said = this.waiting = said;
		this.running ??= this.write().finally(() => (this.running = undefined));
	}

	/** For the next beat: a process for every tool call would cost more than it tells. */
	note(message: string) {
		this.said = { ...this.said, message };
	}

	status = () => `beats as ${this.agent} for ${this.parent}: ${this.said.phase}, ${this.said.message}`;

	stop() {
		this.over = true;
		clearInterval(this.timer);
	}

	async end(state: string, message: string) {
		this.stop();
		await this.running;
		await this.beat({ phase: "terminal", message }, "--terminal-state", state);
	}

	async acknowledge(steerId: unknown) {
		if (typeof steerId === "string") await this.strawboss("subagent:ack", "--steer-id", steerId);
	}

	private async write() {
		for (let said = this.waiting; said; said = this.waiting) {
			this.waiting = undefined;
			await this.beat(said);
			await this.readInbox();
		}
	}

	private async beat({ phase, message, wait }: Said, ...more: string[]) {
		if (wait) more.push("--wait-kind", wait);
		// A tool's name is another's text: the record takes one line of 200 characters.
		const line = message.replace(/\s+/g, " ").slice(0, 200);
		const how = ["--parent-id", this.parent, "--phase", phase, "--message", line, ...more];
		const { code, err } = await this.strawboss("agent:beat", ...how);
		if (code !== 0) this.complain(err.trim() || `agent:beat ended with ${code}`);
	}

	private async readInbox() {
		const { out } = await this.strawboss("subagent:inbox", "--json");
		try {
			const { delivery, steer } = JSON.parse(out);
			if (delivery !== "applied" || this.over || this.told.has(steer.steer_id)) return;
			if (this.hooks.tell(steer)) this.told.add(steer.steer_id);
		} catch {
			// No inbox that can be understood is nothing to tell; verify:subagent-steer shows it to the parent.
		}
	}

	private complain(text: string) {
		if (text === this.complained) return;
		this.complained = text;
		try {
			this.hooks.warn(`heartbeat: ${text}`);
		} catch {
			// The session is gone.
		}
	}

	// In pi's directory and without a target: where the worktree begins is for strawboss to find.
	private strawboss = (command: string, ...how: string[]) => run([command, "--agent", this.agent, ...how], this.cwd, COMMAND_MS);
}

/** One strawboss command; never rejects. `running` holds its process meanwhile, a timeout of 0 is none. */
function run(words: string[], cwd: string, timeout: number, running?: Set<ChildProcess>): Promise<Output> {
	return new Promise((resolve) => {
		try {
			const child = execFile(interpreter(), ["-P", "-m", "strawboss", ...words], { cwd, timeout, windowsHide: true }, (error, out, err) => {
				running?.delete(child);
				resolve({ code: error ? (typeof error.code === "number" ? error.code : 1) : 0, out, err: err || (error && !out ? error.message : "") });
			});
			running?.add(child);
		} catch (error) {
			resolve({ code: 1, out: "", err: `strawboss cannot be started; run \`strawboss install\` (${error})` });
		}
	});
}

/** The file is written by `strawboss install`. */
const interpreter = () =>
	process.env.STRAWBOSS_PYTHON || String(JSON.parse(readFileSync(join(getAgentDir(), "strawboss.json"), "utf8")).python);
