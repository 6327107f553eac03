// A process that is killed: it hands in entries, or replays those that wait. Each thing it was promised is a line on stdout.
import { writeSync } from 'node:fs'
import { join } from 'node:path'
import { guard } from 'holdfast'
import { systemClock, systemRandom } from 'holdfast/internal'
import { DEAD_LETTER_DEFAULTS } from '../../../../config/src/resolve/dead-letter-options.js'
import type { RuntimeContext } from '../../../../config/src/runtime-context.js'
import type { RetryEvent } from '../../../../records/src/session.js'
import { openStore } from '../../../../store/src/open/open-store.js'
import { openPostgres } from '../../../../store/src/postgres/index.js'
import { LONG_TIMEOUTS } from '../../../../store/test/long-timeouts.js'
import { DeadLetters } from '../../../src/dead-letters/dead-letters.js'

export interface ChildTask {
  mode: 'enqueue' | 'replay'
  store: string
  /** Where it keeps what its store cannot take. */
  dir: string
  /** Where replays go. */
  target: string
  /** How far its wall clock is ahead, so that leases of the dead have ended. */
  ahead: number
  /** The items to hand in. */
  from: number
  to: number
}

const task = JSON.parse(process.argv[2] as string) as ChildTask
/**
 * Writes a line to stdout. The line is in the pipe when the function returns, so it is not lost when the process is killed. The
 * pipe does not block: it accepts a part of the line, or nothing (EAGAIN), while the parent has not read it.
 */
function say(line: string): void {
  const bytes = Buffer.from(`${line}\n`)
  for (let written = 0; written < bytes.length; )
    try {
      written += writeSync(1, bytes, written)
    } catch (error) {
      if ((error as NodeJS.ErrnoException).code !== 'EAGAIN') throw error
    }
}

const store = task.store.startsWith('postgres')
  ? openPostgres(task.store, { spillDir: join(task.dir, 'spill'), ...LONG_TIMEOUTS })
  : await openStore(task.store, { dir: task.dir })
await store.open()
const clock = { ...systemClock, wall: () => systemClock.wall() + task.ahead }
const quiet = () => {}
const kit: RuntimeContext = {
  clock,
  random: systemRandom,
  logger: { debug: quiet, info: quiet, warn: quiet, error: quiet },
  store,
  isDebug: () => false,
  redact: (value) => value,
  emit(event) {
    if (event.eventType === 'dead_letter_replayed')
      say(`completed ${(event.context as { dlq_id: string }).dlq_id}`)
    return event as RetryEvent
  },
  audit: async () => {},
  warn: (line) => void writeSync(2, `${line}\n`),
}
const write = guard({ clock, retry: false })
const queue = new DeadLetters(kit, {
  options: () => DEAD_LETTER_DEFAULTS,
  runOperation: (_, fn) => write.run(fn),
  policyIdOf: () => 'default',
})

queue.handle('write', async ({ item }: { item: number }, { idempotencyKey }) => {
  say(`called ${item}`)
  const response = await fetch(task.target, {
    method: 'POST',
    headers: { 'idempotency-key': idempotencyKey },
    body: JSON.stringify({ item }),
  })
  if (!response.ok) throw new Error(`the target answered ${response.status}`)
  await response.text()
  say(`answered ${item}`)
})

if (task.mode === 'enqueue') {
  const lane = async (first: number) => {
    for (let item = first; item < task.to; item += 4) {
      const entry = await queue.enqueue({ operation: 'write', itemId: `item-${item}`, payload: { item } })
      say(`kept ${item} ${entry.dlqId}`)
    }
  }
  await Promise.all([0, 1, 2, 3].map((each) => lane(task.from + each)))
} else {
  const { succeeded, failed, skipped } = await queue.replayBatch({ concurrency: 6, retryFailed: true })
  say(`batch ${succeeded} ${failed} ${skipped}`)
}
await store.close()
say('done')
