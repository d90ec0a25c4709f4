import { connect } from 'node:net';

const PROBE_TIMEOUT_MS = 2_000;

/** Whether a Redis answers on that loopback port with that password. Never throws. */
export function redisAnswers(port: number, password: string): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect({ port, host: '127.0.0.1' });
    let received = '';
    const finish = (answers: boolean): void => {
      socket.destroy();
      resolve(answers);
    };
    socket.setTimeout(PROBE_TIMEOUT_MS, () => finish(false));
    socket.once('error', () => finish(false));
    socket.once('close', () => finish(false));
    socket.once('connect', () => socket.write(`AUTH ${password}\r\nPING\r\n`));
    socket.on('data', (data) => {
      received += data.toString('latin1');
      if (received.includes('+PONG')) finish(true);
      else if (received.includes('-')) finish(false);
    });
  });
}

/** Whether a MySQL or MariaDB answers on that loopback port for that user. Never throws. */
export async function databaseAnswers(port: number, user: string, password: string): Promise<boolean> {
  const { createConnection } = await import('mysql2/promise');
  try {
    const connection = await createConnection({ host: '127.0.0.1', port, user, password, connectTimeout: PROBE_TIMEOUT_MS });
    await connection.query('SELECT 1');
    connection.destroy();
    return true;
  } catch {
    return false;
  }
}
