/**
 * `/strawboss`: the rows that the process tells, to choose from in pi's terminal, one of them in plain words, or lines
 * where pi has no terminal.
 */
import type { ExtensionContext } from "@earendil-works/pi-coding-agent";

/** `run`: what the row tells of, or nothing. `command`: what a person is to have called about it, or nothing. */
export type Row = { text: string; run: string; command: string };

/** A session's process. */
type Process = { rows(): Promise<Row[]>; status(run: string): Promise<string[]> };

const BACK = "Back";
const TO_EDITOR = "Put it into the editor";
const IN_EDITOR = "strawboss: it is in the editor; once you send it, the model is to call it";

export async function show(process: Process | undefined, off: string, run: string, { mode, ui }: ExtensionContext) {
	try {
		const rows = process && !run && mode === "tui" ? await process.rows() : [];
		if (process && rows.some(({ run }) => run)) return await browse(rows, process, ui);
		const lines = process ? await process.status(run) : [`strawboss is off: ${off}`];
		ui.notify(lines.join("\n"), "info");
	} catch {} // the session was replaced meanwhile: there is nobody left to tell
}

/** Until Escape, or until a command is in the editor. What a person must see to has its command with it. */
async function browse(rows: Row[], process: Process, ui: ExtensionContext["ui"]) {
	const choices = new Map(rows.filter(({ run }) => run).map((row) => [row.text.trim(), row]));
	for (;;) {
		const row = choices.get((await ui.select(rows[0].text, [...choices.keys()])) ?? "");
		if (!row) return;
		const told = [...(await process.status(row.run)), ...(row.command ? ["", `To see to it: ${row.command}`] : [])];
		if ((await ui.select(told.join("\n"), row.command ? [TO_EDITOR, BACK] : [BACK])) !== TO_EDITOR) continue;
		ui.setEditorText(row.command);
		return ui.notify(IN_EDITOR, "info"); // pi draws an editor that was filled only with the next thing it draws
	}
}

export function completions(rows: Row[], begin: string) {
	const runs = new Map(rows.filter(({ run }) => run && run.startsWith(begin)).map(({ run, text }) => [run, text]));
	return [...runs].map(([run, text]) => ({ value: run, label: run, description: text.trim() }));
}
