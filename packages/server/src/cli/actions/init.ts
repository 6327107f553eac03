import { existsSync } from 'node:fs'
import { resolve } from 'node:path'
import { CONFIG_DEFAULTS } from '@holdfast/config'
import { BREAKER_DEFAULTS, RETRY_DEFAULTS, STRATEGY_NAMES } from 'holdfast/internal'
import { DEFAULT_PORT, DEFAULT_STORE } from '../../defaults.js'
import { DEFAULT_FILE } from '../backends/file.js'
import type { CommandContext } from '../context/context.js'
import { CommandFailure, EXIT_CODES } from '../context/exit.js'
import { printJson } from '../output/print.js'
import { writeOrPrint } from './write.js'

/** The values of a new config file. */
export interface InitAnswers {
  store: typeof DEFAULT_STORE | 'files:data' | 'memory'
  port: number
  proxies: boolean
}

const DEFAULT_ANSWERS: InitAnswers = { store: DEFAULT_STORE, port: DEFAULT_PORT, proxies: false }

const DAY_MS = 86_400_000

/** A duration in seconds, the unit of numbers in a config file. */
const seconds = (ms: number): number => ms / 1000

const { failureThreshold, windowDuration, timeoutDuration } = BREAKER_DEFAULTS
const BREAKER_KEYS = `failure_threshold: ${failureThreshold}, window_duration: ${seconds(windowDuration)}, timeout_duration: ${seconds(timeoutDuration)}`

const { maxAttempts, backoffType, baseDelay, maxDelay } = RETRY_DEFAULTS
const POLICY_KEYS = `max_attempts: ${maxAttempts}, backoff_type: ${backoffType}, base_delay: ${seconds(baseDelay)}, max_delay: ${seconds(maxDelay)}`

const { deadLetters, proxy } = CONFIG_DEFAULTS

const POOL_SECTION = `
# Proxies or endpoints to rotate over. members_file can list more, one per line.
pools:
  proxies:
    strategy: score               # ${STRATEGY_NAMES.join(', ')}
    policy: fetch
    circuit_breaker: { ${BREAKER_KEYS} }
    members:
      - { id: p1, url: "http://127.0.0.1:9001" }
      - { id: p2, url: "http://127.0.0.1:9002" }
    # members_file: proxies.txt

# The rotating forward proxy of \`holdfast serve\`: point clients at http://${proxy.host}:${proxy.port}.
proxy: { host: ${proxy.host}, port: ${proxy.port}, pool: proxies }
`

/** The text of a config file with a comment for each section. */
export const formatConfigFile = ({
  store,
  port,
  proxies,
}: InitAnswers): string => `# The configuration of Holdfast: retries, circuit breakers, dead letters.
# \`holdfast check\` checks it; \`holdfast explain OPERATION\` shows effective values. Durations are seconds.
version: "1.2.0"

# Defaults of all policies.
global_defaults: { jitter_type: full, jitter_amount: 0.5 }

policies:
  # The policy of operations without a mapping.
  default: { name: Default, ${POLICY_KEYS} }
  # Short delays, a timeout for each attempt and for the whole call.
  fetch: { name: Fetch, max_attempts: 4, base_delay: 0.2, max_delay: 5, attempt_timeout: 10, total_timeout: 60 }

# Breakers that calls use by name: hf.run('fetch', fn, { service: 'api' }).
circuit_breakers:
  api: { ${BREAKER_KEYS}, persist_state: true }

# The policies of operations by the kind of failure: hf.run('orders.save', fn).
subsystem_mappings:
  orders: { save: { timeout: fetch, default: default } }
${proxies ? POOL_SECTION : ''}
# Payloads of calls that failed after all retries are stored for a replay.
dead_letters: { max_entries: ${deadLetters.maxEntries}, max_age: ${deadLetters.maxAge / DAY_MS}d }

# The store of records: sqlite:FILE, files:DIR or memory. Paths are relative to this file.
store: ${store}

# The API and the dashboard of \`holdfast serve\`.
server: { host: 127.0.0.1, port: ${port} }
`

async function promptAnswers(io: CommandContext['io']): Promise<InitAnswers> {
  const { confirm, isCancel, select, text } = await import('@clack/prompts')
  const assertAnswered = <T>(answer: T): Exclude<T, symbol> => {
    if (isCancel(answer)) throw new CommandFailure(EXIT_CODES.interrupted, 'cancelled; no file was written')
    return answer as Exclude<T, symbol>
  }
  io.err('Press Enter to accept the default.\n')
  const store = assertAnswered(
    await select<InitAnswers['store']>({
      message: 'Where should records be stored?',
      options: [
        { value: DEFAULT_STORE, label: 'SQLite', hint: 'one file, survives restarts' },
        { value: 'files:data', label: 'Files', hint: 'folders of JSON lines' },
        { value: 'memory', label: 'Memory', hint: 'lost when the process ends' },
      ],
    }),
  )
  const port = assertAnswered(
    await text({
      message: 'Which port should the server use?',
      initialValue: String(DEFAULT_ANSWERS.port),
      validate: (value) => (/^\d{1,5}$/.test(value ?? '') ? undefined : 'Expected a number from 0 to 65535'),
    }),
  )
  const proxies = assertAnswered(await confirm({ message: 'Add a pool of proxies?', initialValue: false }))
  return { store, port: Number(port), proxies }
}

/** `init`: asks a few questions and writes a config file. */
export async function initConfig(
  context: CommandContext,
  { yes, force }: { yes?: boolean; force?: boolean },
): Promise<void> {
  const { io, globalOptions } = context
  const path = globalOptions.config ?? DEFAULT_FILE
  if (!force && existsSync(resolve(io.cwd, path)))
    throw new CommandFailure(EXIT_CODES.failure, `${path} already exists`, {
      hint: 'add --force to overwrite it, or --config FILE for another name',
    })
  const answers = yes || !io.canPrompt || globalOptions.json ? DEFAULT_ANSWERS : await promptAnswers(io)
  await writeOrPrint(context, path, formatConfigFile(answers), { mustBeNew: !force, isPublic: true })
  if (globalOptions.json) printJson(context, { file: path, ...answers })
  else io.err('next: holdfast check, then holdfast serve\n')
}
