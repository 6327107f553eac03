import { connect } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { expect, onTestFinished, test } from 'vitest'
import type { ServeOptions } from '../../src/serve/options.js'
import { serve } from '../../src/serve/serve.js'

/** A server whose authentication waits until it is released, with the number of requests that wait. */
async function startHeld(options: ServeOptions = {}) {
  const hf = await Holdfast.open({ config: { version: '1.2.0' }, env: {}, watch: false })
  const server = await serve(hf, { port: 0, dashboard: false, ...options })
  onTestFinished(async () => {
    await server.close()
    await hf.close()
  })
  const { values } = hf.store
  const list = values.list.bind(values)
  let isOpen = false
  const held: (() => void)[] = []
  values.list = async (prefix) => {
    if (!isOpen) await new Promise<void>((resolve) => void held.push(resolve))
    return list(prefix)
  }
  return {
    ...server,
    held,
    release: () => {
      isOpen = true
      for (const resolve of held) resolve()
    },
  }
}

/** A client that has sent a text, and what it has received. */
function send(port: number, text: string) {
  const client = connect(port, '127.0.0.1', () => client.write(text))
  onTestFinished(() => void client.destroy())
  let received = ''
  const ids = () => [...received.matchAll(/^x-request-id: (.*)\r$/gm)].map(([, id]) => id)
  const done = (count: number) =>
    new Promise<void>((resolve) => {
      client.on('close', () => resolve())
      client.on('data', () => {
        if (ids().length === count) resolve()
      })
    })
  client.on('error', () => {})
  client.on('data', (chunk) => (received += chunk.toString('latin1')))
  return { ids, done, received: () => received, isClosed: () => client.closed }
}

/** How many connections a test opens until its first head is in time. */
const MAX_CONNECTIONS = 20

const get = (id: number, more = '') =>
  `GET /api/v1/policies HTTP/1.1\r\nHost: localhost\r\nX-Request-Id: r${id}\r\n${more}\r\n`

test('handles at most ten pipelined requests of a connection at a time, and answers all in order', async () => {
  const { port, url, held, release } = await startHeld()
  const ids = Array.from({ length: 500 }, (_, i) => `r${i}`)
  const client = send(port, ids.map((_, i) => get(i)).join(''))
  const done = client.done(ids.length)
  while (held.length === 0) await fetch(`${url}/health/live`)
  for (let i = 0; i < 5; i++) await fetch(`${url}/health/live`)
  expect(held).toHaveLength(10)
  release()
  await done
  expect(client.ids()).toEqual(ids)
})

test('does not time out the head of a pipelined request that it stopped reading', async () => {
  const { port, url, held, release } = await startHeld({ headerTimeout: 60 })
  const padding = `X: ${'x'.repeat(1000)}\r\n`
  const ids = Array.from({ length: 300 }, (_, i) => `r${i}`)
  const text = ids.map((_, i) => get(i, padding)).join('')
  let client = send(port, text)
  let connections = 1
  while (held.length === 0) {
    await fetch(`${url}/health/live`)
    // On a busy machine the first head may come too late as well. A client that is still sending can lose the response.
    expect(client.received()).toMatch(/^(?:HTTP\/1\.1 408 |$)/)
    if (!client.isClosed()) continue
    expect(++connections).toBeLessThanOrEqual(MAX_CONNECTIONS)
    client = send(port, text)
  }
  const done = client.done(ids.length)
  // A head that begins later is timed out.
  const late = send(port, 'GET / HTTP/1.1\r\n')
  await late.done(1)
  expect(late.received()).toMatch(/^HTTP\/1\.1 408 /)
  release()
  await done
  expect(client.ids()).toEqual(ids)
})
