import assert from 'node:assert'
import { once } from 'node:events'
import { readFileSync, writeFileSync } from 'node:fs'
import { connect } from 'node:net'
import { EventEmitter } from 'node:stream'
import { describe, expect, it } from 'vitest'
import { classify } from '../../../src/classify/index.js'
import { closedPort, failure } from './servers.js'

describe('Node.js', () => {
  it('classifies errors of files', async () => {
    expect(classify(await failure(() => readFileSync('/no/such/file')))).toEqual({
      category: 'permanent',
      kind: 'not_found',
    })
    expect(classify(await failure(() => writeFileSync(import.meta.dirname, '')))).toEqual({
      category: 'transient',
      kind: 'unknown',
    })
  })

  it('classifies errors of sockets, with one address or two', async () => {
    const port = await closedPort()
    const refused = (host: string, lookup?: object) =>
      failure(() => once(connect({ host, port, autoSelectFamily: true, ...lookup }), 'connect'))
    const network = { category: 'transient', kind: 'network_error' }
    expect(classify(await refused('127.0.0.1'))).toEqual(network)
    const both = [
      { address: '::1', family: 6 },
      { address: '127.0.0.1', family: 4 },
    ]
    const lookup = (_: string, __: object, done: (error: null, addresses: object[]) => void) =>
      done(null, both)
    const error = await refused('two.test', { lookup })
    expect(error).toBeInstanceOf(AggregateError)
    expect(classify(error)).toEqual(network)
    expect(classify(new AggregateError((error as AggregateError).errors))).toEqual(network)
  })

  it('classifies programming errors', async () => {
    expect(classify(await failure(() => assert.equal(1, 2)))).toEqual({
      category: 'permanent',
      kind: 'unknown',
    })
    expect(classify(await failure(() => new URL('nonsense'))).category).toBe('permanent')
    expect(classify(await failure(() => JSON.parse('{')))).toEqual({ category: 'permanent', kind: 'unknown' })
    expect(classify(await failure(() => fetch('nonsense'))).category).toBe('permanent')
    expect(classify(await failure(() => fetch('odd://scheme'))).category).toBe('permanent')
  })

  it('distinguishes an abort from a timeout by the reason', async () => {
    const waiting = (signal: AbortSignal) => failure(() => once(new EventEmitter(), 'never', { signal }))
    expect(classify(await waiting(AbortSignal.abort()))).toEqual({ category: 'permanent', kind: 'cancelled' })
    expect(classify(await waiting(AbortSignal.abort(new DOMException('late', 'TimeoutError'))))).toEqual({
      category: 'transient',
      kind: 'timeout',
    })
  })
})
