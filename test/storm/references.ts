import { mkdirSync, writeFileSync } from 'node:fs';
import path from 'node:path';
import type { AskedRun, Asker } from './asker.ts';
import { foldRun } from './fold.ts';
import { RUN_KINDS } from './kinds.ts';
import type { World } from './world.ts';

/** Each kind of run as it goes when nothing happens; every other run of the kind must fold to the same bytes. */
export class References {
  readonly #world: World;
  readonly #folds = new Map<string, string>();

  /** Plays each kind once, undisturbed. */
  static async play(world: World, asker: Asker): Promise<References> {
    const asked = RUN_KINDS.map((kind, index) => asker.ask(kind, `ref${index}`));
    await asker.settled();
    const references = new References(world);
    for (const run of asked) references.#folds.set(run.kind.name, await references.#fold(run));
    references.#keep('reference', references.#folds);
    return references;
  }

  private constructor(world: World) {
    this.#world = world;
  }

  /** Tokens of the runs that tell another story; both stories are kept as files. */
  async compare(asked: readonly AskedRun[]): Promise<string[]> {
    const wrong = new Map<string, string>();
    for (const run of asked) {
      if (run.id === null) continue;
      const fold = await this.#fold(run);
      if (fold !== this.#folds.get(run.kind.name)) wrong.set(`${run.token} ${run.kind.name}`, fold);
    }
    this.#keep('wrong', wrong);
    return [...wrong.keys()];
  }

  async #fold(run: AskedRun): Promise<string> {
    if (run.id === null) throw new Error(`the question ${run.token} was never accepted`);
    return foldRun(this.#world.stores, run.id, run.token, run.kind.isCancelled === true);
  }

  #keep(folder: string, folds: ReadonlyMap<string, string>): void {
    const directory = path.join(this.#world.directory, 'folds', folder);
    mkdirSync(directory, { recursive: true });
    for (const [name, fold] of folds) writeFileSync(path.join(directory, `${name.replaceAll(' ', '-')}.txt`), fold);
  }
}
