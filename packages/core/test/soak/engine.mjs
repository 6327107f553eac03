// Makes a few million calls of every kind and fails if memory grows: `npm run test:memory`.
import { guard, RetryBudget } from 'holdfast'

if (globalThis.gc === undefined) throw new Error('run with node --expose-gc')

const ROUNDS = 24
const WARM_UP_ROUNDS = 8
const CALLS_PER_ROUND = 20_000
const MAX_GROWTH_BYTES = 1_500_000

const failure = () => Promise.reject(new Error('down'))
const ignore = () => {}
const shared = new AbortController()

const retry = { maxAttempts: 2, backoffType: 'immediate' }
const plain = guard({ name: 'plain', retry })
const timed = guard({ retry, timeout: { attempt: '30s', total: '2m' } })
const keyed = guard({ retry: false, breaker: { key: (context) => `${context}`, maxKeys: 1000 } })
const crowded = guard({ retry: false, bulkhead: { limit: 10, queue: 20 } })
const thrifty = guard({ retry, budget: new RetryBudget() })
const hedged = guard({ retry: false, hedge: { delay: '10s' } })
const opened = guard({ breaker: {} })
opened.breaker?.trip()

/** The kinds of calls, by name. */
const kinds = {
  success: () => plain.run(() => 1),
  'failure, retried': () => plain.run(failure).catch(ignore),
  'with deadlines': () => timed.run(() => 1),
  'with deadlines, failing': () => timed.run(failure).catch(ignore),
  'on one signal': () => plain.run(() => 1, { signal: shared.signal }),
  'breakers by key': (i) => keyed.run(() => 1, { context: i }),
  'through a bulkhead': () => crowded.run(() => 1).catch(ignore),
  'on a budget': () => thrifty.run(failure).catch(ignore),
  hedged: () => hedged.run(() => 1),
  rejected: () => opened.run(() => 1).catch(ignore),
}

const heap = () => {
  globalThis.gc()
  globalThis.gc()
  return process.memoryUsage().heapUsed
}

let grown = 0
for (const [name, call] of Object.entries(kinds)) {
  let baseline = 0
  for (let round = 0; round < ROUNDS; round++) {
    for (let done = 0; done < CALLS_PER_ROUND; done += 100)
      await Promise.all(Array.from({ length: 100 }, (_, i) => call(round * CALLS_PER_ROUND + done + i)))
    await new Promise((resolve) => setImmediate(resolve))
    if (round === WARM_UP_ROUNDS) baseline = heap()
    if (process.stdout.isTTY) process.stdout.write(`\r${name}: ${round + 1}/${ROUNDS}  `)
  }
  const more = heap() - baseline
  const flat = more < MAX_GROWTH_BYTES
  if (!flat) grown++
  const calls = ((ROUNDS - WARM_UP_ROUNDS) * CALLS_PER_ROUND).toLocaleString('en')
  console.log(
    `${process.stdout.isTTY ? '\r' : ''}${flat ? 'flat' : 'GREW'}  ${name}: ${(more / 1024).toFixed(0)} KiB more after ${calls} calls`,
  )
}
// The deadline timer of a guard may be active for a few milliseconds after its last call.
const timers = process.getActiveResourcesInfo().filter((name) => name === 'Timeout').length
console.log(`${timers} timers left`)
console.log(`${Object.keys(kinds).length - grown} passed, ${grown} failed`)
process.exitCode = grown > 0 ? 1 : 0
