// The timeout of a request was ignored while earlier ones kept its connection from being read, and Node does not report it again.
import { connect } from 'node:net'
import { Holdfast } from '@holdfast/runtime'
import { expect, onTestFinished, test } from 'vitest'
import { serve } from '../../src/serve/serve.js'

/** How many connections a test opens until its first head is in time. */
const MAX_CONNECTIONS = 20
const GET = 'GET /health/live HTTP/1.1\r\nHost: localhost\r\n\r\n'
const HALF_HEAD = 'POST /api/v1/config/validate HTTP/1.1\r\nHost: localhost\r\n'
const HALF_BODY = `${HALF_HEAD}Content-Type: application/json\r\nContent-Length: 100\r\n\r\n{`

/** The statuses of all responses on a connection, when the server has closed it. */
async function statusesOf(port: number, text: string): Promise<string[]> {
  let received = ''
  const client = connect(port, '127.0.0.1', () => client.write(text))
  onTestFinished(() => void client.destroy())
  client.on('error', () => {})
  client.on('data', (chunk) => (received += chunk.toString('latin1')))
  await new Promise((resolve) => client.on('close', resolve))
  return received.match(/(?<=HTTP\/1\.1 )\d+/g) ?? []
}

test.each([
  ['head', HALF_HEAD],
  ['body', HALF_BODY],
])(
  'a pipelined request is answered with 408 if the end of its %s does not arrive after the connection was paused',
  async (_, text) => {
    const hf = await Holdfast.open({ config: { version: '1.2.0' }, env: {}, watch: false })
    const server = await serve(hf, { port: 0, dashboard: false, headerTimeout: 60, requestTimeout: 60 })
    onTestFinished(async () => {
      await server.close()
      await hf.close()
    })
    // The server handles ten requests at a time, and pauses the connection while others wait.
    let statuses = await statusesOf(server.port, GET.repeat(12) + text)
    // On a busy machine the first head may come too late as well.
    for (let count = 1; statuses[0] === '408' && count < MAX_CONNECTIONS; count++)
      statuses = await statusesOf(server.port, GET.repeat(12) + text)
    expect(statuses).toEqual([...Array.from({ length: 12 }, () => '200'), '408'])
  },
)
