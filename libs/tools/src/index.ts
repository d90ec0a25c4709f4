import type { ToolSpec } from '#domain';
import { appendScratchpad } from './append-scratchpad.tool.ts';
import { delegateResearchTask } from './delegate-research-task.tool.ts';
import { performWebSearch } from './perform-web-search.tool.ts';
import { readScratchpad } from './read-scratchpad.tool.ts';
import { readWebPage } from './read-web-page.tool.ts';
import { scrollWebPage } from './scroll-web-page.tool.ts';
import { searchWebPage } from './search-web-page.tool.ts';
import { updateScratchpad } from './update-scratchpad.tool.ts';

/** Every tool the engine owns. A new tool is one file, one line here and its name in `PLATFORM_TOOL_MAP`. */
export const PLATFORM_TOOLS: readonly ToolSpec[] = [
  readWebPage,
  searchWebPage,
  scrollWebPage,
  performWebSearch,
  readScratchpad,
  appendScratchpad,
  updateScratchpad,
  delegateResearchTask,
];
