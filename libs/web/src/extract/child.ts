import type { ChildMessage, ExtractionAnswer, ExtractionTask } from './messages.ts';

/**
 * Entry of the extraction child process. It parses what strangers wrote, so it has its own memory limit, gets no environment, and may be
 * killed at any time. Run from source too, hence nothing here needs compiling. Parsers are loaded when first used.
 */
async function extract(task: ExtractionTask): Promise<ExtractionAnswer> {
  try {
    if (task.kind === 'pdf') {
      const { extractPdf } = await import('./extract-pdf.ts');
      return await extractPdf(task.bytes);
    }
    const { extractHtml } = await import('./extract-html.ts');
    return { ok: true, ...(await extractHtml(task.html, task.url)) };
  } catch (error) {
    return { ok: false, reason: 'failed', message: error instanceof Error ? error.name : 'unknown error' };
  }
}

function tell(message: ChildMessage): void {
  process.send?.(message);
}

process.on('message', (task: ExtractionTask) => {
  void extract(task).then((answer) => tell({ answer }));
});
process.on('disconnect', () => process.exit(0));
tell({ ready: true });
