// A `timeout` of `callOptions` replaced the deadline of the call, so that a delay was started that passes it.
import * as grpc from '@grpc/grpc-js'
import { guard, sessionOf } from 'holdfast'
import { systemClock } from 'holdfast/internal'
import { afterAll, beforeAll, expect, it } from 'vitest'
import { createGrpcInterceptor } from '../../src/grpc/index.js'
import type { AdapterCallOptions } from '../../src/guard.js'
import { type GrpcTestServer, startGrpcServer } from '../grpc-server.js'

const { UNAVAILABLE } = grpc.status
let server: GrpcTestServer
beforeAll(async () => {
  server = await startGrpcServer()
})
afterAll(() => server.close())

/** Makes a call that fails with UNAVAILABLE and waits 30 s before its retry. */
async function failingCall(
  timeout: AdapterCallOptions['timeout'],
  deadline?: number,
): Promise<grpc.ServiceError> {
  server.script([UNAVAILABLE])
  const orders = guard({ retry: { baseDelay: '30s', jitterMax: 0 } })
  const interceptors = [createGrpcInterceptor(grpc, orders, { callOptions: () => ({ timeout }) })]
  const client = new grpc.Client(server.address, grpc.credentials.createInsecure(), { interceptors })
  const bytes = (value: Buffer) => value
  const error = await new Promise<grpc.ServiceError | null>((resolve) =>
    client.makeUnaryRequest(
      '/shop.Orders/Get',
      bytes,
      bytes,
      Buffer.from('42'),
      new grpc.Metadata(),
      deadline === undefined ? {} : { deadline: systemClock.wall() + deadline },
      resolve,
    ),
  )
  client.close()
  return error as grpc.ServiceError
}

it.each([
  // Shorter than the deadline, and longer than an attempt takes on a busy machine.
  ['an attempt timeout', { attempt: '15s' }],
  ['a later total timeout', { total: '60s' }],
  ['false', false],
] as const)('the deadline of a call applies beside %s of callOptions', async (_, timeout) => {
  const error = await failingCall(timeout, 20_000)
  expect(error).toMatchObject({ code: UNAVAILABLE })
  expect(sessionOf(error.cause)?.stopped).toBe('deadline')
})

it.each([
  ['before the deadline', 60_000],
  ['without a deadline', undefined],
])('a total timeout of callOptions applies %s', async (_, deadline) => {
  const error = await failingCall({ total: '20s' }, deadline)
  expect(error).toMatchObject({ code: UNAVAILABLE })
  expect(sessionOf(error.cause)?.stopped).toBe('deadline')
})

it('a total timeout of callOptions that is not valid is rejected', async () => {
  const error = await failingCall({ total: 'soon' as never }, 20_000)
  expect(error.cause).toMatchObject({ code: 'INVALID_OPTIONS' })
})
