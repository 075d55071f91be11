/**
 * Runs subagents in herdr panes, for tests: the tools `subagent` and `subagent_resume`, one watcher a run, results as
 * steering messages, the registry in pi's process. Files, registry and messages are those of pi-herdr-agents 1.3.0;
 * what it does at a quit too: it drops its watchers, closes ordinary panes and calls worktree runs failed.
 *
 * pi -e tests/standins/subagents_extension
 */
import { execFile } from "node:child_process";
import { existsSync, readFileSync, unlinkSync } from "node:fs";
import { join } from "node:path";
import { setTimeout as pause } from "node:timers/promises";
import { promisify } from "node:util";
import type { ExtensionAPI, ExtensionContext } from "@earendil-works/pi-coding-agent";
import * as files from "./files.ts";
import type { Run, Worktree } from "./files.ts";

type Runtime = { runningSubagents: Map<string, Run>; pi?: ExtensionAPI; latestCtx?: ExtensionContext };
type Ending = { exitCode: number; ping?: string; errorMessage?: string };

const LOOK_MS = 1000;
const SHELL_MS = 10_000;
const run = promisify(execFile);
const slot = globalThis as any;
const key = Symbol.for("pi-subagents/runtime");
slot[key] ??= { runningSubagents: new Map() };
const runtime: Runtime = slot[key];

export default function subagents(pi: ExtensionAPI) {
	if (process.env.PI_SUBAGENT_ID) return;
	pi.on("session_start", (_event, ctx) => void Object.assign(runtime, { pi, latestCtx: ctx }));
	pi.on("session_shutdown", async ({ reason }) => {
		if (reason === "quit") await dropAll();
	});
	pi.registerTool({
		name: "subagent",
		label: "Subagent",
		description: "Start a subagent in a pane of its own; its result comes as a message",
		parameters: {
			type: "object",
			properties: {
				name: { type: "string" },
				task: { type: "string" },
				interactive: { type: "boolean" },
				worktree: { type: "object", properties: { branch: { type: "string" } }, required: ["branch"] },
			},
			required: ["name", "task"],
		} as any,
		execute: async (_id, params: any, _signal, _update, ctx) => launch(params, ctx),
	});
	pi.registerTool({
		name: "subagent_resume",
		label: "Resume a subagent",
		description: "Go on with a subagent's session in a new pane; its result comes as a message",
		parameters: {
			type: "object",
			properties: {
				sessionPath: { type: "string" },
				name: { type: "string" },
				message: { type: "string" },
				autoExit: { type: "boolean" },
			},
			required: ["sessionPath"],
		} as any,
		execute: async (_id, params: any, _signal, _update, ctx) => resume(params, ctx),
	});
}

// -- launching -------------------------------------------------------------------------------------------------

async function launch({ name, task, interactive = false, worktree }: any, ctx: ExtensionContext) {
	const artifacts = artifactsOf(ctx);
	const id = files.hex(8);
	const tree = worktree ? await makeWorktree(artifacts, id, name, worktree.branch, ctx.cwd) : undefined;
	const cwd = tree?.path ?? ctx.cwd;
	const surface = tree?.paneId ?? (await openPane(name, cwd));
	await shellReady(surface);
	const one: Run = { ...begun(id, name, task, surface), sessionFile: files.childSessionFile(id, cwd), interactive, worktree: tree };
	const model = `${ctx.model?.provider}/${ctx.model?.id}`;
	one.launchScriptFile = files.launchScript(artifacts, one, cwd, model, files.taskFile(artifacts, name, task));
	if (tree) files.writeManifest(tree.manifestFile, { state: "running", sessionFile: one.sessionFile });
	await start(one);
	const { sessionFile, launchScriptFile } = one;
	const told = tree && { worktree: { ...tree, sessionFile } };
	return started(name, { id, name, task, sessionFile, launchScriptFile, model, thinking: "off", ...told });
}

async function resume({ sessionPath, name = "Resume", message, autoExit = true }: any, ctx: ExtensionContext) {
	if (!existsSync(sessionPath)) return failed("session not found");
	const artifacts = artifactsOf(ctx);
	const id = files.hex(8);
	const surface = await openPane(name, process.cwd());
	await shellReady(surface);
	const one: Run = { ...begun(id, name, message ?? "", surface), sessionFile: sessionPath, interactive: !autoExit, resumed: true };
	one.launchScriptFile = files.resumeScript(artifacts, one, message && files.followUpFile(artifacts, name, message));
	await start(one);
	return started(name, { id, name, sessionPath, launchScriptFile: one.launchScriptFile });
}

function artifactsOf({ sessionManager }: ExtensionContext): string {
	return join(sessionManager.getSessionDir(), "artifacts", sessionManager.getSessionId());
}

function begun(id: string, name: string, task: string, surface: string) {
	return { id, name, task, surface, startTime: Date.now(), launchScriptFile: "", abortController: new AbortController() };
}

function started(name: string, details: object) {
	return { content: [{ type: "text" as const, text: `Started "${name}".` }], details: { ...details, status: "started" } };
}

function failed(error: string) {
	return { content: [{ type: "text" as const, text: `Error: ${error}` }], details: { error }, isError: true };
}

async function makeWorktree(artifacts: string, id: string, name: string, branch: string, cwd: string): Promise<Worktree> {
	const baseSha = (await run("git", ["-C", cwd, "rev-parse", "HEAD"])).stdout.trim();
	const manifestFile = files.manifestFile(artifacts, id);
	const before = { state: "provisioning", id, name, sourceCwd: cwd, branch, baseRef: "HEAD", baseSha, createdAt: Date.now() };
	files.writeManifest(manifestFile, before);
	const words = ["--cwd", cwd, "--branch", branch, "--base", baseSha, "--label", name, "--no-focus"];
	const { root_pane, workspace, worktree } = await herdr("worktree", "create", ...words);
	const tree = { path: worktree.path, workspaceId: workspace.workspace_id, paneId: root_pane.pane_id };
	files.writeManifest(manifestFile, { state: "provisioned", ...tree, manifestFile });
	return { ...tree, branch, baseSha, manifestFile };
}

async function openPane(name: string, cwd: string): Promise<string> {
	const workspace = process.env.HERDR_WORKSPACE_ID;
	const where = workspace ? ["--workspace", workspace] : [];
	const { root_pane } = await herdr("tab", "create", ...where, "--label", name, "--cwd", cwd, "--no-focus");
	await herdr("pane", "rename", root_pane.pane_id, name);
	return root_pane.pane_id;
}

/** The shell is its own foreground group once it waits for a command. */
async function shellReady(pane: string) {
	for (const end = Date.now() + SHELL_MS; Date.now() < end; await pause(50)) {
		const info = (await herdr("pane", "process-info", "--pane", pane).catch(() => undefined))?.process_info;
		if (info?.shell_pid && info.foreground_process_group_id === info.shell_pid) return;
	}
	throw new Error(`no shell in ${pane}`);
}

async function start(one: Run) {
	await run("herdr", ["pane", "run", one.surface, `bash '${one.launchScriptFile.replaceAll("'", "'\\''")}'`]);
	runtime.runningSubagents.set(one.id, one);
	void watch(one).catch(() => undefined);
}

async function herdr(...words: string[]): Promise<any> {
	return JSON.parse((await run("herdr", words)).stdout).result;
}

// -- watching --------------------------------------------------------------------------------------------------

async function watch(one: Run) {
	const { signal } = one.abortController;
	for (;;) {
		const shown = (await sentinel(one)) ?? (await paneGone(one));
		const ending = sidecar(one) ?? shown; // it is written before anything shows, so it is looked for last
		if (signal.aborted) return;
		if (ending) return settle(one, ending);
		await pause(LOOK_MS, undefined, { signal, ref: false });
	}
}

function sidecar(one: Run): Ending | undefined {
	const file = `${one.sessionFile}.exit`;
	try {
		const { type, message, errorMessage } = JSON.parse(readFileSync(file, "utf8"));
		unlinkSync(file);
		if (type === "ping") return { exitCode: 0, ping: String(message) };
		return type === "done" ? { exitCode: 0 } : { exitCode: 1, errorMessage: errorMessage ?? `unknown exit type ${type}` };
	} catch {
		return undefined; // not there, or half written
	}
}

async function sentinel(one: Run): Promise<Ending | undefined> {
	const read = run("herdr", ["pane", "read", one.surface, "--source", "visible", "--lines", "5"]);
	const shown = files.SENTINEL_SHOWN.exec(await read.then(({ stdout }) => stdout, () => ""));
	return shown ? { exitCode: Number(shown[1]) } : undefined;
}

async function paneGone(one: Run): Promise<Ending | undefined> {
	const code = await run("herdr", ["pane", "get", one.surface]).then(() => "", (error) => errorCode(error.stderr));
	return code === "pane_not_found" || code === "not_found" ? { exitCode: 1, errorMessage: "its pane is gone" } : undefined;
}

function errorCode(stderr: string): string {
	try {
		return JSON.parse(stderr).error.code;
	} catch {
		return "";
	}
}

/** The pane first, out of the registry then, the message last. Where the pane is gone already, the close fails. */
async function settle(one: Run, ending: Ending) {
	const failure = await closed(one, ending);
	runtime.runningSubagents.delete(one.id);
	const elapsed = Math.round((Date.now() - one.startTime) / 1000);
	const told = failure ? lost(one, failure, elapsed) : ending.ping !== undefined ? ping(one, ending.ping, elapsed) : result(one, ending, elapsed);
	runtime.pi?.sendMessage({ ...told, display: true }, { triggerTurn: true, deliverAs: "steer" });
}

/** Why the pane could not be closed; a worktree run keeps its pane. */
async function closed(one: Run, ending: Ending): Promise<string | undefined> {
	if (!one.worktree) return herdr("pane", "close", one.surface).then(() => undefined, ({ message }) => message);
	files.writeManifest(one.worktree.manifestFile, { state: stateAfter(ending) });
}

const stateAfter = ({ ping, exitCode }: Ending) => (ping !== undefined ? "needs_help" : exitCode === 0 ? "ready_for_review" : "failed");

const reference = (file: string) => `\n\nSession: ${file}\nResume: pi --session ${file}`;

const NEXT = "\n\nParent action: Continue the parent task using this result; do not return an empty response.";

function result({ name, task, sessionFile, worktree }: Run, { exitCode, errorMessage }: Ending, elapsed: number) {
	const how = errorMessage ? `failed after ${elapsed}s (provider/agent error).` : ended(exitCode, elapsed);
	const said = errorMessage ? `Error: ${errorMessage}` : files.lastAnswer(sessionFile) || "(no answer)";
	const resultContent = `Sub-agent "${name}" ${how}\n\n${said}${reference(sessionFile)}`;
	return resulting(resultContent, { name, task, exitCode, elapsed, sessionFile, errorMessage, worktree });
}

/** Of a launch this names no session at all; a resume names the one it was given. */
function lost({ name, task, sessionFile, resumed }: Run, failure: string, elapsed: number) {
	const said = (resumed && files.lastAnswer(sessionFile)) || `Subagent error: ${failure}`;
	const resultContent = `Sub-agent "${name}" ${ended(1, elapsed)}\n\n${said}${resumed ? reference(sessionFile) : ""}`;
	return resulting(resultContent, { name, task, exitCode: 1, elapsed, ...(resumed && { sessionFile }) });
}

const ended = (exitCode: number, elapsed: number) => (exitCode === 0 ? `completed (${elapsed}s).` : `failed (exit code ${exitCode}).`);

function resulting(resultContent: string, details: object) {
	return { customType: "subagent_result", content: resultContent + NEXT, details: { ...details, resultContent } };
}

function ping({ name, sessionFile, worktree }: Run, message: string, elapsed: number) {
	const content = `Sub-agent "${name}" needs help (${elapsed}s):\n\n${message}${reference(sessionFile)}`;
	return { customType: "subagent_ping", content, details: { name, message, sessionFile, worktree } };
}

/** A quit: deliveries are suppressed, ordinary panes closed, worktree runs called failed while they run on. */
async function dropAll() {
	for (const one of runtime.runningSubagents.values()) {
		one.abortController.abort();
		if (one.worktree) files.writeManifest(one.worktree.manifestFile, { state: "failed" });
		else await herdr("pane", "close", one.surface).catch(() => undefined);
	}
	runtime.runningSubagents.clear();
}
