import { type LuaTable, luaJson, luaNumber, luaText } from '../lua-number.js'
import type { ScriptContext } from '../script-context.js'

const DAY_MS = 86_400_000
const LEASE_PREFIX = 'lease:'

/** A number that is not negative and not above a limit; 0 otherwise. */
export function numberUpTo(text: string | null | undefined, max: number): number {
  const number = luaNumber(text ?? '0')
  return number === undefined || Number.isNaN(number) || number < 0 || number > max ? 0 : number
}

/** The state of a breaker and its changes: `breaker-prelude.lua`. */
export class BreakerState {
  readonly context: ScriptContext
  readonly roundKey: string
  readonly countsKey: string
  readonly node: string
  readonly id: string
  readonly knownEpoch: number
  readonly storedEpoch: number
  /** The state changes in the epoch after this one. */
  lastEpoch: number
  private readonly stateKey: string
  private readonly fields = new Map<string, string>()

  constructor(context: ScriptContext) {
    this.context = context
    const [stateKey = '', roundKey = '', countsKey = ''] = context.keys
    const [node = '', id = '', epoch] = context.args
    this.stateKey = stateKey
    this.roundKey = roundKey
    this.countsKey = countsKey
    this.node = node
    this.id = id
    this.knownEpoch = this.parseEpoch(epoch)
    const stored = context.call('HGETALL', stateKey) as string[]
    for (let i = 0; i < stored.length; i += 2) this.fields.set(stored[i] as string, stored[i + 1] as string)
    const state = this.fields.get('state')
    if (state !== undefined && state !== 'open' && state !== 'half_open') this.fields.set('state', 'closed')
    this.followTime()
    this.storedEpoch = this.getNumber('epoch')
    this.lastEpoch = Math.max(this.storedEpoch, this.knownEpoch)
  }

  get now(): number {
    return this.context.now
  }

  get state(): string {
    return this.fields.get('state') ?? 'closed'
  }

  get isClosed(): boolean {
    return this.state === 'closed'
  }

  /** The argument at a position of the Lua script, from 1. */
  argument(position: number): string | undefined {
    return this.context.args[position - 1]
  }

  numberArgument(position: number): number {
    return luaNumber(this.argument(position)) ?? 0
  }

  field(name: string): string | undefined {
    return this.fields.get(name)
  }

  getNumber(name: string): number {
    const text = this.fields.get(name)
    return name === 'epoch' ? this.parseEpoch(text) : numberUpTo(text, this.now + 366 * DAY_MS)
  }

  setField(name: string, value: string | number): void {
    const text = typeof value === 'number' ? luaText(value) : value
    this.fields.set(name, text)
    this.context.call('HSET', this.stateKey, name, text)
  }

  /** Sets a time of the state: when the breaker opened, the end of its open duration, or the end of a lease. */
  setTime(name: string, value: number): void {
    this.setField(name, value)
    this.setField('at', this.now)
  }

  /** If the time of Redis has gone back, all times of the state go back with it. */
  private followTime(): void {
    const backMs = this.getNumber('at') - this.now
    if (backMs <= 0) return
    for (const [name, value] of this.fields)
      if (name === 'until' || name === 'openedAt' || name.startsWith(LEASE_PREFIX))
        this.setField(name, Math.max(0, numberUpTo(value, this.now + 366 * DAY_MS + backMs) - backMs))
    this.setField('at', this.now)
  }

  deleteField(name: string): void {
    this.context.call('HDEL', this.stateKey, name)
    this.fields.delete(name)
  }

  epochAfter(epoch: number): number {
    return Math.max(epoch + 1, this.context.tenths)
  }

  /** The state as nodes read it, as JSON. */
  view(added: LuaTable = {}): string {
    return luaJson({ ...this.describe(), ...added })
  }

  publishState(): void {
    this.context.publish(this.describe())
  }

  /** Lets the state expire a day after the end of its open duration. */
  extendExpiry(): void {
    const left = Math.max(0, Math.floor(this.getNumber('until') - this.now))
    this.context.call('PEXPIRE', this.stateKey, DAY_MS + left)
  }

  /** Deletes expired leases, or all of them. Returns how many are left and when the first of these ends. */
  deleteLeases(isEvery: boolean): { live: number; firstEnd: number } {
    let live = 0
    let firstEnd = Number.POSITIVE_INFINITY
    for (const [name, value] of this.fields) {
      if (!name.startsWith(LEASE_PREFIX)) continue
      const leaseEnd = numberUpTo(value, this.now + 366 * DAY_MS)
      if (isEvery || leaseEnd <= this.now) this.deleteField(name)
      else {
        live++
        firstEnd = Math.min(firstEnd, leaseEnd)
      }
    }
    return { live, firstEnd }
  }

  open(openFor: string | number, openings: string | number, failures: string | number, tripFor = 0): void {
    if (this.field('state') !== 'open') this.setTime('openedAt', this.now)
    this.changeState('open')
    this.setTime('until', this.now + Number(openFor))
    this.setField('openFor', openFor)
    this.setField('tripFor', tripFor)
    this.setField('openings', openings)
    this.setField('failures', failures)
    this.extendExpiry()
    this.publishState()
  }

  close(): void {
    this.changeState('closed')
    this.setField('until', 0)
    this.setField('failures', 0)
    this.extendExpiry()
    this.publishState()
  }

  private changeState(state: string): void {
    this.deleteLeases(true)
    this.setField('epoch', this.epochAfter(this.lastEpoch))
    this.setField('state', state)
    this.setField('node', this.node)
    this.setField('granted', 0)
    this.setField('successes', 0)
    this.context.call('DEL', this.roundKey, this.countsKey)
  }

  private describe(): LuaTable {
    const isOpenSinceKnown = !this.isClosed && this.field('openedAt') !== undefined
    return {
      id: this.id,
      node: this.field('node') ?? '',
      epoch: Math.max(this.getNumber('epoch'), 0),
      state: this.state,
      left: Math.max(0, this.getNumber('until') - this.now),
      openFor: this.getNumber('openFor'),
      openings: this.getNumber('openings'),
      failures: this.getNumber('failures'),
      off: this.field('off') === '1',
      tripFor: this.getNumber('tripFor'),
      now: this.now,
      ...(isOpenSinceKnown && { age: Math.max(0, this.now - this.getNumber('openedAt')) }),
    }
  }

  private parseEpoch(text: string | undefined): number {
    return Math.floor(numberUpTo(text, (this.now + DAY_MS) * 10))
  }
}
