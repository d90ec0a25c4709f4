import { Core1700000001000 } from './1700000001000-core.ts';
import { DocumentIndex1700000002000 } from './1700000002000-document-index.ts';
import { RunList1700000003000 } from './1700000003000-run-list.ts';
import { Replay1700000004500 } from './1700000004500-replay.ts';
import { FinishingAttempts1700000004501 } from './1700000004501-finishing-attempts.ts';
import { ImportedBudgets1700000004600 } from './1700000004600-imported-budgets.ts';
import { Budget1700000005000 } from './1700000005000-budget.ts';
import { Models1700000006000 } from './1700000006000-models.ts';
import { Prompts1700000006500 } from './1700000006500-prompts.ts';
import { PromptCuts1700000006700 } from './1700000006700-prompt-cuts.ts';
import { Summaries1700000006701 } from './1700000006701-summaries.ts';

/** In order. A new migration is one file and one line here. */
export const MIGRATIONS = [Core1700000001000, DocumentIndex1700000002000, RunList1700000003000, Replay1700000004500, FinishingAttempts1700000004501, ImportedBudgets1700000004600, Budget1700000005000, Models1700000006000, Prompts1700000006500, PromptCuts1700000006700, Summaries1700000006701];
