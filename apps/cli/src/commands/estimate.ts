import type { EstimateRequest, EstimateView } from '#contracts';
import type { CommandContext } from '../context.ts';
import { formatCredits } from '../progress/live-lines.ts';
import { readQuestion } from '../question.ts';
import { chooseWorkspace, findRunningGateway, startOwnStack, type GatewayOptions, type Session } from '../session.ts';

export interface EstimateOptions extends GatewayOptions {
  json?: boolean;
  docs?: string;
  workers?: number;
  budget?: number;
  sources?: number;
}

const INSUFFICIENT = 1;

/** Prints what a run of this question would use; 1 when the budget does not cover the upper bound. Spends and writes nothing. */
export async function estimate(context: CommandContext, words: readonly string[], options: EstimateOptions): Promise<number> {
  const question = await readQuestion(words);
  const session = (await findRunningGateway(context.config, options)) ?? (await startGatewayOnly(context, options));
  try {
    const forecast = await session.client.estimate(requestOf(question, options));
    await context.terminal.print(options.json ? JSON.stringify(forecast, null, 2) : table(forecast));
    return forecast.sufficient ? 0 : INSUFFICIENT;
  } finally {
    await session.close();
  }
}

async function startGatewayOnly({ config, log }: CommandContext, { docs }: EstimateOptions): Promise<Session> {
  return startOwnStack(config, { workspace: await chooseWorkspace(config, docs), log, services: ['gateway'] });
}

const requestOf = (question: string, { workers, budget, sources }: EstimateOptions): EstimateRequest => ({
  question,
  ...(budget === undefined ? {} : { budget_credits: budget }),
  ...(sources === undefined ? {} : { source_cap: sources }),
  ...(workers === undefined ? {} : { workers }),
});

function table(forecast: EstimateView): string {
  const { money } = forecast;
  const rows: [string, EstimateView['credits']][] = [
    ['searches', forecast.searches],
    ['reads', forecast.reads],
    ['input tokens', forecast.input_tokens],
    ['output tokens', forecast.output_tokens],
    ['credits', forecast.credits],
    ...(money === null ? [] : [[money.currency, money] satisfies [string, EstimateView['credits']]]),
  ];
  const cells = [['', 'low', 'likely', 'high'], ...rows.map(([name, { low, likely, high }]) => [name, low, likely, high].map((cell) => (typeof cell === 'number' ? formatCredits(cell) : cell)))];
  const lines = cells.map(([name = '', ...figures]) => name.padEnd(14) + figures.map((figure) => figure.padStart(12)).join(''));
  const basis = forecast.basis === 'plan' ? 'the shape of the question and the limits' : `${forecast.past_runs} runs that have ended`;
  return [...lines, '', `From ${basis}. A budget of ${formatCredits(forecast.budget_credits)} credits ${forecast.sufficient ? 'covers' : 'may not cover'} it.`].join('\n');
}
