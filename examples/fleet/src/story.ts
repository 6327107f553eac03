import { Stage } from './stage.js'
import { now, sleep, until } from './time.js'

/** How long each scene stays with `--full`, so that it can be seen on the dashboard. */
const SCENE_MS = 5000

const startedAt = now()

let failed = 0

/** Says whether something that must hold does. */
function check(what: string, holds: boolean): void {
  console.log(`  ${holds ? 'ok  ' : 'FAIL'} ${what}`)
  if (!holds) failed++
}

const sum = (numbers: readonly number[]) => numbers.reduce((total, one) => total + one, 0)

/**
 * The whole story; the exit code tells whether everything held. `--full` pauses after each scene, `--stay` leaves
 * everything running at the end.
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
    console.log(`\n${elapsed()} ${failed === 0 ? 'everything held' : `${failed} checks failed`}`)
    process.exitCode = failed === 0 ? 0 : 1
    if (flags.includes('--stay')) {
      console.log(`Ctrl-C ends it; until then the dashboard is at ${stage.url}`)
      await new Promise(() => {})
    }
  } finally {
    await stage.clear()
  }
}

const elapsed = () => `[${Math.round((now() - startedAt) / 1000)} s]`
const title = (text: string) => console.log(`\n${elapsed()} ${text}`)

async function allIsWell(stage: Stage): Promise<void> {
  title('Four nodes take orders, one server shows them')
  check(
    'all five know of each other',
    await until(async () => Object.keys(await stage.opinions()).length === 5),
  )
  check('orders are saved', await until(() => stage.all(({ saved }) => saved > 3)))
}

async function oneBadNode(stage: Stage): Promise<void> {
  title("The network of node-3 breaks: it is node-3's own trouble")
  const bad = stage.nodes[2]
  await bad?.ask('cutOff')
  const others = async () => (await stage.reports()).filter((_, i) => i !== 2)
  const before = sum((await others()).map(({ refused }) => refused))
  check(
    'its own breaker opens, and the server shows it',
    await until(async () => (await stage.opinions())['node-3'] === 'open'),
  )
  await until(async () => ((await stage.reports())[2]?.refused ?? 0) > 5)
  const after = await others()
  check('no other node refuses a call', sum(after.map(({ refused }) => refused)) === before)
  check(
    'theirs stay closed',
    after.every(({ state }) => state === 'closed'),
  )
  await bad?.ask('reconnect')
  check('it closes again by itself', await until(() => stage.all(({ state }) => state === 'closed')))
}

async function theTargetFails(stage: Stage): Promise<void> {
  title('The target fails for all: the fleet opens, and tests it with one call at a time')
  await stage.orders('down')
  check('every node opens', await until(() => stage.all(({ state }) => state !== 'closed')))
  const before = await stage.orders()
  const refused = sum((await stage.reports()).map((report) => report.refused))
  await sleep(1500)
  const after = await stage.orders()
  const more = sum((await stage.reports()).map((report) => report.refused)) - refused
  console.log(
    `  in 1.5 s ${after.arrived - before.arrived} tests reached it, and ${more} calls were spared it`,
  )
  // One test for each half second of the whole fleet, and some that were under way.
  check('it is hardly bothered', after.arrived - before.arrived <= 10)
  await stage.orders('well')
  check('one good test closes it for all', await until(() => stage.all(({ state }) => state === 'closed')))
}

async function anOperatorActs(stage: Stage): Promise<void> {
  title('An operator trips the breaker through the server, and resets it')
  const before = await stage.reports()
  await stage.api('/api/v1/circuit-breakers/service%3Aorders/trip', { reason: 'maintenance' })
  const hasOpened = async () =>
    (await stage.reports()).every(({ opened }, i) => opened > (before[i]?.opened ?? 0))
  check('every node obeys', await until(hasOpened))
  await stage.api('/api/v1/circuit-breakers/service%3Aorders/reset', { reason: 'done' })
  check('and goes on', await until(() => stage.all(({ state }) => state === 'closed')))
}

async function redisIsLost(stage: Stage): Promise<void> {
  title('Redis is killed: nodes go on alone')
  await stage.redis.kill()
  check('they notice', await until(() => stage.all(({ connected }) => !connected)))
  const before = await stage.reports()
  const haveSaved = async () =>
    (await stage.reports()).every(({ saved }, i) => saved > (before[i]?.saved ?? 0) + 2)
  check('orders are saved meanwhile', await until(haveSaved))
  const after = await stage.reports()
  const failing = after.filter((report, i) => report.failed > (before[i]?.failed ?? 0))
  check('no call fails because of it', failing.length === 0)
  for (const { taker, lastFailure } of failing) console.log(`       ${taker}: ${lastFailure}`)
  const shown = await stage.api<{ shared?: { up: boolean } }>('/api/v1/nodes')
  check('the server says so', shown.shared?.up === false)
  check('and so do its metrics', /^holdfast_shared_state_up 0$/m.test(await stage.api<string>('/metrics')))
  await stage.redis.up()
  check(
    'it comes back, empty, and they come together',
    await until(() => stage.all(({ connected }) => connected)),
  )
}

async function aNodeIsKilled(stage: Stage): Promise<void> {
  title('node-4 is killed while the target fails, and started again')
  await stage.orders('down')
  await until(() => stage.all(({ state }) => state !== 'closed'))
  await stage.replace(3)
  check('it begins where the fleet stands', (await stage.reports())[3]?.state !== 'closed')
  await stage.orders('well')
  check('and closes with it', await until(() => stage.all(({ state }) => state === 'closed')))
}

async function postgresIsLost(stage: Stage): Promise<void> {
  title('PostgreSQL is stopped while the target fails: what cannot be saved is kept on disk')
  await stage.postgres.stop()
  await stage.orders('down')
  const before = await stage.reports()
  const goOn = async () =>
    (await stage.reports()).every(({ refused }, i) => refused > (before[i]?.refused ?? 0) + 5)
  check('calls go on, and are refused', await until(goOn))
  await stage.orders('well')
  await stage.postgres.begin()
  check(
    'the target is well, and so are they',
    await until(() => stage.all(({ state }) => state === 'closed')),
  )
}

async function nothingIsLost(stage: Stage): Promise<void> {
  title('In the end every order is held, once')
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
    // The database has just come back, and may not answer at once.
    if (now() < next) return areHeld()
    next = now() + 5000
    await stage.api('/api/v1/dead-letters/replay', ask).catch(() => {})
    return areHeld()
  }, heldInAll)
  const orders = sum((await stage.reports()).map((report) => report.orders))
  const { held } = await stage.orders()
  const missing = (await stage.reports()).map((report) => report.orders - (held[report.taker] ?? 0))
  const { completed = 0, pending = 0, failed: lost = 0 } = (await stats()).by_status
  console.log(`  ${orders} orders were taken; ${completed} of them came by way of a dead letter`)
  if (!done) console.log(`  missing: ${missing.join(', ')}; dead letters: ${pending} pending, ${lost} failed`)
  check('all of them are held', done)
}
