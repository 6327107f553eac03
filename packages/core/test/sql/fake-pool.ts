// A pool like that of pg, whose connections behave as a test specifies and log their statements.
import { EventEmitter } from 'node:events'

export type Reply = (text: string, client: FakeClient) => unknown

export class FakeClient extends EventEmitter {
  readonly id: number
  private readonly pool: FakePool

  constructor(id: number, pool: FakePool) {
    super()
    this.id = id
    this.pool = pool
  }

  async query(text: string): Promise<unknown> {
    this.pool.log.push(`${this.id} ${text}`)
    return this.pool.reply(text, this)
  }

  release(destroy = false): void {
    if (this.pool.held.delete(this) === false) throw new Error('released twice')
    this.pool.log.push(`${this.id} ${destroy ? 'closed' : 'released'}`)
  }
}

/** Every connection is new, so that the log can distinguish them. */
export class FakePool extends EventEmitter {
  readonly log: string[] = []
  readonly held = new Set<FakeClient>()
  readonly clients: FakeClient[] = []
  reply: Reply
  private made = 0

  constructor(reply: Reply = () => undefined) {
    super()
    this.reply = reply
  }

  async connect(): Promise<FakeClient> {
    await this.reply('connect', undefined as never)
    const client = new FakeClient(++this.made, this)
    this.held.add(client)
    this.clients.push(client)
    this.emit('acquired', client)
    return client
  }
}

/** An error of pg. */
export const pgError = (code: string, message = code): Error => Object.assign(new Error(message), { code })

/** The error of pg when the connection is lost. */
export const lost = () => new Error('Connection terminated unexpectedly')

/** Replies that fail in turn for one statement and succeed for all others. */
export function failing(statement: string, ...errors: (Error | undefined)[]): Reply {
  return (text) => {
    const error = text === statement ? errors.shift() : undefined
    if (error !== undefined) throw error
    return undefined
  }
}
