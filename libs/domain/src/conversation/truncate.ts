import type { ModelMessage } from '#contracts';
import { groupMessages, type MessageGroup } from './group-messages.ts';

export interface TruncateOptions {
  /** Tokens the messages may take together. Zero or less leaves the protected ones only. */
  budgetTokens: number;
  /** Tokens of one message; never negative. */
  estimateTokens: (message: ModelMessage) => number;
}

/**
 * The history within a token budget: whole groups are left out, oldest first, until the rest fits. System messages, the question and
 * groups with open calls always stay, even above the budget; the question is the first user message and, on a thread with several, the
 * last one too. The order stays and the same message objects come back, none merged or changed. Apart from the protected ones, what is
 * kept is one unbroken stretch up to the end.
 */
export function truncateHistory(messages: readonly ModelMessage[], options: TruncateOptions): ModelMessage[] {
  const groups = groupMessages(messages);
  const isKept = protectedFlags(groups);
  const costs = groups.map((group) => costOf(group, options.estimateTokens));
  let leftTokens = options.budgetTokens - costs.reduce((sum, cost, index) => sum + (isKept[index] === true ? cost : 0), 0);
  for (let index = groups.length - 1; index >= 0 && leftTokens > 0; index--) {
    if (isKept[index] === true) continue;
    leftTokens -= costs[index] ?? 0;
    isKept[index] = leftTokens >= 0;
  }
  return groups.flatMap((group, index) => (isKept[index] === true ? group.messages : []));
}

function protectedFlags(groups: readonly MessageGroup[]): boolean[] {
  const roles = groups.map(({ messages }) => messages[0]?.role);
  const questions = [roles.indexOf('user'), roles.lastIndexOf('user')];
  return groups.map(({ openCalls }, index) => openCalls > 0 || roles[index] === 'system' || questions.includes(index));
}

const costOf = ({ messages }: MessageGroup, estimateTokens: TruncateOptions['estimateTokens']): number =>
  messages.reduce((sum, message) => sum + estimateTokens(message), 0);
