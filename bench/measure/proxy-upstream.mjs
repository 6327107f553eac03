import { createServer } from 'node:net'

const BODY = 'x'.repeat(1024)
const ANSWER = `HTTP/1.1 200 OK\r\nContent-Type: text/plain\r\nContent-Length: ${BODY.length}\r\n\r\n${BODY}`

/** How long the body of every answer is. */
export const LENGTH = BODY.length

/**
 * An upstream proxy that answers everything itself, at as little cost as can be.
 *
 * @returns {Promise<number>} its port
 */
export async function upstreamProxy() {
  const server = createServer((socket) => {
    let read = ''
    socket.setNoDelay(true)
    socket.on('error', () => {})
    socket.on('data', (data) => {
      read += data.toString('latin1')
      for (let end = read.indexOf('\r\n\r\n'); end >= 0; end = read.indexOf('\r\n\r\n')) {
        socket.write(read.startsWith('CONNECT') ? 'HTTP/1.1 200 OK\r\n\r\n' : ANSWER)
        read = read.slice(end + 4)
      }
    })
  })
  await new Promise((resolve) => server.listen(0, '127.0.0.1', () => resolve(undefined)))
  return /** @type {import('node:net').AddressInfo} */ (server.address()).port
}
