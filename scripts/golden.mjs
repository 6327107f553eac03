// `npm run golden`: writes test/golden/VERSION, the data of this release that every later release must read.
import './golden/host-name.mjs'
import { cpSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, rmSync, writeFileSync } from 'node:fs'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Holdfast, toWire } from '@holdfast/runtime'
import { createApp, createToken, listTokens } from '@holdfast/server'
import { seededRandom } from 'holdfast/testing'
import { recordFleet } from './golden/fleet.mjs'
import { recordSchema, toSql } from './golden/postgres.mjs'
import {
  ENVIRONMENT,
  fixedClock,
  readConfig,
  readRecords,
  readResponses,
  writeRecords,
} from './golden/scenario.mjs'
import { root } from './packages.mjs'
import { PostgresServer } from './servers/postgres.mjs'

const { version } = JSON.parse(readFileSync(join(root, 'packages/core/package.json'), 'utf8'))
const target = join(root, 'test/golden', version)
const work = mkdtempSync(join(tmpdir(), 'holdfast-golden-'))
const library = { toWire, createToken, listTokens }

/** @param {string} file @param {unknown} value */
const writeJson = (file, value) => writeFileSync(join(target, file), `${JSON.stringify(value, null, 2)}\n`)

/** @param {string} store @param {import('./golden/scenario.mjs').FixedClock} clock */
const open = (store, clock) =>
  Holdfast.open({
    config: join(target, 'config/holdfast.yaml'),
    store,
    env: ENVIRONMENT,
    clock,
    random: seededRandom(1),
    watch: false,
  })

/** Runs the scenario in a store, and returns the records as this release reads them. @param {string} store */
async function fill(store) {
  const clock = fixedClock()
  const hf = await open(store, clock)
  await writeRecords(hf, clock, library)
  await hf.close()
}

/** @param {string} store */
async function read(store) {
  const hf = await open(store, fixedClock())
  const records = await readRecords(hf, library)
  await hf.close()
  return records
}

rmSync(target, { recursive: true, force: true })
for (const folder of ['config', 'sqlite', 'files', 'postgres', 'redis', 'rest'])
  mkdirSync(join(target, folder), { recursive: true })
cpSync(join(root, 'scripts/golden/config'), join(target, 'config'), { recursive: true })

const configs = readdirSync(join(target, 'config')).filter((name) => name.endsWith('.yaml'))
writeJson(
  'config/expected.json',
  Object.fromEntries(
    await Promise.all(
      configs.map(async (name) => [name, await readConfig(Holdfast, join(target, 'config', name), toWire)]),
    ),
  ),
)

// SQLite and files. The store is copied before it is read, so that reading does not change the fixture.
await fill(`sqlite:${join(work, 'holdfast.db')}`)
cpSync(join(work, 'holdfast.db'), join(target, 'sqlite/holdfast.db'))
writeJson('sqlite/expected.json', await read(`sqlite:${join(work, 'holdfast.db')}`))

await fill(`files:${join(work, 'files')}`)
// Locks name the process that held them.
rmSync(join(work, 'files/.locks'), { recursive: true })
cpSync(join(work, 'files'), join(target, 'files/store'), { recursive: true })
writeJson('files/expected.json', await read(`files:${join(work, 'files')}`))

const postgres = await PostgresServer.start()
try {
  const statements = await recordSchema(() => fill(postgres.url))
  writeFileSync(join(target, 'postgres/dump.sql'), await toSql(postgres.url, statements))
  writeJson('postgres/expected.json', await read(postgres.url))
} finally {
  await postgres.stop()
}

writeJson('redis/fleet.json', await recordFleet(Holdfast, join(target, 'config/holdfast.yaml')))

// Responses of the REST API for the SQLite store.
const hf = await open(`sqlite:${join(work, 'holdfast.db')}`, fixedClock())
const { token } = await createToken(hf, { name: 'reader', role: 'viewer', by: 'golden' })
const app = createApp(hf)
writeJson('rest/responses.json', await readResponses(app, token, join(target, 'config')))
await app.close()
await hf.close()

rmSync(work, { recursive: true, force: true })
console.log(`wrote ${target}`)
