import { randomInt } from 'node:crypto'
import { createServer } from 'node:net'

/**
 * A port of the loopback interface on which no server listens. It is below the range from which the system assigns ports:
 * while a server is down between two starts, no other socket is given its port.
 *
 * @returns {Promise<number>}
 */
export async function findFreePort() {
  for (;;) {
    const port = randomInt(20_000, 32_768)
    const server = createServer()
    const isFree = await new Promise((resolve) => {
      server.once('error', () => resolve(false))
      server.listen(port, '127.0.0.1', () => resolve(true))
    })
    await new Promise((resolve) => server.close(resolve))
    if (isFree) return port
  }
}
