import { mkdtemp, rm } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { type Guard, type GuardOptions, guard } from 'holdfast'
import { type FakeClock, fakeClock, seededRandom } from 'holdfast/testing'
import { onTestFinished, vi } from 'vitest'
import {
  DEAD_LETTER_DEFAULTS,
  type DeadLetterOptions,
} from '../../../config/src/resolve/dead-letter-options.js'
import type { Actor, EventInput, RuntimeContext } from '../../../config/src/runtime-context.js'
import type { RetryEvent } from '../../../records/src/session.js'
import { openStore } from '../../../store/src/open/open-store.js'
import type { Store } from '../../../store/src/store.js'
import type { CallOptions, Run } from '../../src/api-types.js'
import { DeadLetters } from '../../src/dead-letters/dead-letters.js'

/** The places a queue can be kept in. `batches` is memory that has leases taken in batches, as PostgreSQL does. */
export const STORES = ['memory', 'batches', 'files', 'sqlite'] as const

/** A store of its own for a test, gone when the test is. */
export async function freshStore(kind: (typeof STORES)[number] = 'memory'): Promise<Store> {
  if (kind === 'memory') return openStore('memory')
  if (kind === 'batches') {
    const store = await openStore('memory')
    Object.assign(store.deadLetters, { leaseBatch: 100 })
    return store
  }
  const dir = await mkdtemp(join(tmpdir(), 'holdfast-dead-letters-'))
  const store = await openStore(kind === 'files' ? `files:${dir}` : `sqlite:${join(dir, 'holdfast.db')}`)
  onTestFinished(async () => {
    await store.close()
    await rm(dir, { recursive: true, force: true })
  })
  return store
}

/** What the parts of the runtime are given, with everything they said in lists. */
export function kitOf(store: Store, clock: FakeClock = fakeClock()) {
  const events: EventInput[] = []
  const audits: { actor: Actor | undefined; action: string; target: string; change: unknown }[] = []
  const lines: string[] = []
  const logs: string[] = []
  const log = (fields: object, message: string) => void logs.push(`${message} ${JSON.stringify(fields)}`)
  const kit: RuntimeContext = {
    clock,
    random: seededRandom(7),
    logger: { debug: log, info: log, warn: log, error: log },
    store,
    isDebug: () => false,
    redact: (value) =>
      typeof value === 'string' ? (value.replaceAll('hunter2', '***') as typeof value) : value,
    emit(event) {
      events.push(event)
      return event as RetryEvent
    },
    async audit(actor, action, target, change) {
      audits.push({ actor, action, target, change })
    },
    warn: (line) => void lines.push(line),
  }
  return { kit, clock, events, audits, lines, logs }
}

/** Guards by operation, as the runtime makes them of a file. */
export function runnerOf(clock: FakeClock, options: Record<string, GuardOptions> = {}): Run {
  const guards = new Map<string, Guard>()
  return async (operation, fn, call) => {
    let own = guards.get(operation)
    if (own === undefined)
      guards.set(operation, (own = guard({ retry: false, clock, name: operation, ...options[operation] })))
    const signal = call?.signal
    const result = own.run(fn, signal === undefined ? {} : { signal })
    const fallback = call?.fallback
    if (fallback === undefined) return result
    return result.catch((error: unknown) => {
      if (signal?.aborted) throw error
      return answerBy(fallback, error)
    }) as typeof result
  }
}

/** Calls a fallback, whose error gets the original one as its cause. */
async function answerBy(fallback: NonNullable<CallOptions<unknown>['fallback']>, original: unknown) {
  try {
    return await fallback(original, { attempt: 1, context: undefined })
  } catch (thrown) {
    ;(thrown as Error).cause ??= original
    throw thrown
  }
}

export interface Setup {
  options?: Partial<DeadLetterOptions>
  guards?: Record<string, GuardOptions>
  store?: Store
  clock?: FakeClock
}

/** A queue with everything around it. `options` may be changed as a reload would. */
export async function setup({ options, guards, store, clock }: Setup = {}) {
  const kept = store ?? (await freshStore())
  const parts = kitOf(kept, clock)
  const live = { options: { ...DEAD_LETTER_DEFAULTS, ...options } as DeadLetterOptions }
  const queue = new DeadLetters(parts.kit, {
    options: () => live.options,
    runOperation: runnerOf(parts.clock, guards),
    policyIdOf: (operation) => `policy of ${operation}`,
  })
  const enqueue = (itemId: string, more: object = {}) =>
    queue.enqueue({ operation: 'write', itemId, payload: { itemId }, error: new Error('down'), ...more })
  return { ...parts, store: kept, live, queue, enqueue }
}

/** The code of what a promise rejects with, and its message. */
export async function refusal(promise: Promise<unknown>): Promise<{ code: unknown; message: string }> {
  const error: unknown = await promise.then(
    (value) => {
      throw new Error(`it was not refused: ${JSON.stringify(value)}`)
    },
    (thrown: unknown) => thrown,
  )
  const { code, message } = error as { code: unknown; message: string }
  return { code, message }
}

/** Asks again until it holds: a store on disk takes turns of its own, which a fake clock knows nothing of. */
export const eventually = (holds: () => unknown): Promise<unknown> =>
  vi.waitFor(holds, { timeout: 60_000, interval: 1 })
