import { createHash } from 'node:crypto'
import { CHANNEL } from '../../../../fleet/src/lua/scripts.js'
import { COMMANDS } from './commands.js'
import { Keyspace } from './keyspace.js'
import { RedisErrorReply, type RedisReply } from './reply.js'
import { createScriptContext, type ScriptFunction, toScriptReply } from './script-context.js'
import { SCRIPT_FUNCTIONS } from './scripts/index.js'

/** A state in which Redis rejects commands: its memory is full, it is a replica, or it reads its data after a start. */
export type RedisFault = 'oom' | 'readonly' | 'loading'

/** The error replies of Redis 7 in these states. */
const FAULT_ERRORS: Record<RedisFault, string> = {
  oom: "OOM command not allowed when used memory > 'maxmemory'.",
  readonly: "READONLY You can't write against a read only replica.",
  loading: 'LOADING Redis is loading the dataset in memory',
}

/** A message to a connection that has subscribed to a channel. */
interface RedisPush {
  readonly connection: string
  readonly channel: string
  readonly text: string
}

/** The result of a command: a reply or an error, and messages to subscribers. */
export interface RedisResult {
  readonly reply?: RedisReply
  /** The text of an error reply. */
  readonly error?: string
  readonly pushes: readonly RedisPush[]
}

/** The data that a server has after it was started again: all, all except the last second, or none. */
export type RedisLoss = 'nothing' | 'last-second' | 'everything'

/** A simulated Redis: a state machine without a clock and without connections. */
export interface SimulatedRedis {
  /** Executes a command at a time of the server, in milliseconds since 1970. */
  execute(command: readonly (string | number)[], now: number, connection?: string): RedisResult
  /** Switches a fault on or off. */
  setFault(fault: RedisFault, isOn: boolean): void
  readonly faults: ReadonlySet<RedisFault>
  /** Deletes all data, as FLUSHALL does. The scripts remain. */
  flush(): void
  /** Starts the process again. Scripts and subscriptions are lost always, data as given. */
  restart(loss: RedisLoss): void
  /** Ends the subscriptions of a connection. */
  disconnect(connection: string): void
  /** All keys with their type, content and expiry, for comparisons. */
  dump(now: number): RedisKeyDump[]
}

/** The content of a key as plain data. */
export interface RedisKeyDump {
  readonly key: string
  readonly type: string
  readonly content: unknown
  /** Milliseconds until it expires; -1 if it does not expire. */
  readonly ttl: number
}

interface CachedScript {
  readonly run: ScriptFunction
  readonly channel: string
}

const CHANNEL_PATTERN = new RegExp(`'(${CHANNEL}(?::\\d+)?)'`)

/** Finds the function of a script. A node in a database other than 0 sends the script with its own channel. */
function findScript(text: string): CachedScript {
  const channel = CHANNEL_PATTERN.exec(text)?.[1] ?? CHANNEL
  const original = text.replaceAll(`'${channel}'`, `'${CHANNEL}'`)
  const sha = sha1(original)
  const run = SCRIPT_FUNCTIONS.get(sha)
  if (run === undefined)
    throw new Error(
      `the simulated Redis has no function for the script ${sha}: change packages/simulation/src/substitutes/redis/scripts with packages/fleet/src/lua\n${original}`,
    )
  return { run, channel }
}

const sha1 = (text: string): string => createHash('sha1').update(text).digest('hex')

/** Creates a simulated Redis, empty. */
export function createSimulatedRedis(): SimulatedRedis {
  const keyspace = new Keyspace()
  const scripts = new Map<string, CachedScript>()
  const shaByText = new Map<string, string>()
  const subscriptions = new Map<string, Set<string>>()
  const faults = new Set<RedisFault>()

  function runScript(
    { run, channel }: CachedScript,
    sha: string,
    /** The script or its hash, the number of keys, keys and arguments. */
    input: readonly string[],
    now: number,
    publish: (channel: string, text: string) => number,
  ): RedisReply {
    const keyCount = Number(input[1])
    const context = { keyspace, now, publish }
    let hasWritten = false
    const call = (name: string, args: readonly string[]): RedisReply => {
      const command = COMMANDS.get(name)
      if (command === undefined) throw new RedisErrorReply('ERR Unknown Redis command called from script')
      if (command.isWrite && faults.has('readonly')) throw new RedisErrorReply(FAULT_ERRORS.readonly)
      // A script that has written may finish, so that it is not applied in part.
      if (command.needsMemory && faults.has('oom') && !hasWritten) throw new RedisErrorReply(FAULT_ERRORS.oom)
      hasWritten ||= command.isWrite
      return command.run(context, args)
    }
    const keys = input.slice(2, 2 + keyCount)
    const args = input.slice(2 + keyCount)
    try {
      return toScriptReply(run(createScriptContext({ keys, args, channel, call })))
    } catch (error) {
      if (!(error instanceof RedisErrorReply)) throw error
      throw new RedisErrorReply(`${error.message} script: ${sha}, on @user_script:1.`)
    }
  }

  function run(
    name: string,
    args: readonly string[],
    now: number,
    connection: string,
    publish: (channel: string, text: string) => number,
  ): RedisReply {
    const isSubscription = name === 'SUBSCRIBE' || name === 'UNSUBSCRIBE'
    if (faults.has('loading') && !isSubscription) throw new RedisErrorReply(FAULT_ERRORS.loading)
    if (name === 'PING') return subscriptions.has(connection) ? ['pong', ''] : 'PONG'
    if (name === 'SUBSCRIBE') {
      const channels = subscriptions.get(connection) ?? new Set()
      for (const channel of args) channels.add(channel)
      subscriptions.set(connection, channels)
      return channels.size
    }
    if (name === 'FLUSHALL') {
      if (faults.has('readonly')) throw new RedisErrorReply(FAULT_ERRORS.readonly)
      keyspace.clear()
      return 'OK'
    }
    if (name === 'SCRIPT' && args[0]?.toUpperCase() === 'FLUSH') {
      scripts.clear()
      return 'OK'
    }
    if (name === 'EVAL') {
      const [text = ''] = args
      const sha = shaByText.get(text) ?? sha1(text)
      shaByText.set(text, sha)
      const script = scripts.get(sha) ?? findScript(text)
      scripts.set(sha, script)
      return runScript(script, sha, args, now, publish)
    }
    if (name === 'EVALSHA') {
      const [sha = ''] = args
      const script = scripts.get(sha)
      if (script === undefined) throw new RedisErrorReply('NOSCRIPT No matching script. Please use EVAL.')
      return runScript(script, sha, args, now, publish)
    }
    const command = COMMANDS.get(name)
    if (command === undefined)
      throw new RedisErrorReply(`ERR unknown command '${name}', with args beginning with: `)
    if (command.isWrite && faults.has('readonly')) throw new RedisErrorReply(FAULT_ERRORS.readonly)
    if (command.needsMemory && faults.has('oom')) throw new RedisErrorReply(FAULT_ERRORS.oom)
    return command.run({ keyspace, now, publish }, args)
  }

  return {
    faults,
    execute(command, now, connection = '') {
      const pushes: RedisPush[] = []
      const publish = (channel: string, text: string): number => {
        const receivers = [...subscriptions].filter(([, channels]) => channels.has(channel))
        for (const [receiver] of receivers) pushes.push({ connection: receiver, channel, text })
        return receivers.length
      }
      const args = command.map(String)
      const name = args.shift() ?? ''
      try {
        return { reply: run(name.toUpperCase(), args, now, connection, publish), pushes }
      } catch (error) {
        if (!(error instanceof RedisErrorReply)) throw error
        return { error: error.message, pushes }
      }
    },
    setFault(fault, isOn) {
      if (isOn) faults.add(fault)
      else faults.delete(fault)
    },
    flush() {
      keyspace.clear()
    },
    restart(loss) {
      scripts.clear()
      subscriptions.clear()
      if (loss === 'everything') keyspace.clear()
      else if (loss === 'last-second') keyspace.losePendingWrites()
    },
    disconnect(connection) {
      subscriptions.delete(connection)
    },
    dump(now) {
      return keyspace.keys(now).flatMap((key) => {
        const record = keyspace.find(key, now)
        if (record === undefined) return []
        const { type, data, expiresAt } = record
        const content =
          data instanceof Map ? Object.fromEntries(data) : 'entries' in data ? data.entries : data.text
        return [{ key, type, content, ttl: expiresAt === undefined ? -1 : expiresAt - Math.floor(now) }]
      })
    },
  }
}
