import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { createProxyFetch, parseProxyList, proxyPool } from '@holdfast/proxy'
import { Client, many, type Reply, until } from './client.js'
import { Fleet, PASSWORD, type Upstream } from './fleet.js'
import { byProxyTable, check, failures, statuses } from './report.js'
import { ServerProcess } from './server-process.js'

/** The number of proxies in the list. */
const SIZE = 240

const title = (text: string) => console.log(`\n${text}`)
const all = (replies: readonly Reply[], status: number) => replies.every((reply) => reply.status === status)
const listOf = (upstreams: readonly Upstream[]) =>
  upstreams.map(({ id, url, region }) => `${url} id=${id} region=${region}\n`).join('')

/** The state that the steps of the run share. */
interface Stage {
  readonly fleet: Fleet
  readonly dir: string
  readonly url: string
  server: ServerProcess
  client: Client
}

/** Runs all steps. The exit code is 1 if a check fails. */
export async function rotate(script: string, here: string): Promise<void> {
  const dir = await mkdtemp(join(tmpdir(), 'rotator-'))
  const fleet = await Fleet.start(SIZE)
  const file = join(dir, 'holdfast.yaml')
  await writeFile(file, await readFile(join(here, 'holdfast.yaml')))
  await writeFile(join(dir, 'proxies.txt'), listOf(fleet.listed))
  await writeFile(join(dir, 'spare.txt'), listOf(fleet.spare))
  const env = Object.fromEntries(fleet.flapping.map(({ url }, i) => [`FLAPPING_${i + 1}`, url]))
  const begin = () => ServerProcess.start(script, [here, 'serve', file], env)
  const server = await begin()
  const stage: Stage = {
    fleet,
    dir,
    url: `${fleet.targetUrl}/page`,
    server,
    client: new Client(server.proxies),
  }
  try {
    await changeThePolicy(stage, file)
    await learn(stage)
    await choose(stage)
    await exhaust(stage)
    await show(stage)
    await fromCode(stage)
    await killAndRestart(stage, begin)
    await keepTheSecret(stage, server.output)
  } finally {
    stage.client.close()
    await stage.server.kill()
    await fleet.stop()
    await rm(dir, { recursive: true })
  }
  console.log(failures() === 0 ? '\nall checks passed' : `\n${failures()} checks failed`)
  if (failures() > 0) process.exitCode = 1
}

/** The file is edited while requests run: from one attempt to eight. */
async function changeThePolicy({ client, url, server, fleet }: Stage, file: string): Promise<void> {
  title(`${SIZE} proxies of mixed quality; the policy allows one attempt`)
  const before = await many(100, () => client.get(url))
  console.log(`  100 requests: ${statuses(before)}`)
  check('some requests fail because of their proxy', !all(before, 200))

  title('the config file is edited: eight attempts, each through another proxy')
  const heard = server.hear(({ type }) => type === 'config_reloaded' || type === 'config_rejected')
  await writeFile(file, (await readFile(file, 'utf8')).replace('max_attempts: 1\n', 'max_attempts: 8\n'))
  await heard
  const after = await many(100, () => client.get(url))
  console.log(`  100 requests: ${statuses(after)}`)
  check('every request succeeds, without a restart', all(after, 200))

  const arrived = fleet.arrivedAt(fleet.all)
  const once = await many(60, () => client.get(url, { 'x-holdfast-policy': 'once' }))
  const attempts = fleet.arrivedAt(fleet.all) - arrived
  console.log(`  60 requests with another policy (x-holdfast-policy: once): ${statuses(once)}`)
  check('each of them makes one attempt', !all(once, 200) && attempts <= 60)
}

/** Sends requests until every bad proxy is ejected, and a recovered one is selected again. */
async function learn({ client, url, server, fleet }: Stage): Promise<void> {
  title('requests continue, and bad proxies are ejected')
  let open: string[] = []
  const learned = async () => {
    open = await server.ask('open')
    return fleet.bad.every(({ id }) => open.includes(id))
  }
  const replies = await until(learned, () => client.get(url))
  const found = fleet.bad.filter(({ id }) => open.includes(id)).length
  console.log(`  ${replies.length} requests: ${statuses(replies)}`)
  console.log(`  ${fleet.arrivedAt(fleet.bad)} attempts reached the ${fleet.bad.length} bad proxies so far`)
  check(`all ${fleet.bad.length} bad proxies are ejected`, found === fleet.bad.length)
  check('every request succeeded', all(replies, 200))

  const arrived = fleet.arrivedAt(fleet.bad)
  const takenBack = async () => (await server.ask('taken')) > 0
  const more = await until(takenBack, () => client.get(url))
  console.log(`  ${more.length} more requests: ${statuses(more)}`)
  check('a flapping proxy was probed after one second, and recovered', await takenBack())
  check('no further attempt reached a bad proxy', fleet.arrivedAt(fleet.bad) === arrived)
}

/** The options of a single request: the region of its proxy, a policy that was just created, a tunnel. */
async function choose({ client, url, server, fleet }: Stage): Promise<void> {
  title('options of a single request')
  const regions = new Map(fleet.all.map(({ id, region }) => [id, region]))
  const name = Buffer.from('collector-region-eu:').toString('base64')
  const european = await many(60, () => client.get(url, { 'proxy-authorization': `Basic ${name}` }))
  check(
    'a region, by the user name: 60 requests went through proxies in eu',
    european.every(({ via = '' }) => regions.get(via) === 'eu'),
  )

  const unknown = await client.get(url, { 'x-holdfast-policy': 'patient' })
  check('an unknown policy: 400', unknown.status === 400)
  const put = await server.ask('put')
  const known = await many(20, () => client.get(url, { 'x-holdfast-policy': put }))
  check('the same policy after an operator created it: 20 of 20 requests succeed', all(known, 200))

  const tunnels = await many(20, () => client.tunnel(url))
  check('a tunnel, by CONNECT: 20 of 20 are established', all(tunnels, 200))
}

/** A pool without a working member. */
async function exhaust({ url, server, fleet }: Stage): Promise<void> {
  title('the second pool has no working proxy')
  const client = new Client(server.spare)
  const { spare } = fleet
  const replies: Reply[] = []
  while (replies.length < 10 && replies.at(-1)?.status !== 503) replies.push(await client.get(url))
  console.log(`  ${statuses(replies)}; ${fleet.arrivedAt(spare)} attempts reached its proxies`)
  const before = fleet.arrivedAt(spare)
  const refused = await many(100, () => client.get(url))
  const { retryAfter = 0 } = refused[0] ?? {}
  check(
    `all breakers are open: 100 of 100 requests are answered 503, Retry-After ${retryAfter}`,
    all(refused, 503) && retryAfter > 0,
  )
  check('no attempt was made for them', fleet.arrivedAt(spare) === before)
  client.close()
}

async function show({ server, fleet }: Stage): Promise<void> {
  const { summary, byProxy, series } = await server.ask('metrics')
  title('metrics by proxy')
  console.log(byProxyTable(byProxy, 2))
  title('metrics by hour')
  const points = series.data_points as { total_requests: number }[]
  const busy = points.filter(({ total_requests: requests }) => requests > 0)
  console.log(JSON.stringify({ data_points: busy }, null, 2))
  title('metrics in total')
  console.log(JSON.stringify(summary, null, 2))
  const figures = byProxy.proxies as Record<string, { total_attempts: number }>
  check(
    'the table contains every attempt that reached a bad proxy',
    fleet.bad.every(({ id, arrived }) => arrived <= (figures[id]?.total_attempts ?? 0)),
  )
}

/** Uses the same list in code, without the forward proxy. */
async function fromCode({ dir, url, fleet }: Stage): Promise<void> {
  title('the same proxies from code: createProxyFetch')
  const members = parseProxyList(await readFile(join(dir, 'proxies.txt'), 'utf8'))
  const pool = proxyPool({ id: 'proxies', strategy: 'score', members, breaker: { failureThreshold: 2 } })
  const get = createProxyFetch(pool, {
    // A new pool has no results yet, and on a busy machine good proxies can exceed the attempt timeout.
    retry: { maxAttempts: 20, backoffType: 'immediate' },
    timeout: { attempt: '3s' },
  })
  const pages = await many(100, async () => {
    const page = await get(url)
    return { status: page.status, text: await page.text() }
  })
  check(
    '100 of 100 pages were fetched',
    pages.every(({ status, text }) => status === 200 && text.endsWith('/page')),
  )
  const used = fleet.listed.filter(({ id }) => pool.stats(id).totalAttempts > 0)
  console.log(`  ${used.length} proxies were used; the strategy score prefers proxies with good results`)
  await Promise.all(members.map(({ value }) => value.dispatcher.close()))
}

/** Kills the server process. The next one reads the breaker states from the store. */
async function killAndRestart(stage: Stage, begin: () => Promise<ServerProcess>): Promise<void> {
  const { fleet, url } = stage
  title('kill -9 and a restart, with persist_state')
  await stage.server.kill()
  stage.client.close()
  const before = fleet.arrivedAt(fleet.bad)
  stage.server = await begin()
  stage.client = new Client(stage.server.proxies)
  const open = await stage.server.ask('open')
  check(
    `all ${fleet.bad.length} bad proxies are still ejected`,
    fleet.bad.every(({ id }) => open.includes(id)),
  )
  const replies = await many(2 * SIZE, () => stage.client.get(url))
  console.log(
    `  ${replies.length} requests: ${statuses(replies)}; ${fleet.arrivedAt(fleet.bad) - before} attempts reached bad proxies`,
  )
  check('every request succeeded', all(replies, 200))
  check('no attempt reached a bad proxy', fleet.arrivedAt(fleet.bad) === before)
  const patient = await stage.client.get(url, { 'x-holdfast-policy': 'patient' })
  check('the policy of the operator still exists', patient.status === 200)
  await stage.server.ask('stop')
}

/** The password of the proxies is only in their list. */
async function keepTheSecret({ dir, server }: Stage, output: string): Promise<void> {
  const data = join(dir, 'data')
  const files = await Promise.all((await readdir(data)).map((name) => readFile(join(data, name), 'latin1')))
  const told = [output, server.output, ...files].some((text) => text.includes(PASSWORD))
  check('no record and no output contains the password of the proxies', !told)
}
