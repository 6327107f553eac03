import { once } from 'node:events'
import { connect } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../../src/serve/serve.js'

const HEAD = 'PUT /api/v1/policies/x HTTP/1.1\r\nHost: localhost\r\nContent-Type: application/json\r\n'

test.each([
  ['with a length', `${HEAD}Content-Length: 5000\r\n\r\n{"max_attempts":`],
  ['in chunks', `${HEAD}Transfer-Encoding: chunked\r\n\r\n10\r\n{"max_attempts":\r\n`],
  [
    'of a configuration',
    'POST /api/v1/config/validate HTTP/1.1\r\nHost: localhost\r\nContent-Length: 5000\r\n\r\nversion:',
  ],
])('a client that disconnects in the middle of a body %s is not logged as a failure', async (_, part) => {
  const hf = await Holdfast.open({ config: { version: '1.1.0' }, env: {}, watch: false })
  const logged: unknown[] = []
  const server = await serve(hf, { port: 0, logger: { error: (...line) => logged.push(line) } })
  onTestFinished(async () => {
    await server.close()
    await hf.close()
  })
  const socket = connect(server.port, '127.0.0.1', () => socket.write(part))
  await once(socket, 'connect')
  // Each of these is answered after the server has seen what happened on the other connection before it.
  for (let i = 0; i < 3; i++) await fetch(`${server.url}/health/live`)
  socket.destroy()
  await once(socket, 'close')
  for (let i = 0; i < 3; i++) await fetch(`${server.url}/health/live`)
  expect(logged).toEqual([])
})
