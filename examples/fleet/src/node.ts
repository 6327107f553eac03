import { type AddressInfo, createServer } from 'node:net'
import { join } from 'node:path'
import { Holdfast } from '@holdfast/runtime'
import { now, sleep } from './time.js'

/** The report of a node. */
export interface NodeReport {
  /** The name of the node and its process in orders. */
  taker: string
  /** The number of orders that it took. The service must hold all of them at the end. */
  orders: number
  saved: number
  /** Calls that its breaker rejected. They become dead letters, like all failed calls. */
  refused: number
  failed: number
  /** The error of the last call that failed and was not rejected by its breaker. */
  lastFailure: string
  /** The longest duration of a call since the last report, in milliseconds. */
  slowest: number
  /** How often its breaker has opened. */
  opened: number
  state: string
  connected: boolean
}

export interface Order {
  taker: string
  key: string
}

/** The number of orders that a node takes per second. */
const RATE = 5

/** A local address without a listener. */
async function nowhere(): Promise<string> {
  const server = createServer()
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve))
  const { port } = server.address() as AddressInfo
  await new Promise((resolve) => server.close(resolve))
  return `http://127.0.0.1:${port}`
}

/** A process that takes orders, saves them at the service, and replays dead letters. */
export async function work(here: string): Promise<void> {
  const { TARGET_URL = '', NODE_ID = 'node', CONFIG = join(here, 'holdfast.yaml') } = process.env
  const taker = `${NODE_ID}.${process.pid}`
  let target = TARGET_URL
  const hf = await Holdfast.open(CONFIG)
  const seen = { orders: 0, saved: 0, refused: 0, failed: 0, lastFailure: '', slowest: 0, opened: 0 }
  let taking = true
  hf.events.on('circuit_breaker_opened', () => seen.opened++)

  const save = async (order: Order, signal?: AbortSignal) => {
    const response = await fetch(`${target}/orders`, {
      method: 'POST',
      body: JSON.stringify(order),
      ...(signal && { signal }),
    })
    await response.arrayBuffer()
    if (!response.ok)
      throw Object.assign(new Error(`the service returned ${response.status}`), { status: response.status })
  }
  hf.deadLetters.handle('shop.orders', (order) => save(order as Order))
  void hf.deadLetters.work({ concurrency: 4 })

  async function take(): Promise<void> {
    const order: Order = { taker, key: `${taker}-${++seen.orders}` }
    const { key } = order
    const began = now()
    try {
      await hf.run('shop.orders', ({ signal }) => save(order, signal), {
        itemId: key,
        payload: order,
        idempotencyKey: key,
      })
      seen.saved++
    } catch (error) {
      if ((error as { code?: string }).code === 'CIRCUIT_OPEN') seen.refused++
      else {
        seen.failed++
        seen.lastFailure = String(error)
      }
    }
    seen.slowest = Math.max(seen.slowest, now() - began)
  }

  const answers: Record<string, () => Promise<unknown>> = {
    report: async () => {
      const breaker = await hf.breakers.get('service:orders')
      const report = { taker, ...seen, state: breaker?.state ?? '', connected: hf.fleet?.connected ?? false }
      seen.slowest = 0
      return report satisfies NodeReport
    },
    // Simulates a broken network: calls go to an address without a listener.
    cutOff: async () => (target = await nowhere()),
    reconnect: async () => (target = TARGET_URL),
    pause: async () => (taking = false),
  }
  process.on('message', ({ number, question }: { number: number; question: string }) => {
    void answers[question]?.().then((answer) => process.send?.({ number, answer }))
  })
  process.on('disconnect', () => process.exit())
  process.send?.({ ready: NODE_ID })
  console.log(`${NODE_ID} takes ${RATE} orders per second`)
  for (;;) {
    if (taking) void take()
    await sleep(1000 / RATE)
  }
}
