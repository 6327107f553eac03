// A server in a process of its own that answers everything at once: node fetch-child.mjs. It tells its port.
import { createServer } from 'node:http'

const server = createServer((_, response) => response.end('hello'))
server.listen(0, '127.0.0.1', () => {
  const { port } = /** @type {import('node:net').AddressInfo} */ (server.address())
  process.send?.({ port })
})
process.on('disconnect', () => process.exit())
