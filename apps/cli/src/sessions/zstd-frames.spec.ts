import { randomBytes } from 'node:crypto';
import { Readable } from 'node:stream';
import { constants, createZstdDecompress, zstdCompressSync } from 'node:zlib';
import { expect, it } from 'vitest';
import { cutAtFrames } from './zstd-frames.ts';

const FRAMES = [
  Buffer.from('first row\n'),
  Buffer.from(''),
  Buffer.alloc(300_000, 'a'),
  randomBytes(400_000),
  Buffer.from('last'),
];

async function decompressed(bytes: Buffer, pieceBytes: number): Promise<Buffer> {
  const pieces: Buffer[] = [];
  for (let at = 0; at < bytes.length; at += pieceBytes) pieces.push(bytes.subarray(at, at + pieceBytes));
  const parts: Buffer[] = [];
  for await (const part of Readable.from(cutAtFrames(Readable.from(pieces))).pipe(createZstdDecompress()) as AsyncIterable<Buffer>) parts.push(part);
  return Buffer.concat(parts);
}

it.each([
  ['in one piece', 10_000_000, 0],
  ['in small pieces', 997, 0],
  ['byte for byte', 1, 0],
  ['with checksums', 4_096, 1],
])('gives every frame to the decompressor, %s', async (_how, pieceBytes, checksum) => {
  const frames = pieceBytes === 1 ? FRAMES.filter(({ length }) => length < 1_000) : FRAMES;
  const bytes = Buffer.concat(frames.map((frame) => zstdCompressSync(frame, { params: { [constants.ZSTD_c_checksumFlag]: checksum } })));
  expect((await decompressed(bytes, pieceBytes)).equals(Buffer.concat(frames))).toBe(true);
});

it('skips what a writer put between frames for others', async () => {
  const skippable = Buffer.from([0x53, 0x2a, 0x4d, 0x18, 3, 0, 0, 0, 9, 9, 9]);
  const bytes = Buffer.concat([zstdCompressSync('a'), skippable, zstdCompressSync('b')]);
  expect((await decompressed(bytes, 5)).toString()).toBe('ab');
});
