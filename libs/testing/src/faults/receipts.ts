import { appendFileSync } from 'node:fs';

/** Proof that a fault landed: a test of a fault that hit nothing shows nothing. */
export interface FaultReceipt {
  atMs: number;
  /** The injector's word for what it did, such as `reset` or `flushall`. */
  fault: string;
  /** What it was done to. */
  target: string;
  /** What the injector saw of it. */
  evidence: string;
}

/** What the injectors of one test did. With a file, each receipt is also a JSON line of it, so that several processes may share one. */
export class FaultReceipts {
  readonly #receipts: FaultReceipt[] = [];
  readonly #file: string | undefined;

  constructor(file?: string) {
    this.#file = file;
  }

  record(fault: string, target: string, evidence: string): void {
    const receipt = { atMs: Date.now(), fault, target, evidence };
    this.#receipts.push(receipt);
    if (this.#file !== undefined) appendFileSync(this.#file, `${JSON.stringify(receipt)}\n`);
  }

  of(fault: string): FaultReceipt[] {
    return this.#receipts.filter((receipt) => receipt.fault === fault);
  }

  count(fault: string): number {
    return this.of(fault).length;
  }

  /** Throws unless the fault landed at least `times` times. */
  require(fault: string, times = 1): void {
    if (this.count(fault) >= times) return;
    const seen = [...new Set(this.#receipts.map((receipt) => receipt.fault))].map((name) => `${name} ${this.count(name)}`);
    throw new Error(`The fault "${fault}" landed ${this.count(fault)} of ${times} times: this test has shown nothing (seen: ${seen.join(', ') || 'none'}).`);
  }
}
