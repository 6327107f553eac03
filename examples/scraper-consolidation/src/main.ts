// `npm run example:scraper`: three subsystems with one config file, which is edited while they run.
import { mkdtemp, readdir, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { Holdfast, migrateConfig, toWire } from '@holdfast/runtime'
import { systemClock } from 'holdfast/internal'
import { FlakyService } from './flaky.js'
import { perform, TASKS } from './subsystems.js'

const here = process.argv[2] ?? '.'
const show = (title: string, value: unknown) => console.log(`\n${title}\n${JSON.stringify(value, null, 2)}`)

const dir = await mkdtemp(join(tmpdir(), 'scraper-'))
const file = join(dir, 'holdfast.yaml')
await writeFile(file, await readFile(join(here, 'holdfast.yaml')))

const names = await readdir(join(here, 'old'))
const old = await Promise.all(
  names.map(async (name) => ({ file: name, text: await readFile(join(here, 'old', name), 'utf8') })),
)
const { text, report } = migrateConfig(old)
console.log(`${names.join(' and ')}, converted to one config file:\n\n${text}`)
show('report of the conversion', report)

const service = await FlakyService.start()
const hf = await Holdfast.open(file)
try {
  console.log('\none call for each mapping of the file, with the failure it is made for:\n')
  for (const task of TASKS) {
    const end = await perform(hf, service.url, task, 'first').then(
      () => 'done',
      (error: Error) => `failed: ${error.message}`,
    )
    const [session] = (await hf.sessions.list({ operation: task.name, limit: 1 })).items
    const waits = session?.attempts.map(({ delay }) => `${Math.round(delay)}`).slice(1)
    console.log(
      `  ${task.operation.padEnd(46)}${task.fault.padEnd(15)}${(session?.policyId ?? '').padEnd(33)}` +
        `${session?.totalAttempts} attempts, delays ${waits?.length ? `${waits.join(', ')} ms` : 'none'}: ${end}`,
    )
  }

  console.log('\nthe file is edited: route adaptation gets ten times the delay and two attempts')
  const reloaded = new Promise((resolve) => hf.events.on('config_reloaded', resolve))
  const edited = (await readFile(file, 'utf8')).replace(
    'Route adaptation, max_attempts: 3, base_delay: 0.1',
    'Route adaptation, max_attempts: 2, base_delay: 1',
  )
  await writeFile(file, edited)
  await reloaded
  const route = TASKS.find(({ name }) => name === 'adapt_route')
  if (route === undefined) throw new Error('task adapt_route not found')
  await perform(hf, service.url, route, 'second').catch((error: Error) =>
    console.log(`  failed: ${error.message}`),
  )

  const [session] = (await hf.sessions.list({ operation: 'adapt_route', limit: 1 })).items
  show('the session of this call', session && toWire(session))
  const [event] = (await hf.events.list({ types: ['retry_attempt'], limit: 1 })).items
  show('the event of its retry', event && toWire(event))
  const to = new Date(systemClock.wall())
  const window = await hf.metrics.window({
    from: new Date(to.getTime() - 3_600_000),
    to: new Date(to.getTime() + 1000),
  })
  show('metrics of the last hour', toWire(window))
} finally {
  await hf.close()
  await service.stop()
  await rm(dir, { recursive: true })
}
