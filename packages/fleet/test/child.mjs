// oxlint-disable holdfast/clock -- a process among others, on real time
// One node of a fleet as a process: it makes calls through a breaker all the time and records their results. The parent process
// decides whether the target fails and requests reports.
const [bundle, url, name, share, pause] = process.argv.slice(2)
const { Holdfast } = await import(/** @type {string} */ (bundle))

/** @type {'up' | 'down'} */
let target = 'up'
let isRunning = true
/**
 * Calls, calls that the breaker rejected, errors that the target did not cause, calls that waited for anything except the target,
 * and the longest duration of a call without that of its own function.
 */
const results = { calls: 0, rejected: 0, unexpected: /** @type {string[]} */ ([]), waited: 0, slowest: 0 }

/**
 * Returns a function that reports whether the event loop has turned since: a call that waits for a reply of Redis continues
 * after that at the earliest, a call that waits for nothing continues before.
 */
function watchTurn() {
  let hasTurned = false
  const watch = setImmediate(() => {
    hasTurned = true
  })
  return () => {
    clearImmediate(watch)
    return hasTurned
  }
}

const hf = await Holdfast.open({
  config: {
    shared: url,
    // A node that expires during a stall lowers the number of votes that a quorum needs.
    node: { id: name, heartbeat: share === 'quorum' ? 60_000 : 200 },
    policies: { once: { maxAttempts: 1 } },
    circuitBreakers: {
      api: {
        failureThreshold: 3,
        windowDuration: 5000,
        timeoutDuration: 150,
        probeLease: 500,
        halfOpenMax: 2,
        share,
      },
    },
  },
  env: {},
})
const { coordinator: link } = hf.guard('once', { service: 'api' }).breaker
link.breaker.on((/** @type {{ toState: string }} */ { toState }) =>
  process.send?.({ ask: toState, at: performance.timeOrigin + performance.now() }),
)
const onProbeStarted = link.onProbeStarted.bind(link)
link.onProbeStarted = (/** @type {object} */ permit, /** @type {number} */ lease) => {
  const token = link.probes.lease?.token
  // Sent at once, because this process may be killed before the next report.
  if (token !== undefined && link.isShared && link.isFleetOpen) process.send?.({ ask: 'token', token })
  onProbeStarted(permit, lease)
}

async function work() {
  while (isRunning) {
    const startedAt = performance.now()
    let ownDuration = 0
    let hasWaited = false
    let hasTurned = watchTurn()
    try {
      await hf.run(
        'once',
        async () => {
          hasWaited = hasTurned()
          const at = performance.now()
          await new Promise((resolve) => setTimeout(resolve, 2))
          ownDuration = performance.now() - at
          hasTurned = watchTurn()
          if (target === 'down') throw Object.assign(new Error('down'), { code: 'ECONNRESET' })
        },
        { service: 'api' },
      )
    } catch (error) {
      const { code } = /** @type {{ code?: string }} */ (error)
      if (code === 'CIRCUIT_OPEN') results.rejected++
      else if (code !== 'ECONNRESET') results.unexpected.push(String(error))
    }
    if (hasTurned() || hasWaited) results.waited++
    results.calls++
    results.slowest = Math.max(results.slowest, performance.now() - startedAt - ownDuration)
    await new Promise((resolve) => setTimeout(resolve, Number(pause)))
  }
}
const working = work()

/** @param {{ ask: string, target?: 'up' | 'down' }} command */
async function runCommand({ ask, target: next }) {
  if (next !== undefined) target = next
  if (ask === 'trip' || ask === 'reset') await hf.breakers[ask]('service:api', { by: name })
  if (ask === 'close') {
    isRunning = false
    await working
    await hf.close()
  }
  const { currentState: state } = link.breaker
  const { epoch, isFleetOpen: fleetOpen } = link
  process.send?.({ ask, state, epoch, fleetOpen, connected: hf.fleet?.connected, ...results })
  if (ask === 'close') process.disconnect()
}
process.on('message', (command) => void runCommand(/** @type {any} */ (command)))
// The parent process has ended.
process.on('disconnect', () => isRunning && process.exit(1))
process.send?.({ ask: 'open' })
