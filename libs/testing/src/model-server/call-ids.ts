const NUMBER_WIDTH = 6;
const INDEX_WIDTH = 2;
const SUM_WIDTH = 7;

/** What a tool call was issued with. */
export interface IssuedCall {
  model: string;
  /** What the model thought before it, without blanks around it; empty for nothing. */
  reasoning: string;
}

/**
 * Tool call ids of the scripted vendor. They hold characters that other systems refuse (`:` `/` `=`) and a check sum, so that an id that
 * was changed or invented on its way back is noticed without any memory of what was issued; and the sums of model and reasoning, so that
 * one that comes back to another model, or without its reasoning, is noticed too. All are of one length, so that prompts of the same story
 * are, too.
 */
export function issueCallId(responseNumber: number, callIndex: number, issued: IssuedCall): string {
  const stem = `call:${responseNumber.toString(36).padStart(NUMBER_WIDTH, '0')}/${String(callIndex).padStart(INDEX_WIDTH, '0')}${checkSum(issued.model)}${checkSum(issued.reasoning.trim())}`;
  return `${stem}=${checkSum(stem)}`;
}

export function isIssuedCallId(id: string): boolean {
  const split = id.lastIndexOf('=');
  return split > 0 && id.startsWith('call:') && id.slice(split + 1) === checkSum(id.slice(0, split));
}

/** Whether an issued id belongs to this model. */
export const isCallOfModel = (id: string, model: string): boolean => id.slice(-3 * SUM_WIDTH - 1, -2 * SUM_WIDTH - 1) === checkSum(model);

/** Whether an issued id was given out with this reasoning. */
export const isCallWithReasoning = (id: string, reasoning: string): boolean => id.slice(-2 * SUM_WIDTH - 1, -SUM_WIDTH - 1) === checkSum(reasoning.trim());

function checkSum(text: string): string {
  let hash = 2_166_136_261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619);
  return (hash >>> 0).toString(36).padStart(SUM_WIDTH, '0');
}
