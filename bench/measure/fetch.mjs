import { fork } from 'node:child_process'
import { join } from 'node:path'

const CHILD = join(import.meta.dirname, 'fetch-child.mjs')
const IN_FLIGHT = 64
/** How long one turn is, how many there are of each, and how many warm up. In milliseconds. */
const TURN = 250
const TURNS = 14
const WARM_UP = 4

/** @typedef {(url: string) => Promise<Response>} Get */

/** @returns {Promise<{ url: string, end: () => void }>} a server in a process of its own */
async function startServer() {
  const child = fork(CHILD)
  const { port } = await new Promise((resolve) => child.once('message', resolve))
  return { url: `http://127.0.0.1:${port}/`, end: () => child.disconnect() }
}

/** Microseconds per request over a turn, by the clock and of the processor. @param {Get} get @param {string} url */
async function turn(get, url) {
  const before = process.cpuUsage()
  const start = performance.now()
  let done = 0
  const worker = async () => {
    for (; performance.now() < start + TURN; done++) await (await get(url)).text()
  }
  await Promise.all(Array.from({ length: IN_FLIGHT }, worker))
  const took = ((performance.now() - start) * 1000) / done
  const { user, system } = process.cpuUsage(before)
  return { took, cpu: (user + system) / done }
}

/**
 * Requests over a fetch and over the same fetch made resilient, by turns, to one server.
 *
 * @param {Get} bare
 * @param {Get} resilient
 * @returns {Promise<{ perCall: number[], ratio: number[], cpu: number[] }>} nanoseconds; times the bare one's; times again
 */
export async function throughput(bare, resilient) {
  const { url, end } = await startServer()
  const perCall = []
  const ratio = []
  const cpu = []
  for (let i = 0; i < TURNS; i++) {
    const first = i % 2 === 0 ? await turn(bare, url) : undefined
    const ours = await turn(resilient, url)
    const theirs = first ?? (await turn(bare, url))
    if (i < WARM_UP) continue
    perCall.push(ours.took * 1000)
    ratio.push(ours.took / theirs.took)
    cpu.push(ours.cpu / theirs.cpu)
  }
  end()
  return { perCall, ratio, cpu }
}
