import { type AddressInfo, connect, createServer, type Socket } from 'node:net'
import { guard } from 'holdfast'
import { startSquid } from '../../../../scripts/servers/http-proxies.mjs'
import type { FuzzTarget } from '../../../../test/fuzz/target.js'
import { startProxy } from '../../src/index.js'
import { CountingTarget, exchange, idIn, rejectNames } from './connection.js'
import { FIRST_ID, fillMarks, REQUEST_DICTIONARY, requestStreams } from './http-requests.js'
import { repositoryFolder } from './repository.js'
import { parseStrictly } from './strict-http.js'

const LANES = 8

/** Passes bytes to a port and records what clients send, one buffer for each connection. */
async function startTap(port: number) {
  const sent: Buffer[][] = []
  const sockets = new Set<Socket>()
  const server = createServer((client) => {
    const chunks: Buffer[] = []
    sent.push(chunks)
    const upstream = connect(port, '127.0.0.1')
    for (const [from, to] of [
      [client, upstream],
      [upstream, client],
    ] as const) {
      sockets.add(from)
      from.on('error', () => to.destroy()).on('close', () => to.destroy())
      from.pipe(to)
    }
    client.on('data', (chunk: Buffer) => chunks.push(chunk))
  })
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  return {
    port: (server.address() as AddressInfo).port,
    /** How many requests with the number of each case Squid sent, by a strict reading of its bytes. */
    countById(): Map<number, number> {
      const counts = new Map<number, number>()
      for (const chunks of sent)
        for (const { target } of parseStrictly(Buffer.concat(chunks)).requests)
          counts.set(idIn(target), (counts.get(idIn(target)) ?? 0) + 1)
      return counts
    },
    close() {
      for (const socket of sockets) socket.destroy()
      server.close()
    },
  }
}

/** Bytes of a client of Squid, which forwards to the proxy: no more requests arrive than Squid has sent. */
export const target: FuzzTarget = {
  name: 'proxy-behind-squid',
  cases: requestStreams,
  dictionary: REQUEST_DICTIONARY,
  concurrency: LANES,
  // The bytes of each connection are kept until the end.
  reopenEvery: 2000,
  async open() {
    const once = guard({ retry: false })
    const proxy = await startProxy({
      port: 0,
      allowPrivateTargets: true,
      guard: () => once,
      resolve: rejectNames,
    })
    const tap = await startTap(proxy.port)
    const squid = await startSquid(repositoryFolder(), tap.port)
    if (typeof squid === 'string') {
      tap.close()
      await proxy.close({ timeout: 1 })
      return squid
    }
    const counting = await CountingTarget.start()
    let id = FIRST_ID
    return {
      async check(bytes) {
        await exchange(squid.ports[0] as number, fillMarks(bytes, counting.port, ++id))
      },
      async close() {
        await squid.close()
        await proxy.close({ timeout: 1 })
        tap.close()
        await counting.close()
        // By case, because requests that the proxy rejects would hide others that arrive twice.
        const sent = tap.countById()
        for (const [number, arrived] of counting.arrivalsById)
          if (arrived > (sent.get(number) ?? 0))
            throw new Error(
              `case ${number}: Squid sent ${sent.get(number) ?? 0} requests, and ${arrived} arrived`,
            )
        if (id - FIRST_ID > 500 && counting.arrivals === 0) throw new Error('no request arrived behind Squid')
      },
    }
  },
}
