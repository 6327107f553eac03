// `npm run example:email`; with `--replay` the process replays dead letters.
import { join } from 'node:path'
import { fileURLToPath } from 'node:url'
import { parseArgs } from 'node:util'
import { run } from './example.js'
import { type ReplayTask, replay } from './replay.js'
import { now } from './time.js'

const { values, positionals } = parseArgs({
  allowPositionals: true,
  options: {
    mails: { type: 'string', default: '500' },
    config: { type: 'string' },
    keep: { type: 'boolean', default: false },
    replay: { type: 'string' },
  },
})

if (values.replay !== undefined) await replay(JSON.parse(values.replay) as ReplayTask)
else {
  const startedAt = now()
  const good = await run({
    mails: Number(values.mails),
    config: values.config ?? join(positionals[0] ?? '.', 'holdfast.yaml'),
    program: fileURLToPath(import.meta.url),
    keep: values.keep,
    say: console.log,
  })
  console.log(
    `${good ? 'all checks passed' : 'a check failed'} in ${((now() - startedAt) / 1000).toFixed(1)} s`,
  )
  if (!good) process.exitCode = 1
}
