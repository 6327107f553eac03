import type { Holdfast } from '@holdfast/runtime'

/** The private parts of a runtime that know which entries it replays. */
interface QueueInternals {
  readonly replayExecutor: { readonly running: { readonly leaseEnds: ReadonlyMap<string, number> } }
}

/** The entries that a runtime regards as being replayed by itself. */
export function readRunningReplays({ deadLetters }: Holdfast): ReadonlySet<string> {
  const { replayExecutor } = deadLetters as unknown as QueueInternals
  return new Set(replayExecutor.running.leaseEnds.keys())
}
