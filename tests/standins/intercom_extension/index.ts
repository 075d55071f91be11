/**
 * Puts a pi session on the intercom, for tests: registers it with the broker under the session's own id, keeps its
 * status up to date, brings messages into the session, and offers the tool `intercom` (`send`, `list`).
 *
 * pi -e tests/standins/intercom_extension
 */
import { randomUUID } from "node:crypto";
import { connect, type Socket } from "node:net";
import { homedir } from "node:os";
import { join } from "node:path";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

type Frame = { type: string; [field: string]: any };

const RECONNECT_MS = 200;

export default function (pi: ExtensionAPI) {
	let intercom: Connection | undefined;
	const tools = new Map<string, string>();

	pi.on("session_start", (_event, ctx) => {
		intercom = new Connection(registration(pi, ctx), (frame) => receive(pi, ctx, intercom, frame));
	});
	pi.on("session_shutdown", () => {
		intercom?.close();
		intercom = undefined;
	});
	pi.on("agent_start", () => intercom?.status("thinking"));
	pi.on("agent_end", () => {
		tools.clear();
		intercom?.status("idle");
	});
	pi.on("tool_execution_start", (event) => {
		tools.set(event.toolCallId, event.toolName);
		intercom?.status(`tool:${first(tools)}`);
	});
	pi.on("tool_execution_end", (event) => {
		tools.delete(event.toolCallId);
		intercom?.status(tools.size ? `tool:${first(tools)}` : "thinking");
	});
	pi.registerTool({
		name: "intercom",
		label: "Intercom",
		description: "Send a message to another session, or list the sessions.",
		parameters: {
			type: "object",
			properties: {
				action: { type: "string", enum: ["send", "list"] },
				to: { type: "string" },
				message: { type: "string" },
			},
			required: ["action"],
		} as any,
		async execute(_id: string, params: { action: string; to?: string; message?: string }) {
			if (!intercom) throw new Error("not on the intercom");
			const frame = params.action === "list" ? await intercom.list() : await intercom.send(params.to!, params.message!);
			const failed = frame.type === "delivery_failed";
			return { content: [{ type: "text", text: JSON.stringify(frame) }], details: frame, isError: failed };
		},
	});
}

function first(tools: Map<string, string>): string {
	return tools.values().next().value ?? "";
}

function registration(pi: ExtensionAPI, ctx: ExtensionContext): Frame {
	const id = process.env.PI_INTERCOM_STABLE_ID ?? ctx.sessionManager.getSessionId();
	const name = pi.getSessionName();
	const now = Date.now();
	return {
		type: "register",
		sessionId: id,
		session: {
			name: name ?? `subagent-chat-${id.slice(0, 18)}`,
			runtimeFallbackAlias: name === undefined,
			cwd: ctx.cwd,
			model: ctx.model?.id ?? "unknown",
			pid: process.pid,
			startedAt: now,
			lastActivity: now,
			status: "idle",
			herdrPaneId: process.env.HERDR_PANE_ID,
			herdrSessionPath: ctx.sessionManager.getSessionFile(),
		},
	};
}

const seen = new Set<string>();

function receive(pi: ExtensionAPI, ctx: ExtensionContext, intercom: Connection | undefined, frame: Frame) {
	if (frame.type !== "message" || !intercom) return;
	const { from, message } = frame;
	const receipt = (status: string, detail?: string) =>
		intercom.say({ type: "message_receipt", receipt: { messageId: message.id, status, timestamp: Date.now(), detail } });
	receipt("receiver_received");
	if (seen.has(`${from.id} ${message.id}`)) return receipt("acknowledged", "duplicate message id suppressed");
	seen.add(`${from.id} ${message.id}`);
	receipt("acknowledged", "accepted by receiver");
	if (!ctx.isIdle() && !ctx.hasUI) return; // nobody is there to read it: it is lost
	receipt("injected");
	inject(pi, ctx.isIdle(), from, message);
}

function inject(pi: ExtensionAPI, idle: boolean, from: Frame, message: Frame) {
	const text = message.content.text;
	pi.sendMessage(
		{
			customType: "intercom_message",
			content: `**From ${from.name ?? from.id.slice(0, 8)}** (${from.cwd})\n\n${text}`,
			display: true,
			details: { from, message: { ...message, injectedAt: Date.now() }, bodyText: text },
		},
		idle ? { triggerTurn: true } : { deliverAs: "steer" },
	);
}

/** A connection that comes back by itself, never throws, and never keeps pi alive. */
class Connection {
	private socket: Socket | undefined;
	private buffer = Buffer.alloc(0);
	private closed = false;
	private registered = false;
	private waiting: { wanted: (frame: Frame) => boolean; done: (frame: Frame) => void }[] = [];

	constructor(
		private readonly register: Frame,
		private readonly heard: (frame: Frame) => void,
	) {
		this.open();
	}

	say(frame: Frame) {
		const payload = Buffer.from(JSON.stringify(frame));
		const header = Buffer.alloc(4);
		header.writeUInt32BE(payload.length);
		if (this.socket?.writable) this.socket.write(Buffer.concat([header, payload]));
	}

	/** Also remembered for the next registration. */
	status(status: string) {
		this.register.session.status = status;
		if (this.registered) this.say({ type: "presence", status });
	}

	list(): Promise<Frame> {
		const requestId = randomUUID();
		return this.ask({ type: "list", requestId }, (frame) => frame.requestId === requestId);
	}

	send(to: string, text: string): Promise<Frame> {
		const message = { id: randomUUID(), timestamp: Date.now(), content: { text } };
		const answers = ["delivered", "delivery_failed"];
		return this.ask({ type: "send", to, message }, (f) => answers.includes(f.type) && f.messageId === message.id);
	}

	close() {
		this.closed = true;
		this.say({ type: "unregister" });
		this.socket?.end();
	}

	private ask(frame: Frame, wanted: (frame: Frame) => boolean): Promise<Frame> {
		return new Promise((done, failed) => {
			if (!this.registered) return failed(new Error("Intercom not connected"));
			this.waiting.push({ wanted, done });
			setTimeout(() => failed(new Error("the broker does not answer")), 10_000).unref();
			this.say(frame);
		});
	}

	private open() {
		const agent = process.env.PI_CODING_AGENT_DIR?.trim() || join(homedir(), ".pi", "agent");
		const socket = connect(join(agent, "intercom", "broker.sock"));
		this.socket = socket;
		this.buffer = Buffer.alloc(0);
		socket.on("connect", () => this.say(this.register));
		socket.on("data", (data) => this.read(data));
		socket.on("error", () => {}); // "close" follows
		socket.on("close", () => this.reopen());
		socket.unref();
	}

	private reopen() {
		this.registered = false;
		if (!this.closed) setTimeout(() => this.closed || this.open(), RECONNECT_MS).unref();
	}

	private read(data: Buffer) {
		this.buffer = Buffer.concat([this.buffer, data]);
		while (this.buffer.length >= 4 && this.buffer.length >= 4 + this.buffer.readUInt32BE(0)) {
			const end = 4 + this.buffer.readUInt32BE(0);
			const payload = this.buffer.subarray(4, end).toString();
			this.buffer = this.buffer.subarray(end);
			this.take(payload);
		}
	}

	private take(payload: string) {
		try {
			const frame: Frame = JSON.parse(payload);
			if (frame.type === "registered") this.registered = true;
			const asker = this.waiting.find(({ wanted }) => wanted(frame));
			this.waiting = this.waiting.filter((one) => one !== asker);
			asker ? asker.done(frame) : this.heard(frame);
		} catch (error) {
			// A stale context after a replacement, or a broken broker: start over.
			this.socket?.destroy();
		}
	}
}
