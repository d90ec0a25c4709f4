export { CHAT_WRITER, MESSAGES_WRITER, RESPONSES_WRITER, WIRE_WRITERS, type WireAnswer, type WireWriter } from './wire-writers.ts';
export { STREAM_CASES, type StreamCase } from './stream-cases.ts';
