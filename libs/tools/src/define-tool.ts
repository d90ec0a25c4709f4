import type { z } from 'zod';
import type { ToolSpec } from '#domain';

type DefinedTool<Schema extends z.ZodType> = Omit<ToolSpec<z.output<Schema>>, 'parameters'> & { parameters: Schema };

/** Checks one tool against the contract and ties the types of `announce`, `isFree` and `execute` to its own schema. */
export function defineTool<Schema extends z.ZodType>(tool: DefinedTool<Schema>): ToolSpec {
  return tool;
}
