import { expect, it } from 'vitest'
import { createSimulatedPostgres } from '../../src/substitutes/index.js'
import { createSimulatedPostgresDriver } from '../../src/substitutes/postgres/driver.js'
import { TestNetwork } from './links.js'

const QUERY_TIMEOUT_MS = 100

/** A client that is connected, and how its statements end. */
async function connect() {
  const network = new TestNetwork()
  const { clock } = network
  const host = { postgres: createSimulatedPostgres(), now: () => clock.wall() }
  const driver = createSimulatedPostgresDriver({ host, clock, connect: network.connect })
  const client = new driver.Client({
    connectionTimeoutMillis: 10,
    query_timeout: QUERY_TIMEOUT_MS,
  } as ConstructorParameters<typeof driver.Client>[0])
  await client.connect()
  const ends: string[] = []
  const query = (text: string) =>
    void client.query(text).then(
      () => ends.push(`${text} succeeded at ${clock.now()}`),
      ({ message }: Error) => ends.push(`${text} failed at ${clock.now()}: ${message}`),
    )
  return { network, client, query, ends }
}

it('rejects each statement of the PostgreSQL substitute at its own timeout', async () => {
  const { network, query, ends } = await connect()
  query('first')
  await network.clock.advance(60)
  network.isStopped = true
  query('second')
  await network.clock.advance(30)
  query('third')
  await network.clock.advance(200)
  query('fourth')
  await network.clock.advance(QUERY_TIMEOUT_MS)
  expect(ends).toEqual([
    'first succeeded at 0',
    'second failed at 160: Query read timeout',
    'third failed at 190: Query read timeout',
    'fourth failed at 390: Query read timeout',
  ])
})

it('rejects the statements of the PostgreSQL substitute when their connection ends', async () => {
  const { network, client, query, ends } = await connect()
  network.isStopped = true
  query('sent')
  await network.clock.advance(10)
  query('not sent')
  await client.end()
  await network.clock.advance(200)
  query('late')
  await network.clock.advance(0)
  expect(ends).toEqual([
    'sent failed at 10: Connection terminated unexpectedly',
    'not sent failed at 10: Connection terminated unexpectedly',
    'late failed at 210: Client was closed and is not queryable',
  ])
})
