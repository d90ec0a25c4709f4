import { readFileSync } from 'node:fs';
import path from 'node:path';
import { BUDGET_CREDITS_DEFAULT, BUDGET_CREDITS_MAX, DEADLINE_SECONDS_DEFAULT, DEADLINE_SECONDS_MAX, EstimateMode, HostEntry, HOSTS_MAX, RunId, SOURCE_CAP_DEFAULT, SOURCE_CAP_MAX, WORKERS_PARALLEL_DEFAULT, WORKERS_PARALLEL_MAX } from '#contracts';
import { Command, InvalidArgumentError, Option } from 'commander';
import { createContext, type CommandContext } from './context.ts';
import { PROJECT_ROOT } from './project-root.ts';

const WORKER_PROCESSES_MAX = 64;
const RUNS_LISTED_MAX = 100;
const TURN_MAX = 1_000;
const QUOTA_CREDITS_MAX = 1_000_000_000;

type Action = (context: CommandContext) => Promise<number>;

/** The command line: names, arguments and help. What a command does is loaded when it runs. */
export function createProgram(finish: (exitCode: number) => void): Command {
  const act = async (action: Action): Promise<void> => finish(await action(createContext()));
  const program = new Command('quaestor')
    .description('Self-hosted deep research: a question goes in, a cited report comes out.')
    .version(readVersion(), '-V, --version')
    .showHelpAfterError('(quaestor --help shows what is possible)')
    .exitOverride();
  addResearch(program, act);
  addEstimate(program, act);
  addStart(program, act);
  addRunCommands(program, act);
  addRecords(program, act);
  addServices(program, act);
  addMoney(program, act);
  program.addHelpText('after', examples('quaestor research "Which queues does the engine use?"', 'quaestor research "What changed in 2.0?" --docs ./handbook --json', 'quaestor start'));
  return program;
}

type Act = (action: Action) => Promise<void>;

function addResearch(program: Command, act: Act): void {
  withGateway(program.command('research'))
    .description('research a question and print the report')
    .argument('<question...>', 'the question, or "-" to read it from standard input')
    .option('--docs <folder>', 'documents to research instead of the web (md, txt, html, pdf)')
    .option('--json', 'print one JSON object instead of the report')
    .option('--workers <n>', `workers of this run that may work at once (default ${WORKERS_PARALLEL_DEFAULT})`, wholeNumber(1, WORKERS_PARALLEL_MAX))
    .option('--budget <credits>', `credits the run may spend (default ${BUDGET_CREDITS_DEFAULT})`, decimal(0, BUDGET_CREDITS_MAX))
    .option('--deadline <seconds>', `seconds the run may take (default ${DEADLINE_SECONDS_DEFAULT})`, wholeNumber(1, DEADLINE_SECONDS_MAX))
    .option('--sources <n>', `useful sources the run may read (default ${SOURCE_CAP_DEFAULT})`, wholeNumber(1, SOURCE_CAP_MAX))
    .option('--allow-host <hosts>', 'the only hosts whose pages may be read, with commas between them', hostList)
    .option('--deny-host <hosts>', 'hosts whose pages may not be read, with commas between them', hostList)
    .addOption(new Option('--estimate-mode <mode>', 'what a forecast above the budget does (default: as the gateway is set)').choices(EstimateMode.options))
    .addHelpText('after', `
Without --url, a stack that "quaestor start" runs here is used; else one is started for this run and stopped after it.
The report goes to standard output, everything else to standard error.

Exit codes: 0 answered, 3 not enough evidence, 4 stopped by a limit (the report is flagged), 5 cancelled,
6 failed, 2 wrong usage or configuration, 7 a service is unreachable, 130 interrupted.
${examples('quaestor research "How are leases renewed?"', 'echo "How are leases renewed?" | quaestor research - --json', 'quaestor research "What is new?" --docs ./notes --budget 20 --deadline 120')}`)
    .action((words: string[], options) => act(async (context) => (await import('./commands/research.ts')).research(context, words, options)));
}

function addEstimate(program: Command, act: Act): void {
  withGateway(program.command('estimate'))
    .description('forecast searches, reads, tokens and credits of a question; spends nothing')
    .argument('<question...>', 'the question, or "-" to read it from standard input')
    .option('--docs <folder>', 'documents it would research instead of the web')
    .option('--json', 'print one JSON object')
    .option('--workers <n>', 'workers that could work at once', wholeNumber(1, WORKERS_PARALLEL_MAX))
    .option('--budget <credits>', 'credits to hold the forecast against', decimal(0, BUDGET_CREDITS_MAX))
    .option('--sources <n>', 'useful sources it could read', wholeNumber(1, SOURCE_CAP_MAX))
    .addHelpText('after', `
Exit codes: 0 the budget covers the upper bound, 1 it may not, 2 wrong usage or configuration, 7 a service is unreachable.
${examples('quaestor estimate "How are leases renewed?"', 'quaestor estimate "What is new?" --budget 20 --json')}`)
    .action((words: string[], options) => act(async (context) => (await import('./commands/estimate.ts')).estimate(context, words, options)));
}

function addStart(program: Command, act: Act): void {
  program
    .command('start')
    .description('run the whole stack here until Ctrl-C')
    .option('--docs <folder>', 'documents to research instead of the web')
    .option('--port <n>', 'port of the API (default GATEWAY_PORT, else 4100)', wholeNumber(1, 65_535))
    .option('--workers-processes <n>', 'worker processes', wholeNumber(1, WORKER_PROCESSES_MAX), 1)
    .addHelpText('after', examples('quaestor start', 'quaestor start --docs ./handbook --workers-processes 3 --port 8080'))
    .action((options) => act(async (context) => (await import('./commands/start.ts')).start(context, options)));
}

function addRunCommands(program: Command, act: Act): void {
  const load = () => import('./commands/runs.ts');
  withGateway(program.command('resume'))
    .description('go on with a run: an interrupted one as it is, a stopped one with more credits or time')
    .argument('<run>', 'id of the run', runId)
    .option('--credits <n>', 'credits on top of what a stopped run had left', decimal(0, BUDGET_CREDITS_MAX))
    .option('--seconds <n>', 'seconds from now for a stopped run (default: what it had left)', wholeNumber(1, DEADLINE_SECONDS_MAX))
    .option('--sources <n>', 'further useful sources it may read (default: its cap)', wholeNumber(1, SOURCE_CAP_MAX))
    .option('--json', 'print one JSON object instead of the report')
    .addHelpText('after', examples('quaestor resume run_0123456789abcdefghijklmnop', 'quaestor resume run_0123456789abcdefghijklmnop --credits 50 --seconds 600'))
    .action((id: RunId, options) => act(async (context) => (await load()).resumeRun(context, id, options)));
  withGateway(program.command('checkpoint'))
    .description('print where a run stands, as one JSON object: queries, sources, failures, credits, remaining work')
    .argument('<run>', 'id of the run', runId)
    .addHelpText('after', examples('quaestor checkpoint run_0123456789abcdefghijklmnop > checkpoint.json'))
    .action((id: RunId, options) => act(async (context) => (await load()).showCheckpoint(context, id, options)));
  withGateway(program.command('cancel'))
    .description('end a run early')
    .argument('<run>', 'id of the run', runId)
    .addHelpText('after', examples('quaestor cancel run_0123456789abcdefghijklmnop'))
    .action((id: RunId, options) => act(async (context) => (await load()).cancelRun(context, id, options)));
  withGateway(program.command('spend'))
    .description('print what has been spent, by operation, and what is left of the quota, as one JSON object')
    .addHelpText('after', examples('quaestor spend'))
    .action((options) => act(async (context) => (await load()).showSpend(context, options)));
  withGateway(program.command('runs'))
    .description('list runs, newest first')
    .option('--limit <n>', 'how many', wholeNumber(1, RUNS_LISTED_MAX), 20)
    .option('--json', 'print a JSON array')
    .addHelpText('after', examples('quaestor runs', 'quaestor runs --limit 5 --json'))
    .action((options) => act(async (context) => (await load()).listRuns(context, options)));
  withGateway(program.command('show'))
    .description('print a run: its report, or how far it is')
    .argument('<run>', 'id of the run', runId)
    .option('--json', 'print one JSON object with sources and findings')
    .addHelpText('after', examples('quaestor show run_0123456789abcdefghijklmnop', 'quaestor show run_0123456789abcdefghijklmnop --json'))
    .action((id: RunId, options) => act(async (context) => (await load()).showRun(context, id, options)));
}

function addRecords(program: Command, act: Act): void {
  withGateway(program.command('replay'))
    .description('execute a run again from its record, without a model, and compare every step')
    .argument('<run>', 'id of the run', runId)
    .option('--database <url>', 'database that has the run (default: where this machine left it, else DATABASE_URL)')
    .option('--from <turn>', 'with --fork: the first turn to ask anew', wholeNumber(1, TURN_MAX))
    .option('--fork', 'take over the turns before, and go on with the live model as a new run')
    .option('--budget <credits>', `credits the fork may spend (default ${BUDGET_CREDITS_DEFAULT})`, decimal(0, BUDGET_CREDITS_MAX))
    .option('--deadline <seconds>', `seconds the fork may take (default ${DEADLINE_SECONDS_DEFAULT})`, wholeNumber(1, DEADLINE_SECONDS_MAX))
    .option('--json', 'print one JSON object')
    .addHelpText('after', `
Exit codes: 0 every step is the recorded one, 1 one differs (the first is named), 2 no such run or wrong usage, 7 the database is unreachable.
A fork ends as "quaestor research" does.
${examples('quaestor replay run_0123456789abcdefghijklmnop', 'quaestor replay run_0123456789abcdefghijklmnop --from 2 --fork --budget 20')}`)
    .action((id: RunId, options) => act(async (context) => (await import('./commands/replay.ts')).replay(context, id, options)));
  const session = program
    .command('session')
    .description('runs as files')
    .addHelpText('after', examples('quaestor session export run_0123456789abcdefghijklmnop', 'quaestor session import run.v2.jsonl', 'quaestor session migrate old/session.v1.jsonl'));
  session
    .command('export')
    .description('write an ended run, with its workers, sources and streams, into a file')
    .argument('<run>', 'id of the run', runId)
    .argument('[file]', 'a new .jsonl or .jsonl.zstd file (default RUN.v2.jsonl here)')
    .option('--database <url>', 'database that has the run')
    .action((id: RunId, file: string | undefined, options) => act(async (context) => (await import('./commands/session.ts')).exportSession(context, id, file, options)));
  session
    .command('import')
    .description('store an exported run under new ids')
    .argument('<file>', 'a file that "session export" wrote')
    .option('--database <url>', 'database that is to have it (default: that of the running stack, else of the document folder)')
    .option('--docs <folder>', 'document folder whose database is to have it')
    .option('--tenant <id>', 'its owner, where there are several')
    .action((file: string, options) => act(async (context) => (await import('./commands/session.ts')).importSession(context, file, options)));
  session
    .command('migrate')
    .description('write the version 2 successor of a version 1 artifact beside it')
    .argument('<file>', 'a .jsonl or .jsonl.zstd file')
    .option('--recover', 'leave out the end of a file whose writer died')
    .action((file: string, options) => act(async (context) => (await import('./commands/session.ts')).migrateSession(context, file, options)));
}

function addServices(program: Command, act: Act): void {
  const load = () => import('./commands/services.ts');
  const services = program
    .command('services')
    .description('private Redis and database of this folder')
    .addHelpText('after', examples('quaestor services start', 'quaestor services status', 'quaestor services stop'));
  services.command('start').description('start them and leave them running').action(() => act(async (context) => (await load()).startServices(context)));
  services
    .command('stop')
    .description('stop them')
    .option('--unused', 'only when nobody uses them')
    .action((options) => act(async (context) => (await load()).stopServices(context, options)));
  services.command('status').description('say whether they run').action(() => act(async (context) => (await load()).showServices(context)));
  program
    .command('migrate')
    .description('bring the database up to date')
    .addHelpText('after', examples('quaestor migrate', 'DATABASE_URL=mysql://user:password@host/quaestor quaestor migrate'))
    .action(() => act(async (context) => (await import('./commands/migrate.ts')).migrate(context)));
  program
    .command('verify')
    .description('hold the database against the promises in docs/invariants.md')
    .option('--database <url>', 'database to check (default DATABASE_URL, else the local one)')
    .option('--json', 'print one JSON object')
    .addHelpText('after', examples('quaestor verify', 'quaestor verify --database mysql://user:password@host/quaestor --json'))
    .action((options) => act(async (context) => (await import('./commands/verify.ts')).verify(context, options)));
  program
    .command('config')
    .description('print every environment variable as a Markdown table')
    .addHelpText('after', examples('quaestor config'))
    .action(() => act(async (context) => (await import('./commands/config.ts')).printConfiguration(context)));
}

function addMoney(program: Command, act: Act): void {
  const load = () => import('./commands/quota.ts');
  const quota = program
    .command('quota')
    .description('what tenants may spend in all')
    .addHelpText('after', examples('quaestor quota show', 'quaestor quota set default 5000', 'quaestor quota set default none'));
  const onTenants = (command: Command): Command =>
    command.option('--database <url>', 'database of the tenants (default: that of the running stack, else of the document folder)').option('--docs <folder>', 'document folder whose database is meant');
  onTenants(quota.command('show'))
    .description('print quotas as a JSON array, in credits')
    .argument('[tenant]', 'id or name of a tenant (default: all)')
    .action((tenant: string | undefined, options) => act(async (context) => (await load()).showQuota(context, tenant, options)));
  onTenants(quota.command('set'))
    .description('set what a tenant may spend in all, past spending included')
    .argument('<tenant>', 'id or name of a tenant')
    .argument('<credits>', 'credits, or "none"', (text) => (text === 'none' ? null : decimal(0, QUOTA_CREDITS_MAX)(text)))
    .action((tenant: string, credits: number | null, options) => act(async (context) => (await load()).setQuota(context, tenant, credits, options)));
  program
    .command('reconcile')
    .description('list calls of a run whose outcome nobody saw, or book what they really cost')
    .argument('<run>', 'id of the root run', runId)
    .argument('[charges...]', 'reservation ids with credits, such as res_0123456789abcdefghijklmnop=0.5')
    .option('--database <url>', 'database that has the run')
    .addHelpText('after', examples('quaestor reconcile run_0123456789abcdefghijklmnop', 'quaestor reconcile run_0123456789abcdefghijklmnop res_0123456789abcdefghijklmnop=0'))
    .action((id: RunId, charges: string[], options) => act(async (context) => (await load()).reconcileRun(context, id, charges, options)));
}

const withGateway = (command: Command): Command =>
  command.option('--url <address>', 'a running gateway (default QUAESTOR_URL)').option('--key <key>', 'its API key (default QUAESTOR_API_KEY)');

const examples = (...lines: string[]): string => `\nExamples:\n${lines.map((line) => `  ${line}`).join('\n')}`;

function readVersion(): string {
  const { version } = JSON.parse(readFileSync(path.join(PROJECT_ROOT, 'package.json'), 'utf8')) as { version: string };
  return version;
}

const wholeNumber = (min: number, max: number) => (text: string): number => {
  const value = /^\d+$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new InvalidArgumentError(`It must be a whole number from ${min} to ${max}.`);
  return value;
};

const decimal = (min: number, max: number) => (text: string): number => {
  const value = /^\d+(\.\d+)?$/.test(text) ? Number(text) : Number.NaN;
  if (!(value >= min && value <= max)) throw new InvalidArgumentError(`It must be a number from ${min} to ${max}.`);
  return value;
};

function hostList(text: string): string[] {
  const parsed = HostEntry.array().min(1).max(HOSTS_MAX).safeParse(text.split(',').map((host) => host.trim()));
  if (!parsed.success) throw new InvalidArgumentError(`It must be hosts such as example.org or example.org:8443: ${parsed.error.issues[0]?.message ?? ''}.`);
  return parsed.data;
}

function runId(text: string): RunId {
  const parsed = RunId.safeParse(text);
  if (!parsed.success) throw new InvalidArgumentError('It must be a run id, such as run_0123456789abcdefghijklmnop.');
  return parsed.data;
}
