/**
 * Kill hooks for fault tests: `crashPoint('K07')` ends this process as `kill -9` would when `KILL_AT` named that point at boot. `KILL_AT=K07`
 * dies on the first pass, `KILL_AT=K07:3` on the third. Without `KILL_AT` a call is one comparison.
 */
const [armedName, passText] = (process.env['KILL_AT'] ?? '').split(':');
let passesLeft = armedName ? Number(passText ?? '1') : 0;

export function crashPoint(name: string): void {
  if (passesLeft === 0 || name !== armedName) return;
  passesLeft -= 1;
  if (passesLeft === 0) process.kill(process.pid, 'SIGKILL');
}
