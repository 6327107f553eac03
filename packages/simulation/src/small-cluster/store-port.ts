import type { Store } from '@holdfast/store'
import { HoldfastError } from 'holdfast'
import { DEAD_LETTER_METHODS } from '../../../store/src/dead-letter-store.js'
import type { Scheduler } from '../engine/scheduler.js'
import type { Choices } from '../engine/seeded-random.js'
import { START_WALL_MS } from '../engine/virtual-clock.js'
import type { Process } from '../process/simulated-node.js'
import type { SimulatedPostgres } from '../substitutes/index.js'
import { type CallFaults, MAX_SLOW_MS } from './call-faults.js'

/** One call of a method of the store. */
export interface StoreCall {
  /** The name of the process, such as `n1.2`. */
  readonly process: string
  /** The method with the part of the store: `deadLetters.settle`. */
  readonly method: string
  readonly args: readonly unknown[]
}

/** What happens to the calls of all processes. */
export interface StoreObserver {
  onCalled(call: StoreCall): void
  /** The store has executed the call. Its reply can still be lost. */
  onExecuted(call: StoreCall, result: unknown): void
  /** The process gets the reply. `hasFailed` if it is an error. */
  onReplied(call: StoreCall, hasFailed: boolean, result: unknown): void
  /** The process gets an error that a retry does not change. Called before `onReplied`. */
  onRejected(call: StoreCall): void
  /** The process is notified that a replay was requested. */
  onNotified(process: string): void
}

/** The properties of a store that differ between seeds. */
export interface StoreTraits {
  /** How many entries a process leases together; undefined for a store that does not prefer batches. */
  readonly leaseBatch: number | undefined
  /** Whether the store notifies of replay requests. */
  readonly hasNotifications: boolean
}

const JOURNAL = ['append', 'list', 'expire', 'count']

/** The results of journals, whose records no model of the small cluster reads. */
const JOURNAL_RESULTS: Readonly<Record<string, unknown>> = {
  append: undefined,
  get: undefined,
  list: { items: [] },
  expire: 0,
  count: 0,
}

const PARTS: Readonly<Record<string, readonly string[]>> = {
  sessions: [...JOURNAL, 'get'],
  events: JOURNAL,
  errors: JOURNAL,
  audit: JOURNAL,
  breakerEvents: JOURNAL,
  breakers: ['save', 'load', 'delete'],
  metrics: ['save', 'load', 'expire'],
  layers: ['latest', 'history', 'append', 'expire', 'rewrite'],
  values: ['get', 'set', 'delete', 'list'],
  deadLetters: ['add', ...DEAD_LETTER_METHODS],
}

const JOURNALS = new Set(['sessions', 'events', 'errors', 'audit', 'breakerEvents'])

/** The mean time of a request or a reply. */
const MEAN_DELAY_MS = 3

/** The share of notifications that do not arrive, because the connection breaks. */
const LOST_NOTIFICATIONS = 0.2

/**
 * The shared store of the small cluster. A fault concerns exactly one call: it is not executed, its reply is lost, it is slow, it is
 * sent again after a lost reply, or it is rejected for good. So it is known at each time which process knows what, and most promises
 * have no exceptions.
 */
export class StorePort {
  readonly postgres: SimulatedPostgres
  private readonly scheduler: Scheduler
  private readonly choices: Choices
  private readonly faults: CallFaults
  private readonly traits: StoreTraits
  private readonly observer: StoreObserver
  private readonly lastFaultAt = new Map<string, number>()
  private callCount = 0

  constructor(
    parts: { postgres: SimulatedPostgres; scheduler: Scheduler; choices: Choices; faults: CallFaults },
    traits: StoreTraits,
    observer: StoreObserver,
  ) {
    this.postgres = parts.postgres
    this.scheduler = parts.scheduler
    this.choices = parts.choices
    this.faults = parts.faults
    this.traits = traits
    this.observer = observer
  }

  /** The store, as one process reaches it. */
  createStore(process: Process): Store {
    const { leaseBatch, hasNotifications } = this.traits
    const parts = Object.entries(PARTS).map(([name, methods]) => [
      name,
      Object.fromEntries(
        methods.map((method) => [
          method,
          (...args: unknown[]) => this.call(process, `${name}.${method}`, args),
        ]),
      ),
    ])
    const store = Object.fromEntries(parts) as Record<string, object>
    Object.assign(store.deadLetters as object, {
      ...(leaseBatch !== undefined && { leaseBatch }),
      ...(hasNotifications && { onRequest: (listener: () => void) => this.subscribe(process, listener) }),
    })
    return { ...store, kind: 'postgres', close: async () => {}, freeSpace: async () => undefined } as never
  }

  /** Whether no call of a process has had a fault for a time. */
  isFaultless(process: string, ms: number): boolean {
    return this.scheduler.now - (this.lastFaultAt.get(process) ?? Number.NEGATIVE_INFINITY) > ms
  }

  private subscribe(process: Process, listener: () => void): () => void {
    let isEnded = false
    const notify = () =>
      this.scheduler.schedule(this.choices.delay(MEAN_DELAY_MS), () => {
        if (!process.isAlive || isEnded) return
        this.observer.onNotified(process.name)
        listener()
      })
    notify()
    const unsubscribe = this.postgres.onRequest(() => {
      if (process.isAlive && !this.choices.chance(LOST_NOTIFICATIONS)) notify()
    })
    return () => {
      isEnded = true
      unsubscribe()
    }
  }

  private execute(command: { id: string; method: string; args: readonly unknown[] }): unknown {
    const [part = '', name = ''] = command.method.split('.')
    if (JOURNALS.has(part)) return JOURNAL_RESULTS[name]
    return this.postgres.execute(command, START_WALL_MS + this.scheduler.now)
  }

  private call(process: Process, method: string, args: readonly unknown[]): Promise<unknown> {
    // Code of a process that has died can still run until the end of the event, and reaches nothing.
    if (!process.isAlive) return new Promise(() => {})
    const { scheduler, choices, observer } = this
    const call: StoreCall = { process: process.name, method, args }
    const command = { id: `${process.name}:${this.callCount++}`, method, args }
    observer.onCalled(call)
    const fault = this.faults.plan(call)
    const slowMs = fault === 'slow' ? choices.between(0, MAX_SLOW_MS) : 0
    if (fault !== undefined) this.lastFaultAt.set(process.name, scheduler.now)
    return new Promise((resolve, reject) => {
      const reply = (hasFailed: boolean, result?: unknown) =>
        scheduler.schedule(choices.delay(MEAN_DELAY_MS) + slowMs / 2, () => {
          if (!process.isAlive) return
          if (fault === 'rejected') observer.onRejected(call)
          observer.onReplied(call, hasFailed, result)
          if (hasFailed) reject(fault === 'rejected' ? createLastingError() : createStoreError(method))
          else resolve(result)
        })
      scheduler.schedule(choices.delay(MEAN_DELAY_MS) + slowMs / 2, () => {
        if (fault === 'not_executed' || fault === 'rejected') return reply(true)
        const result = this.execute(command)
        observer.onExecuted(call, result)
        if (fault === 'repeated') return reply(false, this.execute({ ...command, id: `${command.id} again` }))
        reply(fault === 'lost_reply', result)
      })
    })
  }
}

/** The code of an error that a retry does not change. */
export const LASTING_ERROR_CODE = 'EROFS'

const createLastingError = () =>
  Object.assign(new Error('the simulated store cannot write this entry'), { code: LASTING_ERROR_CODE })

const createStoreError = (method: string) =>
  new HoldfastError('STORE_UNAVAILABLE', `the simulated store: ${method} failed`, { status: 503 })
