import { Stage } from './stage.js'
import { now, sleep, until } from './time.js'

/** The pause after each step with `--full`, so that the dashboard can be viewed. */
const SCENE_MS = 5000

const startedAt = now()

let failed = 0

/** Prints the result of a check. */
function check(what: string, holds: boolean): void {
  console.log(`  ${holds ? 'ok  ' : 'FAIL'} ${what}`)
  if (!holds) failed++
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

/**
 * Runs all steps. The exit code is 1 if a check fails. `--full` pauses after each step, `--stay` keeps all processes
 * running at the end.
 */
export async function tell(script: string, here: string, flags: readonly string[]): Promise<void> {
  const stage = await Stage.set(script, here, (what) => console.log(`${elapsed()} starting ${what}`))
  const look = () => (flags.includes('--full') ? sleep(SCENE_MS) : Promise.resolve())
  const leave = () => void stage.clear().then(() => process.exit(130))
  for (const signal of ['SIGINT', 'SIGTERM'] as const) process.once(signal, leave)
  console.log(`the dashboard is at ${stage.url}`)
  try {
    for (const scene of [
      allIsWell,
      oneBadNode,
      theTargetFails,
      anOperatorActs,
      redisIsLost,
      aNodeIsKilled,
      postgresIsLost,
      nothingIsLost,
    ]) {
      await scene(stage)
      await look()
    }
    console.log(`\n${elapsed()} ${failed === 0 ? 'all checks passed' : `${failed} checks failed`}`)
    process.exitCode = failed === 0 ? 0 : 1
    if (flags.includes('--stay')) {
      console.log(`the dashboard is at ${stage.url}; press Ctrl-C to stop`)
      await new Promise(() => {})
    }
  } finally {
    await stage.clear()
  }
}

const elapsed = () => `[${Math.round((now() - startedAt) / 1000)} s]`
const title = (text: string) => console.log(`\n${elapsed()} ${text}`)

async function allIsWell(stage: Stage): Promise<void> {
  title('Four nodes take orders')
  check(
    'the server lists all five processes',
    await until(async () => Object.keys(await stage.opinions()).length === 5),
  )
  check('all nodes save orders', await until(() => stage.all(({ saved }) => saved > 3)))
}

async function oneBadNode(stage: Stage): Promise<void> {
  title('node-3 loses its connection to the service')
  const bad = stage.nodes[2]
  await bad?.ask('cutOff')
  const others = async () => (await stage.reports()).filter((_, i) => i !== 2)
  const before = sum((await others()).map(({ refused }) => refused))
  check(
    'the breaker of node-3 opens, and the server shows it',
    await until(async () => (await stage.opinions())['node-3'] === 'open'),
  )
  await until(async () => ((await stage.reports())[2]?.refused ?? 0) > 5)
  const after = await others()
  check('no other node rejects a call', sum(after.map(({ refused }) => refused)) === before)
  check(
    'the breakers of the other nodes stay closed',
    after.every(({ state }) => state === 'closed'),
  )
  await bad?.ask('reconnect')
  check(
    'the breaker of node-3 closes after the connection is back',
    await until(() => stage.all(({ state }) => state === 'closed')),
  )
}

async function theTargetFails(stage: Stage): Promise<void> {
  title('The service fails: the breaker opens on all nodes, and the fleet sends one probe at a time')
  await stage.orders('down')
  check('the breaker is open on every node', await until(() => stage.all(({ state }) => state !== 'closed')))
  const before = await stage.orders()
  const begin = now()
  const refused = sum((await stage.reports()).map((report) => report.refused))
  await sleep(1500)
  const after = await stage.orders()
  const seconds = (now() - begin) / 1000
  const more = sum((await stage.reports()).map((report) => report.refused)) - refused
  console.log(
    `  in ${seconds.toFixed(1)} s the service received ${after.arrived - before.arrived} probes, and ${more} calls were rejected`,
  )
  // A busy machine can take longer than 1.5 s, so the limit depends on the time. Seven calls may have been in flight.
  check(
    'the service received one probe of the whole fleet for each half second, and calls that were in flight',
    after.arrived - before.arrived <= Math.ceil(2 * seconds) + 7,
  )
  await stage.orders('well')
  check(
    'one successful probe closes the breaker on all nodes',
    await until(() => stage.all(({ state }) => state === 'closed')),
  )
}

async function anOperatorActs(stage: Stage): Promise<void> {
  title('An operator trips and resets the breaker through the server')
  const before = await stage.reports()
  await stage.api('/api/v1/circuit-breakers/service%3Aorders/trip', { reason: 'maintenance' })
  const hasOpened = async () =>
    (await stage.reports()).every(({ opened }, i) => opened > (before[i]?.opened ?? 0))
  check('the breaker opens on every node', await until(hasOpened))
  await stage.api('/api/v1/circuit-breakers/service%3Aorders/reset', { reason: 'done' })
  check('the breaker closes on every node', await until(() => stage.all(({ state }) => state === 'closed')))
}

async function redisIsLost(stage: Stage): Promise<void> {
  title('Redis is killed: each node decides alone')
  await stage.redis.kill()
  check('all nodes report the lost connection', await until(() => stage.all(({ connected }) => !connected)))
  const before = await stage.reports()
  const haveSaved = async () =>
    (await stage.reports()).every(({ saved }, i) => saved > (before[i]?.saved ?? 0) + 2)
  check('all nodes still save orders', await until(haveSaved))
  const after = await stage.reports()
  const failing = after.filter((report, i) => report.failed > (before[i]?.failed ?? 0))
  check('no call fails', failing.length === 0)
  for (const { taker, lastFailure } of failing) console.log(`       ${taker}: ${lastFailure}`)
  const isShownAsDown = async () =>
    (await stage.api<{ shared?: { up: boolean } }>('/api/v1/nodes')).shared?.up === false
  check('the server reports that Redis is down', await until(isShownAsDown))
  check(
    'its metrics contain holdfast_shared_state_up 0',
    /^holdfast_shared_state_up 0$/m.test(await stage.api<string>('/metrics')),
  )
  await stage.redis.up()
  check(
    'all nodes reconnect to the restarted, empty Redis',
    await until(() => stage.all(({ connected }) => connected)),
  )
}

async function aNodeIsKilled(stage: Stage): Promise<void> {
  title('node-4 is killed while the service fails, and restarted')
  await stage.orders('down')
  await until(() => stage.all(({ state }) => state !== 'closed'))
  await stage.replace(3)
  check('its breaker is open from the start', (await stage.reports())[3]?.state !== 'closed')
  await stage.orders('well')
  check('the breaker closes on all nodes', await until(() => stage.all(({ state }) => state === 'closed')))
}

async function postgresIsLost(stage: Stage): Promise<void> {
  title('PostgreSQL is stopped while the service fails: dead letters are kept on disk')
  await stage.postgres.stop()
  await stage.orders('down')
  const before = await stage.reports()
  const goOn = async () =>
    (await stage.reports()).every(({ refused }, i) => refused > (before[i]?.refused ?? 0) + 5)
  check('all nodes still take orders, which the breaker rejects', await until(goOn))
  await stage.orders('well')
  await stage.postgres.begin()
  check(
    'the breaker closes on all nodes after the service is back',
    await until(() => stage.all(({ state }) => state === 'closed')),
  )
}

async function nothingIsLost(stage: Stage): Promise<void> {
  title('All dead letters are replayed')
  await Promise.all(stage.nodes.map((node) => node.ask('pause')))
  const stats = () => stage.api<{ by_status: Record<string, number> }>('/api/v1/dead-letters/stats')
  const areHeld = async () => {
    const { held } = await stage.orders()
    return stage.all(({ taker, orders }) => held[taker] === orders)
  }
  const heldInAll = async () => sum(Object.values((await stage.orders()).held))
  const ask = { operation: 'shop.orders', retry_failed: true }
  let next = 0
  const done = await until(async () => {
    // PostgreSQL was just restarted, and may not answer at once.
    if (now() < next) return areHeld()
    next = now() + 5000
    await stage.api('/api/v1/dead-letters/replay', ask).catch(() => {})
    return areHeld()
  }, heldInAll)
  const orders = sum((await stage.reports()).map((report) => report.orders))
  const { held } = await stage.orders()
  const missing = (await stage.reports()).map((report) => report.orders - (held[report.taker] ?? 0))
  const { completed = 0, pending = 0, failed: lost = 0 } = (await stats()).by_status
  console.log(`  ${orders} orders were taken; ${completed} of them were saved by a replay`)
  if (!done) console.log(`  missing: ${missing.join(', ')}; dead letters: ${pending} pending, ${lost} failed`)
  check('the service holds every order once', done)
}
