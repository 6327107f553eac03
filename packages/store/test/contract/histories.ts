import fc from 'fast-check'
import { describe, expect, it } from 'vitest'
import type { DeadLetterStore } from '../../src/dead-letter-store.js'
import type { Bench } from '../contract.js'
import { Model } from './model.js'
import { at, letter } from './records.js'

const id = fc.integer({ min: 0, max: 6 }).map((n) => `dlq_${n}`)
const owner = fc.constantFrom('ann', 'bob')
const operations = ['a', 'b']
const itemOf = (n: number) => `item${n % 3}`
const lasts = fc.integer({ min: 1, max: 40 })

/** A step: an operation after a change of the clock, which is mostly forward. */
const step = fc.record({
  moves: fc.oneof(
    { weight: 8, arbitrary: fc.nat(15) },
    { weight: 1, arbitrary: fc.integer({ min: -30, max: 0 }) },
    { weight: 1, arbitrary: fc.constant(86_400) },
  ),
  does: fc.oneof(
    {
      weight: 3,
      arbitrary: fc.record({ op: fc.constant('add' as const), n: fc.nat(6), other: fc.boolean() }),
    },
    { weight: 2, arbitrary: fc.record({ op: fc.constant('lease' as const), id, owner, lasts }) },
    {
      weight: 2,
      arbitrary: fc.record({
        op: fc.constant('leaseNext' as const),
        owner,
        lasts,
        limit: fc.integer({ min: 1, max: 3 }),
        requested: fc.boolean(),
        statuses: fc.subarray(['pending', 'failed'] as const),
        operations: fc.option(fc.subarray(operations), { nil: undefined }),
        ids: fc.option(fc.array(id, { maxLength: 4 }), { nil: undefined }),
      }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('renew' as const), id, owner, lasts }) },
    {
      weight: 3,
      arbitrary: fc.record({
        op: fc.constant('settle' as const),
        id,
        owner,
        status: fc.constantFrom('completed' as const, 'failed' as const, 'pending' as const),
      }),
    },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('complete' as const), id }) },
    { weight: 1, arbitrary: fc.record({ op: fc.constant('request' as const), id }) },
    {
      weight: 2,
      arbitrary: fc.record({
        op: fc.constant('select' as const),
        itemId: fc.nat(3).map(itemOf),
        status: fc.option(fc.subarray(['pending', 'completed', 'failed'] as const), { nil: undefined }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({
        op: fc.constant('purge' as const),
        status: fc.option(fc.constantFrom('pending' as const, 'completed' as const, 'failed' as const), {
          nil: undefined,
        }),
      }),
    },
    {
      weight: 1,
      arbitrary: fc.record({ op: fc.constant('deleteProcessedIds' as const), days: fc.nat(2) }),
    },
  ),
})

type Does = (typeof step extends fc.Arbitrary<infer S> ? S : never)['does']

const error = { errorType: 'Error', errorMessage: 'again', retryCount: 0 }

/** Runs an operation on the store and the model, and returns both results in the same form. */
async function ask(dlq: DeadLetterStore, model: Model, does: Does, now: number): Promise<[unknown, unknown]> {
  const until = now + ('lasts' in does ? does.lasts : 0)
  switch (does.op) {
    case 'add': {
      const { n } = does
      const entry = {
        key: `key${n}`,
        payload: does.other ? 'other' : n,
        operation: operations[n % 2] as string,
        itemId: itemOf(n),
      }
      const [added] = await dlq.add(
        [
          letter(n, {
            idempotencyKey: entry.key,
            originalPayload: entry.payload,
            operationType: entry.operation,
            itemId: entry.itemId,
            createdAt: at(now),
            lastAttempt: at(now),
          }),
        ],
        { maxEntries: 3 },
      )
      return [added?.result, model.add({ ...entry, id: `dlq_${n}`, created: now }, 3)]
    }
    case 'lease':
      return [
        (await dlq.lease(does.id, does.owner, at(until), at(now))).result,
        model.lease(does.id, does.owner, until, now),
      ]
    case 'leaseNext':
      return [
        (await dlq.leaseNext(does, does.owner, at(until), at(now))).map(({ dlqId }) => dlqId),
        model.leaseNext(does, does.owner, until, now),
      ]
    case 'renew':
      return [
        await dlq.renew(does.id, does.owner, at(until), at(now)),
        model.renew(does.id, does.owner, until, now),
      ]
    case 'settle': {
      const settlement = { status: does.status, at: at(now), ...(does.status === 'failed' ? { error } : {}) }
      const settled = await dlq.settle(does.id, does.owner, settlement)
      return [settled !== undefined, model.settle(does.id, does.owner, does.status, now)]
    }
    case 'complete':
      return [(await dlq.complete(does.id, at(now))) !== undefined, model.complete(does.id, now)]
    case 'request':
      return [(await dlq.request(does.id, at(now))) !== undefined, model.request(does.id)]
    case 'select': {
      const { items } = await dlq.list({ itemId: does.itemId, status: does.status }, at(now))
      return [items.map(({ dlqId }) => dlqId), model.select(does.itemId, does.status, now)]
    }
    case 'purge':
      return [await dlq.purge({ status: does.status }, at(now)), model.purge(does.status, now)]
    case 'deleteProcessedIds': {
      const before = now - does.days * 86_400
      return [await dlq.deleteProcessedIds(at(before)), model.deleteProcessedIds(before)]
    }
  }
}

async function view(dlq: DeadLetterStore, now: number) {
  const { items } = await dlq.list({ limit: 100 }, at(now))
  for (const entry of items) {
    expect(entry.createdAt.getTime()).toBeLessThanOrEqual(entry.lastAttempt.getTime())
    if (entry.replayedAt != null)
      expect(entry.lastAttempt.getTime()).toBeLessThanOrEqual(entry.replayedAt.getTime())
    expect(entry.processed).toBe(entry.status === 'completed')
  }
  return items.map((entry) => ({
    id: entry.dlqId,
    status: entry.status,
    requested: entry.replayRequestedAt != null,
    failures: entry.errorDetails.history?.length ?? 0,
  }))
}

export function describeHistories(bench: Bench): void {
  describe('dead letters: generated histories', () => {
    it('matches a plain model in generated histories, on one store or two', async () => {
      const stores = [bench.store.deadLetters]
      if (bench.shared) stores.push((await bench.another()).deadLetters)
      await fc.assert(
        fc.asyncProperty(fc.array(step, { minLength: 5, maxLength: 40 }), fc.nat(), async (steps, salt) => {
          const model = new Model()
          let now = 1000
          await stores[0]?.purge({}, at(10_000_000))
          await stores[0]?.deleteProcessedIds(at(10_000_000))
          for (const [i, { moves, does }] of steps.entries()) {
            now += moves
            const dlq = stores[(salt + i * 7) % stores.length] as DeadLetterStore
            const [got, expected] = await ask(dlq, model, does, now)
            expect(got, `step ${i}: ${JSON.stringify(does)}`).toEqual(expected)
            expect(await view(stores[(salt + i) % stores.length] as DeadLetterStore, now)).toEqual(
              model.view(now),
            )
          }
          for (let n = 0; n < 7; n++)
            expect(await stores[0]?.isProcessed(`dlq_${n}`)).toBe(model.processed.has(`dlq_${n}`))
        }),
        { numRuns: bench.shared ? 20 : 200 },
      )
    })
  })
}
