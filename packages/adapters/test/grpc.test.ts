import * as grpc from '@grpc/grpc-js'
import { Holdfast } from '@holdfast/runtime'
import { type Guard, type GuardOptions, guard, sessionOf } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { fakeClock } from 'holdfast/testing'
import { afterAll, afterEach, beforeAll, describe, expect, it } from 'vitest'
import { createGrpcInterceptor, type GrpcInterceptorOptions } from '../src/grpc/index.js'
import { type GrpcTestServer, ORDERS, startGrpcServer } from './grpc-server.js'
import { skipDelays } from './retry-clock.js'

const { UNAVAILABLE, NOT_FOUND, ABORTED, RESOURCE_EXHAUSTED, DEADLINE_EXCEEDED, CANCELLED } = grpc.status
const IMMEDIATE = { backoffType: 'immediate', maxAttempts: 3 } as const

let server: GrpcTestServer
const clients: grpc.Client[] = []
beforeAll(async () => {
  server = await startGrpcServer()
})
afterEach(() => clients.splice(0).forEach((client) => client.close()))
afterAll(() => server.close())

// oxlint-disable-next-line no-explicit-any -- grpc-js declares the methods of such clients without types
type Method = (...args: any[]) => any
type ServiceClient = grpc.Client & Record<'get' | 'list' | 'send', Method>
const OrdersClient = grpc.makeGenericClientConstructor(ORDERS, 'Orders')

function createClient(
  options: GuardOptions | Pick<Guard, 'run'>,
  interceptorOptions?: GrpcInterceptorOptions,
): ServiceClient {
  const orders = 'run' in options ? options : guard({ retry: IMMEDIATE, ...options })
  const interceptors = [createGrpcInterceptor(grpc, orders, interceptorOptions)]
  const client = new OrdersClient(server.address, grpc.credentials.createInsecure(), { interceptors })
  clients.push(client)
  return client as unknown as ServiceClient
}

/** Makes a unary call, and returns the text of the response or the error. */
const get = (client: ServiceClient, options: grpc.CallOptions = {}): Promise<unknown> =>
  new Promise((resolve) =>
    client.get(Buffer.from('42'), new grpc.Metadata(), options, (error: Error | null, value: Buffer) =>
      resolve(error ?? value.toString()),
    ),
  )

const list = (client: ServiceClient): Promise<unknown> =>
  new Promise((resolve) => {
    const parts: string[] = []
    const stream = client.list(Buffer.from('all'))
    stream.on('data', (part: Buffer) => parts.push(part.toString()))
    stream.on('error', resolve)
    stream.on('end', () => resolve(parts))
  })

describe('unary calls', () => {
  it('are retried until they succeed, and send the number of previous attempts', async () => {
    server.script([UNAVAILABLE, ABORTED, 'order'])
    expect(await get(createClient({}))).toBe('order 42')
    expect(server.received.map((metadata) => metadata.get('grpc-previous-rpc-attempts'))).toEqual([
      [],
      ['1'],
      ['2'],
    ])
  })

  it('end with the status of the last attempt, whose error with the session is the cause', async () => {
    server.script([UNAVAILABLE, RESOURCE_EXHAUSTED, UNAVAILABLE])
    const error = (await get(createClient({ name: 'orders' }))) as grpc.ServiceError
    expect(error).toMatchObject({ code: UNAVAILABLE, details: 'status 14' })
    expect(error.metadata).toBeInstanceOf(grpc.Metadata)
    expect(sessionOf(error.cause)).toMatchObject({ operation: 'orders', stopped: 'attempts_spent' })
    expect(sessionOf(error.cause)?.attempts).toHaveLength(3)
  })

  it('are not retried after a permanent status', async () => {
    server.script([NOT_FOUND])
    expect(await get(createClient({}))).toMatchObject({ code: NOT_FOUND })
    expect(server.received).toHaveLength(1)
  })

  it('callOptions change the calls of one method', async () => {
    server.script([UNAVAILABLE])
    const callOptions = (path: string) =>
      path === '/shop.Orders/Get' ? { retry: false as const } : undefined
    await get(createClient({}, { callOptions }))
    expect(server.received).toHaveLength(1)
  })

  it('the first message, metadata and status reach the caller once', async () => {
    server.script([UNAVAILABLE, 'order'])
    const client = createClient({})
    const events: unknown[] = []
    await new Promise<void>((resolve) => {
      const call = client.get(Buffer.from('1'), (error: unknown, value: Buffer) =>
        events.push(error, `${value}`),
      )
      call.on('metadata', () => events.push('metadata'))
      call.on('status', ({ code }: grpc.StatusObject) => {
        events.push(code)
        resolve()
      })
    })
    expect(events).toEqual(['metadata', null, 'order 1', 0])
  })
})

describe('the pushback of a server', () => {
  const pushback = (value: string, code = UNAVAILABLE) => ({
    code,
    trailers: { 'grpc-retry-pushback-ms': value },
  })

  it('is the exact delay, after which the backoff restarts', async () => {
    const clock = fakeClock()
    const orders = guard({ clock, retry: { maxAttempts: 5, baseDelay: 100 } })
    const delays = skipDelays(orders, clock)
    server.script([UNAVAILABLE, pushback('7'), UNAVAILABLE, UNAVAILABLE, 'order'])
    expect(await get(createClient(orders))).toBe('order 42')
    expect(delays).toEqual([100, 7, 100, 200])
  })

  it('of 0 retries at once', async () => {
    const orders = guard({ clock: fakeClock() })
    server.script([pushback('0'), 'order'])
    expect(await get(createClient(orders))).toBe('order 42')
  })

  it.each(['-1', 'soon', '', '1.5', '99999999999'])('of %j stops the retries', async (value) => {
    server.script([pushback(value), 'order'])
    const error = (await get(createClient({}))) as grpc.ServiceError
    expect(error).toMatchObject({ code: UNAVAILABLE })
    expect(sessionOf(error.cause)?.stopped).toBe('not_retryable')
  })

  it('does not make a permanent status retryable', async () => {
    server.script([pushback('1', NOT_FOUND)])
    expect(await get(createClient({}))).toMatchObject({ code: NOT_FOUND })
  })
})

describe('the deadline of a call', () => {
  it('ends a call that waits for a response, with DEADLINE_EXCEEDED', async () => {
    server.script(['hang'])
    // The deadline of grpc-js is real time.
    const error = await get(createClient({}), { deadline: systemClock.wall() + 100 })
    expect(error).toMatchObject({ code: DEADLINE_EXCEEDED })
    expect(server.received.length).toBeLessThanOrEqual(1)
  })

  it('a delay that would pass it is not started', async () => {
    server.script([UNAVAILABLE])
    const orders = guard({ retry: { baseDelay: '30s' } })
    const error = (await get(createClient(orders), {
      deadline: systemClock.wall() + 20_000,
    })) as grpc.ServiceError
    expect(error).toMatchObject({ code: UNAVAILABLE })
    expect(sessionOf(error.cause)?.stopped).toBe('deadline')
  })

  it('does not extend the total timeout of the guard', async () => {
    server.script(['hang'])
    const clock = fakeClock()
    const received = server.nextCall()
    const call = get(createClient({ clock, timeout: { total: 1000 } }), {
      deadline: systemClock.wall() + 60_000,
    })
    await received
    const cancelled = server.nextCancel()
    await clock.advance(1000)
    expect(await call).toMatchObject({ code: DEADLINE_EXCEEDED, cause: { code: 'TOTAL_TIMEOUT' } })
    await cancelled
  })

  it('ends a call of the runtime during a delay', async () => {
    const policies = { orders: { maxAttempts: 2, baseDelay: '30s', totalTimeout: '60s' } }
    const hf = await Holdfast.open({ config: { policies } })
    server.script([UNAVAILABLE])
    const error = await get(createClient(hf.guard('orders')), { deadline: systemClock.wall() + 200 })
    expect(error).toMatchObject({ code: DEADLINE_EXCEEDED })
    await hf.close()
  })
})

describe('timeouts and cancellation', () => {
  it('the attempt timeout of the guard cancels an attempt and retries', async () => {
    const clock = fakeClock()
    server.script(['hang', 'order'])
    const received = server.nextCall()
    const call = get(createClient({ clock, timeout: { attempt: 1000 } }))
    await received
    const cancelled = server.nextCancel()
    await clock.advance(1000)
    expect(await call).toBe('order 42')
    await cancelled
  })

  it('a cancelled call ends with CANCELLED, and the server is notified', async () => {
    server.script(['hang'])
    const received = server.nextCall()
    const cancelled = server.nextCancel()
    let call: { cancel(): void } | undefined
    const outcome = new Promise((resolve) => {
      call = createClient({}).get(Buffer.from('1'), resolve)
    })
    await received
    call?.cancel()
    expect(await outcome).toMatchObject({ code: CANCELLED, details: 'Cancelled on client' })
    await cancelled
    expect(server.received).toHaveLength(1)
  })

  it('a call can be cancelled during the delay of a retry', async () => {
    server.script([UNAVAILABLE])
    const orders = guard({ clock: fakeClock() })
    let call: { cancel(): void } | undefined
    orders.on(({ type }) => type === 'retry_scheduled' && call?.cancel())
    const outcome = new Promise((resolve) => {
      call = createClient(orders).get(Buffer.from('1'), resolve)
    })
    expect(await outcome).toMatchObject({ code: CANCELLED })
    expect(server.received).toHaveLength(1)
  })
})

describe('the breaker of the guard', () => {
  it('rejects unary calls and streams with UNAVAILABLE while it is open', async () => {
    server.script([UNAVAILABLE])
    const client = createClient({ retry: false, breaker: { failureThreshold: 1 } })
    await get(client)
    expect(await get(client)).toMatchObject({ code: UNAVAILABLE, cause: { code: 'CIRCUIT_OPEN' } })
    expect(await list(client)).toMatchObject({ code: UNAVAILABLE, cause: { code: 'CIRCUIT_OPEN' } })
    expect(server.received).toHaveLength(1)
  })

  it('counts failed streams', async () => {
    server.script([UNAVAILABLE])
    const orders = guard({ breaker: { failureThreshold: 2 } })
    const client = createClient(orders)
    await list(client)
    await list(client)
    expect(orders.breaker?.state).toBe('open')
    expect(server.received).toHaveLength(2)
  })
})

describe('calls with streams', () => {
  it('a stream of responses is passed through', async () => {
    server.script(['a b c'])
    expect(await list(createClient({}))).toEqual(['a', 'b', 'c'])
  })

  it('a stream of requests waits for the guard and is passed through', async () => {
    server.script(['a', 'sum'])
    const client = createClient({ bulkhead: { limit: 1, queue: 1 } })
    const sum = new Promise((resolve) => {
      const stream = client.send((error: Error | null, value: Buffer) => resolve(error ?? value.toString()))
      for (const part of ['1', '2', '3']) stream.write(Buffer.from(part))
      stream.end()
    })
    expect(await sum).toBe('a 1,2,3')
    expect(await get(client)).toBe('sum 42')
  })

  it('a failed stream has one attempt', async () => {
    server.script([UNAVAILABLE, 'a'])
    expect(await list(createClient({}))).toMatchObject({ code: UNAVAILABLE })
    expect(server.received).toHaveLength(1)
  })

  it('a stream that waits for the guard ends at its deadline', async () => {
    server.script(['hang'])
    const client = createClient({ bulkhead: { limit: 1, queue: 1 } })
    const received = server.nextCall()
    const running = client.list(Buffer.from('all'))
    running.on('error', () => {}).resume()
    await received
    const deadline = systemClock.wall() + 20
    const waiting = client.list(Buffer.from('all'), new grpc.Metadata(), { deadline })
    const error = await new Promise((resolve) => waiting.on('error', resolve).resume())
    running.cancel()
    expect(error).toMatchObject({ code: DEADLINE_EXCEEDED })
    expect(server.received).toHaveLength(1)
  })

  it('a cancelled stream ends with CANCELLED and does not count for the breaker', async () => {
    server.script(['hang'])
    const orders = guard({ breaker: { failureThreshold: 1 } })
    const received = server.nextCall()
    const stream = createClient(orders).list(Buffer.from('all'))
    const ended = new Promise((resolve) => stream.on('error', resolve))
    stream.resume()
    await received
    stream.cancel()
    expect(await ended).toMatchObject({ code: CANCELLED })
    expect(orders.breaker?.state).toBe('closed')
  })
})

describe('with the runtime', () => {
  it('calls are recorded as calls of the operation', async () => {
    const hf = await Holdfast.open({
      config: { policies: { orders: { maxAttempts: 2, backoffType: 'immediate' } } },
    })
    server.script([UNAVAILABLE])
    const callOptions = (path: string) => ({ payload: { path }, itemId: 'order-42' })
    await get(createClient(hf.guard('orders'), { callOptions }))
    const { items } = await hf.sessions.list({ operation: 'orders' })
    expect(items.map(({ attempts }) => attempts.length)).toEqual([2])
    expect((await hf.deadLetters.list({ operation: 'orders' })).items).toHaveLength(1)
    await hf.close()
  })
})
