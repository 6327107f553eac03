// Runs the pipeline, repairs the services, kills the first replay and completes the second.
import { spawn } from 'node:child_process'
import { mkdtemp, readFile, rm, writeFile } from 'node:fs/promises'
import { tmpdir } from 'node:os'
import { join } from 'node:path'
import { parseEnv } from 'node:util'
import { Holdfast } from '@holdfast/runtime'
import { compare, deadLettersIn } from './check.js'
import { keyOf, mailPipeline, type Settings } from './pipeline.js'
import type { ReplayTask } from './replay.js'
import { startServices } from './services/services.js'

/** Longer than the lease of the killed process. */
const LATER = 6 * 60_000

export interface ExampleOptions {
  readonly mails: number
  readonly config: string
  /** The program that replays when it is started with `--replay`. */
  readonly program: string
  readonly keep: boolean
  say(line: string): void
}

/** Runs a replay in a separate process, which `watch` can kill. Returns its signal or exit code. */
function replaying(
  program: string,
  task: ReplayTask,
  watch: (kill: () => void) => () => void,
): Promise<string> {
  const child = spawn(process.execPath, [program, '--replay', JSON.stringify(task)], { stdio: 'inherit' })
  const unwatch = watch(() => child.kill('SIGKILL'))
  return new Promise((resolve) =>
    child.once('close', (code, signal) => {
      unwatch()
      resolve(signal ?? `exit ${code}`)
    }),
  )
}

/** Runs the example. Returns false if a mail is missing or was written twice. */
export async function run({ mails: count, config, program, keep, say }: ExampleOptions): Promise<boolean> {
  const folder = await mkdtemp(join(tmpdir(), 'email-pipeline-'))
  const services = await startServices()
  try {
    await writeFile(join(folder, '.env'), 'NOTION_TOKEN=ntn_example\nGMAIL_KEY=example\n', { mode: 0o600 })
    const env = parseEnv(await readFile(join(folder, '.env'), 'utf8')) as Record<string, string>
    const settings: Settings = { urls: services.urls, env }
    const store = `files:${folder}`
    const mails = Array.from({ length: count }, (_, i) => `mail-${String(i).padStart(4, '0')}`)

    say(`${count} mails through services that fail`)
    const hf = await Holdfast.open({ config, store, watch: false })
    const alerts: string[] = []
    hf.events.on('alert', ({ operation }) => void alerts.push(String(operation)))
    const pipeline = await mailPipeline(hf, settings)
    const result = await pipeline.run(mails, { concurrency: 16, idempotencyKey: keyOf })
    const retried = (await hf.metrics.summary()).totalRetries
    await hf.close()
    say(
      `  written ${result.succeeded}, failed ${result.failed}, after ${retried} retries; ${alerts.length} alerts`,
    )

    const kept = await deadLettersIn(folder)
    const reasons = new Map<string, number>()
    for (const { operation_type, error_details, original_payload } of kept) {
      if (original_payload.item === undefined) throw new Error('a dead letter without its payload')
      const said = error_details.error_message.replace(/; retry in .*/, '')
      const reason = `${operation_type}: ${said.slice(0, 80)}`
      reasons.set(reason, (reasons.get(reason) ?? 0) + 1)
    }
    say(`  ${kept.length} dead letters in ${join(folder, 'dlq')}`)
    for (const [reason, times] of [...reasons].sort(([, a], [, b]) => b - a))
      say(`  ${String(times).padStart(4)} ${reason}`)
    if (kept.length !== result.failed) return false

    say('the services work again; the first replay is killed half-way')
    services.repair()
    const before = services.pages.length
    const half = before + Math.floor((count - before) / 2)
    const task = { ...settings, config, store, ahead: 0 }
    const first = await replaying(program, task, (kill) =>
      services.onPage(() => services.pages.length >= half && kill()),
    )
    say(`  ${first}, with ${services.pages.length - before} of ${kept.length} written`)
    say('the second replay')
    const second = await replaying(program, { ...task, ahead: LATER }, () => () => {})
    const { missing, twice } = compare(mails, services.pages)
    const left = (await deadLettersIn(folder)).filter(({ status }) => status !== 'completed').length
    say(
      `  ${second}: ${services.pages.length} pages, ${missing.length} missing, ${twice.length} twice, ${left} left to replay`,
    )
    return first === 'SIGKILL' && second === 'exit 0' && missing.length + twice.length + left === 0
  } finally {
    await services.close()
    if (keep) say(`the data is kept in ${folder}`)
    else await rm(folder, { recursive: true, force: true })
  }
}
