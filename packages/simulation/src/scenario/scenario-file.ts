import { BREAKER_KINDS } from './breaker-kinds.js'
import {
  ALL_OPERATIONS,
  CRASH_TARGETS,
  type Fault,
  MEMBER_CHANGES,
  MEMBERS,
  type PlannedCall,
  POOL_SHARES,
  type Scenario,
  SQLITE_FAULTS,
} from './scenario.js'

/** A file that is not a scenario. */
export class ScenarioFileError extends Error {
  constructor(path: string, expected: string, got: unknown) {
    super(`${path || 'the file'}: expected ${expected}, got ${format(got)}`)
    this.name = 'ScenarioFileError'
  }
}

const format = (value: unknown): string =>
  value === undefined ? 'nothing' : JSON.stringify(value).slice(0, 80)

/** Throws unless a value is as expected. */
type Check = (path: string, value: unknown) => void

const createCheck =
  (expected: string, isValid: (value: unknown) => boolean): Check =>
  (path, value) => {
    if (!isValid(value)) throw new ScenarioFileError(path, expected, value)
  }

const isNumber = (value: unknown): value is number => typeof value === 'number' && Number.isFinite(value)

const number = createCheck('a number', isNumber)
const duration = createCheck('a number that is not negative', (value) => isNumber(value) && value >= 0)
const share = createCheck('a number from 0 to 1', (value) => isNumber(value) && value >= 0 && value <= 1)
const index = createCheck(
  'a whole number that is not negative',
  (value) => Number.isSafeInteger(value) && Number(value) >= 0,
)
const boolean = createCheck('true or false', (value) => typeof value === 'boolean')
const oneOf = (...names: readonly string[]): Check =>
  createCheck(`one of ${names.join(', ')}`, (value) => names.includes(value as string))
const optional =
  (check: Check): Check =>
  (path, value) => {
    if (value !== undefined) check(path, value)
  }

const list =
  (check: Check): Check =>
  (path, value) => {
    if (!Array.isArray(value)) throw new ScenarioFileError(path, 'a list', value)
    for (const [at, item] of value.entries()) check(`${path}.${at}`, item)
  }

/** An object with these fields and no others. */
const object =
  (fields: Readonly<Record<string, Check>>): Check =>
  (path, value) => {
    if (typeof value !== 'object' || value === null || Array.isArray(value))
      throw new ScenarioFileError(path, 'an object', value)
    const prefix = path === '' ? '' : `${path}.`
    for (const name of Object.keys(value))
      if (!Object.hasOwn(fields, name))
        throw new ScenarioFileError(`${prefix}${name}`, `a field of ${Object.keys(fields).join(', ')}`, name)
    for (const [name, check] of Object.entries(fields))
      check(`${prefix}${name}`, (value as Record<string, unknown>)[name])
  }

const server = oneOf('store', 'redis')
const operation = oneOf(...ALL_OPERATIONS)
const upstream = oneOf(...ALL_OPERATIONS, ...MEMBERS)

/** The fields of each kind of fault, besides its time and kind. */
const FAULT_FIELDS: Readonly<Record<Fault['kind'], Readonly<Record<string, Check>>>> = {
  crash: { node: index, downMs: duration },
  await_crash: { node: index, microtask: index, isPowerFailure: boolean, downMs: duration },
  restart: { node: index, downMs: duration },
  power_failure: { node: index, downMs: duration },
  lying_disk: { node: index, ms: duration, downMs: duration },
  disk_fault: { node: index, fault: oneOf('error', 'flaky', 'full'), ms: duration },
  sqlite_fault: { node: index, fault: oneOf(...SQLITE_FAULTS), ms: duration },
  commit_crash: {
    node: index,
    commit: index,
    isBefore: boolean,
    target: oneOf(...CRASH_TARGETS),
    downMs: duration,
  },
  partition: { node: index, server, ms: duration },
  reset: { node: index, server },
  slow: { node: index, server, ms: duration, delay: duration },
  duplicate: { node: index, server, ms: duration },
  loss: { node: index, server, ms: duration, losses: share },
  lost_reply: { node: index, server, ms: duration, losses: share },
  server_down: { server, ms: duration },
  server_crash: { server, loss: oneOf('nothing', 'last-second', 'everything') },
  store_fault: { fault: oneOf('read-only', 'disk-full', 'shutting-down', 'slow'), ms: duration },
  redis_fault: { fault: oneOf('oom', 'readonly', 'loading'), ms: duration },
  upstream_down: { operation: upstream, ms: duration },
  clock_step: { node: index, step: number, ms: duration },
  clock_drift: { node: index, rate: number, ms: duration },
}

const fault: Check = (path, value) => {
  const { kind } = (value ?? {}) as { kind?: unknown }
  const kindCheck = oneOf(...Object.keys(FAULT_FIELDS))
  kindCheck(`${path}.kind`, kind)
  object({ at: duration, kind: kindCheck, ...FAULT_FIELDS[kind as Fault['kind']] })(path, value)
}

const ACTIONS: Readonly<Record<PlannedCall['action'], true>> = {
  run: true,
  enqueue: true,
  replay: true,
  replayBatch: true,
  complete: true,
  trip: true,
  reset: true,
  request: true,
  member: true,
}

const attempts: Check = (path, value) => {
  list(
    object({ ms: duration, fails: boolean, ignoresSignal: optional(boolean), limitMs: optional(duration) }),
  )(path, value)
  if ((value as unknown[]).length === 0) throw new ScenarioFileError(path, 'at least one attempt', value)
}

const scenario = object({
  seed: index,
  nodes: createCheck(
    'a whole number of at least 1',
    (value) => Number.isSafeInteger(value) && Number(value) >= 1,
  ),
  diskNodes: list(index),
  sqliteNodes: list(index),
  hasDiskFallback: boolean,
  poolShare: oneOf(...POOL_SHARES),
  persists: boolean,
  breakerKinds: optional(list(oneOf(...BREAKER_KINDS))),
  calls: list(
    object({
      at: duration,
      node: index,
      action: oneOf(...Object.keys(ACTIONS)),
      operation,
      attempts,
      target: share,
      retryFailed: optional(boolean),
      change: optional(oneOf(...MEMBER_CHANGES)),
      member: optional(oneOf(...MEMBERS)),
    }),
  ),
  faults: list(fault),
})

/** Reads a scenario from the text of a file. @throws ScenarioFileError */
export function parseScenario(text: string): Scenario {
  let value: unknown
  try {
    value = JSON.parse(text)
  } catch (error) {
    throw new ScenarioFileError('', `JSON (${(error as Error).message})`, text)
  }
  scenario('', value)
  const { nodes, diskNodes, sqliteNodes } = value as Scenario
  for (const [name, list] of Object.entries({ diskNodes, sqliteNodes }))
    for (const [at, node] of list.entries())
      if (node >= nodes) throw new ScenarioFileError(`${name}.${at}`, `a node below ${nodes}`, node)
  return value as Scenario
}

/** The text of a file with a scenario: one call and one fault per line. */
export function formatScenario({ calls, faults, ...layout }: Scenario): string {
  const lines = (items: readonly object[]) => items.map((item) => `    ${JSON.stringify(item)}`).join(',\n')
  const fields = Object.entries(layout).map(
    ([name, value]) => `  ${JSON.stringify(name)}: ${JSON.stringify(value)},`,
  )
  return `{\n${fields.join('\n')}\n  "faults": [\n${lines(faults)}\n  ],\n  "calls": [\n${lines(calls)}\n  ]\n}\n`
}
