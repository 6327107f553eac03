import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { DEFAULT_FILE } from '../backends/file.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { printJson } from '../output/print.js'
import { writeOrPrint } from './write.js'

/** What a first config file is made of. */
export interface InitAnswers {
  store: 'sqlite:data/holdfast.db' | 'files:data' | 'memory'
  port: number
  proxies: boolean
}

const DEFAULT_ANSWERS: InitAnswers = { store: 'sqlite:data/holdfast.db', port: 8000, proxies: false }

const POOL_SECTION = `
# Proxies or endpoints to rotate over. members_file may list thousands more, one a line.
pools:
  proxies:
    strategy: score               # round_robin, random, weighted, least_used, least_latency, score, sticky, region, cost
    policy: fetch
    circuit_breaker: { failure_threshold: 5, window_duration: 60, timeout_duration: 30 }
    members:
      - { id: p1, url: "http://127.0.0.1:9001" }
      - { id: p2, url: "http://127.0.0.1:9002" }
    # members_file: proxies.txt

# The rotating forward proxy of \`holdfast serve\`: point clients at http://127.0.0.1:8080.
proxy: { host: 127.0.0.1, port: 8080, pool: proxies }
`

/** The text of a config file with a word on everything in it. */
export const formatConfigFile = ({
  store,
  port,
  proxies,
}: InitAnswers): string => `# Holdfast: how calls to unreliable things are kept alive.
# Check it with \`holdfast check\`; ask what applies with \`holdfast explain OPERATION\`. Numbers of time are seconds.
version: "1.1.0"

# What holds for every policy that does not say otherwise.
global_defaults: { jitter_type: full, jitter_amount: 0.5 }

policies:
  # The policy of every operation that has no other.
  default: { name: Default, max_attempts: 3, backoff_type: exponential, base_delay: 1, max_delay: 30 }
  # Short waits and a limit on each attempt and on the whole call.
  fetch: { name: Fetch, max_attempts: 4, base_delay: 0.2, max_delay: 5, attempt_timeout: 10, total_timeout: 60 }

# Breakers that calls share by name: hf.run('fetch', fn, { service: 'api' }).
circuit_breakers:
  api: { failure_threshold: 5, window_duration: 60, timeout_duration: 30, persist_state: true }

# Which policy an operation has, by the kind of failure: hf.run('orders.save', fn).
subsystem_mappings:
  orders: { save: { timeout: fetch, default: default } }
${proxies ? POOL_SECTION : ''}
# Calls with a payload that fail for good are kept until they are replayed.
dead_letters: { max_entries: 100000, max_age: 30d }

# Where records live: sqlite:FILE, files:DIR or memory. Relative to this file.
store: ${store}

# The API and the dashboard of \`holdfast serve\`.
server: { host: 127.0.0.1, port: ${port} }
`

async function promptAnswers(io: CommandContext['io']): Promise<InitAnswers> {
  const { confirm, isCancel, select, text } = await import('@clack/prompts')
  const take = <T>(answer: T): Exclude<T, symbol> => {
    if (isCancel(answer)) throw new CommandFailure(EXIT_CODES.interrupted, 'nothing was written')
    return answer as Exclude<T, symbol>
  }
  io.err('A few questions; Enter takes what is shown.\n')
  const store = take(
    await select<InitAnswers['store']>({
      message: 'Where should records live?',
      options: [
        { value: 'sqlite:data/holdfast.db', label: 'SQLite', hint: 'one file, outlives restarts' },
        { value: 'files:data', label: 'Files', hint: 'folders of JSON lines' },
        { value: 'memory', label: 'Memory', hint: 'gone with the process' },
      ],
    }),
  )
  const port = take(
    await text({
      message: 'Which port should the server have?',
      initialValue: String(DEFAULT_ANSWERS.port),
      validate: (value) => (/^\d{1,5}$/.test(value ?? '') ? undefined : 'A number from 0 to 65535'),
    }),
  )
  const proxies = take(await confirm({ message: 'Will you rotate over proxies?', initialValue: false }))
  return { store, port: Number(port), proxies }
}

/** `initConfig`: asks a few questions and writes a config file with a word on everything in it. */
export async function initConfig(
  context: CommandContext,
  { yes, force }: { yes?: boolean; force?: boolean },
): Promise<void> {
  const { io, globalOptions } = context
  const path = globalOptions.config ?? DEFAULT_FILE
  if (!force && existsSync(resolve(io.cwd, path)))
    throw new CommandFailure(EXIT_CODES.failure, `${path} is there already`, {
      hint: 'add --force to write over it, or --config FILE for another name',
    })
  const answers = yes || !io.canPrompt || globalOptions.json ? DEFAULT_ANSWERS : await promptAnswers(io)
  await writeOrPrint(context, path, formatConfigFile(answers), { fresh: !force, isPublic: true })
  if (globalOptions.json) printJson(context, { file: path, ...answers })
  else io.err('next: holdfast check, then holdfast serve\n')
}
