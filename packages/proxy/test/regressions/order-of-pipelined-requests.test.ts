// Pipelined requests ran at the same time whatever their methods, so a DELETE could arrive before the PUT in front of it.
import { createServer, type ServerResponse } from 'node:http'
import { type AddressInfo, connect } from 'node:net'
import { expect, it } from 'vitest'
import { proxyFor } from '../helpers/clients.js'
import { closeWithTest } from '../helpers/target.js'
import { turn, until } from '../helpers/until.js'

/** A target that responds when it is told to. */
async function startSlowTarget() {
  const arrived: string[] = []
  const responses: ServerResponse[] = []
  const server = createServer((req, res) => {
    arrived.push(`${req.method} ${req.url}`)
    responses.push(res)
  })
  closeWithTest(server)
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  return { arrived, url: `http://127.0.0.1:${port}`, respond: () => responses.shift()?.end('ok') }
}

async function pipeline(requests: readonly string[], follow = '') {
  const target = await startSlowTarget()
  const proxy = await proxyFor()
  const socket = connect(proxy.port, '127.0.0.1')
  let received = ''
  socket.on('data', (chunk) => (received += chunk.toString('latin1'))).on('error', () => {})
  const text = requests.map((each) => {
    const [method, path] = each.split(' ')
    return `${method} ${target.url}${path} HTTP/1.1\r\nHost: a\r\nContent-Length: 0\r\n\r\n`
  })
  socket.write(text.join('') + follow)
  return {
    ...target,
    responses: () => received.match(/HTTP\/1\.1 200 /g)?.length ?? 0,
    received: () => received,
    end: () => socket.destroy(),
  }
}

it('pipelined requests that change something run one after another', async () => {
  const requests = ['PUT /a', 'DELETE /a', 'GET /a', 'GET /b', 'POST /c']
  const { arrived, respond, responses, end } = await pipeline(requests)
  for (const expected of [1, 2, 4, 4, 5]) {
    await until(() => arrived.length >= expected)
    // Requests that must not arrive yet have time to do so.
    for (let i = 0; i < 200; i++) await turn()
    expect(arrived).toEqual(requests.slice(0, expected))
    respond()
  }
  await until(() => responses() === 5)
  end()
})

it.each([
  ['for the proxy itself', 'GET / HTTP/1.1\r\nHost: a\r\n\r\n'],
  ['that is rejected', 'GET http://a/ HTTP/1.1\r\n\r\n'],
])('a request %s does not keep the ones in front of it from being handled', async (_name, follow) => {
  const { arrived, respond, received, end } = await pipeline(['PUT /a', 'PUT /b'], follow)
  for (const expected of [1, 2]) {
    await until(() => arrived.length === expected)
    respond()
  }
  await until(() => received().match(/HTTP\/1\.1 /g)?.length === 3)
  end()
})

it('pipelined requests that change nothing run at the same time', async () => {
  const requests = ['GET /a', 'HEAD /b', 'OPTIONS /c']
  const { arrived, end } = await pipeline(requests)
  await until(() => arrived.length === 3)
  expect(arrived.toSorted()).toEqual(requests.toSorted())
  end()
})
