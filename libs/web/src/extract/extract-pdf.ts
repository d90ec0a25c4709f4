import { extractText, getDocumentProxy, getMeta } from 'unpdf';
import type { ExtractionAnswer } from './messages.ts';

/** Text of a PDF, a blank line between pages. Runs in the extraction child only: a crafted file can take any time and memory. */
export async function extractPdf(bytes: Uint8Array): Promise<ExtractionAnswer> {
  try {
    const pdf = await getDocumentProxy(new Uint8Array(bytes));
    const { text: pages } = await extractText(pdf, { mergePages: false });
    const text = pages.map((page) => page.trim()).filter(Boolean).join('\n\n');
    if (text === '') return unreadable('is a PDF without text, most likely scanned images');
    return { ok: true, title: await titleOf(pdf), text, extraction: 'pdf' };
  } catch (error) {
    const name = error instanceof Error ? error.name : '';
    return unreadable(name === 'PasswordException' ? 'is a PDF that is protected by a password' : 'is a PDF that is broken');
  }
}

async function titleOf(pdf: Awaited<ReturnType<typeof getDocumentProxy>>): Promise<string> {
  const meta: { info: Record<string, unknown> } = await getMeta(pdf).catch(() => ({ info: {} }));
  return typeof meta.info.Title === 'string' ? meta.info.Title.trim() : '';
}

function unreadable(message: string): ExtractionAnswer {
  return { ok: false, reason: 'unreadable', message };
}
