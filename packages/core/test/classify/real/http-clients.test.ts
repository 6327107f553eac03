import axios from 'axios'
import { Gaxios } from 'gaxios'
import got from 'got'
import ky from 'ky'
import { Agent, interceptors, request } from 'undici'
import { describe, expect, it } from 'vitest'
import { classify } from '../../../src/classify/index.js'
import { closedPort, failure, httpServer } from './servers.js'

interface Client {
  get(url: string): unknown
  /** Uses the shortest timeout that the client supports. */
  hurried(url: string): unknown
  aborted(url: string, signal: AbortSignal): unknown
}

const gaxios = new Gaxios()
const throwing = new Agent().compose(interceptors.responseError())
const CLIENTS: { [name: string]: Client } = {
  axios: {
    get: (url) => axios.get(url),
    hurried: (url) => axios.get(url, { timeout: 1 }),
    aborted: (url, signal) => axios.get(url, { signal }),
  },
  got: {
    get: (url) => got(url, { retry: { limit: 0 } }),
    hurried: (url) => got(url, { retry: { limit: 0 }, timeout: { response: 1 } }),
    aborted: (url, signal) => got(url, { retry: { limit: 0 }, signal }),
  },
  ky: {
    get: (url) => ky(url, { retry: 0 }),
    hurried: (url) => ky(url, { retry: 0, timeout: 1 }),
    aborted: (url, signal) => ky(url, { retry: 0, signal }),
  },
  gaxios: {
    get: (url) => gaxios.request({ url, retry: false }),
    hurried: (url) => gaxios.request({ url, retry: false, timeout: 1 }),
    aborted: (url, signal) => gaxios.request({ url, retry: false, signal }),
  },
  'undici.request': {
    get: (url) => request(url, { dispatcher: throwing }),
    hurried: (url) => request(url, { headersTimeout: 1 }),
    aborted: (url, signal) => request(url, { signal }),
  },
  fetch: {
    get: (url) => fetch(url).then((response) => Promise.reject(response)),
    hurried: (url) => fetch(url, { signal: AbortSignal.abort(new DOMException('late', 'TimeoutError')) }),
    aborted: (url, signal) => fetch(url, { signal }),
  },
}

describe.each(Object.entries(CLIENTS))('%s', (_, client) => {
  it.each([
    [503, 'transient', 'server_error'],
    [500, 'transient', 'server_error'],
    [429, 'transient', 'rate_limited'],
    [408, 'transient', 'timeout'],
    [400, 'permanent', 'validation'],
    [401, 'critical', 'auth'],
    // 403 with a Retry-After is how GitHub limits rates; without one it is permanent.
    [403, 'transient', 'rate_limited'],
    [404, 'permanent', 'not_found'],
    [409, 'permanent', 'conflict'],
    [501, 'permanent', 'server_error'],
  ])('with %i: %s %s, with its retryAfter', async (status, category, kind) => {
    const url = await httpServer({ status, headers: { 'Retry-After': '2' } })
    const error = await failure(() => client.get(url))
    expect(classify(error)).toEqual({ category, kind, httpStatus: status, retryAfter: 2000 })
  })

  it('with a refused connection: network_error', async () => {
    const port = await closedPort()
    const error = await failure(() => client.get(`http://127.0.0.1:${port}/`))
    expect(classify(error)).toEqual({ category: 'transient', kind: 'network_error' })
  })

  it('with a closed connection: network_error', async () => {
    const url = await httpServer('broken')
    expect(classify(await failure(() => client.get(url)))).toEqual({
      category: 'transient',
      kind: 'network_error',
    })
  })

  it('without a response: timeout', async () => {
    const url = await httpServer('silent')
    expect(classify(await failure(() => client.hurried(url)))).toEqual({
      category: 'transient',
      kind: 'timeout',
    })
  })

  it('aborted: cancelled', async () => {
    const url = await httpServer('silent')
    const controller = new AbortController()
    const call = failure(() => client.aborted(url, controller.signal))
    controller.abort()
    expect(classify(await call)).toEqual({ category: 'permanent', kind: 'cancelled' })
  })
})
