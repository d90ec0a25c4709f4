import type { AssistantRole, Capability } from '#contracts';
import type { ToolSpec } from '../ports/tool.ts';

/**
 * Capability -> tools of each role, in the order a model is told about them. Assistants persist capabilities only; a worker never gets the
 * tool that overwrites the plan, and a supervisor reads the web through workers only.
 */
export const PLATFORM_TOOL_MAP = {
  web_search: { supervisor: [], worker: ['read_web_page', 'search_web_page', 'scroll_web_page', 'perform_web_search'] },
  scratchpad: {
    supervisor: ['read_scratchpad', 'append_scratchpad', 'update_scratchpad'],
    worker: ['read_scratchpad', 'append_scratchpad'],
  },
  delegation: { supervisor: ['delegate_research_task'], worker: [] },
} as const satisfies Record<Capability, Record<AssistantRole, readonly string[]>>;

/** Names no assistant or client may use for a tool of its own. */
export const RESERVED_TOOL_NAMES: ReadonlySet<string> = new Set(
  Object.values(PLATFORM_TOOL_MAP).flatMap((byRole) => [...byRole.supervisor, ...byRole.worker]),
);

/** The tool names a role gets for its capabilities; each once, in the order of the map, whatever order or repeats were persisted. */
export function expandCapabilities(capabilities: readonly Capability[], role: AssistantRole): string[] {
  const subscribed = new Set(capabilities);
  return (Object.keys(PLATFORM_TOOL_MAP) as Capability[]).flatMap((capability) =>
    subscribed.has(capability) ? [...PLATFORM_TOOL_MAP[capability][role]] : [],
  );
}

/** The specs behind {@link expandCapabilities}. `catalogue` is every tool there is (`PLATFORM_TOOLS`); one that is missing throws. */
export function offeredTools(catalogue: readonly ToolSpec[], capabilities: readonly Capability[], role: AssistantRole): ToolSpec[] {
  return expandCapabilities(capabilities, role).map((name) => {
    const spec = catalogue.find((tool) => tool.name === name);
    if (spec === undefined) throw new Error(`the tool catalogue has no ${name}`);
    return spec;
  });
}
