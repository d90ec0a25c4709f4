import { z } from 'zod';
import type { ModelToolDefinition } from '#contracts';
import type { ToolSpec } from '../ports/tool.ts';

const cache = new WeakMap<ToolSpec, ModelToolDefinition>();

/** A tool as models are told about it: name, description and the JSON Schema of what it takes. Made once per spec; do not change it. */
export function toolDefinition(spec: ToolSpec): ModelToolDefinition {
  const known = cache.get(spec);
  if (known !== undefined) return known;
  const { $schema: _dialect, ...parameters } = z.toJSONSchema(spec.parameters, { io: 'input' });
  const definition: ModelToolDefinition = { name: spec.name, description: spec.description, parameters };
  cache.set(spec, definition);
  return definition;
}

/** {@link toolDefinition} for a list, in its order. */
export const toolDefinitions = (specs: readonly ToolSpec[]): ModelToolDefinition[] => specs.map(toolDefinition);
