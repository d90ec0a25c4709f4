import { QUESTION_CHARS_MAX, QuaestorError } from '#contracts';
import { stripControlCharacters } from '#domain';

const FROM_STDIN = '-';

/**
 * The question from the words of the command line, or from standard input when the only word is `-`.
 * @throws QuaestorError `QUESTION_EMPTY`, `QUESTION_TOO_LONG`
 */
export async function readQuestion(words: readonly string[], input: AsyncIterable<Buffer | string> = process.stdin): Promise<string> {
  const given = words.length === 1 && words[0] === FROM_STDIN ? await readBounded(input) : words.join(' ');
  const question = stripControlCharacters(given).trim();
  if (question === '') throw new QuaestorError('QUESTION_EMPTY', 'The question is empty: write it in quotes after the command, or pipe it in and give "-".');
  if (question.length > QUESTION_CHARS_MAX) {
    throw new QuaestorError('QUESTION_TOO_LONG', `The question has more than ${QUESTION_CHARS_MAX.toLocaleString('en')} characters: shorten it, or put the material into a document folder (--docs).`);
  }
  return question;
}

/** Stops reading soon after the limit: what comes then is refused anyway. */
async function readBounded(input: AsyncIterable<Buffer | string>): Promise<string> {
  const decoder = new TextDecoder();
  let text = '';
  for await (const chunk of input) {
    text += typeof chunk === 'string' ? chunk : decoder.decode(chunk, { stream: true });
    if (text.length > QUESTION_CHARS_MAX * 2) break;
  }
  return text;
}
