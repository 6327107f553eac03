import type fc from 'fast-check'

/** Code that receives untrusted bytes, and the properties that must hold for all of them. */
export interface FuzzTarget {
  /** The name of the target, of its corpus folder and of its file. */
  readonly name: string
  /** Cases with the structure that the code expects. */
  readonly cases: fc.Arbitrary<Uint8Array>
  /** Texts that mutations insert. */
  readonly dictionary: readonly string[]
  /** How many cases run at a time. @defaultValue 1 */
  readonly concurrency?: number
  /** After how many cases the session is closed and opened again, where cases change its state. */
  readonly reopenEvery?: number
  /** Starts the servers that the cases need. Returns the reason where they are not available. */
  open(): Promise<FuzzSession | string>
}

/** A started target. */
export interface FuzzSession {
  /**
   * Runs one case. Throws, or rejects, if a property does not hold. Returns false if the bytes are no input of the code, so that they
   * do not count. The lane is below the concurrency of the target.
   */
  check(bytes: Buffer, lane: number): CaseResult | Promise<CaseResult>
  /** Checks what holds for all cases together, and stops the servers. */
  close(): Promise<void>
}

/** False if the bytes of a case are no input of the code. */
type CaseResult = void | false
