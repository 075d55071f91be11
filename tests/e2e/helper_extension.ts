/**
 * For tests: `/reload-now` reloads; `/registry KIND` puts something into pi-herdr-agents' slot, as REGISTRY=KIND does at
 * the start; a tool `subagent` that launches nothing.
 */
const SLOT = Symbol.for("pi-subagents/runtime");

const REGISTRIES: Record<string, () => unknown> = {
	map: () => ({ runningSubagents: new Map([["1a2b3c4d", {}], ["5e6f7a8b", {}]]) }),
	empty: () => ({ runningSubagents: new Map() }),
	object: () => ({ runningSubagents: { "1a2b3c4d": {} } }),
	numbers: () => ({ runningSubagents: new Map([[1, {}]]) }),
	null: () => ({ runningSubagents: null }),
	none: () => undefined,
};

const fill = (kind: string) => void ((globalThis as any)[SLOT] ??= REGISTRIES[kind]());

export default function helper(pi: any) {
	if (process.env.REGISTRY) fill(process.env.REGISTRY);
	pi.registerTool({
		name: "subagent",
		label: "Subagent",
		description: "Says that it started one",
		parameters: { type: "object", properties: {} },
		execute: async () => ({ content: [{ type: "text", text: "started" }], details: { status: "started" } }),
	});
	pi.registerCommand("reload-now", { description: "reload", handler: async (_args: string, ctx: any) => ctx.reload() });
	pi.registerCommand("registry", {
		description: "fill the slot",
		handler: async (kind: string) => {
			(globalThis as any)[SLOT] = REGISTRIES[kind]();
		},
	});
}
