/** Where a run's files lie and what is in them: names, scripts, manifests, the end of a child's session. */
import { randomBytes } from "node:crypto";
import { mkdirSync, readFileSync, renameSync, writeFileSync } from "node:fs";
import { dirname, join } from "node:path";
import { getAgentDir } from "@earendil-works/pi-coding-agent";

const CHILD = join(dirname(new URL(import.meta.url).pathname), "child.ts");

export type Run = {
	id: string;
	name: string;
	task: string;
	surface: string;
	sessionFile: string;
	startTime: number;
	launchScriptFile: string;
	interactive: boolean;
	worktree?: Worktree;
	resumed?: boolean;
	abortController: AbortController;
};
export type Worktree = { path: string; workspaceId: string; paneId: string; branch: string; baseSha: string; manifestFile: string };

export const hex = (digits: number) => randomBytes(4).toString("hex").slice(0, digits);
const stamp = () => new Date().toISOString();
const shortStamp = () => stamp().slice(0, 19).replaceAll(":", "-");
const quote = (text: string) => `'${text.replaceAll("'", "'\\''")}'`;

export function safeName(name: string): string {
	const kept = name.toLowerCase().replace(/[^a-z0-9\s-]/g, "");
	return kept.replace(/\s+/g, "-").replace(/-+/g, "-").replace(/^-|-$/g, "");
}

export function childSessionFile(id: string, cwd: string): string {
	const folder = join(getAgentDir(), "sessions", `--${cwd.replace(/^[/\\]/, "").replace(/[/\\:]/g, "-")}--`);
	mkdirSync(folder, { recursive: true });
	return join(folder, `${stamp().replace(/[:.]/g, "-")}_${id}-${hex(8)}-${hex(8)}-${hex(4)}.jsonl`);
}

export function written(file: string, text: string, mode = 0o644): string {
	mkdirSync(dirname(file), { recursive: true });
	writeFileSync(file, text, { mode });
	return file;
}

export function taskFile(artifacts: string, name: string, task: string): string {
	return written(join(artifacts, "context", `${safeName(name)}-${shortStamp()}.md`), task);
}

export function followUpFile(artifacts: string, name: string, message: string): string {
	return written(join(artifacts, "subagent-resume", `${safeName(name) || "resume"}-${shortStamp()}.md`), message);
}

export function launchScript(artifacts: string, run: Run, cwd: string, model: string, task: string): string {
	const script = join(artifacts, "subagent-scripts", `${safeName(run.name) || "subagent"}-${run.id}.sh`);
	const header = headerOf("launch", run);
	const variables = [
		`PI_SUBAGENT_NAME=${quote(run.name)}`,
		`PI_SUBAGENT_AUTO_EXIT=${run.interactive ? 0 : 1}`,
		`PI_SUBAGENT_SESSION=${quote(run.sessionFile)}`,
		`PI_SUBAGENT_ID=${quote(run.id)}`,
		`PI_SUBAGENT_ACTIVITY_FILE=${quote(activityFile(artifacts, run.id))}`,
		`PI_SUBAGENT_SURFACE=${quote(run.surface)}`,
	];
	const pi = `pi --session ${quote(run.sessionFile)} -e ${quote(CHILD)} --model ${quote(model)} --thinking 'off' ${quote(`@${task}`)}`;
	return written(script, `${header}cd ${quote(cwd)} && ${variables.join(" ")} ${pi}${SENTINEL}\n`, 0o755);
}

export function resumeScript(artifacts: string, run: Run, message: string | undefined): string {
	const script = join(artifacts, "subagent-scripts", `${safeName(run.name) || "resume"}-resume-${Date.now()}.sh`);
	const header = headerOf("resume", run) + (message ? `# Resume message file: ${message}\n` : "");
	const variables = [
		`PI_SUBAGENT_NAME=${quote(run.name)}`,
		`PI_SUBAGENT_SESSION=${quote(run.sessionFile)}`,
		`PI_SUBAGENT_ID=${quote(run.id)}`,
		`PI_SUBAGENT_ACTIVITY_FILE=${quote(activityFile(artifacts, run.id))}`,
		`PI_SUBAGENT_AUTO_EXIT=${run.interactive ? 0 : 1}`,
	];
	const prompt = message ? ` ${quote(`@${message}`)}` : "";
	const pi = `pi --session ${quote(run.sessionFile)} -e ${quote(CHILD)}${prompt}`;
	return written(script, `${header}${variables.join(" ")} ${pi}${SENTINEL}\n`, 0o755);
}

const SENTINEL = "; echo '__SUBAGENT_DONE_'$?'__'";
export const SENTINEL_SHOWN = /__SUBAGENT_DONE_(\d+)__/;

function headerOf(kind: string, run: Run): string {
	return (
		`#!/bin/bash\n# Subagent ${kind} script for ${run.name}\n# Generated: ${stamp()}\n` +
		`# Session: ${run.sessionFile}\n# Surface: ${run.surface}\n`
	);
}

function activityFile(artifacts: string, id: string): string {
	mkdirSync(join(artifacts, "subagent-activity"), { recursive: true });
	return join(artifacts, "subagent-activity", `${id}.json`);
}

export const manifestFile = (artifacts: string, id: string) => join(artifacts, "worktree-runs", `${id}.json`);

/** Merges `change` into the manifest, which is there as a whole or not at all. */
export function writeManifest(file: string, change: object) {
	let before = {};
	try {
		before = JSON.parse(readFileSync(file, "utf8"));
	} catch {} // the first time
	const fixed = { version: 1, kind: "worktree-run", owner: "pi-herdr-subagents", updatedAt: Date.now() };
	written(`${file}.tmp`, JSON.stringify({ ...before, ...change, ...fixed }, null, 2));
	renameSync(`${file}.tmp`, file);
}

/** The text of the last assistant message in a session file. */
export function lastAnswer(sessionFile: string): string {
	const texts = entries(sessionFile)
		.filter((entry) => entry.type === "message" && entry.message.role === "assistant")
		.map((entry) => entry.message.content.filter((block: any) => block.type === "text").map((block: any) => block.text).join("\n"));
	return texts.filter(Boolean).pop() ?? "";
}

function entries(sessionFile: string): any[] {
	try {
		return readFileSync(sessionFile, "utf8").split("\n").filter(Boolean).map((line) => JSON.parse(line));
	} catch {
		return [];
	}
}
