import fc from 'fast-check'
import { HoldfastError } from 'holdfast'
import { fakeClock } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { freshStore, STORES, setup } from './setup.js'

const LEASE = 5 * 60_000

type Command =
  | { do: 'enqueue'; key?: number; payload: number; operation: 'write' | 'fetch' }
  | { do: 'replay'; at: number; by: 0 | 1; fails: boolean }
  | { do: 'batch'; by: 0 | 1; fails: number[]; limit?: number; retryFailed: boolean }
  | { do: 'die'; at: number }
  | { do: 'complete'; at: number }
  | { do: 'purge'; at: number }
  | { do: 'sweep'; status: 'pending' | 'failed' | 'completed' }
  | { do: 'pass'; ms: number }
  | { do: 'step'; ms: number }

const at = fc.nat(30)
const by = fc.constantFrom<(0 | 1)[]>(0, 1)
const command: fc.Arbitrary<Command> = fc.oneof(
  {
    weight: 4,
    arbitrary: fc.record(
      {
        do: fc.constant('enqueue' as const),
        key: fc.nat(3),
        payload: fc.nat(1),
        operation: fc.constantFrom('write' as const, 'fetch' as const),
      },
      { requiredKeys: ['do', 'payload', 'operation'] },
    ),
  },
  { weight: 4, arbitrary: fc.record({ do: fc.constant('replay' as const), at, by, fails: fc.boolean() }) },
  {
    weight: 2,
    arbitrary: fc.record(
      {
        do: fc.constant('batch' as const),
        by,
        fails: fc.array(fc.nat(30), { maxLength: 4 }),
        limit: fc.integer({ min: 1, max: 4 }),
        retryFailed: fc.boolean(),
      },
      { requiredKeys: ['do', 'by', 'fails', 'retryFailed'] },
    ),
  },
  { weight: 2, arbitrary: fc.record({ do: fc.constant('die' as const), at }) },
  fc.record({ do: fc.constant('complete' as const), at }),
  fc.record({ do: fc.constant('purge' as const), at }),
  fc.record({
    do: fc.constant('sweep' as const),
    status: fc.constantFrom('pending' as const, 'failed' as const, 'completed' as const),
  }),
  { weight: 2, arbitrary: fc.record({ do: fc.constant('pass' as const), ms: fc.nat(2 * LEASE) }) },
  fc.record({ do: fc.constant('step' as const), ms: fc.integer({ min: -LEASE, max: LEASE }) }),
)

interface Known {
  id: string
  key: string
  payload: number
  operation: string
  status: 'pending' | 'completed' | 'failed'
  /** When the lease of a worker that died expires. */
  leasedUntil: number
  failures: number
  purged: boolean
}

const MAX = 8

/** Two processes on one store, and a list that does by hand what the queue is to do. */
async function play(kind: (typeof STORES)[number], commands: readonly Command[]): Promise<void> {
  const store = await freshStore(kind)
  const clock = fakeClock()
  const options = { maxEntries: MAX }
  const sides = [await setup({ store, clock, options }), await setup({ store, clock, options })] as const
  const known: Known[] = []
  let failing = new Set<string>()
  const handled = new Map<string, Set<string>>()
  for (const { queue } of sides)
    for (const operation of ['write', 'fetch'])
      queue.handle(operation, (_, { dlqId, idempotencyKey }) => {
        handled.set(dlqId, (handled.get(dlqId) ?? new Set()).add(idempotencyKey))
        if (failing.has(dlqId)) throw new Error('told to fail')
      })
  const held = (entry: Known) => entry.leasedUntil > clock.wall()
  const present = () => known.filter(({ purged }) => !purged)
  const pick = (n: number) => known[n % Math.max(1, known.length)]
  const settle = (entry: Known) => {
    entry.leasedUntil = 0
    entry.status = failing.has(entry.id) ? 'failed' : 'completed'
    if (entry.status === 'failed') entry.failures++
  }
  const codeOf = async (promise: Promise<unknown>) =>
    promise.then(
      () => undefined,
      (error: HoldfastError) => error.code,
    )

  for (const [n, command] of commands.entries()) {
    failing = new Set()
    switch (command.do) {
      case 'enqueue': {
        const key = command.key === undefined ? `own-${n}` : `key-${command.key}`
        const { operation, payload } = command
        const same = present().find((entry) => entry.key === key)
        const code = await codeOf(
          sides[0].queue
            .enqueue({ operation, itemId: `${n}`, payload: { payload }, idempotencyKey: key })
            .then(({ dlqId: id }) => {
              if (same !== undefined) expect(id).toBe(same.id)
              else
                known.push({
                  id,
                  key,
                  payload,
                  operation,
                  status: 'pending',
                  leasedUntil: 0,
                  failures: 0,
                  purged: false,
                })
            }),
        )
        const open = present().filter(({ status }) => status !== 'completed').length
        if (same !== undefined)
          expect(code).toBe(
            same.payload === payload && same.operation === operation ? undefined : 'IDEMPOTENCY_CONFLICT',
          )
        else if (code !== undefined) expect([code, open]).toEqual(['DEAD_LETTERS_FULL', MAX])
        expect(open).toBeLessThanOrEqual(MAX)
        break
      }
      case 'replay': {
        const entry = pick(command.at)
        if (entry === undefined) break
        if (command.fails) failing.add(entry.id)
        const code = await codeOf(sides[command.by].queue.replay(entry.id))
        if (entry.purged) expect(code).toBe('DEAD_LETTER_NOT_FOUND')
        else if (entry.status === 'completed') expect(code).toBeUndefined()
        else if (held(entry)) expect(code).toBe('DEAD_LETTER_LEASED')
        else {
          expect(code).toBeUndefined()
          settle(entry)
        }
        break
      }
      case 'batch': {
        failing = new Set(command.fails.map((each) => pick(each)?.id ?? ''))
        const { retryFailed, limit } = command
        // A dead worker's entry counts as pending whatever it was before.
        const fits = present().filter(
          (entry) =>
            entry.status !== 'completed' &&
            !held(entry) &&
            (retryFailed || entry.status === 'pending' || entry.leasedUntil > 0),
        )
        const result = await sides[command.by].queue.replayBatch({ retryFailed, limit, concurrency: 1 })
        const { items } = await store.deadLetters.list({ limit: 1000 }, new Date(clock.wall()))
        const order = items.map(({ dlqId }) => dlqId)
        fits.sort((a, b) => order.indexOf(a.id) - order.indexOf(b.id))
        const taken = fits.slice(0, limit)
        taken.forEach(settle)
        const failed = taken.filter(({ status }) => status === 'failed').length
        expect(result).toEqual({ succeeded: taken.length - failed, failed, skipped: 0 })
        break
      }
      case 'die': {
        const entry = pick(command.at)
        if (entry === undefined || entry.purged) break
        const until = clock.wall() + LEASE
        const leased = await store.deadLetters.lease(
          entry.id,
          `dead-${n}`,
          new Date(until),
          new Date(clock.wall()),
        )
        if (leased.result === 'leased') entry.leasedUntil = until
        else expect(leased.result).toBe(entry.status === 'completed' ? 'done' : 'held')
        break
      }
      case 'complete': {
        const entry = pick(command.at)
        if (entry === undefined) break
        expect(await codeOf(sides[1].queue.complete(entry.id))).toBe(
          entry.purged ? 'DEAD_LETTER_NOT_FOUND' : undefined,
        )
        if (!entry.purged) Object.assign(entry, { status: 'completed', leasedUntil: 0 })
        break
      }
      case 'purge': {
        const entry = pick(command.at)
        if (entry === undefined) break
        const gone = !entry.purged && !(entry.status !== 'completed' && held(entry))
        expect(await sides[0].queue.purge({ ids: [entry.id] })).toBe(gone ? 1 : 0)
        entry.purged ||= gone
        break
      }
      case 'sweep': {
        const seen = (entry: Known) =>
          entry.status !== 'completed' && entry.leasedUntil > 0 ? 'pending' : entry.status
        const gone = present().filter(
          (entry) => seen(entry) === command.status && !(entry.status !== 'completed' && held(entry)),
        )
        expect(await sides[1].queue.purge({ status: command.status })).toBe(gone.length)
        for (const entry of gone) entry.purged = true
        break
      }
      case 'pass':
        await clock.advance(command.ms)
        break
      case 'step':
        clock.stepWall(command.ms)
        break
    }
    await compare()
  }

  async function compare(): Promise<void> {
    const { items } = await sides[0].queue.list({ limit: 1000 })
    expect(new Set(items.map(({ dlqId }) => dlqId))).toEqual(new Set(present().map(({ id }) => id)))
    for (const item of items) {
      const entry = known.find(({ id }) => id === item.dlqId) as Known
      const wanted =
        entry.status === 'completed'
          ? 'completed'
          : held(entry)
            ? 'replaying'
            : entry.leasedUntil > 0
              ? 'pending'
              : entry.status
      expect([item.status, item.processed, item.errorDetails.history?.length ?? 0]).toEqual([
        wanted,
        entry.status === 'completed',
        entry.failures,
      ])
      expect(item.originalPayload).toEqual({ payload: entry.payload })
      expect(item.createdAt <= item.lastAttempt).toBe(true)
      if (item.replayedAt != null) expect(item.lastAttempt <= item.replayedAt).toBe(true)
    }
    for (const { id, status } of known)
      expect(await sides[1].queue.isProcessed(id)).toBe(status === 'completed')
  }

  const replayed = sides
    .flatMap(({ events }) => events)
    .filter(({ eventType }) => eventType === 'dead_letter_replayed')
    .map(({ context }) => (context as { dlq_id: string }).dlq_id)
  expect(new Set(replayed).size).toBe(replayed.length)
  for (const keys of handled.values()) expect(keys.size).toBe(1)
}

describe.each(STORES)('two processes with one queue in %s', (kind) => {
  it('agree with a model in generated histories', async () => {
    await fc.assert(
      fc.asyncProperty(fc.array(command, { minLength: 1, maxLength: 40 }), (commands) =>
        play(kind, commands),
      ),
      { numRuns: kind === 'memory' ? 150 : 15 },
    )
  })
})
