/**
 * The child's side, loaded with `-e` by launch and resume scripts: keeps the activity file of the run up to date, ends
 * an auto-exit child after its turn with a `.exit` sidecar, and offers `subagent_done` and `caller_ping`.
 */
import { renameSync, writeFileSync } from "node:fs";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";

const { PI_SUBAGENT_ID: id, PI_SUBAGENT_SESSION: sessionFile, PI_SUBAGENT_ACTIVITY_FILE: activityFile } = process.env;
const autoExit = process.env.PI_SUBAGENT_AUTO_EXIT === "1";

type Phase = "starting" | "active" | "waiting" | "done";

export default function child(pi: ExtensionAPI) {
	const record = recorder();
	let answer: any;

	pi.on("session_start", () => record("session_start", "starting"));
	pi.on("input", () => record("input"));
	pi.on("before_agent_start", () => record("before_agent_start", "active"));
	pi.on("agent_start", () => record("agent_start", "active"));
	pi.on("turn_start", () => record("turn_start", "active"));
	pi.on("tool_execution_start", (event) =>
		record("tool_execution_start", "active", {
			toolActive: true,
			activeScope: "tool",
			toolCallId: event.toolCallId,
			toolName: event.toolName,
			toolStartedAt: Date.now(),
		}),
	);
	pi.on("tool_execution_end", () => record("tool_execution_end", "active", { toolActive: false, toolEndedAt: Date.now() }));
	pi.on("message_end", ({ message }) => {
		if (message.role === "assistant") answer = message;
	});
	pi.on("agent_end", (_event, ctx) => {
		if (!autoExit || answer?.stopReason === "aborted") return record("agent_end", "waiting", { waitingSince: Date.now() });
		const { stopReason, errorMessage } = answer ?? {};
		leave(stopReason === "error" ? { type: "error", errorMessage, stopReason } : { type: "done" });
		record("agent_end", "done");
		ctx.shutdown();
	});
	pi.on("session_shutdown", ({ reason }) => {
		if (reason === "quit") record("session_shutdown", "done");
		else record.stop();
	});

	function end(ctx: ExtensionContext, event: string, sidecar: object, text: string) {
		record(event, "done");
		leave(sidecar);
		ctx.shutdown();
		return { content: [{ type: "text" as const, text }], details: {}, terminate: true };
	}
	pi.registerTool({
		name: "caller_ping",
		label: "Ping the caller",
		description: "Ask the session that launched you for help, and stop",
		parameters: { type: "object", properties: { message: { type: "string" } }, required: ["message"] } as any,
		execute: async (_id, { message }: any, _signal, _update, ctx) =>
			end(ctx, "caller_ping", { type: "ping", name: process.env.PI_SUBAGENT_NAME, message }, "asked"),
	});
	if (autoExit) return;
	pi.registerTool({
		name: "subagent_done",
		label: "Done",
		description: "Report that the task is finished, and stop",
		parameters: { type: "object", properties: {} } as any,
		execute: async (_id, _params, _signal, _update, ctx) => end(ctx, "subagent_done", { type: "done" }, "done"),
	});
}

function leave(sidecar: object) {
	writeFileSync(`${sessionFile}.exit`, JSON.stringify(sidecar));
}

/** One JSON object, replaced as a whole; nothing more after `done`, and nothing after `stop`. */
function recorder() {
	let sequence = 0;
	let over = false;
	let activity: any = { version: 1, runningChildId: id, createdAt: Date.now(), phase: "starting", toolActive: false };

	const record = (latestEvent: string, phase: Phase = activity.phase, more: object = {}) => {
		if (over || !activityFile) return;
		const active = phase === "active";
		activity = { ...activity, ...more, updatedAt: Date.now(), sequence: ++sequence, latestEvent, phase };
		activity = { ...activity, agentActive: active, turnActive: active, providerActive: false };
		if (!active) activity = { ...activity, toolActive: false, activeScope: undefined };
		if (phase !== "waiting") activity = { ...activity, waitingSince: undefined };
		const temporary = `${activityFile}.${process.pid}.${sequence}.tmp`;
		writeFileSync(temporary, `${JSON.stringify(activity)}\n`);
		renameSync(temporary, activityFile);
		over = phase === "done";
	};
	record.stop = () => void (over = true);
	return record;
}
