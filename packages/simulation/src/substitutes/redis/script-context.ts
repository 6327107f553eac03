import { type LuaTable, luaJson } from './lua-number.js'
import type { RedisReply } from './reply.js'

/** What a function receives in place of a Lua script. */
export interface ScriptContext {
  readonly keys: readonly string[]
  readonly args: readonly string[]
  /** The time of Redis in milliseconds, as `prelude.lua` computes it. */
  readonly now: number
  /** The time of Redis in tenths of a millisecond. */
  readonly tenths: number
  /** Runs a command. Throws if it replies with an error, which ends the script; earlier changes remain. */
  call(command: string, ...args: (string | number)[]): RedisReply
  /** Sends a message to all nodes. */
  publish(message: LuaTable): void
}

/** A Lua script as a function. The result is converted as Redis converts a result of Lua: numbers lose their fraction. */
export type ScriptFunction = (context: ScriptContext) => RedisReply

interface ScriptInput {
  readonly keys: readonly string[]
  readonly args: readonly string[]
  readonly channel: string
  call(command: string, args: readonly string[]): RedisReply
}

export function createScriptContext({ keys, args, channel, call }: ScriptInput): ScriptContext {
  const run = (command: string, ...values: (string | number)[]) => call(command, values.map(String))
  const [seconds, micros] = (run('TIME') as [string, string]).map(Number) as [number, number]
  return {
    keys,
    args,
    now: seconds * 1000 + Math.floor(micros / 1000),
    tenths: seconds * 10_000 + Math.floor(micros / 100),
    call: run,
    publish: (message) => void run('PUBLISH', channel, luaJson(message)),
  }
}

/** Converts a result of a script: a number loses its fraction. */
export const toScriptReply = (reply: RedisReply): RedisReply =>
  typeof reply === 'number' ? Math.trunc(reply) : Array.isArray(reply) ? reply.map(toScriptReply) : reply
