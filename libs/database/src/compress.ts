import { promisify } from 'node:util';
import { deflateRaw, inflateRaw } from 'node:zlib';

const deflate = promisify(deflateRaw);
const inflate = promisify(inflateRaw);

/** Level 3: bodies are written once and read seldom; higher levels cost twice the CPU for a tenth of the bytes. */
export const deflateText = (text: string): Promise<Buffer> => deflate(Buffer.from(text, 'utf8'), { level: 3 });

export const inflateText = async (body: Buffer): Promise<string> => (await inflate(body)).toString('utf8');
