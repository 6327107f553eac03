import { seededRandom } from 'holdfast/testing'
import { describe, expect, it } from 'vitest'
import { event } from '../../store/test/contract/records.js'
import { MemoryModel } from '../src/invariants/memory-model.js'
import { measureState } from '../src/invariants/state-size.js'
import type { SimulatedNode } from '../src/process/simulated-node.js'
import { JOURNAL_STATEMENT } from '../src/substitutes/postgres/journal-statements.js'
import { createSimulatedPostgres } from '../src/substitutes/postgres/server.js'
import { PostgresSession } from '../src/substitutes/postgres/session.js'
import { createSimulatedPostgresStore } from '../src/substitutes/postgres/store.js'
import { TestNetwork } from './substitutes/links.js'

class Queue {
  readonly items: unknown[] = []
  readonly names = new Map<string, object>()
}

const measure = (root: object) => measureState(root, () => false)

describe('the size of a state', () => {
  it('counts the elements of collections by their class', () => {
    const queue = new Queue()
    queue.items.push({ text: 'a' }, { text: 'b' })
    queue.names.set('c', queue)
    const { objects, elements } = measure({ queue })
    expect(Object.fromEntries(elements)).toEqual({ Queue: 3 })
    // The root, the queue, its two collections and two items.
    expect(objects).toBe(6)
  })

  it('counts the listeners of signals', () => {
    const controller = new AbortController()
    controller.signal.addEventListener('abort', () => {})
    expect(measure({ controller }).elements.get('AbortSignal')).toBe(1)
  })

  it('does not follow references to the outside', () => {
    const queue = new Queue()
    queue.items.push(queue)
    expect(measureState({ queue }, (value) => value === queue).objects).toBe(1)
  })
})

describe('the state of a store', () => {
  it('has the same size for any number of records in a statement without a reply', async () => {
    const sizes = []
    for (const count of [1, 100]) {
      const network = new TestNetwork()
      const store = createSimulatedPostgresStore({
        host: { postgres: createSimulatedPostgres(), now: () => network.clock.wall() },
        node: 'n1',
        clock: network.clock,
        random: seededRandom(1),
        connect: network.connect,
      })
      await store.open()
      await store.events.append([event(0)])
      network.isStopped = true
      store.events.append(Array.from({ length: count }, (_, i) => event(i))).catch(() => {})
      await network.clock.advance(10)
      sizes.push(measureState(store, () => false).elements.get('Client'))
    }
    expect(sizes[1]).toBe(sizes[0])
  })
})

describe('bounded memory', () => {
  const createModel = (runtime: object, { timerCount = 0, startedCount = 0, activeCount = 0 } = {}) => {
    const process = { name: 'n1.1', clock: { timerCount }, runtime: { ...runtime, store: {} } }
    const nodes = [{ process }] as unknown as SimulatedNode[]
    return { nodes, model: new MemoryModel(() => ({ startedCount, activeCount })) }
  }
  const createQueue = (length: number) => {
    const queue = new Queue()
    queue.items.push(...Array.from({ length }, () => 1))
    return { queue }
  }

  it('permits the state of active calls, and of calls whose records wait', () => {
    const active = createModel(createQueue(40), { startedCount: 4, activeCount: 4 })
    active.model.checkState(active.nodes, true)
    const waiting = createModel(createQueue(40), { startedCount: 4 })
    waiting.model.checkState(waiting.nodes, false)
  })

  it('permits transactions that the server executes while everything is at rest', () => {
    const session = new PostgresSession(createSimulatedPostgres(), {})
    const createPartition = `${JOURNAL_STATEMENT}${JSON.stringify(['attachPartition', 'events', 'p1', 0, 1])}`
    session.execute('BEGIN', [], 0, false)
    session.execute(createPartition, [], 0, false)
    expect(measure(session).elements.get('PostgresSession')).toBe(1)
    const { nodes, model } = createModel({ session })
    model.checkState(nodes, true)
  })

  it('is violated by the state of calls that have ended', () => {
    const { nodes, model } = createModel(createQueue(40), { startedCount: 4 })
    expect(() => model.checkState(nodes, true)).toThrow(
      'memory: n1.1 has 40 elements in Queue with 0 active of 4 calls, at rest: expected at most 0',
    )
  })

  it('is violated by objects outside of collections', () => {
    type Item = { next: Item | undefined }
    let last: Item = { next: undefined }
    for (let count = 0; count < 2000; count++) last = { next: last }
    const { nodes, model } = createModel({ last })
    expect(() => model.checkState(nodes, false)).toThrow(/^memory: n1.1 has 2003 objects/)
  })

  it('is violated by timers of calls that have ended', () => {
    const busy = createModel({}, { timerCount: 90, activeCount: 10 })
    busy.model.checkTimers(busy.nodes)
    const idle = createModel({}, { timerCount: 90 })
    expect(() => idle.model.checkTimers(idle.nodes)).toThrow(/^memory: n1.1 has 90 timers/)
  })
})
