import type { Store } from '@holdfast/store'
import { type Clock, HoldfastError, isHoldfastError } from 'holdfast'
import type { SimulatedLink } from './network.js'

/** How long a client waits for a server that does not respond. */
const REQUEST_TIMEOUT_MS = 5000

/** The parts of a store whose methods are requests. */
const PARTS = [
  'sessions',
  'events',
  'errors',
  'audit',
  'breakerEvents',
  'breakers',
  'metrics',
  'layers',
  'deadLetters',
  'values',
] as const

const createUnavailableError = (reason: string, cause?: unknown) =>
  new HoldfastError('STORE_UNAVAILABLE', `the simulated store: ${reason}`, { cause, status: 503 })

/** A method of a part of a store. */
type Method = (...args: unknown[]) => Promise<unknown>

/** Is told about each request that the server has executed. */
export interface StoreObserver {
  onExecuted(part: string, method: string, args: readonly unknown[], result: unknown): void
}

/** A request whose reply has not arrived. */
interface PendingRequest {
  readonly dueAt: number
  readonly reject: (error: Error) => void
  isSettled: boolean
}

/** Sends requests over a link that it opens when it is needed, and fails after a timeout. */
class StoreClient {
  private readonly link: SimulatedLink
  private readonly clock: Clock
  private opening: Promise<void> | undefined = undefined
  /** The requests in the order of their timeouts. One timer serves all of them. */
  private pending: PendingRequest[] = []
  private timer: unknown = undefined

  constructor(link: SimulatedLink, clock: Clock) {
    this.link = link
    this.clock = clock
  }

  send<T>(execute: () => T | Promise<T>): Promise<T> {
    return new Promise((resolve, reject) => {
      const request = { dueAt: this.clock.now() + REQUEST_TIMEOUT_MS, reject, isSettled: false }
      this.pending.push(request)
      this.timer ??= this.clock.setTimer(this.onTimer, REQUEST_TIMEOUT_MS)
      const onReply = (result: T) => {
        request.isSettled = true
        resolve(result)
      }
      const onError = (error: unknown) => {
        request.isSettled = true
        reject(isHoldfastError(error) ? error : createUnavailableError('the connection was lost', error))
      }
      if (this.link.isOpen) return this.link.send(execute, onReply, onError)
      this.opening ??= this.link.open().finally(() => {
        this.opening = undefined
      })
      this.opening.then(() => this.link.send(execute, onReply, onError), onError)
    })
  }

  close(): void {
    this.clock.clearTimer(this.timer)
    this.link.close()
  }

  private readonly onTimer = (): void => {
    const now = this.clock.now()
    this.pending = this.pending.filter(({ isSettled }) => !isSettled)
    for (const { dueAt, reject } of this.pending)
      if (dueAt <= now) reject(createUnavailableError('no reply in time'))
    this.pending = this.pending.filter(({ dueAt }) => dueAt > now)
    const next = this.pending[0]
    this.timer = next && this.clock.setTimer(this.onTimer, next.dueAt - now)
  }
}

/**
 * The store of one node: every method is a request to a server that all nodes share. A request that fails may have been executed,
 * as with any database.
 */
export function remoteStore(
  server: Store,
  link: SimulatedLink,
  clock: Clock,
  observer: StoreObserver,
): Store {
  const client = new StoreClient(link, clock)
  const remotePart = (name: (typeof PARTS)[number]): object => {
    const part = server[name] as unknown as Record<string, unknown>
    const execute = async (method: string, args: unknown[]) => {
      const result = await (part[method] as Method)(...args)
      observer.onExecuted(name, method, args, result)
      return result
    }
    const methods = new Map<string | symbol, unknown>()
    return new Proxy(part, {
      get(target, key) {
        const existing = methods.get(key)
        if (existing !== undefined) return existing
        const value = Reflect.get(target, key) as unknown
        if (typeof value !== 'function' || typeof key !== 'string') return value
        const method = (...args: unknown[]) => client.send(() => execute(key, args))
        methods.set(key, method)
        return method
      },
    })
  }
  const parts = Object.fromEntries(PARTS.map((name) => [name, remotePart(name)])) as Pick<
    Store,
    (typeof PARTS)[number]
  >
  return {
    kind: 'simulated',
    ...parts,
    open: () => client.send(async () => {}),
    close: async () => client.close(),
    freeSpace: async () => undefined,
  }
}
