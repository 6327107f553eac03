import { once } from 'node:events'
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it, onTestFinished } from 'vitest'
import { ConnectionTracker } from '../../src/serve/connections.js'

it('counts a pipelined request as under way until it is answered', async () => {
  const answers: ServerResponse[] = []
  const server = createServer((_, answer) => {
    connections.handle(answer, () => {
      answers.push(answer)
      if (answers.length === 2) answers[0]?.end('first')
    })
  })
  const connections = new ConnectionTracker(server, false)
  server.listen(0, '127.0.0.1')
  await once(server, 'listening')
  const client = connect((server.address() as AddressInfo).port, '127.0.0.1')
  onTestFinished(() => {
    client.destroy()
    server.close()
  })
  client.write('GET /1 HTTP/1.1\r\nHost: a\r\n\r\nGET /2 HTTP/1.1\r\nHost: a\r\n\r\n')
  await once(client, 'data')
  const [first, second] = answers
  if (first !== undefined && !first.closed) await once(first, 'close')
  expect(second && connections.isBusy(second.req.socket)).toBe(true)
})
