import { createServer, type IncomingMessage, type ServerResponse } from 'node:http'
import type { AddressInfo } from 'node:net'
import { json } from 'node:stream/consumers'
import type { Order } from './node.js'

/** The report of the order service. */
export interface TargetReport {
  /** The number of orders by node. An order that arrived twice, with the same key, counts once. */
  held: Record<string, number>
  /** The number of requests that arrived. */
  arrived: number
  down: boolean
}

/**
 * The service that the nodes call. It stores orders, and can be made to fail.
 *
 *     curl -X POST localhost:PORT/down     every order is answered 503
 *     curl -X POST localhost:PORT/well     orders are stored again
 */
export async function serveOrders(port = Number(process.env['TARGET_PORT'] ?? 0)): Promise<void> {
  const held = new Set<string>()
  let arrived = 0
  let down = false
  const counts = new Map<string, number>()
  const take = async (order: IncomingMessage): Promise<number> => {
    arrived++
    const { taker, key } = (await json(order)) as Order
    if (down) return 503
    if (!held.has(key)) counts.set(taker, (counts.get(taker) ?? 0) + 1)
    held.add(key)
    return 200
  }
  const answer = async (request: IncomingMessage, response: ServerResponse): Promise<void> => {
    const { url } = request
    if (url === '/orders') response.statusCode = await take(request)
    else if (url === '/down' || url === '/well') down = url === '/down'
    response.setHeader('content-type', 'application/json')
    response.end(JSON.stringify({ held: Object.fromEntries(counts), arrived, down } satisfies TargetReport))
  }
  // An aborted request is ignored.
  const server = createServer((request, response) => void answer(request, response).catch(() => {}))
  await new Promise<void>((resolve) => server.listen(port, process.env['HOST'] ?? '127.0.0.1', resolve))
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}`
  console.log(`the order service listens at ${url}`)
  process.send?.({ ready: url })
  // The parent process has ended.
  process.on('disconnect', () => process.exit())
}
