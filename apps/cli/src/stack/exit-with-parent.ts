/**
 * Loaded into every child process of a stack before its own code: when the parent is gone, however it ended, the child stops in order as it
 * does on SIGTERM. Nothing is left running behind a terminal that was closed.
 */
process.on('disconnect', () => process.kill(process.pid, 'SIGTERM'));
// The listener must not keep a process alive that has ended its work.
process.channel?.unref();
