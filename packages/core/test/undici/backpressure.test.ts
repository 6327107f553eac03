import { Agent, fetch, request } from 'undici'
import { describe, expect, it, onTestFinished } from 'vitest'
import { DispatchAttempt } from '../../src/undici/dispatch-attempt.js'
import { resilience } from '../../src/undici/index.js'
import { ResponseForwarder } from '../../src/undici/response-forwarder.js'
import { type Act, immediate, serve, until } from '../http/server.js'

const SIZE = 64_000_000

/** Starts a server with a large response that records how much of it was sent. */
function flood(): { act: Act; taken: () => number; done: () => boolean } {
  let socket: { bytesWritten: number; writableLength: number } | undefined
  let done = false
  return {
    act: (request, response) => {
      socket = request.socket
      response.writeHead(200, { 'content-length': String(SIZE) })
      response.end(Buffer.alloc(SIZE), () => (done = true))
    },
    taken: () => (socket === undefined ? 0 : socket.bytesWritten - socket.writableLength),
    done: () => done,
  }
}

function agent() {
  const plain = new Agent()
  onTestFinished(() => plain.destroy())
  return plain.compose(resilience({ retry: immediate }))
}

describe('a response that is not read', () => {
  it.each(['request', 'fetch'])('stays at the server: %s', async (way) => {
    const { act, done } = flood()
    const server = await serve(503, act)
    const options = { dispatcher: agent() }
    // The response of `fetch` is kept: undici cancels the body of a response that was collected as garbage.
    const received = way === 'request' ? await request(server.url, options) : await fetch(server.url, options)
    // Two responses of the same size arrive completely one after the other. In that time an unread one would have too.
    for (let i = 0; i < 2; i++) {
      const control = await serve(flood().act)
      const read = await request(control.url, { dispatcher: agent() })
      expect((await read.body.arrayBuffer()).byteLength).toBe(SIZE)
    }
    expect(done()).toBe(false)
    let length = 0
    for await (const chunk of received.body as AsyncIterable<Uint8Array>) length += chunk.byteLength
    expect(length).toBe(SIZE)
    await until(done)
  })
})

describe('ResponseForwarder', () => {
  const controller = () => {
    const calls: string[] = []
    return {
      calls,
      aborted: false,
      paused: false,
      reason: null,
      abort: () => void calls.push('abort'),
      pause: () => void calls.push('pause'),
      resume: () => void calls.push('resume'),
    }
  }
  const bytes = (text: string) => new TextEncoder().encode(text)

  it('delivers nothing to a paused handler, and the rest in order when it resumes', async () => {
    const source = controller()
    const heard: string[] = []
    const leg = new DispatchAttempt(
      () => false,
      () => {},
    )
    leg.onRequestStart(source, undefined)
    leg.onResponseStart(source, 103, {})
    leg.onResponseStart(source, 200, {}, 'OK')
    for (const text of ['a', 'b', 'c']) leg.onResponseData(source, bytes(text))
    leg.onResponseEnd(source, {})
    const delivery: ResponseForwarder = new ResponseForwarder(
      {
        onResponseStart: (_, status) => void heard.push(String(status)),
        onResponseData: (given, chunk) => {
          heard.push(new TextDecoder().decode(chunk))
          given.pause()
        },
        onResponseEnd: () => void heard.push('end'),
      },
      () => {},
    )
    delivery.forward(await leg.response)
    expect(heard).toEqual(['103', '200', 'a'])
    delivery.resume()
    expect(heard).toEqual(['103', '200', 'a', 'b'])
    delivery.resume()
    delivery.resume()
    expect(heard).toEqual(['103', '200', 'a', 'b', 'c', 'end'])
    expect(source.calls.filter((call) => call === 'abort')).toEqual([])
  })

  it('reports the error of a handler that throws to it once, and closes the connection', async () => {
    const source = controller()
    const errors: Error[] = []
    const leg = new DispatchAttempt(
      () => false,
      () => {},
    )
    leg.onRequestStart(source, undefined)
    leg.onResponseStart(source, 200, {})
    const delivery = new ResponseForwarder(
      {
        onResponseData: () => {
          throw new Error('cannot read this')
        },
        onResponseError: (_, error) => void errors.push(error),
      },
      () => {},
    )
    delivery.forward(await leg.response)
    leg.onResponseData(source, bytes('a'))
    leg.onResponseData(source, bytes('b'))
    leg.onResponseError(source, new Error('aborted'))
    expect(errors.map(({ message }) => message)).toEqual(['cannot read this'])
    expect(source.calls).toContain('abort')
  })

  it('forwards an abort once to the current source', async () => {
    const source = controller()
    const reasons: Error[] = []
    const before = new ResponseForwarder({}, (reason) => void reasons.push(reason))
    before.abort()
    before.abort(new Error('again'))
    expect(reasons).toMatchObject([{ name: 'AbortError', code: 'UND_ERR_ABORTED' }])
    const leg = new DispatchAttempt(
      () => false,
      () => {},
    )
    leg.onRequestStart(source, undefined)
    leg.onResponseStart(source, 200, {})
    const after = new ResponseForwarder({}, () => reasons.push(new Error('no')))
    after.forward(await leg.response)
    after.abort()
    expect([source.calls.includes('abort'), reasons.length]).toEqual([true, 1])
  })
})
