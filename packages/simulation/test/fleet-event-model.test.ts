import type { RetryEvent } from '@holdfast/records'
import { beforeEach, describe, expect, it } from 'vitest'
import { APPEND } from '../../fleet/src/lua/scripts.js'
import { FleetEventModel } from '../src/invariants/fleet-event-model.js'
import type { Process, SimulatedNode } from '../src/process/simulated-node.js'
import { createSimulatedRedis } from '../src/substitutes/index.js'

const PROCESS = { name: 'n0.1', isAlive: true } as Process
const NODES = [{ name: 'n0', process: PROCESS }] as unknown as SimulatedNode[]

const event = (eventId: string) => ({ eventId }) as RetryEvent

describe('the model of the events of a fleet', () => {
  let redis = createSimulatedRedis()
  let now = 0
  let model: FleetEventModel
  let stream: {
    dropped: number
    pending: RetryEvent[]
    sending: Promise<void> | undefined
    add(event: RetryEvent): void
    redis: { isUp: boolean; run: (...args: never[]) => Promise<unknown> }
  }
  /** Executes a batch on the server, without its reply. */
  const execute = (...ids: string[]) =>
    redis.execute(
      ['EVAL', APPEND.text, 1, 'events', 'n0', 100, 1000, ...ids.map((id) => `{"event_id":"${id}"}`)],
      0,
    )
  /** Sends a batch whose reply arrives or is lost. */
  const send = (ids: readonly string[], isReplied: boolean) => {
    const run = stream.redis.run as (...args: unknown[]) => Promise<unknown>
    const texts = ids.map((id) => `{"event_id":"${id}"}`)
    isReplying = isReplied
    return run(APPEND, [], ['n0', 100, 1000, ...texts]).catch(() => {})
  }
  let isReplying = true

  beforeEach(() => {
    now = 0
    redis = createSimulatedRedis()
    model = new FleetEventModel(
      redis,
      (fn) => fn(),
      () => now,
      true,
    )
    stream = {
      dropped: 0,
      pending: [],
      sending: undefined,
      add: () => {},
      redis: {
        isUp: true,
        run: async () => {
          if (!isReplying) throw new Error('the connection was lost')
        },
      },
    }
    model.watch(PROCESS, stream)
    for (const id of ['a', 'b', 'c']) stream.add(event(id))
  })

  it('reports an event that is stored twice', async () => {
    execute('a', 'b')
    await send(['a', 'b'], false)
    expect(() => execute('a', 'b')).toThrow('events: the stream of the fleet has the event a twice')
  })

  it('reports an event that a node sends again', async () => {
    await send(['a'], false)
    const run = stream.redis.run as (...args: unknown[]) => Promise<unknown>
    const again = run(APPEND, [], ['n0', 100, 1000, '{"event_id":"a"}'])
    await expect(again).rejects.toThrow('n0.1 sends the event a twice')
  })

  it('reports an event that is stored after a later one', () => {
    execute('b')
    expect(() => execute('a')).toThrow('has the event a after a later one')
  })

  it('accepts a late execution of a request that has failed', async () => {
    await send(['a'], false)
    stream.dropped++
    execute('b')
    execute('a')
  })

  it('reports events that were neither sent nor counted as dropped', async () => {
    await send(['a', 'b'], true)
    stream.pending.push(event('c'))
    model.checkSent(NODES)
    stream.pending.pop()
    expect(() => model.checkSent(NODES)).toThrow('n0 has published 3 events for the fleet, and 2 were sent')
    stream.dropped++
    model.checkSent(NODES)
  })

  it('accepts the failure of a batch that was sent before the runtime was open', async () => {
    let fail = () => {}
    const sending = new Promise<void>((resolve) => {
      fail = resolve
    })
    const early = { ...stream, sending }
    model.watch(PROCESS, early)
    early.dropped += 3
    model.checkSent(NODES)
    fail()
    await sending
    model.checkSent(NODES)
    early.dropped++
    expect(() => model.checkSent(NODES)).toThrow('n0 has published 0 events for the fleet, and 1 were sent')
  })

  it('reports a batch that does not end, and events that are left after a close', () => {
    stream.redis.run = () => new Promise(() => {})
    model.watch(PROCESS, stream)
    void (stream.redis.run as (...args: unknown[]) => Promise<unknown>)(APPEND, [], ['n0', 100, 1000])
    now = 10_001
    expect(() => model.checkSent(NODES)).toThrow('hangs: a batch of events of n0 has not ended in 10001 ms')
    stream.pending.push(event('d'))
    expect(() => model.checkNoneLeft(NODES)).toThrow('n0 is closed and has not sent 1 events')
  })

  it('reports events that wait although Redis is available', async () => {
    await send(['a', 'b'], true)
    stream.pending.push(event('c'))
    model.checkSent(NODES)
    now = 4000
    expect(() => model.checkSent(NODES)).toThrow('n0 has not sent 1 events in 4000 ms')
  })
})
