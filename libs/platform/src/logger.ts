import { QuaestorError } from '#contracts';
import type { LoggerService } from '@nestjs/common';
import { pino, type DestinationStream, type Logger as PinoLogger } from 'pino';

export type Logger = PinoLogger;

/** Bytes of log lines held while nobody reads stderr; beyond it lines are dropped, because a log must never stop the work. */
const BUFFER_BYTES_MAX = 4 * 1024 * 1024;
const STDERR = 2;

const SECRET_FIELDS = ['authorization', 'cookie', 'apiKey', 'api_key', 'adminKey', 'password', 'secret', 'token', '["x-api-key"]', '["set-cookie"]'];

function redactedPaths(): string[] {
  const own = SECRET_FIELDS;
  const below = SECRET_FIELDS.map((field) => (field.startsWith('[') ? `*${field}` : `*.${field}`));
  const inHeaders = SECRET_FIELDS.map((field) => (field.startsWith('[') ? `*.headers${field}` : `*.headers.${field}`));
  return [...own, ...below, ...inHeaders];
}

function stderrDestination(): DestinationStream {
  const destination = pino.destination({ dest: STDERR, sync: false, minLength: 0, maxLength: BUFFER_BYTES_MAX });
  // A closed or full stderr loses lines; it never ends the process.
  destination.on('error', () => undefined);
  return destination;
}

export interface LoggerOptions {
  /** Name of the process, on every line. */
  service: string;
  /** A pino level; default `info`. */
  level?: string;
  /** Where lines go; default stderr, written in the background. */
  destination?: DestinationStream;
}

/** JSON lines `{ level, time, service, msg, ... }`, secrets redacted. `QuaestorError`s are logged with their code and details. */
export function createLogger({ service, level = 'info', destination = stderrDestination() }: LoggerOptions): Logger {
  return pino(
    {
      level,
      base: { service, pid: process.pid },
      timestamp: pino.stdTimeFunctions.isoTime,
      formatters: { level: (label) => ({ level: label }) },
      redact: { paths: redactedPaths(), censor: '[redacted]' },
      serializers: { err: serializeError, error: serializeError },
    },
    destination,
  );
}

function serializeError(error: unknown): unknown {
  if (error instanceof QuaestorError) {
    return { code: error.code, message: error.message, details: error.details, ...(error.cause === undefined ? {} : { cause: serializeError(error.cause) }) };
  }
  return error instanceof Error ? pino.stdSerializers.err(error) : error;
}

type NestArguments = readonly unknown[];

/** Nest passes the context as the last text argument, and a stack before it for errors. */
function splitNestArguments(optional: NestArguments): { context?: string; stack?: string } {
  const texts = optional.filter((value): value is string => typeof value === 'string');
  const stack = texts.find((text) => text.includes('\n    at '));
  const context = texts.filter((text) => text !== stack).at(-1);
  return { ...(context === undefined ? {} : { context }), ...(stack === undefined ? {} : { stack }) };
}

/** The framework's own log lines in our format; its start-up chatter goes to `debug`. */
export function nestLogger(logger: Logger): LoggerService {
  const write = (level: 'debug' | 'warn' | 'error' | 'fatal' | 'trace', message: unknown, optional: NestArguments): void => {
    const fields = splitNestArguments(optional);
    if (message instanceof Error) logger[level]({ ...fields, err: message }, message.message);
    else logger[level](fields, typeof message === 'string' ? message : JSON.stringify(message));
  };
  return {
    log: (message, ...optional) => write('debug', message, optional),
    warn: (message, ...optional) => write('warn', message, optional),
    error: (message, ...optional) => write('error', message, optional),
    fatal: (message, ...optional) => write('fatal', message, optional),
    debug: (message, ...optional) => write('debug', message, optional),
    verbose: (message, ...optional) => write('trace', message, optional),
  };
}
