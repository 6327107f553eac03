// oxlint-disable holdfast/clock -- a process among others, on real time
// One node of a fleet as a process of its own: calls through a breaker all the time, and notes what it sees. It is told what
// the target does, and answers what it is asked.
const [bundle, url, name, share, pause] = process.argv.slice(2)
const { Holdfast } = await import(/** @type {string} */ (bundle))

/** @type {'well' | 'down'} */
let target = 'well'
let running = true
/**
 * Calls, refusals, errors that were none of the target's, calls that waited for anything but the target, and the longest that
 * one took beyond its own wait.
 */
const seen = { calls: 0, refused: 0, strange: /** @type {string[]} */ ([]), waited: 0, slowest: 0 }

/**
 * Tells whether the event loop has turned since: a call that waits for an answer of Redis, however quick, goes on no earlier
 * than that, and one that waits for nothing goes on before.
 */
function turned() {
  let turn = false
  const watch = setImmediate(() => {
    turn = true
  })
  return () => {
    clearImmediate(watch)
    return turn
  }
}

const hf = await Holdfast.open({
  config: {
    shared: url,
    node: { id: name, heartbeat: 200 },
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
const begun = link.onProbeStarted.bind(link)
link.onProbeStarted = (/** @type {object} */ pass, /** @type {number} */ lease) => {
  const token = link.probeLease?.token
  // Told at once: this process may be killed before it is asked.
  if (token !== undefined && link.isShared && link.isFleetOpen) process.send?.({ ask: 'token', token })
  begun(pass, lease)
}

async function work() {
  while (running) {
    const began = performance.now()
    let inside = 0
    let waited = false
    let watched = turned()
    try {
      await hf.run(
        'once',
        async () => {
          waited = watched()
          const at = performance.now()
          await new Promise((resolve) => setTimeout(resolve, 2))
          inside = performance.now() - at
          watched = turned()
          if (target === 'down') throw Object.assign(new Error('down'), { code: 'ECONNRESET' })
        },
        { service: 'api' },
      )
    } catch (error) {
      const { code } = /** @type {{ code?: string }} */ (error)
      if (code === 'CIRCUIT_OPEN') seen.refused++
      else if (code !== 'ECONNRESET') seen.strange.push(String(error))
    }
    if (watched() || waited) seen.waited++
    seen.calls++
    seen.slowest = Math.max(seen.slowest, performance.now() - began - inside)
    await new Promise((resolve) => setTimeout(resolve, Number(pause)))
  }
}
const working = work()

/** @param {{ ask: string, target?: 'well' | 'down' }} order */
async function obey({ ask, target: next }) {
  if (next !== undefined) target = next
  if (ask === 'trip' || ask === 'reset') await hf.breakers[ask]('service:api', { by: name })
  if (ask === 'close') {
    running = false
    await working
    await hf.close()
  }
  const { currentState: state } = link.breaker
  const { epoch, isFleetOpen: fleetOpen } = link
  process.send?.({ ask, state, epoch, fleetOpen, connected: hf.fleet?.connected, ...seen })
  if (ask === 'close') process.disconnect()
}
process.on('message', (order) => void obey(/** @type {any} */ (order)))
// Whoever started it is gone without a word.
process.on('disconnect', () => running && process.exit(1))
process.send?.({ ask: 'open' })
