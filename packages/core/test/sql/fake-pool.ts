// A pool like pg's, whose connections do what a test says and write down what is asked of them.
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

/** Every connection is new, so that the log tells them apart. */
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

/** An error as pg makes them. */
export const pgError = (code: string, message = code): Error => Object.assign(new Error(message), { code })

/** What pg says when the connection goes away. */
export const lost = () => new Error('Connection terminated unexpectedly')

/** Replies that fail each in turn for one statement, and answer everything else. */
export function failing(statement: string, ...errors: (Error | undefined)[]): Reply {
  return (text) => {
    const error = text === statement ? errors.shift() : undefined
    if (error !== undefined) throw error
    return undefined
  }
}
