import { pageAddress, type InProcessScript, type ModelAnswer, type ModelCall, type WantedCall } from '#testing';

export const search = (query: string): WantedCall => ({ name: 'perform_web_search', arguments: { query } });
export const read = (name: string): WantedCall => ({ name: 'read_web_page', arguments: { url: pageAddress(name) } });
export const note = (text: string): WantedCall => ({ name: 'append_scratchpad', arguments: { note: text } });
export const plan = (content: string): WantedCall => ({ name: 'update_scratchpad', arguments: { content } });
export const readNotes: WantedCall = { name: 'read_scratchpad', arguments: {} };
export const delegate = (task: string): WantedCall => ({ name: 'delegate_research_task', arguments: { task } });

export const link = (name: string): string => `[page](${pageAddress(name)})`;

/** The one call of a stopped run: only the question and a note are in it. */
export const isFinishing = ({ request }: ModelCall): boolean => request.messages.at(-1)!.content.includes('The research ends here');

/** The task's own word, by which a worker knows its page: `task alpha` -> `alpha`. */
export const taskWord = ({ task }: ModelCall): string => /task (\w+)/.exec(task)?.[1] ?? 'none';

/** Search, read, note, done: one step per turn. */
export function diligentWorker(call: ModelCall): ModelAnswer {
  const word = taskWord(call);
  const steps: ModelAnswer[] = [{ calls: [search(word)] }, { calls: [read(word)] }, { calls: [note(`Found in ${word}: a right with an end ${link(word)}`)] }];
  return steps[call.step] ?? { text: `Task ${word} is done.` };
}

/** Delegates its tasks in one turn, then reports on all of them. */
export const supervisorOf = (words: string[]) => (call: ModelCall): ModelAnswer =>
  call.step === 0 ? { calls: words.map((word) => delegate(`task ${word}`)) } : { text: `A lease is a right with an end ${words.map(link).join(' ')}.` };

/** A whole, good run with one worker per word, in which single parts can be replaced. */
export const story = (words: string[], parts: { supervisor?: InProcessScript; worker?: InProcessScript } = {}): InProcessScript => {
  const supervisor = parts.supervisor ?? supervisorOf(words);
  return (call) => (call.role === 'supervisor' ? supervisor(call) : (parts.worker ?? diligentWorker)(call));
};
