const NUMBER_WIDTH = 6;
const INDEX_WIDTH = 2;
const SUM_WIDTH = 7;

/**
 * Tool call ids of the scripted vendor. They hold characters that other systems refuse (`:` `/` `=`) and a check sum, so that an id that
 * was changed or invented on its way back is noticed without any memory of what was issued. All are of one length, so that prompts of the
 * same story are, too.
 */
export function issueCallId(responseNumber: number, callIndex: number): string {
  const stem = `call:${responseNumber.toString(36).padStart(NUMBER_WIDTH, '0')}/${String(callIndex).padStart(INDEX_WIDTH, '0')}`;
  return `${stem}=${checkSum(stem)}`;
}

export function isIssuedCallId(id: string): boolean {
  const split = id.lastIndexOf('=');
  return split > 0 && id.startsWith('call:') && id.slice(split + 1) === checkSum(id.slice(0, split));
}

function checkSum(text: string): string {
  let hash = 2_166_136_261;
  for (let i = 0; i < text.length; i++) hash = Math.imul(hash ^ text.charCodeAt(i), 16_777_619);
  return (hash >>> 0).toString(36).padStart(SUM_WIDTH, '0');
}
