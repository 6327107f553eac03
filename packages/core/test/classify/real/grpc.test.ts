import {
  Client,
  credentials,
  Metadata,
  type requestCallback,
  Server,
  ServerCredentials,
  status,
} from '@grpc/grpc-js'
import { describe, expect, it, onTestFinished } from 'vitest'
import { classify, compileMatchers } from '../../../src/classify/index.js'
import { closedPort, failure } from './servers.js'

const bytes = { serialize: (value: Buffer) => value, deserialize: (value: Buffer) => value }
const method = {
  path: '/test/call',
  requestStream: false,
  responseStream: false,
  requestSerialize: bytes.serialize,
  requestDeserialize: bytes.deserialize,
  responseSerialize: bytes.serialize,
  responseDeserialize: bytes.deserialize,
}

async function serverThatSays(code: status | undefined): Promise<number> {
  const server = new Server()
  server.addService(
    { call: method },
    {
      call: (_: unknown, done: (error: object) => void) => {
        if (code !== undefined) done({ code, details: 'as told' })
      },
    },
  )
  onTestFinished(() => server.forceShutdown())
  return new Promise((resolve, reject) => {
    server.bindAsync('127.0.0.1:0', ServerCredentials.createInsecure(), (error, port) =>
      error ? reject(error) : resolve(port),
    )
  })
}

function call(port: number, deadline = Number.POSITIVE_INFINITY): Promise<unknown> {
  const client = new Client(`127.0.0.1:${port}`, credentials.createInsecure())
  onTestFinished(() => client.close())
  return new Promise((resolve, reject) => {
    const done: requestCallback<Buffer> = (error, value) => (error ? reject(error) : resolve(value))
    const { serialize, deserialize } = bytes
    client.makeUnaryRequest(
      method.path,
      serialize,
      deserialize,
      Buffer.from('x'),
      new Metadata(),
      { deadline },
      done,
    )
  })
}

describe('grpc-js', () => {
  it.each([
    ['UNAVAILABLE', 'transient', 'server_error'],
    ['RESOURCE_EXHAUSTED', 'transient', 'rate_limited'],
    ['ABORTED', 'transient', 'conflict'],
    ['UNAUTHENTICATED', 'critical', 'auth'],
    ['PERMISSION_DENIED', 'permanent', 'access_denied'],
    ['NOT_FOUND', 'permanent', 'not_found'],
    ['INVALID_ARGUMENT', 'permanent', 'validation'],
    ['INTERNAL', 'permanent', 'server_error'],
  ] as const)('with %s: %s %s', async (name, category, kind) => {
    const port = await serverThatSays(status[name])
    const error = await failure(() => call(port))
    expect(classify(error)).toEqual({ category, kind })
    expect(compileMatchers([`grpc:${name}`])(error, classify(error))).toBe(true)
    expect(compileMatchers(['grpc:UNKNOWN'])(error, classify(error))).toBe(false)
  })

  it('with a refused connection: network_error', async () => {
    const port = await closedPort()
    expect(classify(await failure(() => call(port)))).toEqual({
      category: 'transient',
      kind: 'network_error',
    })
  })

  it('without a response: timeout', async () => {
    const port = await serverThatSays(undefined)
    expect(classify(await failure(() => call(port, 1)))).toEqual({ category: 'transient', kind: 'timeout' })
  })
})
